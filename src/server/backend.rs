//! What the HTTP API asks of the engine.

use std::sync::Arc;

use super::confined::Confined;
use super::engine::{Engine, READ_ONLY, now};
use super::memos::KeptMemos;
use crate::auth::Sender;
use crate::http::browser::Browse;
use crate::http::{Backend, Backups, Care, Labelled, Memos, Moving, NameStream, Node, Visitor};
use crate::index::{FindLimits, Found, NameWalk};
use crate::parse::Limits;
use crate::receive;
use crate::store::Hit;
use crate::telemetry::QuotaUse;
use graphite_render::{FetchRequest, Fetched, Source, picture};
use plumbago_model::glob::Glob;
use plumbago_model::{
    Batch, Cancel, Judged, MetricId, Overload, Policy, QueryError, Reading, Scope, Span, Verdict,
};

/// Bytes that a name which was found takes beside its text.
const HIT_BYTES: usize = 48;

impl Backend for Engine {
    fn of(self: Arc<Self>, sender: &Sender) -> Arc<dyn Backend> {
        Arc::new(Confined::new(self, sender.clone()))
    }

    fn tells_senders_apart(&self) -> bool {
        self.quotas.tell_senders_apart()
    }

    fn source(&self) -> &dyn Source {
        self
    }

    fn browse(&self) -> &dyn Browse {
        self
    }

    fn moving(&self) -> Option<&dyn Moving> {
        Some(self)
    }

    fn care(&self) -> Option<&dyn Care> {
        Some(self)
    }

    fn labelled(&self) -> Option<&dyn Labelled> {
        Some(self)
    }

    fn memos(&self) -> Result<Box<dyn Memos + '_>, QueryError> {
        Ok(Box::new(KeptMemos::of_nobody(self)))
    }

    fn backups(&self) -> Option<&dyn Backups> {
        Some(self)
    }

    fn find(
        &self,
        query: &str,
        window: Option<(i64, i64)>,
        cancel: &Cancel,
        visitor: &mut dyn Visitor,
    ) -> Result<(), QueryError> {
        self.find_within(&Arc::default(), query, window, cancel, visitor)
    }

    fn names(&self, begin: &str) -> NameStream {
        self.names_within(&Arc::default(), begin)
    }

    fn read(
        &self,
        request: &FetchRequest,
        reading: Reading,
        cancel: &Cancel,
    ) -> Result<Vec<Fetched>, QueryError> {
        self.read_within(&Arc::default(), request, reading, cancel)
    }

    fn policies(&self, names: &[&str]) -> Vec<Option<Arc<Policy>>> {
        let mut ids = Vec::with_capacity(names.len());
        self.index.read().lookup_many(names.iter().copied(), &mut ids);
        let policy = |id: Option<MetricId>| self.points.policies().get(self.points.state(id?)?.0);
        ids.into_iter().map(policy).collect()
    }

    fn flush(&self, settle: bool) -> Result<(), String> {
        self.points.sync().map_err(|e| e.to_string())?;
        if settle { self.settle() } else { Ok(()) }
    }

    fn write(&self, lines: &[u8]) -> Result<Verdict, String> {
        Engine::write(self, lines)
    }

    fn take(&self, batch: &Batch<'_>) -> Result<Judged, Overload> {
        self.take_from(&Sender::default(), batch)
    }

    fn limits(&self) -> Limits {
        receive::limits(&self.config.ingest)
    }

    fn is_read_only(&self) -> bool {
        self.config.store.read_only
    }

    fn ready(&self) -> Result<(), String> {
        if self.config.store.read_only {
            return Err(READ_ONLY.to_owned());
        }
        if let Some(failure) = self.supervisor.failure() {
            return Err(format!("{failure}; the server ends after server.failure_grace"));
        }
        self.store.upstream.check()?;
        if self.paused.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(
                "the disk is full: points are not taken until there is space again (store.reserve_bytes)"
                    .to_owned(),
            );
        }
        if self.failing.load(std::sync::atomic::Ordering::Relaxed) {
            return Err("points cannot be written; the server's log says why".to_owned());
        }
        Ok(())
    }

    fn quotas(&self) -> Vec<QuotaUse> {
        self.quotas.usage(now())
    }

    fn prometheus(&self) -> String {
        self.telemetry.spool_points.set(self.spooled());
        self.telemetry.fonts_left_out.set(picture::system_fonts_left_out());
        self.telemetry.set_disk(self.disk());
        self.telemetry.set_quotas(self.quotas.usage(now()));
        self.telemetry.prometheus()
    }
}

/// Which directories lead to a metric that somebody may see.
pub(super) const UNKNOWN_DIRECTORIES: &str = "who is confined to some metrics can find names only when all are in memory: set \
                                   store.cassandra.index = \"memory\", or wait until the names of the cluster are loaded";

impl Engine {
    /// The names that are inside of a scope and begin with a text.
    pub(super) fn names_within(&self, scope: &Arc<Scope>, begin: &str) -> NameStream {
        let index = Arc::clone(&self.index);
        let mut walk = NameWalk::beginning(scope, begin);
        Box::new(move |limit| walk.next_chunk(&index.read(), limit))
    }

    /// Visits the nodes that match and are inside of a scope, or lead there.
    pub(super) fn find_within(
        &self,
        scope: &Arc<Scope>,
        query: &str,
        window: Option<(i64, i64)>,
        cancel: &Cancel,
        visitor: &mut dyn Visitor,
    ) -> Result<(), QueryError> {
        let glob = Glob::parse(query)?;
        let max_hits = self.config.query.max_find_hits;
        // Only a server that writes everything itself knows when a metric has no data.
        let window = window.filter(|_| self.store.upstream.is_sole_writer());
        let Some(index) = self.whole_index() else {
            if !scope.is_everything() {
                return Err(QueryError::invalid(UNKNOWN_DIRECTORIES));
            }
            for Hit { path, leaf, directory } in self.store.upstream.find(self, &glob, max_hits, cancel)? {
                visitor.visit(Node { path: &path, leaf, directory, span: None });
            }
            return Ok(());
        };
        let found = index.within(scope).find(&glob, FindLimits::names(max_hits), cancel)?;
        cancel.take(found.text_bytes() + found.len() * HIT_BYTES)?;
        visitor.expect(found.len(), found.text_bytes());
        let leaves: Vec<MetricId> = found.iter().filter_map(|f| f.leaf).collect();
        let mut spans = self.points.spans(&leaves).into_iter();
        for found in found.iter() {
            let span = found.leaf.and_then(|_| spans.next()).unwrap_or(Span::EMPTY);
            if let Some(node) = node(found, span, window) {
                visitor.visit(node);
            }
        }
        Ok(())
    }
}

/// A node as the API shows it, or `None` for a metric without data in the window.
#[inline]
fn node(found: Found<'_>, span: Span, window: Option<(i64, i64)>) -> Option<Node<'_>> {
    let seconds = |t: i64| u32::try_from(t.max(0)).unwrap_or(u32::MAX);
    let inside = window.is_none_or(|(from, until)| span.overlaps(seconds(from), seconds(until)));
    let leaf = found.leaf.is_some() && inside;
    let known = (leaf && span != Span::EMPTY).then_some((span.first, span.last));
    (leaf || found.directory).then_some(Node {
        path: found.path,
        leaf,
        directory: found.directory,
        span: known,
    })
}
