//! What a request is for, and the consistency and patience it gets.

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
    /// Reading points that somebody waits for.
    Read,
    /// Writing points.
    Write,
    /// Reading names.
    Metadata,
    /// Writing names.
    Naming,
    /// Work nobody waits for: loading all names, cleaning, the schema.
    Background,
}

/// Background work scans whole tables and makes indexes: it may take this many times longer.
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

/// Only what reads is ever sent to a second node on suspicion. A write that a node holds up and carries out much later gets
/// the time stamp of that moment, and would undo what was written since: a deletion would take a metric that was made anew.
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

/// The retry policy repeats on another node what failed by a node's fault, and only statements that may be repeated. It
/// never lowers the consistency. What fails in spite of it is for the caller, whose points are safe in the log.
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
