//! Values of an interval become one.

use super::Invocation;
use super::align::{Unit, aligned};
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::Call;
use crate::request::{Request, TimeRange};
use crate::series::Series;
use crate::series::aggregate::Aggregation;
use crate::time::parse_offset_secs;

pub(super) fn summarize(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let (interval_text, function) = (call.text(1).to_owned(), call.text(2).to_owned());
    let align_to_from = call.flag(3);
    let interval = positive_interval(&call, &interval_text)?;
    let aggregation = Aggregation::named(&function)?;
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        let (start, end) = if align_to_from {
            (s.start, s.end)
        } else {
            (s.start - s.start.rem_euclid(interval), s.end - s.end.rem_euclid(interval) + interval)
        };
        call.context.charge(usize::try_from((end - start) / interval).unwrap_or(0))?;
        let (values, buckets_end) = buckets(s, aggregation, interval, start, end);
        s.tags.set("summarize", interval_text.as_str());
        s.tags.set("summarizeFunction", function.as_str());
        let aligned = if align_to_from { ", true" } else { "" };
        s.rename(format!("summarize({}, \"{interval_text}\", \"{function}\"{aligned})", s.name));
        s.values = values.into();
        (s.start, s.end, s.step) = (start, if align_to_from { buckets_end } else { end }, interval);
    }
    Ok(series.into())
}

/// Buckets count from the first stamp; `alignTo` moves that back to the start of a minute, an hour and so on.
pub(super) fn smart_summarize(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let (interval_text, function) = (call.text(1).to_owned(), call.text(2).to_owned());
    let interval = positive_interval(&call, &interval_text)?;
    let aggregation = Aggregation::named(&function)?;
    let mut series = match smart_unit(call.is_given(3).then(|| call.text(3)))? {
        None => call.series(0),
        Some(unit) => {
            let range = aligned(call.context.range, unit, &call.context.request().tz);
            call.context.at(range).evaluate_series(call.first_expr()?)?
        }
    };
    for s in &mut series {
        call.is_wanted()?;
        call.context.charge(usize::try_from((s.end - s.start) / interval).unwrap_or(0))?;
        let (values, end) = buckets(s, aggregation, interval, s.start, s.end);
        s.tags.set("smartSummarize", interval_text.as_str());
        s.tags.set("smartSummarizeFunction", function.as_str());
        s.rename(format!("smartSummarize({}, \"{interval_text}\", \"{function}\")", s.name));
        s.values = values.into();
        (s.end, s.step) = (end, interval);
    }
    Ok(series.into())
}

/// Where the plan finds the first argument, if there is something to align to.
pub(super) fn smart_reach(call: &Call, range: TimeRange, request: &Request) -> Vec<TimeRange> {
    let unit = smart_unit(call.text(3, "alignTo")).unwrap_or_default();
    unit.map(|unit| aligned(range, unit, &request.tz)).into_iter().collect()
}

/// `true` and `false` have meant something else once and are passed over.
fn smart_unit(align_to: Option<&str>) -> Result<Option<Unit>, RenderError> {
    match align_to {
        None | Some("True" | "False") => Ok(None),
        Some(text) => Unit::named(text).map(Some),
    }
}

/// In seconds.
pub(super) fn positive_interval(call: &Invocation<'_>, text: &str) -> Result<i64, RenderError> {
    let interval = parse_offset_secs(text)?;
    if interval < 1 {
        let function = call.name();
        return Err(RenderError::invalid(format!("{function} needs a positive interval, not '{text}'")));
    }
    Ok(interval)
}

