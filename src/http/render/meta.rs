//! `meta=true`: which archive each series was read from, and how its points were drawn together, as Metrictank tells it and Grafana
//! shows it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::http::Backend;
use graphite_render::output::{Line, json};
use graphite_render::{FetchRequest, Fetched, Series, Source};
use plumbago_model::{Aggregator, Cancel, EventFilter, Policy, QueryError, Retention};

/// Bytes that a note takes beside the name in it.
const NOTE_BYTES: usize = 96;

/// A source that notes what was read through it.
pub(super) struct Noting<'a> {
    source: &'a dyn Source,
    notes: Mutex<Notes>,
}

/// What was read, by pattern: the names of the series, with their steps.
type Notes = BTreeMap<String, BTreeMap<Arc<str>, i64>>;

/// Series that were read alike.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Archive {
    /// The policy in the catalogue's form; empty where it is not known.
    policy: String,
    step: i64,
}

impl<'a> Noting<'a> {
    pub(super) fn new(source: &'a dyn Source) -> Self {
        Self { source, notes: Mutex::default() }
    }
}

impl Source for Noting<'_> {
    fn fetch(&self, requests: &[FetchRequest], cancel: &Cancel) -> Result<Vec<Vec<Fetched>>, QueryError> {
        let fetched = self.source.fetch(requests, cancel)?;
        let mut notes = self.notes.lock();
        for (request, found) in requests.iter().zip(&fetched) {
            cancel.take(found.iter().map(|series| NOTE_BYTES + series.name.len()).sum())?;
            let noted = notes.entry(request.pattern.clone()).or_default();
            noted.extend(found.iter().map(|series| (Arc::from(series.name.as_str()), series.step)));
        }
        Ok(fetched)
    }

    fn event_times(&self, filter: &EventFilter, cancel: &Cancel) -> Result<Vec<u32>, QueryError> {
        self.source.event_times(filter, cancel)
    }
}

/// What is known of the series that were read.
pub(super) struct Meta<'a> {
    notes: Notes,
    backend: &'a dyn Backend,
    cancel: &'a Cancel,
    /// The rules that gave policies, by the policy's text.
    rules: Mutex<BTreeMap<String, String>>,
}

impl<'a> Meta<'a> {
    pub(super) fn new(noting: Noting<'_>, backend: &'a dyn Backend, cancel: &'a Cancel) -> Self {
        Self { notes: noting.notes.into_inner(), backend, cancel, rules: Mutex::default() }
    }

