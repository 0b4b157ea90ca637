//! What the metric browser asks of the engine.

use std::sync::Arc;

use super::engine::{Engine, now};
use super::own_metrics::on_this_machine;
use crate::config::StoreKind;
use crate::http::browser::{
    Browse, Folder, Health, LastPoint, ListedNode, Listing, MetricDescription, PageRequest, RuleName,
    RuledName, StageShape,
};
use crate::http::{Backend, Node};
use crate::index::{ListedName, Page};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId, Policy, QueryError, Reject, Scope, Span, name};

/// A search for words needs all names. The tables of a cluster can only find whole components.
const UNKNOWN_WORDS: &str = "searching by words needs all names in memory: write a glob such as servers.*.load, or set \
                             store.cassandra.index = \"memory\"";

/// A span ends on a whole hour, so the last point is searched for in this much time before its end.
const LAST_POINT_WITHIN_SECS: i64 = 2 * 3600;

/// Where other servers write too, no span says when the last point was, so one day is searched.
const LAST_POINT_OF_OTHERS_SECS: i64 = 86_400;

impl Browse for Engine {
    fn list(
        &self,
        folder: Folder<'_>,
        wanted: PageRequest<'_>,
        cancel: &Cancel,
    ) -> Result<Listing, QueryError> {
        self.list_within(&Arc::default(), folder, wanted, cancel)
    }

    fn search(&self, text: &str, limit: usize, cancel: &Cancel) -> Result<Listing, QueryError> {
        self.search_within(&Arc::default(), text, limit, cancel)
    }

    fn describe(&self, name: &str, cancel: &Cancel) -> Result<Option<MetricDescription>, QueryError> {
        let Some(id) = self.known(name, cancel)? else { return Ok(None) };
        let Some((policy, span)) = self.points.state(id) else { return Ok(None) };
        let Some(policy) = self.points.policies().get(policy) else { return Ok(None) };
        let last = self.last_point(id, span, cancel)?;
        let bytes = self.chunk_bytes(&[id])?;
        let known = span != Span::EMPTY;
        Ok(Some(MetricDescription {
            first: known.then_some(span.first),
            last: last.map(|(time, value)| LastPoint { time, value }),
            bytes,
            ..self.ruled(name, &policy)
        }))
    }

    fn rules_for(&self, name: &str, cancel: &Cancel) -> Result<Option<RuledName>, QueryError> {
        self.try_name(name, cancel).map(Some)
    }

    fn health(&self) -> Health {
        let (metrics, tagged) = {
            let index = self.index.read();
            (index.len() as u64, index.tagged_len())
        };
        let (counters, own) = (&self.telemetry, &self.config.own_metrics);
        let rejected = Reject::ALL.iter().map(|&reason| (reason.label(), counters.rejected(reason)));
        Health {
            version: env!("CARGO_PKG_VERSION"),
            warning: self.config.exposed(),
            user: None,
            role: "",
            whole: true,
            trouble: self.ready().err(),
            store: match self.config.store.kind {
                StoreKind::Embedded => "embedded",
                StoreKind::Cassandra => "cassandra",
            },
            carbon: self.carbon.get().map(ToString::to_string),
            own_prefix: (!own.interval.is_zero()).then(|| own.prefix.clone()),
            own_name: (!own.interval.is_zero()).then(|| on_this_machine(&own.prefix)),
            metrics,
            tagged,
            points_received: counters.points_received.get(),
            points_stored: counters.points_stored.get(),
            points_rejected: rejected.filter(|(_, count)| *count > 0).collect(),
            points_in_memory: self.points.held() as u64,
            points_waiting: self.store.upstream.spooled_points(),
            block_bytes: self.stored_bytes(),
            connections: counters.connections.get(),
            uptime: self.opened.elapsed().as_secs(),
        }
    }
}

impl Engine {
    /// A page of a directory, of what is inside of a scope.
    pub(super) fn list_within(
        &self,
        scope: &Arc<Scope>,
        folder: Folder<'_>,
        wanted: PageRequest<'_>,
        cancel: &Cancel,
    ) -> Result<Listing, QueryError> {
        let Some(index) = self.whole_index() else { return self.list_by_find(scope, folder, wanted, cancel) };
        let index = index.within(scope);
        let page = match folder {
            Folder::Directory(path) => index.children(path, wanted, cancel),
            Folder::TaggedNames => index.tagged_names(wanted, cancel),
            Folder::TaggedWith(name) => index.tagged_with_name(name, wanted, cancel),
        };
        let Page { entries, total } = page?;
        Ok(Listing { nodes: entries.into_iter().map(node).collect(), total, complete: true })
    }

