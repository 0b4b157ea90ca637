//! The catalogue of metrics with tags, made of the index and of what is known of each series.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::engine::Engine;
use crate::http::{Catalog, CatalogQuery};
use crate::index::{Excerpt, Members, TagSize};
use plumbago_model::labelled::{self, plain};
use plumbago_model::{Cancel, QueryError, Scope, Span, Stage};

/// KairosDB's windows: three weeks, from 1970 on.
const WINDOW_SECS: u32 = 21 * 86_400;

/// Slots in a partition of a cluster's tables.
const PARTITION_SLOTS: u32 = 2000;

/// Bytes of a row in a cluster before it is compressed, with all that Cassandra adds to it.
const ROW_BYTES: u32 = 40;

/// Ids whose spans are copied at once.
const SPANS_AT_ONCE: u32 = 1 << 16;

/// The type of all values.
const DATA_TYPE: &str = "double";

impl Engine {
    /// Answers a call of the catalogue, inside of a scope.
    pub(super) fn catalog_within(
        &self,
        scope: &Arc<Scope>,
        query: &CatalogQuery,
        cancel: &Cancel,
    ) -> Result<Value, QueryError> {
        match &query.about {
            Catalog::Metrics(months) => self.metrics_by_month(scope, months, query, cancel),
            Catalog::Tags(metric) => self.tags_of_metric(scope, metric, cancel),
            Catalog::Values(metric, tag) => {
                self.values_of_tag(scope, (metric.as_str(), tag.as_str()), query, cancel)
            }
            Catalog::Cardinality => self.cardinality_by_tag(scope, query, cancel),
            Catalog::Windows(metric) => self.windows_of_metric(scope, metric, cancel),
            Catalog::Partitions => Ok(self.partition_sizes()),
        }
    }

    /// A page of values, and the last of them if there may be more.
    fn page_of(
        &self,
        tag: &str,
        metric: Option<&str>,
        scope: &Arc<Scope>,
        query: &CatalogQuery,
        cancel: &Cancel,
    ) -> Result<(Vec<Members>, Option<String>), QueryError> {
        let found = self.sight(scope)?.members(tag, metric, excerpt(query), cancel)?;
        let last = found.last().filter(|_| found.len() == query.limit);
        let next = last.map(|last| last.value.clone());
        Ok((found, next))
    }

    /// Shows `visit` the span of each series of a page, with the place of its value. Memory is locked for a piece of ids at a time, and
    /// only to copy them.
    fn each_span(
        &self,
        page: &[Members],
        cancel: &Cancel,
        mut visit: impl FnMut(usize, Span),
    ) -> Result<(), QueryError> {
        let (bound, mut spans) = (self.points.id_bound(), Vec::new());
        for from in (0..bound).step_by(SPANS_AT_ONCE as usize) {
            cancel.check()?;
            let range = from..bound.min(from.saturating_add(SPANS_AT_ONCE));
            let wanted: u64 = page.iter().map(|members| members.count_within(range.clone())).sum();
            if wanted == 0 {
                continue;
            }
            if wanted < u64::from(SPANS_AT_ONCE / 16) {
                for (place, members) in page.iter().enumerate() {
                    let few = self.points.spans(&members.ids_within(range.clone()).collect::<Vec<_>>());
                    few.into_iter().for_each(|span| visit(place, span));
                }
                continue;
            }
            self.points.spans_within(range.clone(), &mut spans);
            for (place, members) in page.iter().enumerate() {
                for id in members.ids_within(range.clone()) {
                    visit(place, spans.get((id.0 - from) as usize).copied().unwrap_or(Span::EMPTY));
                }
            }
        }
        Ok(())
    }

