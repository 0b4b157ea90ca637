//! Failures of something that is tried again and again: when to try, and what to say.

use std::fmt::Display;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// See the module documentation.
pub(super) struct Setbacks {
    /// What it means for people that it fails.
    meaning: &'static str,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What went wrong last, until something went well.
    error: Option<String>,
    not_before: Option<Instant>,
    pause: Duration,
}

impl Setbacks {
    pub(super) fn new(meaning: &'static str) -> Self {
        Self { meaning, state: Mutex::default() }
    }

    /// What went wrong last, until something went well.
    pub(super) fn last(&self) -> Option<String> {
        self.state.lock().error.clone()
    }

    /// Is it time for the next try?
    pub(super) fn is_over(&self) -> bool {
        self.state.lock().not_before.is_none_or(|at| Instant::now() >= at)
    }

    pub(super) fn went_well(&self, relief: &str) {
        let mut state = self.state.lock();
        if state.error.is_some() {
            tracing::info!("{relief}");
        }
        *state = State::default();
    }

    /// Each pause is twice as long as the one before. The same error is told once.
    pub(super) fn went_badly(&self, error: &dyn Display) {
        let mut state = self.state.lock();
        let text = error.to_string();
        if state.error.as_ref() != Some(&text) {
            tracing::error!(error = text, "{}", self.meaning);
        }
        state.pause = (state.pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE);
        state.not_before = Some(Instant::now() + state.pause);
        state.error = Some(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_makes_a_pause_and_a_success_ends_it() {
        let setbacks = Setbacks::new("nothing works");
        assert!(setbacks.is_over() && setbacks.last().is_none());
        setbacks.went_badly(&"no");
        assert!(!setbacks.is_over());
        assert_eq!(setbacks.last().as_deref(), Some("no"));
        setbacks.went_well("all is well");
        assert!(setbacks.is_over() && setbacks.last().is_none());
    }
}
