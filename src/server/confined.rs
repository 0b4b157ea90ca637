//! The engine as it answers one caller. What is outside of their scope is not there, and cannot be made or changed.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::engine::Engine;
use super::memos::KeptMemos;
use crate::auth::Sender;
use crate::bundle::Bundle;
use crate::http::browser::{Browse, Folder, Health, Listing, MetricDescription, PageRequest, RuledName};
use crate::http::{
    BackedUp, Backend, BackupError, BackupState, Backups, Care, Catalog, CatalogQuery, Checked, Cleaned,
    CopiedMetric, Deleted, DeletedRange, Description, EventLog, ImportOptions, Imported, Labelled, Memos,
    Moving, NameStream, Reloaded, Renamed, Repaired, RetentionPlan, Stats, TaggedSeries, Usage, Visitor,
    Wanted,
};
use crate::index::{Sight, Survey, Top};
use crate::kairosdb::{Read, Tags};
use crate::parse::Limits;
use crate::receive::{Busy, Recent, Sink};
use crate::telemetry::QuotaUse;
use graphite_render::{FetchRequest, Fetched, Source};
use plumbago_model::{
    Batch, Cancel, Event, EventFilter, EventId, Judged, Overload, Point, Policy, QueryError, Reading, Scope,
    Stretch, Tenant, Verdict, name,
};

/// What senders write to and cache queries read from on the ports without logins: the default tenant, if there is one.
pub(super) fn ports(engine: &Arc<Engine>) -> (Arc<dyn Sink>, Arc<dyn Recent>) {
    let tenancy = &engine.config.auth.tenancy;
    let default = tenancy.default.as_deref().filter(|_| tenancy.enabled);
    match default.and_then(|name| tenancy.tenants.tenant(name).ok()) {
        Some(tenant) => {
            let scope = Arc::new(Scope::default().of_tenant(tenant));
            let sender = Sender { scope, ..Sender::default() };
            let confined = Arc::new(Confined::new(Arc::clone(engine), sender));
            (Arc::<Confined>::clone(&confined), confined)
        }
        None => (Arc::<Engine>::clone(engine), Arc::<Engine>::clone(engine)),
    }
}

/// An engine for one caller. A caller whose scope is everything sees all of it, and what they send counts for their quota.
pub(super) struct Confined {
    engine: Arc<Engine>,
    sender: Sender,
}

impl Confined {
    pub(super) fn new(engine: Arc<Engine>, sender: Sender) -> Self {
        Self { engine, sender }
    }

    fn scope(&self) -> &Arc<Scope> {
        &self.sender.scope
    }

    /// The name in the store of a metric that is inside, by the name that it has for the caller.
    fn inside(&self, raw: &str) -> Option<String> {
        if self.scope().is_everything() {
            return Some(raw.to_owned());
        }
        let own = name::canonical(raw, self.engine.config.ingest.max_name_bytes).ok()?;
        let stored = self.scope().stored(&own)?;
        self.scope().covers(&stored).then(|| stored.into_owned())
    }

    fn covers(&self, raw: &str) -> bool {
        self.inside(raw).is_some()
    }

    /// The same; refuses to make or change what is outside.
    fn check(&self, raw: &str) -> Result<String, QueryError> {
        self.inside(raw).ok_or_else(|| self.outside(raw))
    }

    /// The names in the store of tagged series.
    fn check_series(&self, paths: &[&str]) -> Result<Vec<String>, QueryError> {
        paths.iter().map(|path| self.check(&self.engine.canonical(path)?)).collect()
    }

    /// What a metric is called for the caller.
    fn shown(&self, stored: String) -> String {
        let own = self.scope().shown(&stored).map(Cow::into_owned);
        own.unwrap_or(stored)
    }

