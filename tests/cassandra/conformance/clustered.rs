//! The store in front of a cluster under the contract: as cuts and rollups see it, and as queries do, with everything
//! delivered and read back from a real node.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use plumbago::store::cassandra::schema::{Indexes, Replication, Schema, apply};
use plumbago::store::cassandra::{Cluster, Events, Memos, Sender, Settings};
use plumbago::store::clustered::{Clustered, Deliverer, WriterNumber};
use plumbago::store::{
    Column, Cut, DiskUsage, EventStore, Headway, MemoStore, MetricStore, PointStore, Position, Report,
    Snapshot, StoreError,
};
use plumbago::telemetry::Telemetry;
use plumbago_model::{Aggregator, Event, EventId, MetricId, Retention, Stage};

use super::{Subject, events, memos, metrics, points};
use crate::node;

/// Keyspaces with the tables that the claims use.
static SCHEMA: LazyLock<Result<Settings, String>> = LazyLock::new(|| {
    let settings = node::reachable()?;
    let cluster = Cluster::connect(settings.clone()).unwrap();
    let retention: Retention = "8640*10s:720*3600s".parse().unwrap();
    let schema = Schema::new(&settings, [&retention], Indexes::Sai);
    apply(&cluster, &schema, Some(&Replication::everywhere(1)), &mut |_| {}).unwrap();
    Ok(settings)
});

/// A directory in front of the shared node, with metrics nobody else has.
struct InFront {
    dir: tempfile::TempDir,
    prefix: String,
    open: Option<Open>,
}

struct Open {
    store: Arc<Clustered>,
    events: Events,
    memos: Memos,
    /// As cuts and rollups see it.
    local: Delivered,
    /// As queries see it.
    shared: Delivered,
}

impl InFront {
    /// `None` after a loud skip.
    fn new(test: &str) -> Option<Self> {
        node::or_skip(test, SCHEMA.as_ref())?;
        let dir = tempfile::tempdir().unwrap();
        let mut subject = Self { dir, prefix: uuid::Uuid::new_v4().simple().to_string(), open: None };
        subject.reopen();
        Some(subject)
    }

    fn open(&self) -> &Open {
        self.open.as_ref().unwrap()
    }
}

impl Subject for InFront {
    fn points(&self) -> &dyn PointStore {
        &self.open().local
    }

    fn metrics(&self) -> &dyn MetricStore {
        &*self.open().store.metrics
    }

    fn events(&self) -> &dyn EventStore {
        &self.open().events
    }

    fn memos(&self) -> &dyn MemoStore {
        &self.open().memos
    }

    fn reopen(&mut self) {
        self.open = None;
        let dir: PathBuf = self.dir.path().to_owned();
        let cluster = Arc::new(Cluster::connect(SCHEMA.clone().unwrap()).unwrap());
        let store = Arc::new(Clustered::open(&dir, &cluster, 64).unwrap());
        let names: Vec<String> = (0..200).map(|id| format!("{}.m{id}", self.prefix)).collect();
        let announced: Vec<(MetricId, &str)> =
            (0..).map(MetricId).zip(names.iter().map(String::as_str)).collect();
        store.metrics.announce(&announced, 0);
        let delivered = |queried| {
            let rows = Box::new(Sender::new(Arc::clone(&cluster), 16));
            let deliverer =
                Deliverer::new(Arc::clone(&store), rows, Box::new(Shard(5)), Arc::<Telemetry>::default());
            Delivered { store: Arc::clone(&store), deliverer, queried }
        };
        let (local, shared) = (delivered(false), delivered(true));
        self.open = Some(Open {
            store,
            events: Events::new(Arc::clone(&cluster)),
            memos: Memos::new(cluster),
            local,
            shared,
        });
    }
}

/// The same store for queries: everything is read as the cluster has it.
struct Queried(InFront);

impl Subject for Queried {
    fn points(&self) -> &dyn PointStore {
        &self.0.open().shared
    }

    fn metrics(&self) -> &dyn MetricStore {
        self.0.metrics()
    }

    fn events(&self) -> &dyn EventStore {
        self.0.events()
    }

    fn memos(&self) -> &dyn MemoStore {
        self.0.memos()
    }

    fn reopen(&mut self) {
        self.0.reopen();
    }
}

/// A writer number that nobody leases.
struct Shard(i16);

impl WriterNumber for Shard {
    fn is_held(&self) -> bool {
        true
    }

