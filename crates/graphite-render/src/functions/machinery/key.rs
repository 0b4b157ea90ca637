//! Keys of series: some nodes of the name, or tags.

use crate::grammar::Literal;
use crate::grammar::first_path;
use crate::series::Series;

/// A node by its position, or a tag.
pub(crate) enum Node {
    /// Negative ones count from the end.
    At(i64),
    Tag(String),
}

impl Node {
    /// An integer is a position; a string is a tag, even if it looks like a number.
    pub(crate) fn of(literal: Literal) -> Self {
        match literal {
            Literal::Int(n) => Node::At(n),
            other => Node::Tag(other.text()),
        }
    }
}

/// The nodes of a series joined by dots. The name of a function's result is looked into: its first path counts.
pub(crate) fn key(series: &Series, nodes: &[Node]) -> String {
    let inner = if series.name.ends_with(')') { first_path(&series.name) } else { None };
    let path = inner.as_deref().unwrap_or(&series.name);
    let parts: Vec<String> = nodes.iter().map(|node| part(series, path, node)).collect();
    parts.join(".")
}

/// A position out of range is looked up as a tag, too; what is nowhere is empty.
fn part(series: &Series, path: &str, node: &Node) -> String {
    match node {
        Node::At(position) => {
            let bare = path.split(';').next().unwrap_or("");
            let nodes: Vec<&str> = bare.split('.').collect();
            let found = index(*position, nodes.len()).and_then(|at| nodes.get(at));
            found.map(|node| (*node).to_owned()).or_else(|| series.tags.get(&position.to_string()))
        }
        Node::Tag(tag) => series.tags.get(tag),
    }
    .unwrap_or_default()
}

/// A Python index into a list.
pub(crate) fn index(position: i64, len: usize) -> Option<usize> {
    if position >= 0 {
        usize::try_from(position).ok()
    } else {
        len.checked_sub(position.unsigned_abs() as usize)
    }
}

/// A Python slice `[start:stop]` of a list, as a range of positions. `stop` of `None` is the end.
pub(crate) fn slice(start: i64, stop: Option<i64>, len: usize) -> std::ops::Range<usize> {
    let clamp = |at: i64| if at < 0 { index(at, len).unwrap_or(0) } else { (at as usize).min(len) };
    let (start, stop) = (clamp(start), stop.map_or(len, clamp));
    start..stop.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(name: &str, nodes: &[i64]) -> String {
        let series = Series::new(name, (0, 0, 1), vec![], 0.0);
        key(&series, &nodes.iter().map(|&n| Node::At(n)).collect::<Vec<_>>())
    }

    #[test]
    fn nodes_count_from_either_end_and_look_inside_calls() {
        assert_eq!(key_of("a.b.c", &[0, 2]), "a.c");
        assert_eq!(key_of("a.b.c", &[-1, -3]), "c.a");
        assert_eq!(key_of("a.b.c", &[3]), "");
        assert_eq!(key_of("a.b.c", &[-4, 0]), ".a");
        assert_eq!(key_of("scale(a.b.c,2)", &[1]), "b");
        assert_eq!(key_of("a.b;k=v", &[1]), "b");
        assert_eq!(key_of("My name (x.y)", &[0]), "My");
        assert_eq!(key_of("a.b.c", &[]), "");
    }

    #[test]
    fn tags_are_nodes_too() {
        let series = Series::new("cpu.load;host=a;2=x", (0, 0, 1), vec![], 0.0);
        let nodes = ["host", "name", "nope"].map(|t| Node::Tag(t.to_owned()));
        assert_eq!(key(&series, &nodes), "a.cpu.load.");
        assert_eq!(key(&series, &[Node::At(2)]), "x");
        assert_eq!(key(&series, &[Node::of(Literal::Text("0".into()))]), "");
    }

    #[test]
    fn slices_are_pythons() {
        for (start, stop, expected) in [
            (0, None, 0..4),
            (1, Some(3), 1..3),
            (-1, None, 3..4),
            (-9, None, 0..4),
            (0, Some(-1), 0..3),
            (0, Some(-9), 0..0),
            (3, Some(1), 3..3),
            (9, None, 4..4),
            (i64::MIN, Some(i64::MAX), 0..4),
        ] {
            assert_eq!(slice(start, stop, 4), expected);
        }
    }
}
