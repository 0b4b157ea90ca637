//! What became of points that were handed in together.

use std::collections::BTreeMap;

use super::Reject;

/// How many points were stored, and how many were refused for which reason. Points that rules only gather into aggregates
/// are neither.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// In the log and readable.
    pub stored: u64,
    /// By the labels of the reasons; none of them zero.
    pub refused: BTreeMap<&'static str, u64>,
}

impl Verdict {
    /// Adds refused points.
    pub fn refuse(&mut self, reason: Reject, points: u64) {
        *self.refused.entry(reason.label()).or_default() += points;
    }
}

/// What became of each point of a batch: those that are not listed are stored, or were gathered into aggregates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// How many are in the log and readable.
    pub stored: u64,
    /// Those that were refused, by their place in the batch, in no order.
    pub refused: Vec<(usize, Reject)>,
}

impl Judged {
    /// The same for a batch that this one was a part of: `places` has the place of each point there.
    #[must_use]
    pub fn in_whole(mut self, places: &[usize]) -> Self {
        for (at, _) in &mut self.refused {
            *at = places.get(*at).copied().unwrap_or(*at);
        }
        self
    }
}

impl From<&Judged> for Verdict {
    fn from(judged: &Judged) -> Self {
        let mut verdict = Verdict { stored: judged.stored, ..Verdict::default() };
        judged.refused.iter().for_each(|(_, reason)| verdict.refuse(*reason, 1));
        verdict
    }
}

/// Why a server takes no points now. None of the batch was taken, and the same batch can be sent again later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Overload {
    /// They come faster than they are written.
    #[error("{0}")]
    TooFast(String),
    /// Something is wrong with the server, its disk or its store.
    #[error("{0}")]
    Unwell(String),
}
