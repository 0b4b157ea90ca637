//! Names cut down to some of their nodes: `substr` and `aliasByMetric`.

use super::Invocation;
use super::machinery::key::slice;
use crate::error::RenderError;
use crate::eval::Value;

pub(super) fn substr(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let (start, stop) = (call.int(1).unwrap_or(0), call.int(2).unwrap_or(0));
    let mut series = call.series(0);
    series.iter_mut().for_each(|s| s.name = cut(&s.name, start, stop).into());
    Ok(series.into())
}

pub(super) fn alias_by_metric(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    series.iter_mut().for_each(|s| s.name = cut(&s.name, -1, 0).into());
    Ok(series.into())
}

/// Nodes of what stands between the last `(` and the first `)`, up to the first comma that is left.
fn cut(name: &str, start: i64, stop: i64) -> String {
    let left = name.rfind('(').map_or(0, |at| at + 1);
    let right = name.find(')').unwrap_or(name.len()).max(left);
    let nodes: Vec<&str> = name[left..right].split('.').collect();
    let range = slice(start, (stop != 0).then_some(stop), nodes.len());
    let joined = nodes[range].join(".");
    joined.split(',').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::cut;
    use crate::testing::*;

    #[test]
    fn nodes_inside_the_innermost_call() {
        for (name, start, stop, expected) in [
            ("a.b.c.d", 1, 3, "b.c"),
            ("a.b.c", 0, 0, "a.b.c"),
            ("a.b.c", -1, 0, "c"),
            ("f(g(a.b.c),2)", 1, 0, "b.c"),
            ("f(a.b,'c')", 1, 0, "b"),
            ("scale(a.b.c,2)", -1, 0, "c"),
            ("f)x(a.b", 0, 0, ""),
        ] {
            assert_eq!(cut(name, start, stop), expected, "{name}");
        }
        let store = Memory::new().with("a.b.c", 60, &[1.0; 4]);
        assert_eq!(&*store.one("aliasByMetric(scale(a.b.c,2))").name, "c");
        assert_eq!(&*store.one("substr(a.b.c,1,2)").name, "b");
    }
}