    /// A failure of the engine, which speaks of names in the store.
    fn worded(&self, error: QueryError) -> QueryError {
        let Some(tenant) = self.scope().tenant() else { return error };
        match error {
            QueryError::Limit(text) => QueryError::Limit(tenant.worded(&text)),
            QueryError::Invalid(text) => QueryError::Invalid(tenant.worded(&text)),
            QueryError::Forbidden(text) => QueryError::Forbidden(tenant.worded(&text)),
            QueryError::Away(cause) => QueryError::Away(tenant.worded(&cause.to_string()).into()),
            QueryError::Store(cause) => QueryError::Store(tenant.worded(&cause.to_string()).into()),
            other => other,
        }
    }

    fn outside(&self, what: &str) -> QueryError {
        QueryError::Forbidden(format!("`{what}` is outside of what you may change: {}", self.scope()))
    }

    /// The engine itself, for what is about the whole server.
    fn whole(&self) -> Result<&Engine, QueryError> {
        if self.scope().is_everything() {
            return Ok(&self.engine);
        }
        Err(QueryError::Forbidden(format!(
            "this is about the whole server, and you are confined to {}",
            self.scope()
        )))
    }

    /// An event as the caller sees it, if it is about something inside.
    fn own_event(&self, mut event: Event) -> Option<Event> {
        if let Some(tenant) = self.scope().tenant() {
            let marked = event.tags.len();
            event.tags.retain(|tag| tag != tenant.mark());
            if event.tags.len() == marked {
                return None;
            }
        }
        self.is_about(&event).then_some(event)
    }

    /// An event as it is stored.
    fn stored_event(&self, event: &Event) -> Option<Event> {
        let mut stored = event.clone();
        if let Some(tenant) = self.scope().tenant() {
            stored.tags.retain(|tag| tag != tenant.mark());
            let begin = format!("{}=", tenant.tag());
            if stored.tags.iter().any(|tag| tag.starts_with(&begin)) {
                return None;
            }
            stored.tags.push(tenant.mark().to_owned());
        }
        self.is_about(event).then_some(stored)
    }

    /// Is an event about something inside? One of its tags says so, together with those of the form `tag=value`.
    fn is_about(&self, event: &Event) -> bool {
        if self.scope().takes_all() {
            return true;
        }
        let (pairs, words): (Vec<&str>, Vec<&str>) =
            event.tags.iter().map(String::as_str).partition(|tag| tag.contains('='));
        let pairs: String = pairs.iter().map(|pair| format!(";{pair}")).collect();
        // A series that has these tags may be called anything.
        words
            .iter()
            .copied()
            .chain(["*"])
            .any(|word| self.covers(word) || self.covers(&format!("{word}{pairs}")))
    }
}

impl Backend for Confined {
    fn of(self: Arc<Self>, sender: &Sender) -> Arc<dyn Backend> {
        Arc::new(Self::new(Arc::clone(&self.engine), sender.clone()))
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

    /// A memo is about no metric, so only a tenant who is confined no further has some.
    fn memos(&self) -> Result<Box<dyn Memos + '_>, QueryError> {
        match self.scope().tenant() {
            Some(tenant) if self.scope().takes_all() => {
                Ok(Box::new(KeptMemos::of_tenant(&self.engine, tenant)))
            }
            _ => self.whole()?.memos(),
        }
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
        self.engine.find_within(self.scope(), query, window, cancel, visitor)
    }

    fn names(&self, begin: &str) -> NameStream {
        self.engine.names_within(self.scope(), begin)
    }

    fn read(
        &self,
        request: &FetchRequest,
        reading: Reading,
        cancel: &Cancel,
    ) -> Result<Vec<Fetched>, QueryError> {
        self.engine.read_within(self.scope(), request, reading, cancel)
    }

