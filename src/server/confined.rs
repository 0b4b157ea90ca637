//! The engine as it answers somebody who is confined to a scope. What is outside is not there, and cannot be made or changed.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::engine::Engine;
use crate::bundle::Bundle;
use crate::http::browser::{Browse, Folder, Health, Listing, MetricDescription, PageRequest};
use crate::http::{
    BackedUp, Backend, BackupError, BackupState, Backups, Care, Catalog, CatalogQuery, Checked, Cleaned,
    CopiedMetric, Deleted, DeletedRange, Description, EventLog, ImportOptions, Imported, Labelled, Moving,
    NameStream, Node, Reloaded, Renamed, Repaired, RetentionPlan, Stats, TaggedSeries, Usage, Wanted,
};
use crate::index::{Sight, Survey, Top};
use crate::kairosdb::{Read, Tags};
use crate::parse::Limits;
use crate::receive::{Busy, Sink};
use graphite_render::{FetchRequest, Fetched, Source};
use plumbago_model::{
    Batch, Cancel, Event, EventFilter, EventId, Judged, Overload, Policy, QueryError, Scope, Stretch,
    Verdict, name,
};

/// An engine within a scope.
pub(super) struct Confined {
    engine: Arc<Engine>,
    scope: Arc<Scope>,
}

impl Confined {
    pub(super) fn new(engine: Arc<Engine>, scope: Arc<Scope>) -> Self {
        Self { engine, scope }
    }

    /// Is a name inside, in the spelling in which it is stored?
    fn covers(&self, raw: &str) -> bool {
        let name = name::canonical(raw, self.engine.config.ingest.max_name_bytes);
        name.is_ok_and(|name| self.scope.covers(&name))
    }

    /// Refuses to make or change what is outside.
    fn check(&self, raw: &str) -> Result<(), QueryError> {
        if self.covers(raw) { Ok(()) } else { Err(self.outside(raw)) }
    }

    fn outside(&self, what: &str) -> QueryError {
        QueryError::Forbidden(format!("`{what}` is outside of what you may change: {}", self.scope))
    }

    fn whole_server(&self) -> QueryError {
        QueryError::Forbidden(format!(
            "this is about the whole server, and you are confined to {}",
            self.scope
        ))
    }

    /// Is an event about something inside? One of its tags says so, together with those of the form `tag=value`.
    fn is_about(&self, event: &Event) -> bool {
        let (pairs, words): (Vec<&str>, Vec<&str>) =
            event.tags.iter().map(String::as_str).partition(|tag| tag.contains('='));
        let pairs: String = pairs.iter().map(|pair| format!(";{pair}")).collect();
        // A series that has these tags may be called anything.
        words
            .iter()
            .copied()
            .chain(["*"])
            .any(|word| self.scope.covers(word) || self.covers(&format!("{word}{pairs}")))
    }
}

