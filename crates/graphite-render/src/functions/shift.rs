//! Series of another time, shown at this one.

use super::Invocation;
use super::machinery::key::slice;
use crate::error::RenderError;
use crate::eval::Context;
use crate::eval::Value;
use crate::grammar::{Call, Expr, Literal};
use crate::request::{Request, TimeRange};
use crate::time::parse_offset_secs;

/// Where the plan finds the first argument, if the shift is written out and daylight saving time is left alone.
pub(super) fn reach(call: &Call, range: TimeRange, _: &Request) -> Vec<TimeRange> {
    if call.argument(3, "alignDst").is_some() {
        return Vec::new();
    }
    let shift = call.text(1, "timeShift").and_then(|text| parse_offset_secs(&signed(text)).ok());
    shift.map(|secs| range.shifted(secs)).into_iter().collect()
}

/// Without a sign the shift goes into the past.
fn signed(shift: &str) -> String {
    if shift.starts_with(|c: char| c.is_ascii_digit()) { format!("-{shift}") } else { shift.to_owned() }
}

pub(super) fn time_shift(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let shift = signed(call.text(1));
    if shift.is_empty() {
        return Err(RenderError::invalid("timeShift needs an interval, as in timeShift(a.b,\"1d\")"));
    }
    let reset_end = call.flag(2);
    let mut range = call.context.range.shifted(parse_offset_secs(&shift)?);
    if call.flag(3) {
        range = range.shifted(dst_correction(call.context, range));
    }
    let Some(unshifted) = call.series(0).into_iter().next() else { return Ok(Vec::new().into()) };
    let mut series = call.context.at(range).evaluate_series(call.first_expr()?)?;
    for s in &mut series {
        call.is_wanted()?;
        s.tags.set("timeShift", shift.as_str());
        s.name = format!("timeShift({}, \"{shift}\")", s.name).into();
        s.end = if reset_end { unshifted.end } else { s.end - s.start + unshifted.start };
        s.start = unshifted.start;
    }
    Ok(series.into())
}

/// An hour, when one of the two windows lies wholly in daylight saving time and the other wholly outside of it.
fn dst_correction(context: &Context<'_>, shifted: TimeRange) -> i64 {
    let tz = &context.request().tz;
    let is_dst = |secs: i64| {
        let time = jiff::Timestamp::from_second(secs).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        tz.to_offset_info(time).dst().is_dst()
    };
    let edges = |range: TimeRange| (is_dst(range.from), is_dst(range.until));
    match (edges(context.range), edges(shifted)) {
        ((true, true), (false, false)) => 3_600,
        ((false, false), (true, true)) => -3_600,
        _ => 0,
    }
}

/// Windows that one `timeStack` may look into.
const MAX_STACKED: i64 = 10_000;
/// Longest shift in seconds: ten thousand years.
const MAX_SHIFT: i64 = 10_000 * 365 * 86_400;

/// The first argument once for each multiple of a shift, all shown at the time of its first series.
pub(super) fn time_stack(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let unit = signed(call.text(1));
    if unit.is_empty() {
        return Err(RenderError::invalid("timeStack needs an interval, as in timeStack(a.b,\"1d\",0,7)"));
    }
    let number = |param: usize, otherwise: i64| match call.literal(param) {
        Some(Literal::Float(x)) => *x as i64,
        _ => call.int(param).unwrap_or(otherwise),
    };
    let (first, last) = (number(2, 0), number(3, 7));
    let Some(unshifted) = call.series(0).into_iter().next() else { return Ok(Vec::new().into()) };
    let shifts = stacked_shifts(parse_offset_secs(&unit)?, first, last)?;
    let mut result = Vec::new();
    for (shift, secs) in (first..last).zip(shifts) {
        call.context.session.count_call()?;
        let context = call.context.at(call.context.range.shifted(secs));
        for mut s in context.evaluate_series(call.first_expr()?)? {
            s.tags.set("timeShiftUnit", unit.as_str());
            s.tags.set("timeShift", shift.to_string());
            s.rename(format!("timeShift({}, {unit}, {shift})", s.name));
            (s.start, s.end) = (unshifted.start, unshifted.end);
            result.push(s);
        }
    }
    Ok(result.into())
}

/// The multiples of a shift from `first` up to, not including, `last`.
fn stacked_shifts(secs: i64, first: i64, last: i64) -> Result<Vec<i64>, RenderError> {
    if last.saturating_sub(first) > MAX_STACKED {
        return Err(RenderError::limit(format!("timeStack looks into {MAX_STACKED} windows at most")));
    }
    let shift = |times: i64| secs.checked_mul(times).filter(|shift| shift.abs() <= MAX_SHIFT);
    let too_far = || RenderError::invalid("timeStack cannot look further than ten thousand years");
    (first..last).map(|times| shift(times).ok_or_else(too_far)).collect()
}

/// Where the plan finds the first argument of `timeStack`, if the numbers are written out.
pub(super) fn stack_reach(call: &Call, range: TimeRange, _: &Request) -> Vec<TimeRange> {
    let number = |position: usize, name: &str, default: i64| match call.argument(position, name) {
        None => Some(default),
        Some(Expr::Literal(Literal::Int(n))) => Some(*n),
        Some(_) => None,
    };
    let shifts = || {
        let unit = signed(call.text(1, "timeShiftUnit").unwrap_or("1d"));
        let (first, last) = (number(2, "timeShiftStart", 0)?, number(3, "timeShiftEnd", 7)?);
        stacked_shifts(parse_offset_secs(&unit).ok()?, first, last).ok()
    };
    shifts().unwrap_or_default().into_iter().map(|secs| range.shifted(secs)).collect()
}