    fn policies(&self, names: &[&str]) -> Vec<Option<Arc<Policy>>> {
        let stored: Vec<String> = names.iter().map(|name| self.inside(name).unwrap_or_default()).collect();
        // No metric has the empty name.
        self.engine.policies(&stored.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn flush(&self, settle: bool) -> Result<(), String> {
        self.engine.flush(settle)
    }

    fn write(&self, lines: &[u8]) -> Result<Verdict, String> {
        self.engine.write_from(&self.sender, lines)
    }

    fn take(&self, batch: &Batch<'_>) -> Result<Judged, Overload> {
        self.engine.take_from(&self.sender, batch)
    }

    fn limits(&self) -> Limits {
        self.engine.limits()
    }

    fn ready(&self) -> Result<(), String> {
        self.engine.ready()
    }

    fn quotas(&self) -> Vec<QuotaUse> {
        self.whole().map(Backend::quotas).unwrap_or_default()
    }

    fn prometheus(&self) -> String {
        self.engine.prometheus()
    }
}

/// Points of senders on the ports of the default tenant. Users who are confined write where they may.
impl Sink for Confined {
    fn accept(&self, batch: &Batch<'_>, sender: &Sender) -> Result<(), Busy> {
        if !sender.scope.is_everything() {
            return self.engine.accept(batch, sender);
        }
        self.engine.accept(batch, &Sender { scope: Arc::clone(self.scope()), ..sender.clone() })
    }

    fn tells_senders_apart(&self) -> bool {
        Sink::tells_senders_apart(&*self.engine)
    }
}

impl Recent for Confined {
    fn recent(&self, metric: &str) -> Vec<Point> {
        self.inside(metric).map_or_else(Vec::new, |stored| self.engine.recent(&stored))
    }

    fn aggregation(&self, metric: &str) -> Option<String> {
        self.engine.aggregation(&self.inside(metric)?)
    }
}

impl Source for Confined {
    fn fetch(&self, requests: &[FetchRequest], cancel: &Cancel) -> Result<Vec<Vec<Fetched>>, QueryError> {
        self.engine.fetch_within(self.scope(), requests, cancel)
    }

    fn event_times(&self, filter: &EventFilter, cancel: &Cancel) -> Result<Vec<u32>, QueryError> {
        Ok(self.events(filter, cancel)?.into_iter().map(|(_, event)| event.when).collect())
    }
}

impl TaggedSeries for Confined {
    fn index(&self) -> Result<Sight<'_>, QueryError> {
        self.engine.sight(self.scope())
    }

    fn tag_series(&self, paths: &[&str]) -> Result<Vec<String>, QueryError> {
        let stored = self.check_series(paths)?;
        let stored: Vec<&str> = stored.iter().map(String::as_str).collect();
        let made = self.engine.tag_series_from(&self.sender, &stored).map_err(|error| self.worded(error))?;
        Ok(made.into_iter().map(|name| self.shown(name)).collect())
    }

    fn delete_series(&self, paths: &[&str]) -> Result<(), QueryError> {
        let stored = self.check_series(paths)?;
        let stored: Vec<&str> = stored.iter().map(String::as_str).collect();
        self.engine.delete_series(&stored).map_err(|error| self.worded(error))
    }
}

impl Labelled for Confined {
    fn read_series(
        &self,
        wanted: &Wanted,
        range: (i64, i64),
        cancel: &Cancel,
    ) -> Result<Vec<Read>, QueryError> {
        self.engine.read_series_within(self.scope(), wanted, range, cancel)
    }

    fn series_tags(
        &self,
        wanted: &Wanted,
        range: (i64, i64),
        cancel: &Cancel,
    ) -> Result<Vec<Tags>, QueryError> {
        self.engine.series_tags_within(self.scope(), wanted, range, cancel)
    }

    fn erase_series(&self, wanted: &Wanted, range: (i64, i64)) -> Result<usize, QueryError> {
        self.engine.erase_series_within(self.scope(), wanted, range)
    }

    fn catalog(&self, query: &CatalogQuery, cancel: &Cancel) -> Result<Value, QueryError> {
        match query.about {
            Catalog::Partitions => self.whole()?.catalog(query, cancel),
            _ => self.engine.catalog_within(self.scope(), query, cancel),
        }
    }
}

impl EventLog for Confined {
    fn max_event_bytes(&self) -> usize {
        self.engine.max_event_bytes()
    }