    fn shard(&self) -> Result<i16, StoreError> {
        Ok(self.0)
    }

    fn release(&self) {}
}

/// A store whose commits are delivered at once.
struct Delivered {
    store: Arc<Clustered>,
    deliverer: Deliverer,
    queried: bool,
}

struct DeliveredCut<'a> {
    cut: Box<dyn Cut + 'a>,
    of: &'a Delivered,
}

impl Cut for DeliveredCut<'_> {
    fn put(
        &mut self,
        stage: Stage,
        metric: MetricId,
        method: Aggregator,
        column: &Column,
    ) -> Result<(), StoreError> {
        self.cut.put(stage, metric, method, column)
    }

    fn commit(self: Box<Self>, position: Position) -> Result<(), StoreError> {
        self.cut.commit(position)?;
        while self.of.deliverer.deliver_next()?.is_some() {}
        Ok(())
    }
}

impl PointStore for Delivered {
    fn snapshot(&self) -> Box<dyn Snapshot> {
        if self.queried { self.store.points.reader() } else { self.store.points.snapshot() }
    }

    fn begin(&self) -> Result<Box<dyn Cut + '_>, StoreError> {
        Ok(Box::new(DeliveredCut { cut: self.store.points.begin()?, of: self }))
    }

    fn expire(&self, stage: Stage, before: u32) -> Result<u64, StoreError> {
        self.store.points.expire(stage, before)
    }

    fn tidy(&self) -> Result<u64, StoreError> {
        self.store.points.tidy()
    }

    fn delete(&self, metrics: &[MetricId]) -> Result<(), StoreError> {
        self.store.points.delete(metrics)
    }

    fn chunk_bytes(&self, metrics: &[MetricId]) -> Result<u64, StoreError> {
        self.store.points.chunk_bytes(metrics)
    }

    fn verify(&self, headway: &Headway) -> Result<Report, StoreError> {
        self.store.points.verify(headway)
    }

    fn disk_usage(&self) -> DiskUsage {
        self.store.points.disk_usage()
    }
}

macro_rules! claims {
    ($module:ident: $($claim:ident,)*) => {
        $(#[test] fn $claim() {
            let test = concat!("clustered::", stringify!($claim));
            let Some(subject) = InFront::new(test) else { return };
            $module::$claim(subject);
        })*
    };
}

super::every_claim! { claims }

/// Both servers of a cluster see what either takes, and never give out the same id, not even in the same second.
#[test]
fn servers_share_events_and_their_ids_never_meet() {
    let test = "servers_share_events_and_their_ids_never_meet";
    let Some(one) = InFront::new(test) else { return };
    let Some(two) = InFront::new(test) else { return };
    let when = 4_100_000_000 + uuid::Uuid::new_v4().as_u128() as u32 % 100_000_000;
    let add = |subject: &InFront, name: &str| -> Vec<EventId> {
        let event = |n| Event { when, what: format!("{name} {n}"), tags: Vec::new(), data: String::new() };
        (0..50).map(|n| subject.events().add(&event(n)).unwrap()).collect()
    };
    let (mut ids, theirs) = std::thread::scope(|scope| {
        let other = scope.spawn(|| add(&two, "two"));
        (add(&one, "one"), other.join().unwrap())
    });
    ids.extend(theirs);
    ids.sort_unstable();
    for subject in [&one, &two] {
        let mut found = Vec::new();
        let mut visit = |id, _| {
            found.push(id);
            ControlFlow::Continue(())
        };
        subject.events().scan(when..=when, &mut visit).unwrap();
        assert_eq!(found, ids);
    }
    ids.dedup();
    assert_eq!(ids.len(), 100);
}

/// Queries see what other servers write meanwhile, so a snapshot may change. Cassandra expires its rows itself, and the server that
/// deletes a name also deletes the points there.
mod queried {
    use super::*;

    macro_rules! claims {
        ($($claim:ident,)*) => {
            $(#[test] fn $claim() {
                let test = concat!("clustered::queried::", stringify!($claim));
                let Some(subject) = InFront::new(test) else { return };
                points::$claim(Queried(subject));
            })*
        };
    }

    claims! {
        a_cut_is_invisible_until_its_commit_and_durable_after_it,
        a_later_cut_replaces_slots_and_leaves_the_others,
        what_is_not_there_is_an_empty_window,
        a_batch_answers_in_the_order_asked,
        the_position_survives,
        partial_aggregates_keep_value_and_count,
    }
}
