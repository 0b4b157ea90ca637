//! Series that come from no store: the time, a wave, a random walk.

use std::hash::{BuildHasher, RandomState};

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Value;
use crate::series::Series;

/// Longest step in seconds: ten thousand years.
const MAX_STEP: i64 = 10_000 * 365 * 86_400;

/// The time of each minute since the start of the window.
pub(super) fn identity(call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = stepped(&call, 60, |time| time as f64)?.counted();
    series.path_expression = format!("identity(\"{}\")", series.name).into();
    Ok(vec![series].into())
}

pub(super) fn time(call: Invocation<'_>) -> Result<Value, RenderError> {
    let step = call.int(1).unwrap_or(60);
    Ok(vec![stepped(&call, step, |time| time as f64)?].into())
}

pub(super) fn sin(call: Invocation<'_>) -> Result<Value, RenderError> {
    let (amplitude, step) = (call.float_or(1, 1.0), call.int(2).unwrap_or(60));
    Ok(vec![stepped(&call, step, |time| (time as f64).sin() * amplitude)?].into())
}

/// From zero on, by less than a half at each step; another walk each time.
pub(super) fn random_walk(call: Invocation<'_>) -> Result<Value, RenderError> {
    let step = call.int(1).unwrap_or(60);
    let random = RandomState::new();
    let mut height = 0.0;
    let walk = |time| {
        // The 53 bits that a float holds.
        let part = (random.hash_one(time) >> 11) as f64 / (1_u64 << 53) as f64;
        let next = height + part - 0.5;
        std::mem::replace(&mut height, next)
    };
    Ok(vec![stepped(&call, step, walk)?].into())
}

/// One value for each step from the start of the window on, which is not aligned; the end is left out.
fn stepped(
    call: &Invocation<'_>,
    step: i64,
    mut value_at: impl FnMut(i64) -> f64,
) -> Result<Series, RenderError> {
    if !(1..=MAX_STEP).contains(&step) {
        let function = call.name();
        return Err(RenderError::invalid(format!(
            "{function} needs a step of at least one second, and less than ten thousand years, not {step}"
        )));
    }
    let range = call.context.range;
    let count = range.until.saturating_sub(range.from).max(0) as usize / step as usize + 1;
    call.context.charge(count)?;
    let times = std::iter::successors(Some(range.from), |time| time.checked_add(step));
    let values = times.take_while(|&time| time < range.until).map(&mut value_at).collect();
    let times = (range.from, range.until, step);
    Ok(Series::new(call.text(0), times, values, call.context.x_files_factor()))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn from_the_start_of_the_window_to_before_its_end() {
        let store = Memory::new().over(90, 270);
        for (target, path, step, values) in [
            ("identity('x')", "identity(\"x\")", 60, vec![90.0, 150.0, 210.0]),
            ("time('x')", "x", 60, vec![90.0, 150.0, 210.0]),
            ("timeFunction('x',100)", "x", 100, vec![90.0, 190.0]),
            ("time('x',step=300000000000)", "x", 300_000_000_000, vec![90.0]),
            ("absolute(sin('x',0))", "absolute(x)", 60, vec![0.0; 3]),
            ("isNonNull(randomWalk('x',90))", "isNonNull(x)", 90, vec![1.0; 2]),
        ] {
            let got = store.one(target);
            assert_eq!((shown(&got), &*got.path_expression), (show(&values), path), "{target}");
            assert_eq!((got.start, got.end, got.step), (90, 270, step), "{target}");
        }
    }

    #[test]
    fn walks_differ_and_take_small_steps() {
        let store = Memory::new().over(0, 1000);
        let walk = || store.one("randomWalk('x',1)").values;
        let (one, other) = (walk(), walk());
        assert_ne!(one, other);
        assert_eq!((one.len(), one[0]), (1000, 0.0));
        assert!(one.windows(2).all(|pair| (pair[1] - pair[0]).abs() <= 0.5));
        let (up, down) = one
            .windows(2)
            .fold((0, 0), |(up, down), pair| if pair[1] > pair[0] { (up + 1, down) } else { (up, down + 1) });
        assert!(up > 300 && down > 300, "{up} {down}");
    }

    #[test]
    fn steps_are_checked_and_points_counted() {
        let store = Memory::new().over(0, 1000);
        assert!(store.error("time('x',0)").contains("time needs a step of at least one second"));
        assert!(store.error("sinFunction('x',1,-5)").contains("sinFunction needs a step of at least"));
        assert!(store.error("time('x',9223372036854775807)").contains("less than ten thousand years"));
        assert!(store.limited(100).error("randomWalk('x',1)").contains("query.max_points"));
        assert!(store.over(1000, 0).one("time('x')").values.is_empty());
    }
}
