//! Exponentials and logarithms. What is no number, or beyond all numbers, is null.

use super::Invocation;
use super::arithmetic::each;
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::Literal;

pub(super) fn exp(call: Invocation<'_>) -> Result<Value, RenderError> {
    each(call, "e", |value| finite(value.exp()))
}

pub(super) fn logit(call: Invocation<'_>) -> Result<Value, RenderError> {
    each(call, "logit", |value| finite((value / (1.0 - value)).ln()))
}

pub(super) fn sigmoid(call: Invocation<'_>) -> Result<Value, RenderError> {
    each(call, "sigmoid", |value| 1.0 / (1.0 + (-value).exp()))
}

pub(super) fn log(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let base = call.float_or(1, 10.0);
    let shown = call.literal(1).map(Literal::text).unwrap_or_default();
    let mut series = call.series(0);
    if !series.is_empty() && (base.is_nan() || base <= 0.0 || base == 1.0) {
        return Err(RenderError::invalid(format!("log needs a base above 0 that is not 1, not {shown}")));
    }
    for s in &mut series {
        call.is_wanted()?;
        s.tags.set("log", shown.as_str());
        s.rename(format!("log({}, {shown})", s.name));
        s.map(|value| if value > 0.0 { value.ln() / base.ln() } else { f64::NAN });
    }
    Ok(series.into())
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn names_tags_and_nulls() {
        let store = Memory::new().with("a", 60, &[0.5, N, -1.0, 1000.0]);
        for (target, name, tagged, known) in [
            ("log(a)", "log(a, 10)", "log=10", [true, false, false, true]),
            ("log(a,2)", "log(a, 2)", "log=2", [true, false, false, true]),
            ("log(a,0.5)", "log(a, 0.5)", "log=0.5", [true, false, false, true]),
            ("logit(a)", "logit(a)", "logit=logit", [true, false, false, false]),
            ("exp(a)", "exp(a)", "exp=e", [true, false, true, false]),
            ("sigmoid(a)", "sigmoid(a)", "sigmoid=sigmoid", [true, false, true, true]),
        ] {
            let got = store.one(target);
            assert_eq!((&*got.name, &*got.path_expression), (name, name));
            assert_eq!(tags(&got), format!("name=a {tagged}"));
            assert_eq!(got.values.iter().map(|v| !v.is_nan()).collect::<Vec<_>>(), known, "{target}");
        }
        assert_eq!(store.one("log(a,2)").values[0], -1.0);
        assert_eq!(store.one("logit(a)").values[0], 0.0);
        for target in ["log(a,1)", "log(a,0)", "log(a,-2)"] {
            assert!(store.error(target).contains("log needs a base above 0"), "{target}");
        }
    }
}
