//! The windows of time in which a Graphite is asked for everything it has.
//!
//! Graphite answers a request from the finest archive that reaches back to its start. So a request for all time would get the
//! coarsest archive only. The time is cut into windows by age, and each is asked for on its own: each has the finest resolution
//! that is kept at its age.

/// Ages at which archives usually end, in hours.
const HOURS: [u32; 30] = [
    1, 2, 3, 4, 6, 8, 12, 24, 36, 48, 72, 96, 120, 168, 192, 240, 336, 360, 504, 720, 744, 1080, 1440, 2160,
    2880, 4320, 8760, 17_520, 43_800, 87_600,
];
const HOUR: u32 = 3600;
/// A request takes a while to arrive. An archive must still reach the start of its window then.
const SLACK_SECS: u32 = 60;
/// The oldest window is at least so long. Two points show the step of an archive, and it may be a day.
const OLDEST_SECS: u32 = 3 * 24 * HOUR;

/// A window, and how far back the archive that answers for it reaches at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rung {
    /// As Graphite takes them: points after the first time, up to the second.
    pub(super) window: (u32, u32),
    /// The age of its start in seconds.
    pub(super) age: u32,
}

/// The windows that make up a stretch of time, the oldest first.
pub(super) fn rungs((since, until): (u32, u32), now: u32) -> Vec<Rung> {
    let until = until.min(now);
    let since = since.saturating_sub(1);
    let mut rungs = Vec::new();
    let mut end = until;
    for age in HOURS.map(|hours| hours * HOUR - SLACK_SECS) {
        let begin = now.saturating_sub(age).max(since);
        if begin >= end {
            continue;
        }
        rungs.push(Rung { window: (begin, end), age: now - begin });
        end = begin;
    }
    rungs.reverse();
    if let Some(oldest) = rungs.first_mut() {
        let (begin, end) = oldest.window;
        oldest.window.1 = end.max(begin.saturating_add(OLDEST_SECS).min(now));
    }
    rungs
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u32 = 1_790_000_000;

    #[test]
    fn windows_meet_and_reach_back_ten_years() {
        let rungs = rungs((0, u32::MAX), NOW);
        assert_eq!(rungs.len(), HOURS.len());
        assert!(rungs.windows(2).all(|pair| pair[0].window.1 == pair[1].window.0), "{rungs:?}");
        assert_eq!(rungs.last().unwrap().window, (NOW - HOUR + SLACK_SECS, NOW));
        assert_eq!(rungs.first().unwrap().age, 87_600 * HOUR - SLACK_SECS);
    }

    #[test]
    fn a_stretch_of_time_is_asked_for_and_little_more() {
        let (since, until) = (NOW - 10 * HOUR, NOW - 5 * HOUR);
        let rungs = rungs((since, until), NOW);
        assert_eq!(rungs.iter().map(|rung| rung.window.0).min(), Some(since - 1));
        assert_eq!(rungs.last().unwrap().window.1, until);
        // The step of the oldest can be seen.
        assert_eq!(rungs.first().unwrap().window, (since - 1, NOW));
        assert!(super::rungs((NOW + 5, NOW + 9), NOW).is_empty());
    }
}
