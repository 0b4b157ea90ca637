//! Values of an interval become one.

use super::Invocation;
use crate::render::aggregate::Aggregation;
use crate::render::error::RenderError;
use crate::render::interval::parse_offset_secs;
use crate::render::series::Series;
use crate::render::value::Value;

pub(super) fn summarize(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let (interval_text, function) = (call.text(1).to_owned(), call.text(2).to_owned());
    let align_to_from = call.flag(3);
    let interval = parse_offset_secs(&interval_text)?;
    if interval < 1 {
        return Err(RenderError::invalid(format!(
            "summarize needs a positive interval, not '{interval_text}'"
        )));
    }
    let aggregation = Aggregation::named(&function)?;
    let mut series = call.series(0);
    for s in &mut series {
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
    use super::super::testing::*;

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
    fn mistakes_are_named() {
        assert!(
            store()
                .error("summarize(a,'5min','sumSeries')")
                .contains("Unsupported aggregation function: sumSeries")
        );
        assert!(store().error("summarize(a,'5m')").contains("Invalid \"interval\" value"));
        assert!(store().error("summarize(a,'0s')").contains("positive interval"));
        assert!(store().error("summarize(a,'-1h')").contains("positive interval"));
        let wide = Memory::new().with("a", 60, &[1.0; 10]).over(0, 600).limited(100);
        assert!(wide.error("summarize(a,'1s')").contains("query.max_points"));
    }
}