/// The values some places further on; what is pushed over the edge is lost. Python keeps nothing of a list up to `-0`, so
/// a delay of 0 leaves no values.
pub(super) fn delay(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let steps = call.int(1).unwrap_or(0);
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        let len = s.values.len();
        let moved = usize::try_from(steps.unsigned_abs()).unwrap_or(usize::MAX).min(len);
        let nulls = std::iter::repeat_n(f64::NAN, moved);
        s.values = if steps < 0 {
            s.values[moved..].iter().copied().chain(nulls).collect()
        } else {
            let kept = slice(0, Some(steps.saturating_neg()), len);
            nulls.chain(s.values[kept].iter().copied()).collect()
        };
        s.tags.set("delay", steps.to_string());
        s.rename(format!("delay({},{steps})", s.name));
    }
    Ok(series.into())
}

#[cfg(test)]
mod tests {
    use crate::request::Request;
    use crate::testing::*;

    fn store() -> Memory {
        // Value = minute of the stamp.
        let minutes: Vec<f64> = (1..=20).map(f64::from).collect();
        Memory::new().with("a", 60, &minutes).over(600, 900)
    }

    #[test]
    fn unsigned_goes_into_the_past() {
        for (target, name, values) in [
            ("timeShift(a,'2min')", "timeShift(a, \"-2min\")", [9.0, 10.0, 11.0, 12.0, 13.0]),
            ("timeShift(a,'-2min')", "timeShift(a, \"-2min\")", [9.0, 10.0, 11.0, 12.0, 13.0]),
            ("timeShift(a,'+2min')", "timeShift(a, \"+2min\")", [13.0, 14.0, 15.0, 16.0, 17.0]),
        ] {
            let got = store().one(target);
            assert_eq!((&*got.name, shown(&got)), (name, show(&values)));
            assert_eq!((got.start, got.end, got.step, &*got.path_expression), (660, 960, 60, "a"));
        }
        assert_eq!(tags(&store().one("timeShift(a,'2min')")), "name=a timeShift=-2min");
        assert!(store().error("timeShift(a,'')").contains("interval"));
        assert!(store().run("timeShift(nothing,'1h')").is_empty());
    }

    #[test]
    fn windows_add_up_and_pipes_are_kept() {
        let got = store().one("a|scale(10)|timeShift('1min')|timeShift('1min')");
        assert_eq!(&*got.name, "timeShift(timeShift(scale(a,10), \"-1min\"), \"-1min\")");
        assert_eq!((shown(&got), got.start), (show(&[90.0, 100.0, 110.0, 120.0, 130.0]), 660));
    }

    #[test]
    fn the_end_may_be_that_of_the_shifted_series() {
        // A shift that is no multiple of the step gives one value more.
        let store = store().over(630, 900);
        let reset = store.one("timeShift(a,'45s')");
        let kept = store.one("timeShift(a,'45s',false)");
        assert_eq!((reset.start, reset.end, reset.values.len()), (660, 960, 5));
        assert_eq!((kept.start, kept.end), (660, 960));
        assert_eq!(shown(&kept), show(&[10.0, 11.0, 12.0, 13.0, 14.0]));
    }

    #[test]
    fn stacked_windows_come_in_one_batch() {
        let store = store();
        let got = store.run("timeStack(a,'2min',1,3)");
        assert_eq!(names(&got), ["timeShift(a, -2min, 1)", "timeShift(a, -2min, 2)"]);
        assert_eq!(shown(&got[1]), show(&[7.0, 8.0, 9.0, 10.0, 11.0]));
        assert_eq!((got[1].start, got[1].end, &*got[1].path_expression), (660, 960, &*got[1].name));
        assert_eq!(tags(&got[0]), "name=a timeShiftUnit=-2min timeShift=1");
        assert_eq!(store.batches(), 1);
        assert_eq!(store.run("timeStack(a)").len(), 7);
        assert!(store.run("timeStack(nothing,'1d',0,3)").is_empty());
    }

    #[test]
    fn stacks_have_an_end() {
        assert!(store().error("timeStack(a,'1s',0,1000000)").contains("10000 windows at most"));
        assert!(store().error("timeStack(a,'1d',9223372036854775800,9223372036854775807)").contains("years"));
        assert!(store().error("timeStack(a,'9000y',1,3)").contains("ten thousand years"));
        assert!(store().error("timeStack(a,'',0,3)").contains("timeStack needs an interval"));
        assert!(store().run("timeStack(a,'1s',5,-9223372036854775807)").is_empty());
    }

    #[test]
    fn delays_stay_within_the_window() {
        for (steps, values) in [
            ("2", vec![N, N, 11.0, 12.0, 13.0]),
            ("-2", vec![13.0, 14.0, 15.0, N, N]),
            ("9", vec![N; 5]),
            ("-9", vec![N; 5]),
            ("-9223372036854775807", vec![N; 5]),
            ("9223372036854775807", vec![N; 5]),
            ("0", vec![]),
        ] {
            let got = store().one(&format!("delay(a,{steps})"));
            assert_eq!(shown(&got), show(&values), "{steps}");
            assert_eq!((&*got.name, got.start), (format!("delay(a,{steps})").as_str(), 660));
            assert_eq!(tags(&got), format!("name=a delay={steps}"));
        }
    }

    #[test]
    fn daylight_saving_time_is_made_up_for() {
        // Berlin: summer time ended on 2024-10-27. The window is on the day after, the shift goes back one week.
        let noon = 1_730_113_200; // 2024-10-28 12:00 local
        let mut request = Request::new(noon, noon + 600, noon + 600);
        request.tz = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
        let store = Memory::new().with("a", 60, &[]).recording(request);
        store.run("timeShift(a,'7d',true,true)");
        let week = 7 * 86_400;
        assert!(store.windows().contains(&(noon - week - 3_600, noon + 600 - week - 3_600)));
    }
}
