//! What go-carbon has not passed on to coarser archives yet.
//!
//! While a metric is written this makes no difference: the finer archive has the points. But a metric that ended has its last
//! points in the buffers for good, and they expire with the finer archive although the coarser one should have them.

use plumbago_model::Point;

use super::header::Info;
use super::put_in_order;
use crate::whisper::Header;
use crate::whisper::method::Method;

/// Adds to every archive what its finer ones owe it. `all` has the points of each archive, oldest first.
pub(super) fn pass_on(header: &Header, infos: &[Info], all: &mut [Vec<Point>]) {
    if header.method == Method::Mix {
        from_finest(header, infos, all);
    } else {
        from_buffers(header, infos, all);
    }
}

/// From archive to archive: a buffer holds the points of coarser slots that are not over.
fn from_buffers(header: &Header, infos: &[Info], all: &mut [Vec<Point>]) {
    let mut passed: Vec<Point> = Vec::new();
    for (pair, points) in infos.windows(2).zip(all.iter_mut().skip(1)) {
        let [fine, coarse] = pair else { continue };
        let mut waiting = [&passed[..], &fine.buffer].concat();
        put_in_order(&mut waiting);
        passed = Slots::new(header, fine, coarse).aggregate(&waiting);
        passed.retain(|new| points.binary_search_by_key(&new.timestamp, |old| old.timestamp).is_err());
        points.extend_from_slice(&passed);
        put_in_order(points);
    }
}

/// In a mix all archives are made from the finest one, many slots at a time.
fn from_finest(header: &Header, infos: &[Info], all: &mut [Vec<Point>]) {
    let (Some((fine, coarser)), Some((points, others))) = (infos.split_first(), all.split_first_mut()) else {
        return;
    };
    for (coarse, known) in coarser.iter().zip(others) {
        let next =
            known.last().map_or(0, |last| u64::from(last.timestamp) + u64::from(coarse.stage.step_secs));
        let from = points.partition_point(|point| u64::from(point.timestamp) < next);
        let waiting = points.get(from..).unwrap_or_default();
        known.extend(Slots::new(header, fine, coarse).aggregate(waiting));
    }
}

/// How points become coarser ones.
struct Slots {
    method: Method,
    step: u32,
    /// Fine slots in a coarse one.
    slots: u32,
    x_files_factor: f64,
}

impl Slots {
    fn new(header: &Header, fine: &Info, coarse: &Info) -> Self {
        Self {
            method: coarse.method,
            step: coarse.stage.step_secs,
            slots: coarse.stage.step_secs / fine.stage.step_secs,
            x_files_factor: header.x_files_factor,
        }
    }

    /// One point for each slot of which enough is known. The points are in order.
    fn aggregate(&self, points: &[Point]) -> Vec<Point> {
        let slot = |point: &Point| point.timestamp - point.timestamp % self.step;
        let mut coarse = Vec::new();
        for group in points.chunk_by(|a, b| slot(a) == slot(b)) {
            let mut values: Vec<f64> = group.iter().map(|point| point.value).collect();
            // In 32 bits, as go-carbon compares.
            let enough = values.len() as f32 / self.slots as f32 >= self.x_files_factor as f32;
            let value = if enough { self.method.apply(&mut values) } else { None };
            coarse.extend(
                group.first().zip(value).map(|(first, value)| Point { timestamp: slot(first), value }),
            );
        }
        coarse
    }
}