impl Backend for Confined {
    fn within(self: Arc<Self>, scope: &Arc<Scope>) -> Arc<dyn Backend> {
        Arc::new(Self::new(Arc::clone(&self.engine), Arc::clone(scope)))
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

    fn backups(&self) -> Option<&dyn Backups> {
        Some(self)
    }

    fn find(
        &self,
        query: &str,
        window: Option<(i64, i64)>,
        cancel: &Cancel,
        visit: &mut dyn FnMut(Node<'_>),
    ) -> Result<(), QueryError> {
        self.engine.find_within(&self.scope, query, window, cancel, visit)
    }

    fn names(&self) -> NameStream {
        self.engine.names_within(&self.scope)
    }

    fn policies(&self, names: &[&str]) -> Vec<Option<Arc<Policy>>> {
        let found = self.engine.policies(names).into_iter().zip(names);
        found.map(|(policy, name)| policy.filter(|_| self.covers(name))).collect()
    }

    fn flush(&self, settle: bool) -> Result<(), String> {
        self.engine.flush(settle)
    }

    fn write(&self, lines: &[u8]) -> Result<Verdict, String> {
        self.engine.write_within(&self.scope, lines)
    }

    fn take(&self, batch: &Batch<'_>) -> Result<Judged, Overload> {
        self.engine.take_within(&self.scope, batch)
    }

    fn limits(&self) -> Limits {
        self.engine.limits()
    }

    fn ready(&self) -> Result<(), String> {
        self.engine.ready()
    }

    fn prometheus(&self) -> String {
        self.engine.prometheus()
    }
}

impl Sink for Confined {
    fn accept(&self, batch: &Batch<'_>) -> Result<(), Busy> {
        self.engine.judge(batch, &self.scope).map(drop).map_err(|_| Busy)
    }

    fn within(self: Arc<Self>, scope: &Arc<Scope>) -> Arc<dyn Sink> {
        Arc::new(Self::new(Arc::clone(&self.engine), Arc::clone(scope)))
    }
}

impl Source for Confined {
    fn fetch(&self, requests: &[FetchRequest], cancel: &Cancel) -> Result<Vec<Vec<Fetched>>, QueryError> {
        self.engine.fetch_within(&self.scope, requests, cancel)
    }

    fn event_times(&self, filter: &EventFilter, cancel: &Cancel) -> Result<Vec<u32>, QueryError> {
        Ok(self.events(filter, cancel)?.into_iter().map(|(_, event)| event.when).collect())
    }
}

impl TaggedSeries for Confined {
    fn index(&self) -> Result<Sight<'_>, QueryError> {
        self.engine.sight(&self.scope)
    }

    fn tag_series(&self, paths: &[&str]) -> Result<Vec<String>, QueryError> {
        for path in paths {
            self.check(&self.engine.canonical(path)?)?;
        }
        self.engine.tag_series(paths)
    }

    fn delete_series(&self, paths: &[&str]) -> Result<(), QueryError> {
        for path in paths {
            self.check(&self.engine.canonical(path)?)?;
        }
        self.engine.delete_series(paths)
    }
}

impl Labelled for Confined {
    fn read_series(
        &self,
        wanted: &Wanted,
        range: (i64, i64),
        cancel: &Cancel,
    ) -> Result<Vec<Read>, QueryError> {
        self.engine.read_series_within(&self.scope, wanted, range, cancel)
    }

    fn series_tags(
        &self,
        wanted: &Wanted,
        range: (i64, i64),
        cancel: &Cancel,
    ) -> Result<Vec<Tags>, QueryError> {
        self.engine.series_tags_within(&self.scope, wanted, range, cancel)
    }

    fn erase_series(&self, wanted: &Wanted, range: (i64, i64)) -> Result<usize, QueryError> {
        self.engine.erase_series_within(&self.scope, wanted, range)
    }

    fn catalog(&self, query: &CatalogQuery, cancel: &Cancel) -> Result<Value, QueryError> {
        match query.about {
            Catalog::Partitions => Err(self.whole_server()),
            _ => self.engine.catalog_within(&self.scope, query, cancel),
        }
    }
}

impl EventLog for Confined {
    fn max_event_bytes(&self) -> usize {
        self.engine.max_event_bytes()
    }

    fn add_event(&self, event: &Event) -> Result<EventId, QueryError> {
        if self.is_about(event) {
            return self.engine.add_event(event);
        }
        Err(QueryError::Forbidden(format!(
            "give the event a tag that is a name inside of what you may change: {}",
            self.scope
        )))
    }

    fn event(&self, id: EventId) -> Result<Option<Event>, QueryError> {
        Ok(self.engine.event(id)?.filter(|event| self.is_about(event)))
    }

    fn events(&self, filter: &EventFilter, cancel: &Cancel) -> Result<Vec<(EventId, Event)>, QueryError> {
        let takes = |event: &Event| filter.takes(event) && self.is_about(event);
        self.engine.events_that(&takes, filter, cancel)
    }
}

impl Browse for Confined {
    fn list(
        &self,
        folder: Folder<'_>,
        wanted: PageRequest<'_>,
        cancel: &Cancel,
    ) -> Result<Listing, QueryError> {
        self.engine.list_within(&self.scope, folder, wanted, cancel)
    }

    fn search(&self, text: &str, limit: usize, cancel: &Cancel) -> Result<Listing, QueryError> {
        self.engine.search_within(&self.scope, text, limit, cancel)
    }

    fn describe(&self, name: &str, cancel: &Cancel) -> Result<Option<MetricDescription>, QueryError> {
        if self.covers(name) { self.engine.describe(name, cancel) } else { Ok(None) }
    }

