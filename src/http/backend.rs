//! What the API needs from the server behind it. All methods may block: the API calls them on threads for blocking work.

use std::sync::Arc;

use super::browser::Browse;
use super::{Backups, Care, Labelled, Memos, Moving};
use crate::auth::Sender;
use crate::index::Sight;
use crate::parse::Limits;
use crate::telemetry::QuotaUse;
use graphite_render::{FetchRequest, Fetched, Source};
use plumbago_model::{
    Batch, Cancel, Event, EventFilter, EventId, Judged, Overload, Policy, QueryError, Reading, Verdict,
};

/// Takes the nodes of a find.
pub trait Visitor {
    /// So many nodes follow at most, and their paths have so many bytes. Not every server knows.
    fn expect(&mut self, _nodes: usize, _path_bytes: usize) {}

    /// Takes a node.
    fn visit(&mut self, node: Node<'_>);
}

impl<F: FnMut(Node<'_>)> Visitor for F {
    fn visit(&mut self, node: Node<'_>) {
        self(node);
    }
}

/// The server: names, series, and its health.
pub trait Backend: TaggedSeries + EventLog + Send + Sync + 'static {
    /// The same server for one caller: what is outside of the scope is not there, and what is sent is sent by them.
    fn of(self: Arc<Self>, sender: &Sender) -> Arc<dyn Backend>;

    /// Does it matter to quotas who sends? If not, those who see everything need no server of their own.
    fn tells_senders_apart(&self) -> bool {
        false
    }

    /// Does the server answer queries only, and change nothing?
    fn is_read_only(&self) -> bool {
        false
    }

    /// Where renders get their series.
    fn source(&self) -> &dyn Source;

    /// Where the metric browser looks.
    fn browse(&self) -> &dyn Browse;

    /// What moves metrics in and out, if there is a store that they can move into.
    fn moving(&self) -> Option<&dyn Moving> {
        None
    }

    /// What looks after the metrics of a store, if there is one.
    fn care(&self) -> Option<&dyn Care> {
        None
    }

    /// What reads series by metric and tags, if there is a store.
    fn labelled(&self) -> Option<&dyn Labelled> {
        None
    }

    /// The memos that the caller may see and change.
    fn memos(&self) -> Result<Box<dyn Memos + '_>, QueryError> {
        Err(QueryError::Invalid("there is no store here that could keep it".to_owned()))
    }

    /// What makes backups, if there is a store.
    fn backups(&self) -> Option<&dyn Backups> {
        None
    }

    /// Visits the nodes that match `query`, sorted by path. With a `window` (first and last epoch second) leaves without
    /// data in it are left out; directories stay.
    fn find(
        &self,
        query: &str,
        window: Option<(i64, i64)>,
        cancel: &Cancel,
        visitor: &mut dyn Visitor,
    ) -> Result<(), QueryError>;

    /// The metric names that begin with a text, in order. Each call of the stream returns up to so many, and none at the end.
    fn names(&self, begin: &str) -> NameStream;

    /// The series of a request, with a reading of their slots. A server that keeps no aggregates has a point in each slot.
    fn read(
        &self,
        request: &FetchRequest,
        reading: Reading,
        cancel: &Cancel,
    ) -> Result<Vec<Fetched>, QueryError> {
        let mut found = self.source().fetch(std::slice::from_ref(request), cancel)?.pop().unwrap_or_default();
        if reading == Reading::Count {
            for series in &mut found {
                let counts = series.values.iter().map(|value| if value.is_nan() { f64::NAN } else { 1.0 });
                series.values = counts.collect();
            }
        }
        Ok(found)
    }

    /// The policy of each of these metrics, if this server knows it.
    fn policies(&self, names: &[&str]) -> Vec<Option<Arc<Policy>>> {
        vec![None; names.len()]
    }

    /// Returns when every point received before the call is durable and readable. With `settle` the points are also in merged
    /// blocks, as they would be on an idle server.
    fn flush(&self, settle: bool) -> Result<(), String>;

    /// Takes carbon lines and says what became of them; stored points are durable. The error says why it took none.
    fn write(&self, lines: &[u8]) -> Result<Verdict, String>;

    /// Takes points that did not come as text, and says what became of each. They are readable when this returns, and are synced
    /// with the next sync of the log.
    fn take(&self, batch: &Batch<'_>) -> Result<Judged, Overload>;

    /// What a point must keep to that is taken now.
    fn limits(&self) -> Limits;

    /// Do queries and writes work? If not, why.
    fn ready(&self) -> Result<(), String>;

    /// What each quota allows, and how much of it is used.
    fn quotas(&self) -> Vec<QuotaUse> {
        Vec::new()
    }

    /// The counters as Prometheus text.
    fn prometheus(&self) -> String;
}

/// Series by their tags.
pub trait TaggedSeries {
    /// All names, if they are all in memory.
    fn index(&self) -> Result<Sight<'_>, QueryError>;

    /// Creates series that do not exist yet. Returns the names under which they are stored.
    fn tag_series(&self, paths: &[&str]) -> Result<Vec<String>, QueryError>;

    /// Deletes tagged series with their points; ignores those that do not exist.
    fn delete_series(&self, paths: &[&str]) -> Result<(), QueryError>;
}

/// Events.
pub trait EventLog {
    /// Most bytes of text that an event may have: `ingest.max_event_bytes`.
    fn max_event_bytes(&self) -> usize;

    /// Records an event. It is durable when this returns.
    fn add_event(&self, event: &Event) -> Result<EventId, QueryError>;

    /// An event by its id.
    fn event(&self, id: EventId) -> Result<Option<Event>, QueryError>;

    /// The events that match `filter`, by time, unless there are too many.
    fn events(&self, filter: &EventFilter, cancel: &Cancel) -> Result<Vec<(EventId, Event)>, QueryError>;
}

/// The names of all metrics, a piece at a time.
pub type NameStream = Box<dyn FnMut(usize) -> Vec<String> + Send>;

/// One node of the metric tree. A name can be a metric and a directory at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// Full path, without a dot at the end.
    pub path: &'a str,
    /// Is it a metric?
    pub leaf: bool,
    /// Does it hold other nodes?
    pub directory: bool,
    /// First and last second with data, for a leaf that has any.
    pub span: Option<(u32, u32)>,
}