    fn metrics_by_month(
        &self,
        scope: &Arc<Scope>,
        months: &[Date],
        query: &CatalogQuery,
        cancel: &Cancel,
    ) -> Result<Value, QueryError> {
        let (page, next) = self.page_of("name", None, scope, query, cancel)?;
        let seconds: Vec<(u32, u32)> = months.iter().copied().map(seconds_of).collect();
        cancel.take(months.len() * page.len() * size_of::<Seen>())?;
        let mut seen = vec![vec![Seen::default(); page.len()]; months.len()];
        self.each_span(&page, cancel, |place, span| {
            // Months follow each other. Usually one is asked for.
            let begin = match seconds.as_slice() {
                [(_, last)] => usize::from(*last < span.first),
                several => several.partition_point(|(_, last)| *last < span.first),
            };
            let months = seconds.iter().zip(&mut seen).skip(begin);
            for ((first, last), seen) in months.take_while(|((first, _), _)| *first <= span.last) {
                seen[place].add(Span { first: span.first.max(*first), last: span.last.min(*last) });
            }
        })?;
        let metric = |(members, seen): (&Members, &Seen)| {
            (seen.series > 0).then(|| {
                json!({
                    "metric": plain(&members.value),
                    "first_seen": millis(seen.span.first),
                    "last_seen": millis(seen.span.last),
                    "data_types": [DATA_TYPE],
                    "series": seen.series,
                })
            })
        };
        let month = |(month, seen): (&Date, &Vec<Seen>)| {
            let metrics: Vec<Value> = page.iter().zip(seen).filter_map(metric).collect();
            json!({ "month": month.strftime("%Y-%m").to_string(), "metrics": metrics })
        };
        let months: Vec<Value> = months.iter().zip(&seen).map(month).collect();
        Ok(json!({ "months": months, "next": next }))
    }

    fn tags_of_metric(&self, scope: &Arc<Scope>, metric: &str, cancel: &Cancel) -> Result<Value, QueryError> {
        let found = self.sight(scope)?.tags_of(&[&*labelled::metric(metric)], cancel)?;
        let tags = found.iter().flat_map(|tags| tags.iter());
        let tags =
            tags.map(|tag| json!({ "tag": plain(&tag.tag), "values": tag.values, "series": tag.metrics }));
        Ok(json!({ "metric": metric, "tags": tags.collect::<Vec<_>>() }))
    }

    fn values_of_tag(
        &self,
        scope: &Arc<Scope>,
        (metric, tag): (&str, &str),
        query: &CatalogQuery,
        cancel: &Cancel,
    ) -> Result<Value, QueryError> {
        let (key, stored) = (labelled::key(tag), labelled::metric(metric));
        let (page, next) = self.page_of(&key, Some(&stored), scope, query, cancel)?;
        let mut seen = vec![Seen::default(); page.len()];
        self.each_span(&page, cancel, |place, span| {
            if span != Span::EMPTY {
                seen[place].add(span);
            }
        })?;
        let value = |(members, seen): (&Members, &Seen)| {
            let span = (seen.series > 0).then_some(seen.span);
            json!({
                "value": plain(&members.value),
                "series": members.count(),
                "first_seen": span.map(|span| millis(span.first)),
                "last_seen": span.map(|span| millis(span.last)),
            })
        };
        let values: Vec<Value> = page.iter().zip(&seen).map(value).collect();
        Ok(json!({ "metric": metric, "tag": tag, "values": values, "next": next }))
    }

    fn cardinality_by_tag(
        &self,
        scope: &Arc<Scope>,
        query: &CatalogQuery,
        cancel: &Cancel,
    ) -> Result<Value, QueryError> {
        let metrics = self.sight(scope)?.metrics(excerpt(query), cancel)?;
        let next = metrics.last().filter(|_| metrics.len() == query.limit);
        let names: Vec<&str> = metrics.iter().map(String::as_str).collect();
        let tags = self.sight(scope)?.tags_of(&names, cancel)?;
        let mut rows: Vec<(&str, &TagSize)> = Vec::new();
        for (metric, tags) in names.iter().zip(&tags) {
            rows.extend(tags.iter().map(|tag| (*metric, tag)));
        }
        rows.sort_by_key(|(_, tag)| Reverse(tag.values));
        let row = |(metric, tag): &(&str, &TagSize)| json!({ "metric": plain(metric), "tag": plain(&tag.tag), "values": tag.values, "series": tag.metrics });
        Ok(json!({ "cardinality": rows.iter().map(row).collect::<Vec<_>>(), "next": next }))
    }

