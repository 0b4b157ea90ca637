//! Back-off: when to try again what has failed, and how often to say so.

use std::fmt::Display;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// See the module documentation.
pub(super) struct BackOff {
    /// What a failure means for people, for the log.
    meaning: &'static str,
    /// What to log when it works again.
    relief: &'static str,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The last failure, until a success.
    error: Option<String>,
    not_before: Option<Instant>,
    pause: Duration,
}

impl BackOff {
    pub(super) fn new(meaning: &'static str, relief: &'static str) -> Self {
        Self { meaning, relief, state: Mutex::default() }
    }

    /// The last failure, until a success.
    pub(super) fn trouble(&self) -> Option<String> {
        self.state.lock().error.clone()
    }

    /// Is it time for the next try?
    pub(super) fn is_over(&self) -> bool {
        self.is_over_at(Instant::now())
    }

    fn is_over_at(&self, now: Instant) -> bool {
        self.state.lock().not_before.is_none_or(|at| now >= at)
    }

    pub(super) fn succeeded(&self) {
        let mut state = self.state.lock();
        if state.error.is_some() {
            tracing::info!("{}", self.relief);
        }
        *state = State::default();
    }

    /// Each pause is twice as long as the one before. The same error is logged once.
    pub(super) fn failed(&self, error: &dyn Display) {
        self.failed_at(error, Instant::now());
    }

    fn failed_at(&self, error: &dyn Display, now: Instant) {
        let mut state = self.state.lock();
        let text = error.to_string();
        if state.error.as_ref() != Some(&text) {
            tracing::error!(error = text, "{}", self.meaning);
        }
        state.pause = (state.pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE);
        state.not_before = Some(now + state.pause);
        state.error = Some(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff() -> BackOff {
        BackOff::new("nothing works", "all is well")
    }

    #[test]
    fn a_failure_makes_a_pause_and_a_success_ends_it() {
        let backoff = backoff();
        assert!(backoff.is_over() && backoff.trouble().is_none());
        backoff.failed(&"no");
        assert!(!backoff.is_over());
        assert_eq!(backoff.trouble().as_deref(), Some("no"));
        backoff.succeeded();
        assert!(backoff.is_over() && backoff.trouble().is_none());
    }

    #[test]
    fn pauses_double_from_one_second_to_thirty_and_begin_again_after_a_success() {
        let backoff = backoff();
        let now = Instant::now();
        let second = Duration::from_secs(1);
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            backoff.failed_at(&"no", now);
            assert!(!backoff.is_over_at(now + pause * second - Duration::from_millis(1)), "{pause}");
            assert!(backoff.is_over_at(now + pause * second), "{pause}");
        }
        backoff.succeeded();
        backoff.failed_at(&"no", now);
        assert!(backoff.is_over_at(now + second));
    }
}
