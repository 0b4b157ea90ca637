//! Keeping the names of this server and of the cluster the same, step by step.

use std::sync::Arc;
use std::time::Duration;

use super::backoff::BackOff;
use super::follower::Follower;
use super::name_sender::NameSender;
use super::now;
use super::reloader::Reloader;
use super::schema_watch::SchemaWatch;
use super::strays::Strays;
use super::usage::Usage;
use crate::store::{Chore, LocalMetrics, StoreError};
use crate::telemetry::Telemetry;

/// How often this is called when there is nothing more to do.
const TICK: Duration = Duration::from_secs(1);
/// How long new metrics are sent before others' are looked at again.
const SENDING: Duration = Duration::from_secs(5);

/// See the module documentation.
pub(super) struct NameSync {
    pub(super) schema: Arc<SchemaWatch>,
    pub(super) sender: Arc<NameSender>,
    pub(super) follower: Arc<Follower>,
    /// `None` where globs are looked up in the cluster.
    pub(super) reloader: Option<Reloader>,
    pub(super) strays: Arc<Strays>,
    pub(super) usage: Arc<Usage>,
    pub(super) backoff: BackOff,
    pub(super) telemetry: Arc<Telemetry>,
}

impl NameSync {
    /// Are all names of the cluster known here?
    pub(super) fn knows_all(&self) -> bool {
        self.reloader.as_ref().is_some_and(Reloader::has_loaded)
    }

    /// What keeps names from being sent or followed, if something does.
    pub(super) fn trouble(&self) -> Option<String> {
        self.backoff.trouble()
    }

    /// Learns what others deleted up to now, once this server follows them. Before that, it has nothing that they could mean.
    pub(super) fn heed(&self, local: &dyn LocalMetrics) -> Result<(), StoreError> {
        if self.follower.goes_on() { self.follower.follow(local) } else { Ok(()) }
    }

    /// One round. True if there is more to do at once.
    fn step(&self, local: &dyn LocalMetrics) -> Result<bool, StoreError> {
        if let Some(reloader) = &self.reloader {
            reloader.reload_if_due(local, now())?;
        }
        self.follower.follow(local)?;
        self.usage.mark_written(local)?;
        self.usage.mark_read(local)?;
        let more_strays = self.strays.learn_next(local)?;
        let more_names = self.sender.send_new(local, SENDING)?;
        Ok(more_strays || more_names)
    }
}

impl Chore for NameSync {
    fn name(&self) -> &'static str {
        "names"
    }

    fn run(&self, local: &dyn LocalMetrics) -> Duration {
        if !self.backoff.is_over() || self.schema.pass().is_err() {
            return TICK;
        }
        let stepped = self.step(local);
        self.telemetry.names_loaded.set(u64::from(self.knows_all()));
        match stepped {
            Ok(more) => {
                self.backoff.succeeded();
                if more { Duration::ZERO } else { TICK }
            }
            Err(error) => {
                self.backoff.failed(&error);
                TICK
            }
        }
    }
}