    fn add_event(&self, event: &Event) -> Result<EventId, QueryError> {
        if let Some(event) = self.stored_event(event) {
            return self.engine.add_event(&event);
        }
        Err(QueryError::Forbidden(format!(
            "give the event a tag that is a name inside of what you may change: {}",
            self.scope()
        )))
    }

    fn event(&self, id: EventId) -> Result<Option<Event>, QueryError> {
        Ok(self.engine.event(id)?.and_then(|event| self.own_event(event)))
    }

    fn events(&self, filter: &EventFilter, cancel: &Cancel) -> Result<Vec<(EventId, Event)>, QueryError> {
        let mark = self.scope().tenant().map(Tenant::mark);
        let is_ours = |event: &Event| mark.is_none_or(|mark| event.tags.iter().any(|tag| tag == mark));
        let own = |event: &Event| is_ours(event).then(|| self.own_event(event.clone())).flatten();
        let takes = |event: &Event| own(event).is_some_and(|event| filter.takes(&event));
        let found = self.engine.events_that(&takes, filter, cancel)?;
        Ok(found.into_iter().filter_map(|(id, event)| Some((id, self.own_event(event)?))).collect())
    }
}

impl Browse for Confined {
    fn list(
        &self,
        folder: Folder<'_>,
        wanted: PageRequest<'_>,
        cancel: &Cancel,
    ) -> Result<Listing, QueryError> {
        self.engine.list_within(self.scope(), folder, wanted, cancel)
    }

    fn search(&self, text: &str, limit: usize, cancel: &Cancel) -> Result<Listing, QueryError> {
        self.engine.search_within(self.scope(), text, limit, cancel)
    }

    fn describe(&self, name: &str, cancel: &Cancel) -> Result<Option<MetricDescription>, QueryError> {
        let Some(stored) = self.inside(name) else { return Ok(None) };
        let found = self.engine.describe(&stored, cancel)?;
        Ok(found.map(|found| MetricDescription { name: self.shown(stored), ..found }))
    }

    fn rules_for(&self, name: &str, cancel: &Cancel) -> Result<Option<RuledName>, QueryError> {
        if self.scope().is_everything() { self.engine.rules_for(name, cancel) } else { Ok(None) }
    }

    /// Counts what is inside; of the whole server only how it is.
    fn health(&self) -> Health {
        let all = self.engine.health();
        if self.scope().is_everything() {
            return all;
        }
        let sight = self.engine.index.within(self.scope());
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
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for bundle in bundles {
            match self.check(&bundle.name) {
                Ok(name) => inside.push(Bundle { name, ..bundle }),
                Err(why) => outside.push((bundle.name, why.to_string())),
            }
        }
        let mut imported = self.engine.import_from(&self.sender, inside, options)?;
        if let Some(tenant) = self.scope().tenant() {
            let refused = std::mem::take(&mut imported.refused).into_iter();
            imported.refused = refused.map(|(name, why)| (self.shown(name), tenant.worded(&why))).collect();
        }
        imported.refused.extend(outside);
        Ok(imported)
    }

    fn export(
        &self,
        names: &[&str],
        window: (u32, u32),
        visit: &mut dyn FnMut(Bundle) -> ControlFlow<()>,
    ) -> Result<(), QueryError> {
        let stored: Vec<String> = names.iter().filter_map(|name| self.inside(name)).collect();
        let stored: Vec<&str> = stored.iter().map(String::as_str).collect();
        self.engine.export(&stored, window, &mut |bundle| {
            let name = self.shown(bundle.name);
            visit(Bundle { name, ..bundle })
        })
    }
}

impl Care for Confined {
    fn delete_matching(&self, query: &str, trial: bool, cancel: &Cancel) -> Result<Deleted, QueryError> {
        self.engine.delete_matching_within(self.scope(), query, trial, cancel)
    }

