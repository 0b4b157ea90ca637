//! Giving metrics other names. Their points stay where they are: points belong to the id, and the id stays.

use super::points::{Points, PointsError};
use crate::log::encode_renamed;
use plumbago_model::MetricId;

impl Points {
    /// Gives metrics other names, in the log and in the catalogue. It is durable when this returns.
    ///
    /// The caller makes sure that no metric is created meanwhile, and that nobody has these names.
    pub fn rename(&self, names: &[(MetricId, String)]) -> Result<(), PointsError> {
        if names.is_empty() {
            return Ok(());
        }
        let _no_cut = self.cutting.lock();
        // Only a metric that the catalogue has can get another name there.
        self.record_names()?;
        let mut frame = Vec::new();
        encode_renamed(names, &mut frame);
        // The log goes first: it tells the creations before it from those of metrics that get the old names later.
        self.log().append(&frame)?;
        self.sync()?;
        Ok(self.catalogue().rename(names)?)
    }

    /// Writes all points in memory to the store, and gives a mark for [`Points::begin_quiet_deletion`].
    pub fn cut_to_mark(&self) -> Result<u64, PointsError> {
        self.cut_all()?;
        Ok(self.store().snapshot().position().log_floor)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, HOUR, METRIC};

    #[test]
    fn a_metric_that_receives_a_point_is_not_deleted() {
        let bench = Bench::new("360*10s:600*60s|sum|0");
        bench.append(HOUR, 1.0);
        let mark = bench.points.cut_to_mark().unwrap();
        bench.append(HOUR + 10, 1.0);
        let gone = |mark| {
            let deletion = bench.points.begin_quiet_deletion(METRIC, mark).unwrap();
            let gone = !deletion.metrics().is_empty();
            deletion.finish().unwrap();
            gone
        };
        assert!(!gone(mark), "the point is in memory");
        bench.points.cut().unwrap();
        assert!(!gone(mark), "the point is in a block by now");
        assert!(gone(bench.points.cut_to_mark().unwrap()));
        assert_eq!(bench.points.state(METRIC), None);
    }
}
