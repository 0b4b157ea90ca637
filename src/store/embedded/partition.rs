//! Time partitions: the unit that is expired and merged as a whole.

use plumbago_model::Stage;

const HOUR: u32 = 3600;
const DAY: u32 = 24 * HOUR;
const LENGTHS: [u32; 6] = [HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY];
/// A chunk this long compresses well and still decodes in microseconds.
const ENOUGH_SLOTS: u32 = 700;

/// Seconds in a partition of `stage`: the shortest length with enough slots. It depends on the step alone, so it need
/// not be stored.
pub(super) fn partition_secs(stage: Stage) -> u32 {
    let fits = |&&secs: &&u32| secs / stage.step_secs >= ENOUGH_SLOTS;
    let length = LENGTHS.iter().find(fits).copied().unwrap_or(LENGTHS[LENGTHS.len() - 1]);
    // Slots must not straddle partitions, whatever the step.
    length.div_ceil(stage.step_secs) * stage.step_secs
}

/// Start of the partition that holds `time`.
pub(super) fn partition_start(stage: Stage, time: u32) -> u32 {
    time - time % partition_secs(stage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_follow_the_step() {
        let secs =
            |step| partition_secs(Stage { step_secs: step, points: 1, kind: plumbago_model::StageKind::Raw });
        assert_eq!(secs(1), HOUR);
        assert_eq!(secs(10), 6 * HOUR);
        assert_eq!(secs(60), DAY);
        assert_eq!(secs(3600), 30 * DAY);
        assert_eq!(secs(86_400), 365 * DAY);
        assert_eq!(secs(7) % 7, 0);
        assert_eq!(secs(400 * DAY), 400 * DAY);
    }
}
