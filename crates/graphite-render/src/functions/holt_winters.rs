//! Holt-Winters: a forecast from level, slope and season, and how far the values stray from it.

use ahash::AHashMap;

use super::Invocation;
use super::machinery::key::slice;
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::{Call, Expr};
use crate::request::{Request, TimeRange};
use crate::series::Series;
use crate::series::consolidate::Consolidation;
use crate::time::parse_offset_secs;

/// How much of each new value goes into level and season, and into the slope.
const LEVEL: f64 = 0.1;
const SEASON: f64 = 0.1;
const SLOPE: f64 = 0.0035;

pub(super) fn forecast(call: Invocation<'_>) -> Result<Value, RenderError> {
    let analyses = analyses(&call, 1)?;
    let forecast = |Analysis { series: mut s, predictions, .. }: Analysis| {
        s.rename(format!("holtWintersForecast({})", s.name));
        s.values = predictions.into();
        s
    };
    Ok(analyses.into_iter().map(forecast).collect::<Vec<_>>().into())
}

pub(super) fn confidence_bands(call: Invocation<'_>) -> Result<Value, RenderError> {
    let bands = bands(&call)?;
    Ok(bands.into_iter().flat_map(|Bands { lower, upper }| [lower, upper]).collect::<Vec<_>>().into())
}

/// Both bands under one name, which comes from the path expression.
pub(super) fn confidence_area(call: Invocation<'_>) -> Result<Value, RenderError> {
    let bands = bands(&call)?;
    let count = bands.len();
    let Ok([Bands { lower, upper }]) = <[Bands; 1]>::try_from(bands) else {
        return Err(RenderError::invalid(format!(
            "holtWintersConfidenceArea takes exactly one series, but its argument has {count}"
        )));
    };
    let area = |mut s: Series| {
        let path = s.path_expression.replace("areaBetween", "holtWintersConfidenceArea");
        s.tags.set("holtWintersConfidenceArea", "1");
        s.rename(format!("holtWintersConfidenceArea({path})"));
        s
    };
    Ok(vec![area(lower), area(upper)].into())
}

/// By how much each value is above the upper band or below the lower one.
pub(super) fn aberration(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    let bands: AHashMap<String, Bands> =
        bands(&call)?.into_iter().map(|bands| (bands.lower.name.to_string(), bands)).collect();
    for s in &mut series {
        call.is_wanted()?;
        let found = bands.get(&lower_name(&s.name)).ok_or_else(|| {
            RenderError::invalid(format!("holtWintersAberration finds no band for `{}`", s.name))
        })?;
        let edge = |band: &Series, at: usize| band.values.get(at).copied().unwrap_or(f64::NAN);
        let beyond = |(at, &value): (usize, &f64)| match (edge(&found.lower, at), edge(&found.upper, at)) {
            (_, upper) if value > upper => value - upper,
            (lower, _) if value < lower => value - lower,
            _ => 0.0,
        };
        s.values = s.values.iter().enumerate().map(beyond).collect();
        s.tags.set("holtWintersAberration", "1");
        s.rename(format!("holtWintersAberration({})", s.name));
        s.consolidation = Consolidation::default();
    }
    Ok(series.into())
}

/// Where the plan finds the first argument of the forecast.
pub(super) fn forecast_reach(call: &Call, range: TimeRange, _: &Request) -> Vec<TimeRange> {
    reach(call, 1, range)
}

/// The same for the others, which have a delta before the bootstrap interval.
pub(super) fn bands_reach(call: &Call, range: TimeRange, _: &Request) -> Vec<TimeRange> {
    reach(call, 2, range)
}

fn reach(call: &Call, bootstrap: usize, range: TimeRange) -> Vec<TimeRange> {
    let text = match call.argument(bootstrap, "bootstrapInterval") {
        None => Some("7d"),
        Some(Expr::Literal(_)) => call.text(bootstrap, "bootstrapInterval"),
        Some(_) => None,
    };
    let secs = text.and_then(|text| parse_offset_secs(text).ok());
    secs.map(|secs| range.extended(secs)).into_iter().collect()
}

/// Lower and upper edge of where values are expected.
struct Bands {
    lower: Series,
    upper: Series,
}

fn lower_name(series: &str) -> String {
    format!("holtWintersConfidenceLower({series})")
}

/// As many deviations off the forecast as the delta says. The bands keep the path expression of their series.
fn bands(call: &Invocation<'_>) -> Result<Vec<Bands>, RenderError> {
    let delta = call.float_or(1, 3.0);
    let bands = |Analysis { mut series, predictions, deviations }: Analysis| {
        series.tags.set("holtWintersConfidenceUpper", "1");
        series.tags.set("holtWintersConfidenceLower", "1");
        let band = |name: String, sign: f64| {
            let edge = |(forecast, deviation): (&f64, &f64)| forecast + sign * (delta * deviation);
            let values = predictions.iter().zip(&deviations).map(edge).collect();
            Series { name: name.into(), values, ..series.clone() }
        };
        Bands {
            lower: band(lower_name(&series.name), -1.0),
            upper: band(format!("holtWintersConfidenceUpper({})", series.name), 1.0),
        }
    };
    Ok(analyses(call, 2)?.into_iter().map(bands).collect())
}

/// A series over the window of the call, without its values, and what was made of them.
struct Analysis {
    series: Series,
    predictions: Vec<f64>,
    deviations: Vec<f64>,
}