    fn windows_of_metric(
        &self,
        scope: &Arc<Scope>,
        metric: &str,
        cancel: &Cancel,
    ) -> Result<Value, QueryError> {
        let stored = labelled::metric(metric);
        let one = Excerpt { prefix: &stored, after: None, limit: 1 };
        let mut found = self.sight(scope)?.members("name", None, one, cancel)?;
        found.retain(|members| members.value == stored);
        // How many series begin and end at each window: what is between adds up.
        let mut changes = vec![0_i64; (u32::MAX / WINDOW_SECS) as usize + 2];
        self.each_span(&found, cancel, |_, span| {
            if span == Span::EMPTY {
                return;
            }
            changes[(span.first / WINDOW_SECS) as usize] += 1;
            changes[(span.last / WINDOW_SECS) as usize + 1] -= 1;
        })?;
        let mut series = 0;
        let mut windows = Vec::new();
        for (nth, change) in (0_u32..).zip(changes) {
            series += change;
            if series > 0 {
                let start = nth * WINDOW_SECS;
                windows.push(json!({ "start": millis(start), "end": millis(start) + i64::from(WINDOW_SECS) * 1000, "series": series }));
            }
        }
        Ok(json!({ "metric": metric, "windows": windows }))
    }

    /// How large partitions of a cluster become, and what each stage takes on this machine.
    fn partition_sizes(&self) -> Value {
        let here = self.store.points.disk_usage();
        let mut stages: Vec<Stage> = here.stages.keys().copied().collect();
        for (_, policy) in self.points.policies().all() {
            stages.extend(policy.retention.stages());
        }
        stages.sort_unstable();
        stages.dedup();
        let one = |stage: &Stage| {
            let slots = PARTITION_SLOTS.min(stage.points);
            json!({
                "stage": stage.to_string(),
                "step_seconds": stage.step_secs,
                "kept_seconds": stage.span_secs(),
                "bytes_on_this_machine": here.stages.get(stage).copied().unwrap_or_default(),
                "partition_seconds": u64::from(slots) * u64::from(stage.step_secs),
                "slots_per_partition": slots,
                "bytes_per_partition": slots * ROW_BYTES,
            })
        };
        json!({ "partitions": stages.iter().map(one).collect::<Vec<_>>() })
    }
}

/// Series that have something, and the time that they cover together.
#[derive(Clone, Copy)]
struct Seen {
    span: Span,
    series: u64,
}

impl Default for Seen {
    fn default() -> Self {
        Self { span: Span::EMPTY, series: 0 }
    }
}

impl Seen {
    fn add(&mut self, span: Span) {
        self.span.cover(span.first);
        self.span.cover(span.last);
        self.series += 1;
    }
}

fn excerpt(query: &CatalogQuery) -> Excerpt<'_> {
    Excerpt { prefix: &query.prefix, after: query.after.as_deref(), limit: query.limit }
}

fn millis(second: u32) -> i64 {
    i64::from(second) * 1000
}

/// The first and the last second of a month.
fn seconds_of(month: Date) -> (u32, u32) {
    let second = |date: Date| {
        let at = date.to_zoned(TimeZone::UTC).map_or(0, |at| at.timestamp().as_second());
        u32::try_from(at).unwrap_or(u32::MAX)
    };
    let next = month.checked_add(1.month()).map_or(u32::MAX, second);
    (second(month), next.saturating_sub(1))
}
