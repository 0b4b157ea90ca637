//! The catalogue of metrics with tags, made of the index and of what is known of each series.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::engine::Engine;
use crate::http::{Catalog, CatalogQuery};
use crate::index::{Excerpt, Members};
use plumbago_model::labelled::{self, plain};
use plumbago_model::{Cancel, QueryError, Scope, Span, Stage};

/// KairosDB's windows: three weeks, from 1970 on.
const WINDOW_SECS: u32 = 21 * 86_400;

/// Slots in a partition of a cluster's tables.
const PARTITION_SLOTS: u32 = 2000;

/// Bytes of a row in a cluster before it is compressed, with all that Cassandra adds to it.
const ROW_BYTES: u32 = 40;

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

    /// A page of metrics.
    fn page(
        &self,
        scope: &Arc<Scope>,
        query: &CatalogQuery,
        cancel: &Cancel,
    ) -> Result<(Vec<Members>, Option<String>), QueryError> {
        self.page_of("name", None, scope, query, cancel)
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
        let excerpt = Excerpt { prefix: &query.prefix, after: query.after.as_deref(), limit: query.limit };
        let found = self.sight(scope)?.members(tag, metric, excerpt, cancel)?;
        let last = found.last().filter(|_| found.len() == query.limit);
        let next = last.map(|last| last.value.clone());
        Ok((found, next))
    }

    fn metrics_by_month(
        &self,
        scope: &Arc<Scope>,
        months: &[Date],
        query: &CatalogQuery,
        cancel: &Cancel,
    ) -> Result<Value, QueryError> {
        let (page, next) = self.page(scope, query, cancel)?;
        let seconds: Vec<(u32, u32)> = months.iter().copied().map(seconds_of).collect();
        let mut listed: Vec<Vec<Value>> = vec![Vec::new(); months.len()];
        for Members { value, ids } in page {
            cancel.check()?;
            let spans = self.points.spans(&ids);
            for ((first, last), listed) in seconds.iter().zip(&mut listed) {
                let inside = spans.iter().filter(|span| span.overlaps(*first, *last));
                let (seen, series) = covered(
                    inside.map(|span| Span { first: span.first.max(*first), last: span.last.min(*last) }),
                );
                if series > 0 {
                    listed.push(json!({
                        "metric": plain(&value),
                        "first_seen": millis(seen.first),
                        "last_seen": millis(seen.last),
                        "data_types": [DATA_TYPE],
                        "series": series,
                    }));
                }
            }
        }
        let month = |(month, metrics): (&Date, Vec<Value>)| json!({ "month": month.strftime("%Y-%m").to_string(), "metrics": metrics });
        let months: Vec<Value> = months.iter().zip(listed).map(month).collect();
        Ok(json!({ "months": months, "next": next }))
    }

    fn tags_of_metric(&self, scope: &Arc<Scope>, metric: &str, cancel: &Cancel) -> Result<Value, QueryError> {
        let tags = self.sight(scope)?.tags_of(&labelled::metric(metric), cancel)?;
        let tags = tags
            .iter()
            .map(|tag| json!({ "tag": plain(&tag.tag), "values": tag.values, "series": tag.metrics }));
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
        let value = |Members { value, ids }: Members| {
            let (seen, _) = covered(self.points.spans(&ids).into_iter().filter(|span| *span != Span::EMPTY));
            let seen = (seen != Span::EMPTY).then_some(seen);
            json!({
                "value": plain(&value),
                "series": ids.len(),
                "first_seen": seen.map(|seen| millis(seen.first)),
                "last_seen": seen.map(|seen| millis(seen.last)),
            })
        };
        let values: Vec<Value> = page.into_iter().map(value).collect();
        Ok(json!({ "metric": metric, "tag": tag, "values": values, "next": next }))
    }

    fn cardinality_by_tag(
        &self,
        scope: &Arc<Scope>,
        query: &CatalogQuery,
        cancel: &Cancel,
    ) -> Result<Value, QueryError> {
        let (page, next) = self.page(scope, query, cancel)?;
        let mut rows = Vec::new();
        for Members { value, .. } in page {
            for tag in self.sight(scope)?.tags_of(&value, cancel)? {
                rows.push((value.clone(), tag));
            }
        }
        rows.sort_by_key(|(_, tag)| Reverse(tag.values));
        let row = |(metric, tag): &(String, crate::index::TagSize)| json!({ "metric": plain(metric), "tag": plain(&tag.tag), "values": tag.values, "series": tag.metrics });
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
        let found = self.sight(scope)?.members("name", None, one, cancel)?;
        let ids = found
            .into_iter()
            .find(|members| members.value == stored)
            .map(|members| members.ids)
            .unwrap_or_default();
        // How many series begin and end at each window: what is between adds up.
        let mut changes = vec![0_i64; (u32::MAX / WINDOW_SECS) as usize + 2];
        for span in self.points.spans(&ids).into_iter().filter(|span| *span != Span::EMPTY) {
            changes[(span.first / WINDOW_SECS) as usize] += 1;
            changes[(span.last / WINDOW_SECS) as usize + 1] -= 1;
        }
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

/// What some spans cover together, and how many there are.
fn covered(spans: impl Iterator<Item = Span>) -> (Span, u64) {
    let join = |(all, count): (Span, u64), span: Span| {
        (Span { first: all.first.min(span.first), last: all.last.max(span.last) }, count + 1)
    };
    spans.fold((Span::EMPTY, 0), join)
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
