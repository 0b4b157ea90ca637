//! Series of another time, shown at this one.

use super::Invocation;
use crate::render::context::{Context, TimeRange};
use crate::render::error::RenderError;
use crate::render::expr::{Call, Expr, Literal};
use crate::render::interval::parse_offset_secs;
use crate::render::value::Value;

/// Where the plan finds the first argument, if the shift is written out and daylight saving time is left alone.
pub(super) fn reach(call: &Call, range: TimeRange) -> Option<TimeRange> {
    let text = match call.args.get(1).or_else(|| keyword(call, "timeShift"))? {
        Expr::Literal(Literal::Text(text)) => text,
        _ => return None,
    };
    if call.args.len() > 3 || call.kwargs.iter().any(|(key, _)| key.eq_ignore_ascii_case("alignDST")) {
        return None;
    }
    Some(range.shifted(parse_offset_secs(&signed(text)).ok()?))
}

fn keyword<'c>(call: &'c Call, name: &str) -> Option<&'c Expr> {
    call.kwargs.iter().find(|(key, _)| key == name).map(|(_, value)| value)
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

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use crate::render::context::Request;

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
