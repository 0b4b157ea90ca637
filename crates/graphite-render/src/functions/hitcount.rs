//! `hitcount`: how much happened in each interval, when the values say how much happens in a second.

use super::Invocation;
use super::align::{Unit, aligned};
use super::summarize::positive_interval;
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::{Call, Expr, Literal};
use crate::request::{Request, TimeRange};
use crate::series::Series;
use crate::time::parse_offset_secs;

/// Intervals are counted back from the end of the series, or on from the start of a minute, hour or day.
pub(super) fn hitcount(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let text = call.text(1).to_owned();
    let interval = positive_interval(&call, &text)?;
    let align = call.flag(2);
    let mut series = if align {
        let range = aligned(call.context.range, unit(interval), &call.context.request().tz);
        call.context.at(range).evaluate_series(call.first_expr()?)?
    } else {
        call.series(0)
    };
    for s in &mut series {
        call.is_wanted()?;
        if align {
            s.end = s.start + (s.end - s.start).div_euclid(interval) * interval + interval;
        }
        let buckets = usize::try_from((s.end - s.start + interval - 1).div_euclid(interval)).unwrap_or(0);
        call.context.charge(buckets)?;
        let start = s.end - buckets as i64 * interval;
        s.values = hits(s, start, interval, buckets).into();
        s.tags.set("hitcount", text.as_str());
        let aligned = if align { ", true" } else { "" };
        s.rename(format!("hitcount({}, \"{text}\"{aligned})", s.name));
        (s.start, s.step) = (start, interval);
    }
    Ok(series.into())
}

/// Where the plan finds the first argument, if intervals are to be aligned.
pub(super) fn reach(call: &Call, range: TimeRange, request: &Request) -> Vec<TimeRange> {
    let align = matches!(call.argument(2, "alignToInterval"), Some(Expr::Literal(Literal::Bool(true))));
    let interval = call.text(1, "intervalString").and_then(|text| parse_offset_secs(text).ok());
    let aligned = |interval| aligned(range, unit(interval), &request.tz);
    interval.filter(|_| align).map(aligned).into_iter().collect()
}

fn unit(interval: i64) -> Unit {
    match interval {
        86_400.. => Unit::Day,
        3_600.. => Unit::Hour,
        60.. => Unit::Minute,
        _ => Unit::Second,
    }
}

/// Each value holds for its step, and is shared out among the intervals by the seconds it spends in each.
fn hits(series: &Series, start: i64, interval: i64, buckets: usize) -> Vec<f64> {
    let mut hits = vec![f64::NAN; buckets];
    let end = start + buckets as i64 * interval;
    let mut from = series.start;
    for &value in series.values.iter() {
        let until = (from + series.step).min(end);
        let mut at = from;
        while !value.is_nan() && at < until {
            let bucket = (at - start) / interval;
            let next = (start + (bucket + 1) * interval).min(until);
            if let Some(sum) = usize::try_from(bucket).ok().and_then(|bucket| hits.get_mut(bucket)) {
                let before = if sum.is_nan() { 0.0 } else { *sum };
                *sum = before + value * (next - at) as f64;
            }
            at = next;
        }
        from += series.step;
    }
    hits
}

#[cfg(test)]
mod tests {
    use crate::request::Request;
    use crate::testing::*;

    fn store() -> Memory {
        // Stamps 60, 120, ... 600.
        Memory::new().with("a", 60, &[1.0, 2.0, 3.0, N, 5.0, N, N, N, N, 10.0]).over(0, 600)
    }

    #[test]
    fn intervals_end_where_the_series_ends() {
        let got = store().one("hitcount(a,'4min')");
        assert_eq!((&*got.name, tags(&got).as_str()), ("hitcount(a, \"4min\")", "name=a hitcount=4min"));
        assert_eq!((got.start, got.end, got.step), (-60, 660, 240));
        assert_eq!(shown(&got), show(&[180.0, 480.0, 600.0]));
        // Seven intervals of 90 s end at 660 and begin at 30: most values are shared between two of them.
        let got = store().one("hitcount(a,'90s')");
        assert_eq!((shown(&got), got.start), (show(&[60.0, 210.0, 90.0, 300.0, N, N, 600.0]), 30));
    }

    #[test]
    fn or_begin_with_the_minute() {
        let store = store().over(150, 600);
        let got = store.one("hitcount(a,'2min',true)");
        assert_eq!(&*got.name, "hitcount(a, \"2min\", true)");
        // From 120 on, so the first stamp is 180.
        assert_eq!((got.start, got.step), (180, 120));
        assert_eq!((store.batches(), store.windows().contains(&(120, 600))), (1, true));
    }

    #[test]
    fn days_are_those_of_the_request() {
        let mut request = Request::new(100_000, 200_000, 200_000);
        request.tz = jiff::tz::TimeZone::get("Asia/Tokyo").unwrap();
        let store = Memory::new().with("a", 60, &[]).recording(request);
        store.run("hitcount(a,'1d',true)");
        assert!(store.windows().contains(&(54_000, 200_000)));
    }

    #[test]
    fn work_is_bounded() {
        assert!(store().limited(100).error("hitcount(a,'1s')").contains("query.max_points"));
        assert!(store().error("hitcount(a,'0s')").contains("hitcount needs a positive interval"));
        assert!(store().error("hitcount(a,'-1min')").contains("hitcount needs a positive interval"));
    }
}