    /// What a search finds inside of a scope.
    pub(super) fn search_within(
        &self,
        scope: &Arc<Scope>,
        text: &str,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Listing, QueryError> {
        if text.contains(['*', '?', '[', '{']) {
            return self.collect(scope, text, PageRequest { after: "", limit }, cancel, str::to_owned);
        }
        let index = self.whole_index().ok_or_else(|| QueryError::Invalid(UNKNOWN_WORDS.to_owned()))?;
        let hits = index.within(scope).search_words(text, limit, cancel)?;
        let nodes = hits.entries.into_iter().map(node).collect();
        Ok(Listing { nodes, total: hits.total, complete: hits.complete })
    }

    /// The metric of this name, which this machine may have to look up in the cluster.
    fn known(&self, name: &str, cancel: &Cancel) -> Result<Option<MetricId>, QueryError> {
        let known = self.index.read().lookup(name.as_bytes());
        if known.is_some() || self.whole_index().is_some() {
            return Ok(known);
        }
        let Ok(glob) = Glob::parse(name) else { return Ok(None) };
        let found = self.store.upstream.find_leaves(self, &glob, 1, cancel)?;
        Ok(found.into_iter().find(|(_, found)| found == name).map(|(id, _)| id))
    }

    /// The time and value of a metric's last point.
    pub fn last_point(
        &self,
        id: MetricId,
        span: Span,
        cancel: &Cancel,
    ) -> Result<Option<(u32, f64)>, QueryError> {
        let now = i64::from(now());
        let (from, until) = if self.store.upstream.is_sole_writer() {
            (i64::from(span.last) - LAST_POINT_WITHIN_SECS, i64::from(span.last))
        } else {
            (now - LAST_POINT_OF_OTHERS_SECS, now)
        };
        // The stage that reaches back to the start of a window answers all of it, and in a coarse stage a single point is often
        // below the xFilesFactor. So this first searches as far as the finest stage reaches, and then further.
        let policy = self.points.state(id).and_then(|(policy, _)| self.points.policies().get(policy));
        for stage in policy.iter().flat_map(|policy| policy.retention.stages()) {
            let reaches = now - i64::try_from(stage.span_secs()).unwrap_or(now);
            let read = self.points.fetch(&[id], from.max(reaches).min(until), until, now, cancel)?;
            let Some(series) = read.into_iter().flatten().next() else { return Ok(None) };
            if let Some(at) = series.values.iter().rposition(|value| !value.is_nan()) {
                return Ok(series.values.get(at).map(|&value| (series.range.time(at), value)));
            }
            if reaches <= from {
                break;
            }
        }
        Ok(None)
    }

    /// Lists a directory of a store whose names are not all in memory. There are no counts then.
    fn list_by_find(
        &self,
        scope: &Arc<Scope>,
        folder: Folder<'_>,
        wanted: PageRequest<'_>,
        cancel: &Cancel,
    ) -> Result<Listing, QueryError> {
        let Folder::Directory(path) = folder else {
            return Ok(Listing { complete: true, ..Listing::default() });
        };
        let glob = if path.is_empty() { "*".to_owned() } else { format!("{path}.*") };
        let last = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
        self.collect(scope, &glob, wanted, cancel, last)
    }

    /// The nodes that match a glob, sorted.
    fn collect(
        &self,
        scope: &Arc<Scope>,
        glob: &str,
        wanted: PageRequest<'_>,
        cancel: &Cancel,
        name: impl Fn(&str) -> String,
    ) -> Result<Listing, QueryError> {
        let mut listing = Listing { complete: true, ..Listing::default() };
        let found = self.find_within(scope, glob, None, cancel, &mut |node: Node<'_>| {
            listing.total += 1;
            let name = name(node.path);
            if listing.nodes.len() < wanted.limit && (wanted.after.is_empty() || *name > *wanted.after) {
                let (metric, directory) = (node.leaf, node.directory);
                listing.nodes.push(ListedNode { name, metric, directory, below: None });
            }
        });
        match found {
            Err(QueryError::Deadline) => listing.complete = false,
            found => found?,
        }
        Ok(listing)
    }

    /// The part of a description that follows from the rules.
    pub(super) fn ruled(&self, name: &str, policy: &Policy) -> MetricDescription {
        let rules = self.retention();
        let ruled = rules.policy_for(name, policy.arrival());
        let as_ruled = ruled.policy == *policy;
        let rule = |name: &str, origin: &str| RuleName { name: name.to_owned(), origin: origin.to_owned() };
        let shape =
            |stage: &plumbago_model::Stage| StageShape { step: stage.step_secs, points: stage.points };
        MetricDescription {
            name: name.to_owned(),
            uuid: name::biggraphite_id(name).to_string(),
            stages: policy.retention.stages().iter().map(shape).collect(),
            aggregation: policy.aggregator.name(),
            x_files_factor: policy.x_files_factor,
            retention_rule: ruled.retention_rule.map(|found| rule(&found.name, &found.origin)),
            aggregation_rule: ruled.aggregation_rule.map(|found| rule(&found.name, &found.origin)),
            as_ruled,
            first: None,
            last: None,
            bytes: 0,
        }
    }
}

fn node(entry: ListedName) -> ListedNode {
    let ListedName { name, metric, below } = entry;
    ListedNode { name, metric, directory: below > 0, below: Some(below) }
}
