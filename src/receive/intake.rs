//! What all sockets share: handing parsed points to the sink, and counting those that do not get there.

use std::fmt::Display;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::buffers::Buffers;
use super::limits::{Backoff, Connections, Unfinished};
use super::stop::{Phase, Stop};
use super::{Sampler, Sink};
use crate::auth::Sender;
use crate::config::{Addresses, Ingest};
use crate::parse::Limits;
use crate::telemetry::Telemetry;
use plumbago_model::{Batch, Reject};

/// The common end of all sockets.
pub(super) struct Intake {
    pub(super) config: Arc<Ingest>,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) buffers: Arc<Buffers>,
    pub(super) connections: Connections,
    pub(super) unfinished: Unfinished,
    sink: Arc<dyn Sink>,
    sampler: Arc<Sampler>,
    /// Who may send; nobody listed means everybody.
    allowed: Addresses,
    sender: Sender,
}

impl Intake {
    pub(super) fn new(sink: Arc<dyn Sink>, config: Ingest, telemetry: Arc<Telemetry>) -> Self {
        Self {
            connections: Connections::new(config.max_connections, Arc::clone(&telemetry)),
            unfinished: Unfinished::new(config.max_unfinished_bytes),
            config: Arc::new(config),
            telemetry,
            buffers: Arc::default(),
            sink,
            sampler: Arc::default(),
            allowed: Addresses::default(),
            sender: Sender::default(),
        }
    }

    /// The same for these senders only, before anything was received.
    pub(super) fn allowing(&self, allowed: Addresses) -> Self {
        let new = Self::new(Arc::clone(&self.sink), (*self.config).clone(), Arc::clone(&self.telemetry));
        Self { allowed, ..new }
    }

    /// The same for one sender.
    pub(super) fn of(&self, sender: Sender) -> Self {
        Self {
            config: Arc::clone(&self.config),
            telemetry: Arc::clone(&self.telemetry),
            buffers: Arc::clone(&self.buffers),
            connections: self.connections.clone(),
            unfinished: self.unfinished.clone(),
            sink: Arc::clone(&self.sink),
            sampler: Arc::clone(&self.sampler),
            allowed: self.allowed.clone(),
            sender,
        }
    }

    /// The same for this machine only, unless somebody else is listed.
    pub(super) fn at_home(&self) -> Self {
        let allowed = if self.allowed.is_empty() { Addresses::here() } else { self.allowed.clone() };
        Self { allowed, ..self.of(self.sender.clone()) }
    }

    /// May somebody at this address send? Counts them if not.
    pub(super) fn allows(&self, sender: IpAddr) -> bool {
        let allowed = self.allowed.is_empty() || self.allowed.contains(sender);
        if !allowed {
            self.telemetry.senders_refused.add(1);
        }
        allowed
    }

    /// A connection without traffic is closed after this.
    pub(super) fn idle_limit(&self) -> Duration {
        match self.config.idle_timeout {
            Duration::ZERO => Duration::MAX,
            limit => limit,
        }
    }

    /// The limits for the bytes just read.
    pub(super) fn limits(&self) -> Limits {
        limits(&self.config)
    }

    /// Counts and samples one refused line or element that is among those counted as received.
    pub(super) fn refuse(&self, reason: Reject, input: &[u8]) {
        self.telemetry.reject(reason, 1);
        self.sampler.note(reason, input, None);
    }

    /// Counts, also as received, and samples input that never became lines or elements. It counts as one.
    pub(super) fn refuse_whole(&self, reason: Reject, input: &[u8], detail: &dyn Display) {
        self.telemetry.points_received.add(1);
        self.telemetry.reject(reason, 1);
        self.sampler.note(reason, input, Some(detail));
    }

    /// Passes the batch to the sink, waiting as long as it is busy. After a stop the wait ends when the drain time is over.
    pub(super) async fn deliver(&self, batch: &Batch<'_>, stop: &mut Stop) {
        if self.offer(batch) {
            return;
        }
        self.telemetry.backpressure_pauses.add(1);
        tracing::debug!(points = batch.len(), "the store is busy; reading is paused");
        let mut backoff = Backoff::new();
        while stop.phase() != Phase::Over {
            stop.pause(backoff.next()).await;
            if self.offer(batch) {
                return;
            }
        }
        self.overload(batch);
        tracing::warn!(
            points = batch.len(),
            "points lost: the store was busy until the time to drain had passed"
        );
    }

    /// Passes the batch on if the sink accepts it now.
    pub(super) fn offer(&self, batch: &Batch<'_>) -> bool {
        self.offer_of(batch, &self.sender)
    }

    /// The same for a batch of somebody else.
    pub(super) fn offer_of(&self, batch: &Batch<'_>, sender: &Sender) -> bool {
        batch.is_empty() || self.sink.accept(batch, sender).is_ok()
    }

    /// Must a batch be of one sender?
    pub(super) fn tells_senders_apart(&self) -> bool {
        self.sink.tells_senders_apart()
    }

    /// Counts a batch that is dropped.
    pub(super) fn overload(&self, batch: &Batch<'_>) {
        self.telemetry.reject(Reject::Overload, batch.len() as u64);
    }
}

/// The limits that points must keep which arrive now.
pub fn limits(config: &Ingest) -> Limits {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let clamp = |secs: u64| u32::try_from(secs).unwrap_or(u32::MAX);
    Limits {
        now: clamp(now),
        max_future_secs: clamp(config.max_future.as_secs()),
        keep_infinite: config.keep_infinite,
        max_line_bytes: config.max_line_bytes,
        max_name_bytes: config.max_name_bytes,
    }
}

impl std::fmt::Debug for Intake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Intake").field("config", &self.config).finish_non_exhaustive()
    }
}
