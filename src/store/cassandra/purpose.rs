//! What a request is for, and the consistency level and timeout it gets.

use std::sync::Arc;
use std::time::Duration;

use scylla::client::execution_profile::{ExecutionProfile, ExecutionProfileHandle};
use scylla::policies::load_balancing::DefaultPolicy;
use scylla::policies::retry::DefaultRetryPolicy;
use scylla::policies::speculative_execution::SimpleSpeculativeExecutionPolicy;
use scylla::statement::{Consistency, SerialConsistency};

use super::Settings;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Reading points for a query.
    Read,
    /// Writing points.
    Write,
    /// Reading names.
    Metadata,
    /// Writing names.
    Naming,
    /// Background work: loading all names, cleaning, the schema.
    Background,
}

/// Background work scans whole tables and creates indexes: it may take this many times longer.
const BACKGROUND_PATIENCE: u32 = 6;

/// One profile for each purpose.
#[derive(Clone, Debug)]
pub(super) struct Profiles {
    read: ExecutionProfileHandle,
    write: ExecutionProfileHandle,
    metadata: ExecutionProfileHandle,
    naming: ExecutionProfileHandle,
    background: ExecutionProfileHandle,
}

/// Only reads are ever sent to a second node speculatively. A write that a slow node applies much later gets the timestamp of
/// that moment, and would undo what was written since: a delayed deletion would remove a metric that was created again.
impl Profiles {
    pub(super) fn new(settings: &Settings) -> Self {
        let (levels, timeout) = (settings.levels, settings.request_timeout);
        let make = |label, consistency, timeout, speculative| {
            profile(settings, consistency, timeout, speculative).into_handle_with_label(String::from(label))
        };
        Self {
            read: make("read", levels.read, timeout, settings.speculative_delay),
            write: make("write", levels.write, timeout, None),
            metadata: make("metadata", levels.metadata, timeout, settings.speculative_delay),
            naming: make("naming", levels.metadata, timeout, None),
            background: make("background", levels.background, timeout * BACKGROUND_PATIENCE, None),
        }
    }

    pub(super) fn of(&self, purpose: Purpose) -> ExecutionProfileHandle {
        match purpose {
            Purpose::Read => self.read.clone(),
            Purpose::Write => self.write.clone(),
            Purpose::Metadata => self.metadata.clone(),
            Purpose::Naming => self.naming.clone(),
            Purpose::Background => self.background.clone(),
        }
    }
}

/// The retry policy repeats idempotent statements on another node when a node failed. It never lowers the consistency level.
/// The caller handles what still fails; its points are safe in the log.
fn profile(
    settings: &Settings,
    consistency: Consistency,
    timeout: Duration,
    speculative_delay: Option<Duration>,
) -> ExecutionProfile {
    let mut balancing = DefaultPolicy::builder().token_aware(true);
    if let Some(datacenter) = &settings.datacenter {
        balancing = balancing.prefer_datacenter(datacenter.clone());
    }
    let mut builder = ExecutionProfile::builder()
        .consistency(consistency)
        .serial_consistency(Some(SerialConsistency::LocalSerial))
        .request_timeout(Some(timeout))
        .retry_policy(Arc::new(DefaultRetryPolicy::new()))
        .load_balancing_policy(balancing.build());
    if let Some(retry_interval) = speculative_delay {
        let policy = SimpleSpeculativeExecutionPolicy { max_retry_count: 1, retry_interval };
        builder = builder.speculative_execution_policy(Some(Arc::new(policy)));
    }
    builder.build()
}
