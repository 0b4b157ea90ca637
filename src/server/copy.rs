//! Copies a metric to another name, in the store on this machine.

use std::sync::Arc;

use super::engine::{Engine, now};
use crate::rollup::{Copied, PointsError};
use plumbago_model::MetricId;

/// Why a metric was not copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// It is gone.
    #[error("the metric is gone")]
    Gone,
    /// The destination has other stages or another aggregation method, so the slots would mean something else there.
    #[error("`{name}` exists and keeps {theirs}, not {ours}")]
    OtherPolicy {
        /// The destination.
        name: String,
        /// Its policy.
        theirs: String,
        /// The source's.
        ours: String,
    },
    /// The store failed.
    #[error(transparent)]
    Points(#[from] PointsError),
}

impl Engine {
    /// Copies slots that start in `from..until` to `target`. A new target is created with the source's policy. A trial only
    /// counts.
    pub fn copy(
        &self,
        source: MetricId,
        target: &str,
        (from, until): (u32, u32),
        trial: bool,
    ) -> Result<Copied, CopyError> {
        let policy_of = |id| self.points.policies().get(self.points.state(id)?.0);
        let policy = policy_of(source).ok_or(CopyError::Gone)?;
        let known = self.index.read().lookup(target.as_bytes());
        if let Some(theirs) = known.and_then(policy_of).filter(|theirs| **theirs != *policy) {
            let (theirs, ours) = (theirs.to_string(), policy.to_string());
            return Err(CopyError::OtherPolicy { name: target.to_owned(), theirs, ours });
        }
        let target = match (trial, known) {
            (true, _) => None,
            (false, Some(id)) => Some(id),
            (false, None) => self.adopt(&[(target.to_owned(), Arc::clone(&policy))])?.first().copied(),
        };
        Ok(self.points.copy(source, target, (from, until), now())?)
    }
}