/// One value for each interval from `start` on, until `end` is reached; and the end of the last one. A bucket counts when
/// its known values reach the series' xFilesFactor of those that fit in.
pub(super) fn buckets(
    series: &Series,
    aggregation: Aggregation,
    interval: i64,
    start: i64,
    end: i64,
) -> (Vec<f64>, i64) {
    let step = series.step.max(1);
    // Values beyond the end of the series have no stamp.
    let stamped = usize::try_from((series.end - series.start + step - 1) / step).unwrap_or(0);
    let values = &series.values[..stamped.min(series.values.len())];
    let capacity = interval as f64 / step as f64;
    let mut result = Vec::new();
    let mut next = 0;
    let mut from = start;
    while from < end {
        let bucket_end = from + interval;
        let begin = next;
        // Stamps are start + i * step: the first one at or behind the end of the bucket.
        let behind = ((bucket_end - series.start).max(0) + step - 1) / step;
        next = usize::try_from(behind).unwrap_or(usize::MAX).clamp(begin, values.len().max(begin));
        let bucket = &values[begin.min(values.len())..next.min(values.len())];
        let known = bucket.iter().filter(|v| !v.is_nan()).count();
        let enough = known > 0 && known as f64 / capacity >= series.x_files_factor;
        result.push(if enough { aggregation.of(bucket) } else { f64::NAN });
        from = bucket_end;
    }
    (result, from)
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    fn store() -> Memory {
        // Stamps 60, 120, ... 600.
        Memory::new().with("a", 60, &[1.0, 2.0, 3.0, N, 5.0, N, N, N, N, 10.0]).over(0, 600)
    }

    #[test]
    fn buckets_are_aligned_to_the_epoch() {
        let got = store().one("summarize(a,\"3min\")");
        assert_eq!(&*got.name, "summarize(a, \"3min\", \"sum\")");
        assert_eq!((got.start, got.end, got.step), (0, 720, 180));
        assert_eq!(shown(&got), show(&[3.0, 8.0, N, 10.0]));
        assert_eq!(tags(&got), "name=a summarize=3min summarizeFunction=sum");
        let got = store().one("summarize(a,'5min','avg')");
        assert_eq!((shown(&got), got.end), (show(&[2.0, 5.0, 10.0]), 900));
    }

    #[test]
    fn or_to_the_first_stamp() {
        let got = store().one("summarize(a,'4min','last',true)");
        assert_eq!(&*got.name, "summarize(a, \"4min\", \"last\", true)");
        assert_eq!((got.start, got.end, got.step, shown(&got)), (60, 780, 240, show(&[3.0, 5.0, 10.0])));
    }

    #[test]
    fn the_series_x_files_factor_counts_against_the_interval() {
        let got =
            |xff: &str| shown(&store().one(&format!("summarize(setXFilesFactor(a,{xff}),'3min','max')")));
        assert_eq!(got("0.6"), show(&[2.0, 5.0, N, N]));
        assert_eq!(got("0.7"), show(&[N; 4]));
        assert_eq!(
            shown(&store().one("summarize(a,'90s','count')")),
            show(&[1.0, 1.0, 1.0, 1.0, N, N, 1.0, N])
        );
    }

    #[test]
    fn smart_buckets_begin_with_the_series_or_with_an_hour() {
        let got = store().one("smartSummarize(a,'4min','max')");
        assert_eq!(&*got.name, "smartSummarize(a, \"4min\", \"max\")");
        assert_eq!((got.start, got.end, got.step, shown(&got)), (60, 780, 240, show(&[3.0, 5.0, 10.0])));
        assert_eq!(tags(&got), "name=a smartSummarize=4min smartSummarizeFunction=max");
        let late = store().over(330, 600);
        let got = late.one("smartSummarize(a,'5min',alignTo='hours')");
        assert_eq!((got.start, shown(&got)), (60, show(&[11.0, 10.0])));
        assert_eq!((late.batches(), late.windows().contains(&(0, 600))), (1, true));
        for ignored in ["true", "false", "none"] {
            let target = format!("smartSummarize(a,'5min','sum',{ignored})");
            assert_eq!(late.one(&target).start, 360);
        }
        assert!(store().error("smartSummarize(a,'5min','sum','1h')").contains("nothing to align to"));
        assert!(store().error("smartSummarize(a,'0s')").contains("smartSummarize needs a positive interval"));
        assert!(store().limited(100).error("smartSummarize(a,'1s')").contains("query.max_points"));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(
            store()
                .error("summarize(a,'5min','sumSeries')")
                .contains("Unsupported aggregation function: sumSeries")
        );
        assert!(store().error("summarize(a,'5x')").contains("Invalid \"interval\" value"));
        assert!(store().error("summarize(a,'0s')").contains("positive interval"));
        assert!(store().error("summarize(a,'-1h')").contains("positive interval"));
        let wide = Memory::new().with("a", 60, &[1.0; 10]).over(0, 600).limited(100);
        assert!(wide.error("summarize(a,'1s')").contains("query.max_points"));
    }
}
