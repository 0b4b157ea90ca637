//! The parts of a link, each made from what all of them share.

use std::sync::Arc;

use super::adopted::Adopted;
use super::backoff::BackOff;
use super::deliverer::{Deliverer, RowWriter};
use super::follower::Follower;
use super::link::LinkSettings;
use super::lookup::Lookup;
use super::name_sender::NameSender;
use super::name_sync::NameSync;
use super::outdated::Outdated;
use super::reloader::{ReloadState, Reloader};
use super::remover::{Eraser, Remover};
use super::running::RunningSlots;
use super::strays::Strays;
use super::tables::{CassandraTables, NameTables};
use super::usage::Usage;
use super::vanished::Vanished;
use super::writer_number::{LeasedNumber, WriterNumber};
use super::{Clustered, SchemaWatch};
use crate::store::StoreError;
use crate::store::cassandra::names::{Creation, Names};
use crate::store::cassandra::{Cluster, Sender};
use crate::telemetry::Telemetry;
use plumbago_model::Policy;

/// What a link has of its cluster.
pub(super) struct ClusterSide {
    pub(super) tables: Arc<dyn NameTables>,
    pub(super) rows: Box<dyn RowWriter>,
    pub(super) number: Box<dyn WriterNumber>,
    pub(super) eraser: Box<dyn Eraser>,
}

impl ClusterSide {
    /// A cluster of Cassandra.
    pub(super) fn new(cluster: Arc<Cluster>, schema: &Arc<SchemaWatch>, settings: &LinkSettings) -> Self {
        Self {
            tables: Arc::new(CassandraTables {
                names: Names::new(Arc::clone(&cluster), settings.indexes),
                default: Arc::new(settings.default_policy.clone()),
                creation: Creation { per_second: settings.creates_per_second, ..Creation::default() },
            }),
            rows: Box::new(Sender::new(Arc::clone(&cluster), settings.max_in_flight)),
            number: Box::new(LeasedNumber::new(Arc::clone(&cluster), Arc::clone(schema), settings)),
            eraser: Box::new(cluster),
        }
    }
}

/// What the parts share.
pub(super) struct Shared {
    pub(super) tables: Arc<dyn NameTables>,
    pub(super) store: Arc<Clustered>,
    pub(super) schema: Arc<SchemaWatch>,
    pub(super) adopted: Arc<Adopted>,
    pub(super) default: Arc<Policy>,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) settings: LinkSettings,
}

impl Shared {
    pub(super) fn sender(&self) -> Result<Arc<NameSender>, StoreError> {
        let (tables, adopted) = (Arc::clone(&self.tables), Arc::clone(&self.adopted));
        let (store, telemetry) = (Arc::clone(&self.store), Arc::clone(&self.telemetry));
        Ok(Arc::new(NameSender::new(tables, adopted, store, telemetry)?))
    }

    pub(super) fn follower(&self, sender: &Arc<NameSender>) -> Result<Arc<Follower>, StoreError> {
        let (tables, adopted) = (Arc::clone(&self.tables), Arc::clone(&self.adopted));
        let (sender, store) = (Arc::clone(sender), Arc::clone(&self.store));
        Ok(Arc::new(Follower::new(tables, adopted, sender, store, self.settings.names_in_memory)?))
    }

    pub(super) fn usage(&self) -> Arc<Usage> {
        Arc::new(Usage::new(Arc::clone(&self.tables), Arc::clone(&self.store)))
    }

    pub(super) fn remover(
        &self,
        eraser: Box<dyn Eraser>,
        sender: &Arc<NameSender>,
    ) -> Result<Arc<Remover>, StoreError> {
        let (tables, store) = (Arc::clone(&self.tables), Arc::clone(&self.store));
        Ok(Arc::new(Remover::new(eraser, tables, store, Arc::clone(sender))?))
    }

    pub(super) fn lookup(&self, sender: &Arc<NameSender>) -> Lookup {
        Lookup {
            tables: Arc::clone(&self.tables),
            adopted: Arc::clone(&self.adopted),
            sender: Arc::clone(sender),
            default: Arc::clone(&self.default),
        }
    }

    /// The part that delivers parcels, and the one that writes running slots, if that is wanted.
    pub(super) fn deliveries(
        &self,
        rows: Box<dyn RowWriter>,
        number: Box<dyn WriterNumber>,
        follower: &Arc<Follower>,
    ) -> Result<(Arc<Deliverer>, Option<Arc<RunningSlots>>), StoreError> {
        let deliverer = Deliverer::new(Arc::clone(&self.store), rows, number, Arc::clone(&self.telemetry));
        let Some(interval) = self.settings.running_interval else { return Ok((Arc::new(deliverer), None)) };
        let outdated = Arc::<Outdated>::default();
        let deliverer = Arc::new(deliverer.noting(Arc::clone(&outdated)));
        let running = RunningSlots::new(
            Arc::clone(&self.store),
            Arc::clone(&deliverer),
            Arc::clone(follower),
            outdated,
            interval,
            Arc::clone(&self.telemetry),
        )?;
        Ok((deliverer, Some(Arc::new(running))))
    }

    pub(super) fn name_sync(
        &self,
        sender: &Arc<NameSender>,
        follower: Arc<Follower>,
        remover: &Arc<Remover>,
        usage: &Arc<Usage>,
    ) -> Result<Arc<NameSync>, StoreError> {
        let (tables, adopted) = (Arc::clone(&self.tables), Arc::clone(&self.adopted));
        let strays = Arc::new(Strays::new(tables, adopted, Arc::clone(&self.default)));
        let backoff = BackOff::new(
            "the names of the cluster are out of reach; this server goes on with those it knows",
            "the names of the cluster are in reach again",
        );
        Ok(Arc::new(NameSync {
            schema: Arc::clone(&self.schema),
            sender: Arc::clone(sender),
            reloader: self.reloader(sender, &follower, &strays)?,
            follower,
            remover: Arc::clone(remover),
            strays,
            usage: Arc::clone(usage),
            backoff,
            telemetry: Arc::clone(&self.telemetry),
        }))
    }

    /// `None` where globs are looked up in the cluster.
    fn reloader(
        &self,
        sender: &Arc<NameSender>,
        follower: &Arc<Follower>,
        strays: &Arc<Strays>,
    ) -> Result<Option<Reloader>, StoreError> {
        let state = ReloadState::new(follower, &self.store)?;
        Ok(self.settings.names_in_memory.then(|| Reloader {
            tables: Arc::clone(&self.tables),
            adopted: Arc::clone(&self.adopted),
            sender: Arc::clone(sender),
            follower: Arc::clone(follower),
            strays: Arc::clone(strays),
            vanished: Vanished::new(Arc::clone(&self.tables), Arc::clone(follower)),
            store: Arc::clone(&self.store),
            interval: self.settings.reload_interval,
            hide_expired: self.settings.hide_expired,
            state,
        }))
    }
}
