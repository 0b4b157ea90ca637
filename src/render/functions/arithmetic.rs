//! The same sum on every value: `scale`, `offset`, `absolute`.

use super::Invocation;
use crate::render::error::RenderError;
use crate::render::number::{general, repr};
use crate::render::value::Value;

pub(super) fn scale(call: Invocation<'_>) -> Result<Value, RenderError> {
    with_number(call, |value, factor| value * factor)
}

pub(super) fn offset(call: Invocation<'_>) -> Result<Value, RenderError> {
    with_number(call, |value, offset| value + offset)
}

pub(super) fn absolute(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    for s in &mut series {
        s.tags.set("absolute", "1");
        s.rename(format!("absolute({})", s.name));
        s.map(f64::abs);
    }
    Ok(series.into())
}

/// A null is NaN, and so is every sum with one in it.
fn with_number(mut call: Invocation<'_>, change: fn(f64, f64) -> f64) -> Result<Value, RenderError> {
    let (function, number) = (call.name(), call.float_or(1, f64::NAN));
    let mut series = call.series(0);
    for s in &mut series {
        s.tags.set(function, repr(number));
        s.rename(format!("{function}({},{})", s.name, general(number)));
        s.map(|value| change(value, number));
    }
    Ok(series.into())
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;

    #[test]
    fn values_names_and_tags() {
        let store = Memory::new().with("a", 60, &[1.0, -2.0, N, 0.0]);
        for (target, name, tagged, values) in [
            ("scale(a,10)", "scale(a,10)", "name=a scale=10.0", [10.0, -20.0, N, 0.0]),
            ("scale(a,0.5)", "scale(a,0.5)", "name=a scale=0.5", [0.5, -1.0, N, 0.0]),
            (
                "scale(a,1234567)",
                "scale(a,1.23457e+06)",
                "name=a scale=1234567.0",
                [1234567.0, -2469134.0, N, 0.0],
            ),
            ("scale(a,'2')", "scale(a,2)", "name=a scale=2.0", [2.0, -4.0, N, 0.0]),
            ("offset(a,-3.25)", "offset(a,-3.25)", "name=a offset=-3.25", [-2.25, -5.25, N, -3.25]),
            ("absolute(a)", "absolute(a)", "name=a absolute=1", [1.0, 2.0, N, 0.0]),
        ] {
            let got = store.one(target);
            assert_eq!((&*got.name, tags(&got).as_str()), (name, tagged));
            assert_eq!((shown(&got), &*got.path_expression), (show(&values), name));
        }
        assert!(store.error("scale(a,x)").contains("Invalid \"float\" value"));
        assert!(store.error("scale(a)").contains("Missing required parameter \"factor\""));
        assert!(store.error("scale(a,1,2)").contains("Too many parameters"));
        assert!(store.error("scale(a,2,k=3)").contains("Unexpected key word arguments: k"));
        assert!(store.error("scale(a,2,factor=3)").contains("Unexpected key word arguments: factor"));
    }
}
