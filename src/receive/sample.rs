//! Samples of rejected input in the log: enough to find the sender, but never one log line per line of junk.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use plumbago_model::Reject;

/// Bytes of the input that are shown.
const SHOWN_BYTES: usize = 200;

/// Time between two samples for one reason.
const INTERVAL_MS: u64 = 1000;

/// Logs at most one sample per second for each reason.
#[derive(Debug)]
pub struct Sampler {
    start: Instant,
    slots: [Slot; Reject::ALL.len()],
}

#[derive(Debug, Default)]
struct Slot {
    /// Nothing is logged before this time, in milliseconds after the start.
    next: AtomicU64,
    /// Rejected since the last sample.
    unseen: AtomicU64,
}

impl Default for Sampler {
    fn default() -> Self {
        Self { start: Instant::now(), slots: std::array::from_fn(|_| Slot::default()) }
    }
}

impl Sampler {
    /// Logs `input` as a sample of what is rejected for `reason`, unless one was logged just now. `detail` may say more than
    /// the reason; it is only formatted for a sample.
    pub fn note(&self, reason: Reject, input: &[u8], detail: Option<&dyn Display>) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Some(count) = self.due(reason, now) else { return };
        let (reason, sample) = (reason.label(), excerpt(input));
        match detail {
            Some(detail) => tracing::warn!(reason, count, sample, %detail, "input refused"),
            None => tracing::warn!(reason, count, sample, "input refused"),
        }
    }

    /// How many were rejected since the last sample, including this one, if it is time for a sample.
    fn due(&self, reason: Reject, now_ms: u64) -> Option<u64> {
        let slot = &self.slots[reason as usize];
        let unseen = slot.unseen.fetch_add(1, Ordering::Relaxed) + 1;
        let next = slot.next.load(Ordering::Relaxed);
        let mine = now_ms >= next
            && slot
                .next
                .compare_exchange(
                    next,
                    now_ms.saturating_add(INTERVAL_MS),
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok();
        if mine {
            slot.unseen.fetch_sub(unseen, Ordering::Relaxed);
        }
        mine.then_some(unseen)
    }
}

/// The start of `input`, with everything escaped that could confuse a terminal or a log reader.
fn excerpt(input: &[u8]) -> String {
    let shown = input.get(..SHOWN_BYTES).unwrap_or(input);
    let rest = if shown.len() < input.len() { "…" } else { "" };
    format!("{}{rest}", shown.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sample_a_second_for_each_reason() {
        let sampler = Sampler::default();
        assert_eq!(sampler.due(Reject::BadLine, 0), Some(1));
        assert_eq!(sampler.due(Reject::BadLine, 10), None);
        assert_eq!(sampler.due(Reject::BadValue, 10), Some(1));
        assert_eq!(sampler.due(Reject::BadLine, 999), None);
        assert_eq!(sampler.due(Reject::BadLine, 1000), Some(3));
        assert_eq!(sampler.due(Reject::BadLine, 1999), None);
        assert_eq!(sampler.due(Reject::BadLine, 5000), Some(2));
    }

    #[test]
    fn a_sample_is_short_and_escaped() {
        assert_eq!(excerpt(b"a\x1b[2J\xff\n"), r"a\x1b[2J\xff\n");
        let long = excerpt(&[b'x'; 1000]);
        assert_eq!(long.chars().count(), SHOWN_BYTES + 1);
        assert!(long.ends_with('…'));
    }
}
