//! A series as lines and areas in pixels.

use super::canvas::{Area, At};
use super::options::LineMode;
use super::ticks::Scale;
use crate::request::TimeRange;

/// A series at the resolution of the picture.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// Time of the first value.
    pub(super) start: i64,
    /// Seconds from one value to the next.
    pub(super) step: i64,
    /// NaN is null.
    pub(super) values: Vec<f64>,
}

/// Where times and values are on the picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) area: Area,
    /// From the first point to the last.
    pub(super) range: TimeRange,
    /// Pixels from the first point to the last: a little less than the area is wide.
    pub(super) length: f32,
    pub(super) scale: &'a Scale,
}

/// How points are joined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joining {
    pub(super) mode: LineMode,
    /// Longest gap that is joined when connecting.
    pub(super) limit: usize,
}

impl Frame<'_> {
    /// Where a point is. The first one is half of the spare room away from the edge.
    pub(super) fn x(&self, time: f64) -> f32 {
        let span = (self.range.until - self.range.from).max(1) as f64;
        let spare = (self.area.width() - self.length) / 2.0;
        self.area.left + spare + ((time - self.range.from as f64) / span) as f32 * self.length
    }

    /// Where a mark of the time axis is.
    pub(super) fn mark(&self, time: i64) -> f32 {
        self.x(time as f64)
    }

    /// Far outside the picture numbers lose their digits; nobody sees where exactly a line ends there.
    pub(super) fn y(&self, value: f64) -> f32 {
        let part = self.scale.part(value).clamp(-50.0, 50.0);
        self.area.bottom - part as f32 * self.area.height()
    }
}

impl Curve {
    /// Runs of points without a gap.
    pub(super) fn runs(&self, frame: Frame<'_>, joining: Joining) -> Vec<Vec<At>> {
        let mut runs: Vec<Vec<At>> = Vec::new();
        let mut gap = usize::MAX;
        for (i, &value) in self.values.iter().enumerate() {
            if !frame.scale.part(value).is_finite() {
                gap = gap.saturating_add(1);
                continue;
            }
            let joined = gap == 0 || (joining.mode == LineMode::Connected && gap <= joining.limit);
            if !joined || runs.is_empty() {
                runs.push(Vec::new());
            }
            let time = (self.start + i as i64 * self.step) as f64;
            let (x, y) = (frame.x(time), frame.y(value));
            if let Some(run) = runs.last_mut() {
                run.push((x, y));
                if joining.mode == LineMode::Staircase {
                    run.push((frame.x(time + self.step as f64), y));
                }
            }
            gap = 0;
        }
        runs.iter_mut().filter(|run| run.len() == 1).for_each(dot);
        runs
    }

    /// The areas between the curve and `floor`, which has a value for each of ours, or the ground.
    pub(super) fn areas(&self, frame: Frame<'_>, joining: Joining, floor: Option<&Curve>) -> Vec<Vec<At>> {
        let ground = frame.y(frame.scale.ground());
        let Some(floor) = floor else {
            let close = |mut run: Vec<At>| {
                if let (Some(&(first, _)), Some(&(last, _))) = (run.first(), run.last()) {
                    run.push((last, ground));
                    run.push((first, ground));
                }
                run
            };
            return self.runs(frame, joining).into_iter().map(close).collect();
        };
        // Where what lies below has no value there is nothing to stand on but the ground.
        let below = Curve { values: self.paired(floor, frame.scale.ground()), ..*self };
        let pairs = self.runs(frame, joining).into_iter().zip(below.runs(frame, joining));
        pairs.map(|(top, bottom)| top.into_iter().chain(bottom.into_iter().rev()).collect()).collect()
    }

    fn paired(&self, floor: &Curve, ground: f64) -> Vec<f64> {
        let under = |i: usize| floor.values.get(i).copied().filter(|v| !v.is_nan()).unwrap_or(ground);
        self.values.iter().enumerate().map(|(i, v)| if v.is_nan() { f64::NAN } else { under(i) }).collect()
    }

    /// Upright lines at each value that is there and not zero.
    pub(super) fn posts(&self, frame: Frame<'_>) -> Vec<Vec<At>> {
        let shown = |(i, value): (usize, &f64)| {
            let x = frame.x((self.start + i as i64 * self.step) as f64);
            (!value.is_nan() && *value != 0.0).then(|| vec![(x, frame.area.top), (x, frame.area.bottom)])
        };
        self.values.iter().enumerate().filter_map(shown).collect()
    }
}

/// A value between two nulls is a dash of a pixel, for it would be nothing otherwise.
fn dot(run: &mut Vec<At>) {
    if let Some(&(x, y)) = run.first() {
        *run = vec![(x - 0.5, y), (x + 0.5, y)];
    }
}

#[cfg(test)]
mod tests {
    use super::super::ticks::Wish;
    use super::super::units::UnitSystem;
    use super::*;

    const N: f64 = f64::NAN;

    fn runs(values: &[f64], mode: LineMode, limit: usize) -> Vec<usize> {
        let scale = Scale::new((0.0, 10.0), &Wish::default(), UnitSystem::Si);
        let area = Area { left: 0.0, top: 0.0, right: 100.0, bottom: 100.0 };
        let frame = Frame { area, range: TimeRange { from: 0, until: 100 }, length: 100.0, scale: &scale };
        let curve = Curve { start: 0, step: 10, values: values.to_vec() };
        curve.runs(frame, Joining { mode, limit }).iter().map(Vec::len).collect()
    }

    #[test]
    fn gaps_end_a_run_unless_they_are_joined() {
        let values = [1.0, 2.0, N, 3.0, N, N, 4.0];
        assert_eq!(runs(&values, LineMode::Slope, 0), [2, 2, 2]);
        assert_eq!(runs(&values, LineMode::Connected, usize::MAX), [4]);
        assert_eq!(runs(&values, LineMode::Connected, 1), [3, 2]);
        assert_eq!(runs(&[N, 1.0, 2.0], LineMode::Connected, usize::MAX), [2]);
        assert_eq!(runs(&[1.0, 2.0, N], LineMode::Staircase, 0), [4]);
        assert!(runs(&[N, N], LineMode::Slope, 0).is_empty());
    }
}