    /// Everything at and below both names must be inside: otherwise it would move what is not there for the caller.
    fn rename(&self, from: &str, to: &str, trial: bool) -> Result<Renamed, QueryError> {
        let (from, to) = (self.check(from)?, self.check(to)?);
        let rename = |trial| self.engine.rename(&from, &to, trial).map_err(|error| self.worded(error));
        let planned = rename(true)?;
        let names = planned.metrics.iter().flat_map(|(old, new)| [old, new]);
        if let Some(outside) = names.into_iter().find(|name| !self.scope().covers(name)) {
            return Err(self.outside(&self.shown(outside.clone())));
        }
        let mut renamed = if trial { planned } else { rename(false)? };
        for (old, new) in &mut renamed.metrics {
            (*old, *new) = (self.shown(std::mem::take(old)), self.shown(std::mem::take(new)));
        }
        Ok(renamed)
    }

    fn clean(&self, secs: Option<u64>, trial: bool) -> Result<Cleaned, QueryError> {
        self.whole()?.clean(secs, trial)
    }

    fn delete_range(
        &self,
        query: &str,
        range: (u32, u32),
        trial: bool,
        cancel: &Cancel,
    ) -> Result<DeletedRange, QueryError> {
        let range = Stretch { from: range.0, until: range.1 };
        self.engine.erase_matching(self.scope(), query, range, trial, cancel)
    }

    fn repair(&self, trial: bool) -> Result<Repaired, QueryError> {
        self.whole()?.repair(trial)
    }

    fn top(&self, survey: &Survey, cancel: &Cancel) -> Result<Top, QueryError> {
        self.engine.rank(self.scope(), survey, cancel)
    }

    fn names(&self, query: &str, cancel: &Cancel) -> Result<Vec<String>, QueryError> {
        self.engine.all_names_within(self.scope(), query, cancel)
    }

    fn usage(&self, query: &str, cancel: &Cancel) -> Result<Usage, QueryError> {
        // What waits in the log is of the whole server.
        Ok(Usage { points_in_log: 0, ..self.engine.usage_within(self.scope(), query, cancel)? })
    }

    fn stats(&self) -> Result<Stats, QueryError> {
        Care::stats(self.whole()?)
    }

    fn describe_metric(&self, name: &str) -> Result<Option<Description>, QueryError> {
        let Some(stored) = self.inside(name) else { return Ok(None) };
        let found = self.engine.describe_metric(&stored)?;
        Ok(found.map(|found| Description { name: self.shown(stored), ..found }))
    }

    fn copy_metric(
        &self,
        source: &str,
        destination: &str,
        window: (u32, u32),
        trial: bool,
    ) -> Result<Option<CopiedMetric>, QueryError> {
        let destination = self.check(destination)?;
        let Some(source) = self.inside(source) else { return Ok(None) };
        let copied = self.engine.copy_metric(&source, &destination, window, trial);
        let mut copied = copied.map_err(|error| self.worded(error))?;
        if let (Some(CopiedMetric { refused: Some(why), .. }), Some(tenant)) =
            (&mut copied, self.scope().tenant())
        {
            *why = tenant.worded(why);
        }
        Ok(copied)
    }

    fn check_files(&self) -> Result<Checked, QueryError> {
        Care::check_files(self.whole()?)
    }

    fn plan_retention(&self) -> Result<RetentionPlan, QueryError> {
        Care::plan_retention(self.whole()?)
    }

    fn reload(&self) -> Result<Reloaded, QueryError> {
        Care::reload(self.whole()?)
    }
}

impl Backups for Confined {
    fn back_up(&self, directory: &Path) -> Result<BackedUp, BackupError> {
        let engine = self.whole().map_err(|error| BackupError::Refused(error.to_string()))?;
        engine.back_up(directory)
    }

    fn backup_state(&self) -> BackupState {
        self.whole().map(Backups::backup_state).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