    /// Counts what is inside; of the whole server only how it is.
    fn health(&self) -> Health {
        let all = self.engine.health();
        let sight = self.engine.index.within(&self.scope);
        let (metrics, tagged) = sight.count(&Cancel::never()).unwrap_or_default();
        Health {
            version: all.version,
            warning: all.warning,
            trouble: all.trouble,
            store: all.store,
            carbon: all.carbon,
            uptime: all.uptime,
            metrics,
            tagged,
            ..Health::default()
        }
    }
}

impl Moving for Confined {
    fn max_import_bytes(&self) -> usize {
        self.engine.max_import_bytes()
    }

    fn import(&self, bundles: Vec<Bundle>, options: ImportOptions) -> Result<Imported, QueryError> {
        let (inside, outside): (Vec<Bundle>, Vec<Bundle>) =
            bundles.into_iter().partition(|bundle| self.covers(&bundle.name));
        let mut imported = self.engine.import(inside, options)?;
        let refused = outside.into_iter().map(|bundle| {
            let why = self.outside(&bundle.name).to_string();
            (bundle.name, why)
        });
        imported.refused.extend(refused);
        Ok(imported)
    }

    fn export(
        &self,
        names: &[&str],
        window: (u32, u32),
        visit: &mut dyn FnMut(Bundle) -> ControlFlow<()>,
    ) -> Result<(), QueryError> {
        let inside: Vec<&str> = names.iter().copied().filter(|name| self.scope.covers(name)).collect();
        self.engine.export(&inside, window, visit)
    }
}

impl Care for Confined {
    fn delete_matching(&self, query: &str, trial: bool) -> Result<Deleted, QueryError> {
        self.engine.delete_matching_within(&self.scope, query, trial)
    }

    /// Everything at and below both names must be inside: otherwise it would move what is not there for the caller.
    fn rename(&self, from: &str, to: &str, trial: bool) -> Result<Renamed, QueryError> {
        for name in [from, to] {
            self.check(name)?;
        }
        let planned = self.engine.rename(from, to, true)?;
        let names = planned.metrics.iter().flat_map(|(old, new)| [old, new]);
        for name in names {
            self.check(name)?;
        }
        if trial { Ok(planned) } else { self.engine.rename(from, to, false) }
    }

    fn clean(&self, _: Option<u64>, _: bool) -> Result<Cleaned, QueryError> {
        Err(self.whole_server())
    }

    fn delete_range(&self, query: &str, range: (u32, u32), trial: bool) -> Result<DeletedRange, QueryError> {
        let range = Stretch { from: range.0, until: range.1 };
        self.engine.erase_matching(&self.scope, query, range, trial)
    }

    fn repair(&self, _: bool) -> Result<Repaired, QueryError> {
        Err(self.whole_server())
    }

    fn top(&self, survey: &Survey) -> Result<Top, QueryError> {
        Ok(self.engine.rank(&self.scope, survey))
    }

    fn names(&self, query: &str) -> Result<Vec<String>, QueryError> {
        self.engine.all_names_within(&self.scope, query)
    }

    fn usage(&self, query: &str) -> Result<Usage, QueryError> {
        self.engine.usage_within(&self.scope, query)
    }

    fn stats(&self) -> Result<Stats, QueryError> {
        Err(self.whole_server())
    }

    fn describe_metric(&self, name: &str) -> Result<Option<Description>, QueryError> {
        if self.covers(name) { self.engine.describe_metric(name) } else { Ok(None) }
    }

    fn copy_metric(
        &self,
        source: &str,
        destination: &str,
        window: (u32, u32),
        trial: bool,
    ) -> Result<Option<CopiedMetric>, QueryError> {
        self.check(destination)?;
        if !self.covers(source) {
            return Ok(None);
        }
        self.engine.copy_metric(source, destination, window, trial)
    }

    fn check_files(&self) -> Result<Checked, QueryError> {
        Err(self.whole_server())
    }

    fn plan_retention(&self) -> Result<RetentionPlan, QueryError> {
        Err(self.whole_server())
    }

    fn reload(&self) -> Result<Reloaded, QueryError> {
        Err(self.whole_server())
    }
}

impl Backups for Confined {
    fn back_up(&self, _: &Path) -> Result<BackedUp, BackupError> {
        Err(BackupError::Refused(self.whole_server().to_string()))
    }

    fn backup_state(&self) -> BackupState {
        BackupState::default()
    }
}

#[cfg(test)]
mod tests;
