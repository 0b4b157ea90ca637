//! A backend with a handful of metrics whose values follow from the time, and names that make it misbehave.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use globset::GlobBuilder;
use parking_lot::Mutex;

use crate::auth::Sender;
use crate::bundle::Bundle;
use crate::http::browser::{Browse, Folder, Health, ListedNode, Listing, MetricDescription, PageRequest};
use crate::http::{
    Backend, Care, Checked, Cleaned, CopiedMetric, Deleted, DeletedRange, DeletedSlots, Description,
    EventLog, ImportOptions, Imported, Moving, NameStream, Node, Reloaded, Renamed, Repaired, RetentionPlan,
    Stats, TaggedSeries, Usage, Visitor,
};
use crate::index::{SharedIndex, Sight, Survey, Top};
use crate::parse::Limits;
use graphite_render::{FetchRequest, Fetched, Source};
use plumbago_model::{
    Arrival, Batch, Cancel, Cancelled, Event, EventFilter, EventId, Judged, MetricId, Overload, Point,
    QueryError, Reject, TagFilter, Verdict, name,
};

/// The metrics, all with data from 1000 to 2000.
pub(super) const LEAVES: [&str; 14] = [
    "Zed.q",
    "a.b",
    "a.b.x",
    "a.b.y",
    "a.c.x",
    "d.gaps",
    "d.step10",
    "d.step60",
    "gd.one.x",
    "gd.two.x",
    "gd.two.y.z",
    "grüße.x",
    "top",
    "zed.q",
];

#[derive(Default)]
pub(super) struct FakeBackend {
    /// The window of the last find.
    pub(super) window: Mutex<Option<(i64, i64)>>,
    /// Why long work ended.
    pub(super) ended: Mutex<Vec<Cancelled>>,
    /// Long work under way.
    pub(super) running: AtomicUsize,
    /// Flushes done.
    pub(super) flushes: AtomicUsize,
    /// Makes it unwell.
    pub(super) broken: AtomicBool,
    /// Events by their place, which is their id but for one.
    pub(super) events: Mutex<Vec<Event>>,
    /// What the tags API sees.
    index: SharedIndex,
    /// What was imported, and how.
    pub(super) imported: Mutex<Vec<(Bundle, ImportOptions)>>,
    /// Points that were taken, with their names and how they came.
    pub(super) taken: Mutex<Vec<(String, Point, Arrival)>>,
    /// Bytes that a fetch of `greedy` takes.
    pub(super) greed: Mutex<usize>,
    /// More names for the list of all.
    pub(super) extra_names: Mutex<Vec<String>>,
}

impl FakeBackend {
    /// Adds metrics to what the tags API sees.
    pub(super) fn make(&self, paths: &[&str]) {
        let mut index = self.index.write();
        for path in paths {
            let id = MetricId(index.len() as u32);
            index.insert(id, &canonical(path)).unwrap();
        }
    }

