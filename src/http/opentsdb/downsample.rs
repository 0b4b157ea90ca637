//! Stretches of one series become points, and points become rates.

use super::aggregate::Function;
use super::time::millis;
use crate::kairosdb::Sample;

/// Points of a series by their milliseconds.
pub(super) type Points = Vec<(i64, f64)>;

/// How points become fewer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Downsample {
    /// The milliseconds of a stretch; all of the query in one if there are none.
    interval: Option<i64>,
    function: Function,
    fill: Option<f64>,
}

impl Downsample {
    /// Reads `10m-avg`, `1h-sum-zero`, `0all-max`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split('-');
        let (Some(interval), Some(function), fill, None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(format!("`{text}` is no downsampling: send something like 10m-avg or 1h-sum-zero"));
        };
        let interval = if interval == "0all" { None } else { Some(millis(interval.trim_end_matches('c'))?) };
        let fill = match fill.unwrap_or("none") {
            "none" => None,
            "nan" | "null" => Some(f64::NAN),
            "zero" => Some(0.0),
            other => return Err(format!("`{other}` is no fill policy; use none, nan, null or zero")),
        };
        Ok(Self { interval, function: Function::parse(function)?, fill })
    }

    /// The points of a series, each at the start of its stretch.
    pub(super) fn apply(&self, samples: &[Sample], (start, end): (i64, i64)) -> Points {
        let Some(interval) = self.interval else {
            return self.function.of(samples).map(|value| (start, value)).into_iter().collect();
        };
        let floor = |at: i64| at - at.rem_euclid(interval);
        let mut points = Points::new();
        for stretch in samples.chunk_by(|a, b| floor(a.at) == floor(b.at)) {
            let Some(at) = stretch.first().map(|first| floor(first.at)) else { continue };
            self.fill_up(&mut points, floor(start), at, interval);
            points.extend(self.function.of(stretch).map(|value| (at, value)));
        }
        if !points.is_empty() {
            self.fill_up(&mut points, floor(start), floor(end), interval);
        }
        points
    }

    fn fill_up(&self, points: &mut Points, start: i64, until: i64, interval: i64) {
        let Some(fill) = self.fill else { return };
        let mut next = points.last().map_or(start, |(at, _)| at + interval);
        while next < until {
            points.push((next, fill));
            next += interval;
        }
    }

    /// How many points it fills in at most.
    pub(super) fn filled(&self, (start, end): (i64, i64)) -> i64 {
        match (self.interval, self.fill) {
            (Some(interval), Some(_)) => end.saturating_sub(start) / interval,
            _ => 0,
        }
    }
}

/// How points become rates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rate {
    /// Does it begin again at 0 when it gets smaller?
    pub(super) counter: bool,
    /// What it reaches before that; endless if nothing is said.
    pub(super) most: Option<f64>,
    /// Rates beyond this are taken for resets, and become 0.
    pub(super) reset: Option<f64>,
    /// Are values after a reset left out?
    pub(super) drop_resets: bool,
}

impl Rate {
    /// The change of each point from the one before it, per second.
    pub(super) fn apply(&self, points: &Points) -> Points {
        let one = |pair: &[(i64, f64)]| {
            let [(before, old), (at, new)] = pair else { return None };
            let seconds = (at - before) as f64 / 1000.0;
            if !self.counter || new >= old {
                return self.checked(*at, (new - old) / seconds);
            }
            if self.drop_resets {
                return None;
            }
            self.checked(*at, (self.most.unwrap_or(u64::MAX as f64) - old + new) / seconds)
        };
        points.windows(2).filter_map(one).collect()
    }

    fn checked(&self, at: i64, rate: f64) -> Option<(i64, f64)> {
        let is_reset = self.counter && self.reset.is_some_and(|reset| reset > 0.0 && rate > reset);
        Some((at, if is_reset { 0.0 } else { rate }))
    }
}
