//! `linearRegression`: the straight line that fits a series best.

use super::Invocation;
use super::time_slice::moment;
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::Call;
use crate::request::{Request, TimeRange};
use crate::series::Series;
use crate::series::consolidate::Consolidation;
use crate::time::parse_time;

/// The line fits the data of a window of its own if one is given. Series of which there is no line are left out.
pub(super) fn linear_regression(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut range = call.context.range;
    if call.is_given(1) {
        range.from = moment(&call, 1)?;
    }
    if call.is_given(2) {
        range.until = moment(&call, 2)?;
    }
    let sources = call.context.at(range).evaluate_series(call.first_expr()?)?;
    let TimeRange { from, until } = range;
    let line = |(source, mut s): (Series, Series)| {
        let line = Line::through(&source)?;
        s.tags.set("linearRegressions", format!("{from}, {until}"));
        s.rename(format!("linearRegression({}, {from}, {until})", s.name));
        s.consolidation = Consolidation::default();
        let (start, step) = (s.start, s.step);
        s.values = (0..s.values.len() as i64).map(|i| line.at(start + i * step)).collect();
        Some(s)
    };
    let series = call.series(0);
    Ok(sources.into_iter().zip(series).filter_map(line).collect::<Vec<_>>().into())
}

/// Where the plan finds the first argument.
pub(super) fn reach(call: &Call, range: TimeRange, request: &Request) -> Vec<TimeRange> {
    let moment = |position: usize, name: &str, otherwise: i64| match call.text(position, name) {
        None => Some(otherwise),
        Some(text) => parse_time(text, request.now, &request.tz).ok(),
    };
    let from = moment(1, "startSourceAt", range.from);
    let until = moment(2, "endSourceAt", range.until);
    from.zip(until).map(|(from, until)| TimeRange { from, until }).into_iter().collect()
}

/// A value for each time.
struct Line {
    slope: f64,
    origin: f64,
}

impl Line {
    /// By least squares. Places are whole numbers and are added up as such, so that the divisor is exact.
    fn through(series: &Series) -> Option<Self> {
        let (mut count, mut places, mut place_squares) = (0_i128, 0_i128, 0_i128);
        let (mut values, mut products) = (0.0, 0.0);
        for (place, &value) in (0_i128..).zip(series.values.iter()).filter(|(_, value)| !value.is_nan()) {
            count += 1;
            places += place;
            place_squares += place * place;
            values += value;
            products += place as f64 * value;
        }
        let divisor = count * place_squares - places * places;
        if divisor == 0 {
            return None;
        }
        let divisor = divisor as f64;
        let slope = (count as f64 * products - places as f64 * values) / divisor / series.step as f64;
        let first = (place_squares as f64 * values - products * places as f64) / divisor;
        Some(Self { slope, origin: first - slope * series.start as f64 })
    }

    fn at(&self, time: i64) -> f64 {
        self.origin + time as f64 * self.slope
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    fn store() -> Memory {
        let minutes: Vec<f64> = (1..=20).map(|m| if m == 13 { N } else { f64::from(m) }).collect();
        Memory::new().with("s.line", 60, &minutes).with("s.none", 60, &[]).over(600, 900)
    }

    #[test]
    fn the_line_goes_on_where_there_is_no_data() {
        let got = store().one("linearRegression(s.*)");
        assert_eq!(&*got.name, "linearRegression(s.line, 600, 900)");
        assert_eq!(tags(&got), "name=s.line linearRegressions=600, 900");
        assert!(got.values.iter().zip(11..).all(|(v, m)| (v - f64::from(m)).abs() < 1e-9));
        let got = store().over(1200, 1500).one("linearRegression(s.*,'300','900')");
        assert_eq!((&*got.name, got.values.len()), ("linearRegression(s.line, 300, 900)", 5));
        assert!((got.values[4] - 25.0).abs() < 1e-9);
    }

    #[test]
    fn the_source_comes_in_the_same_batch() {
        let store = store();
        store.run("linearRegression(s.*,startSourceAt='300')");
        assert_eq!((store.batches(), store.windows().contains(&(300, 900))), (1, true));
        assert!(store.error("linearRegression(s.*,'soon')").contains("linearRegression: `soon`"));
        assert!(store.run("linearRegression(nothing)").is_empty());
    }
}
