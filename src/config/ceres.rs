//! `[ceres]` as the rest of the program sees it.

use super::settings::Settings;
use super::{ConfigError, raw};
use plumbago_model::Retention;

/// How metrics are aggregated for Ceres' clients.
#[derive(Clone, Debug)]
pub struct Ceres {
    /// Are the smallest and the largest values kept beside a metric?
    pub extremes: bool,
    /// What the names of counters end in.
    pub counter_suffixes: Vec<String>,
    /// How long ago a slot must have ended to be answered.
    pub settle_secs: i64,
    /// The width of the slots that settle together.
    pub slot_secs: i64,
    /// Step and span of each granularity, the finest first.
    granularities: Vec<(i64, i64)>,
}

impl Ceres {
    /// The granularity for a query that names none: the one that is kept shortest and still longer than what is asked for.
    pub fn granularity_for(&self, span: i64) -> i64 {
        let longest = self.granularities.last();
        let found = self.granularities.iter().find(|(_, kept)| *kept > span).or(longest);
        found.map_or(1, |(step, _)| *step)
    }

    pub(super) fn resolve(
        raw: raw::Ceres,
        retention: &Retention,
        settings: &Settings,
    ) -> Result<Self, ConfigError> {
        let stages = retention.stages();
        // The first stage has the points themselves, unless it is the only one.
        let coarse = stages.get(1..).filter(|coarse| !coarse.is_empty()).unwrap_or(stages);
        let granularities: Vec<(i64, i64)> = coarse
            .iter()
            .map(|stage| (stage.step_secs.into(), i64::try_from(stage.span_secs()).unwrap_or(i64::MAX)))
            .collect();
        let widest = granularities.last().map_or(1, |(step, _)| *step);
        let wanted = i64::try_from(raw.slot_width.0.as_secs()).unwrap_or(i64::MAX);
        let slot_secs = if wanted == 0 { widest } else { wanted };
        if let Some((step, _)) = granularities.iter().find(|(step, _)| slot_secs % step != 0) {
            let key = "ceres.slot_width".to_owned();
            let message = format!(
                "{slot_secs} seconds are no multiple of {step}, which is a granularity of kairosdb.retention; use a multiple of {widest}"
            );
            return Err(ConfigError::BadValue { at: settings.origin(&key), key, message });
        }
        Ok(Self {
            extremes: raw.extremes.0,
            counter_suffixes: raw.counter_suffixes.0,
            settle_secs: i64::try_from(raw.settle.0.as_secs()).unwrap_or(i64::MAX),
            slot_secs,
            granularities,
        })
    }
}

impl Default for Ceres {
    fn default() -> Self {
        Self {
            extremes: true,
            counter_suffixes: ["reads", "writes", "bytes"].map(str::to_owned).into(),
            settle_secs: 0,
            slot_secs: 3600,
            granularities: vec![(60, 30 * 86_400), (3600, 730 * 86_400)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_granularity_that_is_kept_long_enough_and_no_longer_answers() {
        let ceres = Ceres::default();
        assert_eq!(ceres.granularity_for(3600), 60);
        assert_eq!(ceres.granularity_for(40 * 86_400), 3600);
        assert_eq!(ceres.granularity_for(i64::MAX), 3600, "the longest, if none is kept that long");
    }
}