    /// The whole document: `lines` are those of the series.
    pub(super) fn write(
        &self,
        series: &[Series],
        lines: &[Line<'_>],
        skip_nulls: bool,
    ) -> Result<Vec<u8>, QueryError> {
        let mut out = b"{\"version\":\"v0.1\",\"meta\":{\"stats\":".to_vec();
        let read: usize = self.notes.values().map(BTreeMap::len).sum();
        out.extend(json!({ "executeplan.series-fetch.count": read }).to_string().bytes());
        out.extend(b"},\"series\":[");
        let mut is_first = true;
        for (series, line) in series.iter().zip(lines) {
            let mut text = Vec::new();
            json::write_lines(&mut text, std::slice::from_ref(line), skip_nulls);
            // A line is an object, and its meta goes in at its end. Lines without any value may be left out.
            if text.pop().is_none() {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            out.append(&mut text);
            out.extend(b",\"meta\":");
            out.extend(Value::from(self.of(series, line)?).to_string().bytes());
            out.push(b'}');
        }
        out.extend(b"]}");
        Ok(out)
    }

    /// What one series was made of: an entry for each way in which the metrics behind it were read.
    fn of(&self, series: &Series, line: &Line<'_>) -> Result<Vec<Value>, QueryError> {
        let behind = self.behind(series);
        let names: Vec<&str> = behind.iter().map(|(name, _)| *name).collect();
        let policies = self.backend.policies(&names);
        let mut archives: BTreeMap<Archive, (Option<Arc<Policy>>, &str, u64)> = BTreeMap::new();
        for ((name, step), policy) in behind.into_iter().zip(policies) {
            let archive =
                Archive { policy: policy.as_ref().map_or_else(String::new, ToString::to_string), step };
            archives.entry(archive).or_insert((policy, name, 0)).2 += 1;
        }
        let combined = combined(series, line);
        let function = format!("{}Consolidator", series.consolidation.name());
        let mut told = Vec::with_capacity(archives.len());
        for (Archive { policy: text, step }, (policy, name, count)) in archives {
            let stages = policy.as_deref().map_or(&[][..], |policy| policy.retention.stages());
            let read = stages.iter().position(|stage| i64::from(stage.step_secs) == step).unwrap_or(0);
            let method = policy.as_deref().map_or_else(String::new, |policy| consolidator(policy.aggregator));
            told.push(json!({
                "schema-name": self.rule_of(&text, name)?,
                "schema-retentions": policy.as_deref().map(|policy| retentions(&policy.retention)),
                "archive-read": read,
                "archive-interval": step,
                "aggnum-norm": series.step.max(1) / step.max(1),
                "consolidator-normfetch": method,
                // As in Metrictank, Grafana takes anything above zero for several points drawn together.
                "aggnum-rc": if combined > 1 { combined } else { 0 },
                "consolidator-rc": function,
                "count": count,
            }));
        }
        Ok(told)
    }

    /// The metrics behind a series: the one of this name, or all that its expression read.
    fn behind(&self, series: &Series) -> Vec<(&str, i64)> {
        let own = series.tags.get("name");
        let expression = &*series.path_expression;
        let read = self.notes.iter().filter(|(pattern, _)| expression.contains(pattern.as_str()));
        let read: Vec<_> =
            read.flat_map(|(_, noted)| noted.iter().map(|(name, step)| (&**name, *step))).collect();
        match read.iter().find(|(name, _)| *name == &*series.name || own.as_deref() == Some(*name)) {
            Some(one) => vec![*one],
            None if read.is_empty() => self.all(),
            None => read,
        }
    }

    /// Every metric that was read.
    fn all(&self) -> Vec<(&str, i64)> {
        self.notes.values().flatten().map(|(name, step)| (&**name, *step)).collect()
    }

    /// The retention rule that metrics of a policy have their stages from, by one of them.
    fn rule_of(&self, policy: &str, name: &str) -> Result<String, QueryError> {
        if let Some(rule) = self.rules.lock().get(policy) {
            return Ok(rule.clone());
        }
        let described = self.backend.browse().describe(name, self.cancel)?;
        let rule = described.and_then(|metric| metric.retention_rule);
        let rule = rule.map_or_else(|| "default".to_owned(), |rule| rule.name);
        self.rules.lock().insert(policy.to_owned(), rule.clone());
        Ok(rule)
    }
}

/// As Metrictank writes them: `10s:86400s,60s:2592000s`.
fn retentions(retention: &Retention) -> String {
    let stage = |stage: &plumbago_model::Stage| format!("{}s:{}s", stage.step_secs, stage.span_secs());
    retention.stages().iter().map(stage).collect::<Vec<_>>().join(",")
}

/// Metrictank's word for a method, and ours for those that it does not have.
fn consolidator(method: Aggregator) -> String {
    let word = match method {
        Aggregator::Average => "Average",
        Aggregator::Sum => "Sum",
        Aggregator::Min => "Minimum",
        Aggregator::Max => "Maximum",
        Aggregator::Last => "Last",
        other => other.name(),
    };
    format!("{word}Consolidator")
}

/// How many points became one.
fn combined(series: &Series, line: &Line<'_>) -> i64 {
    match line.values.len() {
        // All became one, and the line keeps the step of the series.
        1 => i64::try_from(series.values.len()).unwrap_or(i64::MAX),
        _ => line.step / series.step.max(1),
    }
}