    /// Works until it is cancelled.
    fn dawdle(&self, cancel: &Cancel) -> Cancelled {
        self.running.fetch_add(1, Ordering::SeqCst);
        loop {
            if let Err(cancelled) = cancel.check() {
                self.ended.lock().push(cancelled);
                self.running.fetch_sub(1, Ordering::SeqCst);
                return cancelled;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn canonical(path: &str) -> String {
    name::canonical(path, 100).unwrap().into_owned()
}

/// Says what it was asked.
impl Care for FakeBackend {
    fn plan_retention(&self) -> Result<RetentionPlan, QueryError> {
        Ok(RetentionPlan { unchanged: 2, ..RetentionPlan::default() })
    }

    fn reload(&self) -> Result<Reloaded, QueryError> {
        Err(QueryError::invalid("storage-schemas.conf:3: `x` is no retention"))
    }

    fn delete_matching(&self, query: &str, trial: bool, _: &Cancel) -> Result<Deleted, QueryError> {
        Ok(Deleted { deleted: !trial, metrics: vec![query.to_owned()], only_directories: false })
    }

    fn rename(&self, from: &str, to: &str, trial: bool) -> Result<Renamed, QueryError> {
        Ok(Renamed { renamed: !trial, metrics: vec![(from.to_owned(), to.to_owned())], merged: 0 })
    }

    fn clean(&self, unwritten_for: Option<u64>, trial: bool) -> Result<Cleaned, QueryError> {
        Ok(Cleaned { done: !trial, metrics: vec![format!("{unwritten_for:?}")] })
    }

    fn repair(&self, trial: bool) -> Result<Repaired, QueryError> {
        Ok(Repaired { done: !trial, checked: 3, ..Repaired::default() })
    }

    fn delete_range(
        &self,
        query: &str,
        (from, until): (u32, u32),
        trial: bool,
        _: &Cancel,
    ) -> Result<DeletedRange, QueryError> {
        let (points, aggregates) = (u64::from(from), u64::from(until));
        let slots = DeletedSlots { name: query.to_owned(), points, aggregates, remade: 0 };
        Ok(DeletedRange { deleted: !trial, metrics: vec![slots], only_directories: false })
    }

    fn names(&self, query: &str, _: &Cancel) -> Result<Vec<String>, QueryError> {
        Ok(vec![query.to_owned()])
    }

    fn copy_metric(
        &self,
        source: &str,
        _: &str,
        (from, until): (u32, u32),
        _: bool,
    ) -> Result<Option<CopiedMetric>, QueryError> {
        let known = LEAVES.contains(&source);
        let (points, aggregates) = (u64::from(from), u64::from(until));
        Ok(known.then_some(CopiedMetric { points, aggregates, refused: None }))
    }

    fn check_files(&self) -> Result<Checked, QueryError> {
        Ok(Checked { metrics: LEAVES.len() as u64, ..Checked::default() })
    }

    fn usage(&self, query: &str, _: &Cancel) -> Result<Usage, QueryError> {
        Ok(Usage { metrics: query.len() as u64, ..Usage::default() })
    }

    fn stats(&self) -> Result<Stats, QueryError> {
        Ok(Stats { metrics: LEAVES.len() as u64, ..Stats::default() })
    }

    fn top(&self, survey: &Survey, _: &Cancel) -> Result<Top, QueryError> {
        Ok(Top { metrics: (survey.below.len() + survey.depth + survey.limit) as u64, ..Top::default() })
    }

    fn describe_metric(&self, name: &str) -> Result<Option<Description>, QueryError> {
        let known = LEAVES.contains(&name);
        Ok(known.then(|| Description { name: name.to_owned(), ..Description::default() }))
    }
}

/// Keeps what it gets, and gives it back by name.
impl Moving for FakeBackend {
    fn max_import_bytes(&self) -> usize {
        10_000
    }

    fn import(&self, bundles: Vec<Bundle>, options: ImportOptions) -> Result<Imported, QueryError> {
        let points = bundles.iter().map(Bundle::slots).sum();
        let metrics = bundles.len() as u64;
        self.imported.lock().extend(bundles.into_iter().map(|bundle| (bundle, options)));
        Ok(Imported { metrics, points, ..Imported::default() })
    }

    fn export(
        &self,
        names: &[&str],
        _: (u32, u32),
        visit: &mut dyn FnMut(Bundle) -> ControlFlow<()>,
    ) -> Result<(), QueryError> {
        let imported = self.imported.lock();
        let found = imported.iter().filter(|(bundle, _)| names.contains(&&*bundle.name));
        let _ = found.cloned().try_for_each(|(bundle, _)| visit(bundle));
        Ok(())
    }
}

impl Backend for FakeBackend {
    fn of(self: Arc<Self>, _: &Sender) -> Arc<dyn Backend> {
        self
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

    fn find(
        &self,
        query: &str,
        window: Option<(i64, i64)>,
        cancel: &Cancel,
        visitor: &mut dyn Visitor,
    ) -> Result<(), QueryError> {
        *self.window.lock() = window;
        match query {
            "limit" => return Err(QueryError::Limit("more than 5 hits (query.max_find_hits)".into())),
            "invalid" => return Err(QueryError::Invalid("unclosed `{` in `invalid`".into())),
            "store" => return Err(QueryError::Store("disk on fire".into())),
            "away" => return Err(QueryError::Away("no node answers".into())),
            "panic" => panic!("a bug"),
            "slow" if self.dawdle(cancel).deadline => return Err(QueryError::Deadline),
            "slow" => return Err(QueryError::Abandoned),
            _ => {}
        }
        // Two that are found by no pattern.
        let special = match query {
            "instant" => Some(Some((1500, 1500))),
            "timeless" => Some(None),
            _ => None,
        };
        if let Some(span) = special {
            visitor.visit(Node { path: query, leaf: true, directory: false, span });
            return Ok(());
        }
        let matches = |pattern: &str, text: &str| {
            GlobBuilder::new(pattern).build().unwrap().compile_matcher().is_match(text)
        };
        // As in the real index, which takes `a.` for `a`.
        let query = query.trim_end_matches('.');
        let depth = query.split('.').count();
        let mut nodes: BTreeMap<String, (bool, bool)> = BTreeMap::new();
        for name in LEAVES {
            let parts: Vec<&str> = name.split('.').collect();
            if parts.len() < depth || !query.split('.').zip(&parts).all(|(q, p)| matches(q, p)) {
                continue;
            }
            let node = nodes.entry(parts[..depth].join(".")).or_default();
            node.0 |= parts.len() == depth;
            node.1 |= parts.len() > depth;
        }
        for (path, (leaf, directory)) in &nodes {
            visitor.visit(Node {
                path,
                leaf: *leaf,
                directory: *directory,
                span: leaf.then_some((1000, 2000)),
            });
        }
        Ok(())
    }

    fn names(&self, begin: &str) -> NameStream {
        let extra = self.extra_names.lock();
        let mut names: Vec<String> =
            LEAVES.iter().map(|&n| n.to_owned()).chain(extra.iter().cloned()).collect();
        names.retain(|name| name.starts_with(begin));
        names.sort();
        let mut names = names.into_iter();
        Box::new(move |limit| names.by_ref().take(limit).collect())
    }

    fn flush(&self, _settle: bool) -> Result<(), String> {
        self.flushes.fetch_add(1, Ordering::SeqCst);
        if self.broken.load(Ordering::SeqCst) { Err("no space left".to_owned()) } else { Ok(()) }
    }

    fn write(&self, lines: &[u8]) -> Result<Verdict, String> {
        self.ready()?;
        let mut verdict = Verdict::default();
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            if line == b"bad" { verdict.refuse(Reject::BadLine, 1) } else { verdict.stored += 1 }
        }
        Ok(verdict)
    }

    fn take(&self, batch: &Batch<'_>) -> Result<Judged, Overload> {
        self.ready().map_err(Overload::Unwell)?;
        let mut judged = Judged::default();
        let mut taken = self.taken.lock();
        for (at, (name, point)) in batch.entries.iter().enumerate() {
            if name.starts_with("full") {
                return Err(Overload::TooFast("4 points wait in memory".to_owned()));
            }
            if name.starts_with("bad") {
                judged.refused.push((at, Reject::MetricLimit));
            } else {
                judged.stored += 1;
                taken.push(((*name).to_owned(), *point, batch.arrival));
            }
        }
        Ok(judged)
    }

    fn limits(&self) -> Limits {
        Limits {
            now: 2_000_000_000,
            max_future_secs: 86_400,
            keep_infinite: true,
            max_line_bytes: 100,
            max_name_bytes: 100,
        }
    }

    fn ready(&self) -> Result<(), String> {
        if self.broken.load(Ordering::SeqCst) { Err("the log cannot be written".to_owned()) } else { Ok(()) }
    }

    fn prometheus(&self) -> String {
        "plumbago_metrics 14\n".to_owned()
    }
}

impl TaggedSeries for FakeBackend {
    fn index(&self) -> Result<Sight<'_>, QueryError> {
        Ok(self.index.all())
    }

    fn tag_series(&self, paths: &[&str]) -> Result<Vec<String>, QueryError> {
        self.make(paths);
        Ok(paths.iter().map(|path| canonical(path)).collect())
    }

    fn delete_series(&self, paths: &[&str]) -> Result<(), QueryError> {
        let mut index = self.index.write();
        for path in paths {
            let id = index.lookup(canonical(path).as_bytes()).unwrap();
            index.remove(id);
        }
        Ok(())
    }
}

impl EventLog for FakeBackend {
    fn max_event_bytes(&self) -> usize {
        100
    }

    fn add_event(&self, event: &Event) -> Result<EventId, QueryError> {
        match event.what.as_str() {
            "store" => return Err(QueryError::Store("disk on fire".into())),
            "away" => return Err(QueryError::Away("no node answers".into())),
            _ => {}
        }
        let mut events = self.events.lock();
        events.push(event.clone());
        Ok(EventId(events.len() as u64))
    }

    fn event(&self, id: EventId) -> Result<Option<Event>, QueryError> {
        let at = usize::try_from(id.0).unwrap().wrapping_sub(1);
        Ok(self.events.lock().get(at).cloned())
    }

    fn events(&self, filter: &EventFilter, cancel: &Cancel) -> Result<Vec<(EventId, Event)>, QueryError> {
        if filter.tags == TagFilter::All(vec!["slow".to_owned()]) {
            self.dawdle(cancel);
            return Err(QueryError::Deadline);
        }
        let events = self.events.lock();
        let numbered = (1..).map(EventId).zip(events.iter().cloned());
        let mut found: Vec<_> = numbered.filter(|(_, event)| filter.takes(event)).collect();
        found.sort_by_key(|(_, event)| event.when);
        if found.len() > 5 {
            return Err(QueryError::Limit("more than 5 events (query.max_events)".into()));
        }
        Ok(found)
    }
}

impl Browse for FakeBackend {
    fn list(&self, folder: Folder<'_>, wanted: PageRequest<'_>, _: &Cancel) -> Result<Listing, QueryError> {
        let name = format!("{folder:?} {} {}", wanted.after, wanted.limit);
        let nodes = vec![ListedNode { name, metric: true, directory: true, below: Some(7) }];
        Ok(Listing { nodes, total: 1, complete: true })
    }

    fn search(&self, text: &str, limit: usize, cancel: &Cancel) -> Result<Listing, QueryError> {
        match text {
            "invalid" => return Err(QueryError::Invalid("too many words".into())),
            "slow" if self.dawdle(cancel).deadline => return Ok(Listing::default()),
            _ => {}
        }
        let nodes =
            vec![ListedNode { name: format!("{text} {limit}"), metric: true, directory: false, below: None }];
        Ok(Listing { nodes, total: 1, complete: true })
    }

    fn describe(&self, name: &str, _: &Cancel) -> Result<Option<MetricDescription>, QueryError> {
        if name == "away" {
            return Err(QueryError::Away("no node answers".into()));
        }
        Ok((name == "a.b").then(|| MetricDescription {
            name: name.to_owned(),
            uuid: String::new(),
            stages: Vec::new(),
            aggregation: "sum",
            x_files_factor: 0.5,
            retention_rule: None,
            aggregation_rule: None,
            as_ruled: true,
            first: Some(1000),
            last: None,
            bytes: 12,
        }))
    }

    fn health(&self) -> Health {
        let trouble = self.ready().err();
        Health { version: "1", trouble, metrics: LEAVES.len() as u64, ..Health::default() }
    }
}

impl Source for FakeBackend {
    fn fetch(&self, requests: &[FetchRequest], cancel: &Cancel) -> Result<Vec<Vec<Fetched>>, QueryError> {
        requests.iter().map(|request| self.fetch_one(request, cancel)).collect()
    }
}

impl FakeBackend {
    fn fetch_one(&self, request: &FetchRequest, cancel: &Cancel) -> Result<Vec<Fetched>, QueryError> {
        match request.pattern.as_str() {
            "limit" => return Err(QueryError::Limit("more than 5 series (query.max_series)".into())),
            "store" => return Err(QueryError::Store("disk on fire".into())),
            "away" => return Err(QueryError::Away("no node answers".into())),
            "panic" => panic!("a bug"),
            "greedy" => cancel.take(*self.greed.lock())?,
            _ => {}
        }
        match request.pattern.as_str() {
            "slow" | "greedy" if self.dawdle(cancel).deadline => return Err(QueryError::Deadline),
            "slow" | "greedy" => return Err(QueryError::Abandoned),
            _ => {}
        }
        let mut found = Vec::new();
        let mut take =
            |node: Node<'_>| found.extend(node.leaf.then(|| series(node.path.to_owned(), request)));
        self.find(&request.pattern, None, cancel, &mut take).unwrap();
        Ok(found)
    }
}

/// Slots of 10 s (60 s for one) holding a number that grows by a quarter each 10 s; three of seven are missing in one.
fn series(name: String, request: &FetchRequest) -> Fetched {
    let step = if name == "d.step60" { 60 } else { 10 };
    let start = request.from - request.from.rem_euclid(step) + step;
    let end = request.until - request.until.rem_euclid(step) + step;
    let value = |time: i64| {
        let slot = time / 10;
        if name == "d.gaps" && slot % 7 < 3 { f64::NAN } else { (slot % 100) as f64 / 4.0 }
    };
    let values = (start..end).step_by(step as usize).map(value).collect();
    Fetched { name, start, end, step, values }
}
