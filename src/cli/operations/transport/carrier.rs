//! Takes metrics to their destination, many at a time: a piece is one commit, and fits into one call of a server.

use anyhow::Result;

use super::super::door::Door;
use crate::bundle::Bundle;
use crate::cli::progress::Progress;
use crate::http::{ImportOptions, Imported};

/// Slots that a piece gathers.
const PIECE_SLOTS: u64 = 2_000_000;
/// Metrics that a piece gathers, if nobody says how many.
const PIECE_METRICS: usize = 5000;

/// See the module documentation.
pub(in super::super) struct Carrier<'a> {
    door: &'a Door,
    options: ImportOptions,
    /// `None` where other things than metrics are counted.
    progress: Option<&'a Progress>,
    most: usize,
    bundles: Vec<Bundle>,
    slots: u64,
    done: Imported,
}

impl<'a> Carrier<'a> {
    /// Carries to `door`, and counts metrics.
    pub(in super::super) fn new(door: &'a Door, options: ImportOptions, progress: &'a Progress) -> Self {
        Self { progress: Some(progress), ..Self::uncounted(door, options, PIECE_METRICS) }
    }

    /// Carries at most so many metrics at a time.
    pub(in super::super) fn uncounted(door: &'a Door, options: ImportOptions, most: usize) -> Self {
        Self {
            door,
            options,
            progress: None,
            most: most.max(1),
            bundles: Vec::new(),
            slots: 0,
            done: Imported::default(),
        }
    }

    /// Adds a metric. If the piece is large enough now, it is time to hand it on.
    pub(in super::super) fn take(&mut self, bundle: Bundle) -> bool {
        self.slots += bundle.slots();
        self.bundles.push(bundle);
        self.slots >= PIECE_SLOTS || self.bundles.len() >= self.most
    }

    /// Hands the piece on. What it has is durable at the other end when this returns. Gives the names that were refused.
    pub(in super::super) fn hand_on(&mut self) -> Result<Vec<String>> {
        let bundles = std::mem::take(&mut self.bundles);
        let (metrics, slots) = (bundles.len() as u64, std::mem::take(&mut self.slots));
        if metrics == 0 {
            return Ok(Vec::new());
        }
        let imported = self.door.import(bundles, self.options)?;
        let refused = imported.refused.iter().map(|(name, _)| name.clone()).collect();
        self.done.add(imported);
        if let Some(progress) = self.progress {
            progress.tally().files.add(metrics);
            progress.tally().points.add(slots);
        }
        Ok(refused)
    }

    /// What became of everything that was handed on.
    pub(in super::super) fn done(self) -> Imported {
        self.done
    }
}
