//! What is measured of queries by metric and tags: each of their phases.

use std::time::Duration;

use super::Counter;
use super::histogram::Histogram;
use super::text::Text;

const SECONDS: (&str, &str) = (
    "plumbago_labelled_phase_seconds",
    "Time that queries by metric and tags spend in each of their phases.",
);
const FOUND: (&str, &str) = (
    "plumbago_labelled_phase_found_total",
    "What the phases of queries by metric and tags found: windows of stages, series, points.",
);

/// A phase of a query by metric and tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelledPhase {
    /// Looks for the stages that answer for a time.
    Windows,
    /// Looks for the series.
    Series,
    /// Reads their points.
    Points,
}

impl LabelledPhase {
    const ALL: [LabelledPhase; 3] = [LabelledPhase::Windows, LabelledPhase::Series, LabelledPhase::Points];

    /// Its label.
    pub const fn label(self) -> &'static str {
        match self {
            LabelledPhase::Windows => "windows",
            LabelledPhase::Series => "series",
            LabelledPhase::Points => "points",
        }
    }
}

/// The phases of all queries.
#[derive(Debug, Default)]
pub struct LabelledPhases {
    seconds: [Histogram; LabelledPhase::ALL.len()],
    found: [Counter; LabelledPhase::ALL.len()],
}

impl LabelledPhases {
    /// Counts a phase, and what it found.
    pub fn record(&self, phase: LabelledPhase, took: Duration, found: u64) {
        self.seconds[phase as usize].observe(took);
        self.found[phase as usize].add(found);
    }

    pub(super) fn write(&self, text: &mut Text) {
        text.family("histogram", SECONDS.0, SECONDS.1);
        for phase in LabelledPhase::ALL {
            self.seconds[phase as usize].read().write(text, SECONDS.0, ("phase", phase.label()));
        }
        text.family("counter", FOUND.0, FOUND.1);
        for phase in LabelledPhase::ALL {
            text.sample(FOUND.0, &[("phase", phase.label())], self.found[phase as usize].get());
        }
    }
}
