//! `timeSlice`: only the values between two times.

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Value;
use crate::time::parse_time;

/// The first value counts as that of the window's start, which is before its stamp: that is how Graphite cuts.
pub(super) fn time_slice(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let (start, end) = (moment(&call, 1)?, moment(&call, 2)?);
    let from = call.context.range.from;
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.tags.set("timeSliceStart", start.to_string());
        s.tags.set("timeSliceEnd", end.to_string());
        s.name = format!("timeSlice({}, {start}, {end})", s.name).into();
        let step = s.step;
        for (value, time) in s.values_mut().iter_mut().zip((0_i64..).map(|i| from + i * step)) {
            if !(start..=end).contains(&time) {
                *value = f64::NAN;
            }
        }
    }
    Ok(series.into())
}

/// A time by the clock and in the zone of the request.
pub(super) fn moment(call: &Invocation<'_>, param: usize) -> Result<i64, RenderError> {
    let request = call.context.request();
    let time = parse_time(call.text(param), request.now, &request.tz);
    time.map_err(|error| RenderError::invalid(format!("{}: {error}", call.name())))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn values_outside_are_null() {
        let store = Memory::new().with("a", 60, &[1.0, 2.0, 3.0, 4.0]);
        let got = store.one("timeSlice(a,'60','120')");
        assert_eq!((&*got.name, &*got.path_expression), ("timeSlice(a, 60, 120)", "a"));
        assert_eq!(shown(&got), show(&[N, 2.0, 3.0, N]));
        assert_eq!(tags(&got), "name=a timeSliceStart=60 timeSliceEnd=120");
        // Until now, which the request says, and back from it.
        assert_eq!(&*store.one("timeSlice(a,'120')").name, "timeSlice(a, 120, 100000)");
        assert_eq!(&*store.one("timeSlice(a,'-1h','now')").name, "timeSlice(a, 96400, 100000)");
        assert!(store.error("timeSlice(a,'soon')").contains("timeSlice: `soon` is not a time"));
    }
}