/// The first argument is evaluated with a time to learn from, which is cut off afterwards.
fn analyses(call: &Invocation<'_>, bootstrap: usize) -> Result<Vec<Analysis>, RenderError> {
    let preview = parse_offset_secs(call.text(bootstrap))?;
    let season = parse_offset_secs(call.text(bootstrap + 1))?;
    let context = call.context.at(call.context.range.extended(preview));
    let series = context.evaluate_series(call.first_expr()?)?;
    let analyse = |mut series: Series| {
        call.is_wanted()?;
        let (predictions, deviations) = analysed(&series.values, season.div_euclid(series.step.max(1)))?;
        let kept = slice(preview.div_euclid(series.step.max(1)), None, predictions.len());
        let cut = |values: &[f64]| values.get(kept.clone()).unwrap_or_default().to_vec();
        series.tags.set("holtWintersForecast", "1");
        series.tags.set("holtWintersDeviation", "1");
        series.values = Vec::new().into();
        series.start += preview;
        series.consolidation = Consolidation::default();
        Ok(Analysis { series, predictions: cut(&predictions), deviations: cut(&deviations) })
    };
    series.into_iter().map(analyse).collect()
}

/// For each value what was expected of it, and how far it strayed. A null forgets the level, and nothing is expected of
/// the value after it.
fn analysed(values: &[f64], season: i64) -> Result<(Vec<f64>, Vec<f64>), RenderError> {
    let season = usize::try_from(season).ok().filter(|&points| points > 1);
    let (mut predictions, mut deviations) = (Vec::with_capacity(values.len()), Vec::new());
    let mut seasonals: Vec<f64> = Vec::with_capacity(values.len());
    let (mut level, mut slope, mut expected) = (f64::NAN, 0.0, values.first().copied().unwrap_or(f64::NAN));
    for (at, &value) in values.iter().enumerate() {
        predictions.push(expected);
        if value.is_nan() {
            (level, slope, expected) = (f64::NAN, 0.0, f64::NAN);
            seasonals.push(0.0);
            deviations.push(0.0);
            continue;
        }
        let season = season.ok_or_else(|| {
            RenderError::invalid("the seasonality of Holt-Winters functions must be at least two steps long")
        })?;
        let a_season_before = |list: &[f64], at: usize| at.checked_sub(season).map_or(0.0, |at| list[at]);
        let (seasonal, deviation) = (a_season_before(&seasonals, at), a_season_before(&deviations, at));
        let last_level = if level.is_nan() { value } else { level };
        level = LEVEL * (value - seasonal) + (1.0 - LEVEL) * (last_level + slope);
        slope = SLOPE * (level - last_level) + (1.0 - SLOPE) * slope;
        let strayed = (value - if expected.is_nan() { 0.0 } else { expected }).abs();
        expected = level + slope + a_season_before(&seasonals, at + 1);
        seasonals.push(SEASON * (value - level) + (1.0 - SEASON) * seasonal);
        deviations.push(SEASON * strayed + (1.0 - SEASON) * deviation);
    }
    Ok((predictions, deviations))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    fn store() -> Memory {
        let minutes: Vec<f64> = (0..40).map(|m| if m == 33 { 90.0 } else { f64::from(m % 5) }).collect();
        Memory::new().with("a", 60, &minutes).with("b", 60, &minutes).over(1800, 2400)
    }

    #[test]
    fn the_time_to_learn_from_is_cut_off() {
        let got = store().one("holtWintersForecast(a,'30min','5min')");
        assert_eq!(
            (&*got.name, got.start, got.end, got.values.len()),
            ("holtWintersForecast(a)", 1860, 2460, 10)
        );
        assert_eq!(tags(&got), "name=a holtWintersForecast=1 holtWintersDeviation=1");
        let asked = store().over(1800, 2400);
        asked.run("holtWintersForecast(a,seasonality='5min',bootstrapInterval='30min')");
        assert_eq!((asked.batches(), asked.windows().contains(&(0, 2400))), (1, true));
    }

    #[test]
    fn bands_lie_around_the_forecast() {
        let got = store().run("holtWintersConfidenceBands(a,2,'30min','5min')");
        assert_eq!(names(&got), ["holtWintersConfidenceLower(a)", "holtWintersConfidenceUpper(a)"]);
        let forecast = store().one("holtWintersForecast(a,'30min','5min')");
        for ((low, high), middle) in got[0].values.iter().zip(&*got[1].values).zip(&*forecast.values) {
            assert!(low < middle && middle < high);
        }
        let area = store().run("holtWintersConfidenceArea(a,2,'30min','5min')");
        assert_eq!(names(&area), ["holtWintersConfidenceArea(a)"; 2]);
        assert!(
            store().error("holtWintersConfidenceArea({a,b},2,'30min','5min')").contains("exactly one series")
        );
    }

    #[test]
    fn what_sticks_out_is_an_aberration() {
        let got = store().one("holtWintersAberration(a,3,'30min','5min')");
        let out: Vec<usize> =
            got.values.iter().enumerate().filter(|(_, v)| **v > 50.0).map(|(at, _)| at).collect();
        assert_eq!(out, [3]);
    }

    #[test]
    fn a_season_has_two_steps_or_more() {
        assert!(store().error("holtWintersForecast(a,'30min','1min')").contains("at least two steps"));
        assert!(store().error("holtWintersForecast(a,'30min','-1h')").contains("at least two steps"));
        assert!(store().run("holtWintersForecast(nothing,'30min','1min')").is_empty());
    }
}
