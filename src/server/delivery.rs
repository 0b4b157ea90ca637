//! Bringing points to the cluster: a lease on a writer number first, then cut after cut.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::setbacks::Setbacks;
use crate::config::Config;
use crate::store::StoreError;
use crate::store::cassandra::{Cluster, Lease, RENEW_INTERVAL, Sender};
use crate::store::clustered::{Clustered, SchemaWatch, Shipped, Shipper};
use crate::telemetry::Telemetry;

/// See the module documentation.
pub(super) struct Delivery {
    pub(super) cluster: Arc<Cluster>,
    pub(super) store: Arc<Clustered>,
    shipper: Shipper,
    tables: Arc<SchemaWatch>,
    telemetry: Arc<Telemetry>,
    /// One parcel at a time: two that send the same one do no harm, but count it twice.
    shipping: Mutex<()>,
    lease: Mutex<Option<(Lease, Instant)>>,
    replica: u8,
    writer: Option<u16>,
    lease_file: PathBuf,
    spool_bytes: u64,
    setbacks: Setbacks,
}

impl Delivery {
    pub(super) fn new(
        cluster: Arc<Cluster>,
        store: Arc<Clustered>,
        tables: Arc<SchemaWatch>,
        config: &Config,
        telemetry: Arc<Telemetry>,
    ) -> Self {
        let sender = Sender::new(Arc::clone(&cluster), config.cassandra.max_in_flight);
        Self {
            shipper: Shipper::new(Arc::clone(&store), sender),
            cluster,
            store,
            tables,
            telemetry,
            shipping: Mutex::new(()),
            lease: Mutex::new(None),
            replica: config.cassandra.replica,
            writer: config.cassandra.writer,
            lease_file: config.store.path.join("writer.json"),
            spool_bytes: config.cassandra.spool_bytes,
            setbacks: Setbacks::new("points do not arrive in the cluster; they wait on disk"),
        }
    }

    /// Before anything is sent: an error if the tables are such that this server must not write to them.
    pub(super) fn inspect_tables(&self) -> Result<(), StoreError> {
        Ok(self.tables.inspect()?)
    }

    /// Points of cuts that have not arrived.
    pub(super) fn waiting_points(&self) -> u64 {
        self.store.outbox.points()
    }

    /// Is nothing on its way?
    pub(super) fn is_idle(&self) -> bool {
        self.store.outbox.parcels().is_empty()
    }

    /// Has the spool reached its bound?
    pub(super) fn is_full(&self) -> bool {
        self.store.outbox.bytes() >= self.spool_bytes
    }

    /// What keeps points from arriving, if something does.
    pub(super) fn trouble(&self) -> Option<String> {
        self.tables.trouble().or_else(|| self.setbacks.last())
    }

    /// Sends what is due, unless it is too soon after a failure.
    pub(super) fn run_due(&self) {
        if self.setbacks.is_over() && self.tables.pass().is_ok() {
            self.run();
        }
    }

    /// Sends all there is, until something fails.
    pub(super) fn run(&self) {
        loop {
            match self.step() {
                Ok(None) => return,
                Ok(Some(Shipped { points, rows })) => {
                    self.telemetry.points_delivered.add(points);
                    self.telemetry.rows_delivered.add(rows);
                    self.setbacks.went_well("points arrive in the cluster again");
                }
                Err(error) => {
                    self.setbacks.went_badly(&error);
                    return;
                }
            }
        }
    }

    /// Stops trying: the server stops, and what is left is sent after the next start.
    pub(super) fn stop(&self) {
        self.tables.stop();
        self.shipper.sender().stop();
    }

    /// Tells the others that this server is gone.
    pub(super) fn release(&self) {
        if let Some((lease, _)) = self.lease.lock().take()
            && let Err(error) = lease.release(&self.cluster)
        {
            tracing::debug!(%error, "the writer number was not given back; it stays reserved for this server");
        }
    }

    fn step(&self) -> Result<Option<Shipped>, StoreError> {
        if self.is_idle() && self.lease.lock().is_none() {
            return Ok(None);
        }
        let _shipping = self.shipping.lock();
        self.tables.pass()?;
        let shard = self.shard()?;
        self.shipper.ship_one(shard)
    }

    /// Replica and writer number, from a lease that is alive.
    fn shard(&self) -> Result<i16, StoreError> {
        let mut held = self.lease.lock();
        if let Some((lease, renewed)) = &mut *held {
            if renewed.elapsed() >= RENEW_INTERVAL {
                lease.renew(&self.cluster)?;
                *renewed = Instant::now();
            }
            return Ok(lease.shard());
        }
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let lease = Lease::take(&self.cluster, self.replica, self.writer, &self.lease_file, name.trim())?;
        tracing::info!(replica = self.replica, writer = lease.writer(), "writing to the cluster");
        let shard = lease.shard();
        *held = Some((lease, Instant::now()));
        Ok(shard)
    }
}
