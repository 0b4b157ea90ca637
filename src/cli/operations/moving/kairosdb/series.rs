//! A series: from its rows to what Plumbago keeps of it.
//!
//! Rows that begin at the same time, one of each type, are read together and put in order. So the points of a series come in the order
//! of time, go through the stages of its policy, and only what these keep stays in memory.

use std::collections::BTreeMap;

use anyhow::Result;

use super::listing::{Row, Series};
use crate::bundle::{Bundle, Cascade};
use crate::config::PolicyMatcher;
use crate::kairosdb::row::{DataType, Layout, Summary, Value};
use crate::store::cassandra::KairosTables;
use plumbago_model::labelled::series_name;
use plumbago_model::{Arrival, Policy, name};

/// Integers up to here are exact as a double.
const EXACT: u64 = 1 << 53;

/// A metric that a histogram becomes: the end of its name, its value, and what two values in one slot make.
type Child = (&'static str, fn(&Summary) -> f64, Meet);

/// What becomes of a histogram.
const CHILDREN: [Child; 4] = [
    ("count", |summary| summary.count, |a, b| a + b),
    ("sum", |summary| summary.sum, |a, b| a + b),
    ("min", |summary| summary.min, f64::min),
    ("max", |summary| summary.max, f64::max),
];

/// What two values in one slot make.
type Meet = fn(f64, f64) -> f64;

/// Reads series.
pub(super) struct Reader {
    pub(super) layout: Layout,
    /// In seconds.
    pub(super) window: (u32, u32),
    pub(super) now: u32,
    pub(super) policies: PolicyMatcher,
    pub(super) takes_histograms: bool,
    pub(super) max_name_bytes: usize,
}

/// What was found in the rows of a series.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    /// Points that were read: numbers, and histograms if they are wanted.
    pub(super) points: u64,
    /// Slots that they fill, in all stages.
    pub(super) slots: u64,
    /// Integers that no double holds exactly.
    pub(super) inexact: u64,
    /// Points that the retention does not reach.
    pub(super) too_old: u64,
    /// Points of times that are not here yet.
    pub(super) in_future: u64,
    /// Values that are no number.
    pub(super) nan: u64,
    /// Points of types that are left out, by type.
    pub(super) skipped: BTreeMap<String, u64>,
    /// Points that cannot be read, and why the first of them cannot.
    pub(super) unreadable: (u64, Option<String>),
}

impl Found {
    fn cannot(&mut self, why: impl ToString) {
        self.unreadable.0 += 1;
        self.unreadable.1.get_or_insert_with(|| why.to_string());
    }
}

impl Reader {
    /// The name under which a series is kept here, or why it cannot be.
    pub(super) fn name(&self, series: &Series) -> Result<String, String> {
        let is_histogram = |row: &Row| DataType::named(row.data_type.as_deref()).is_histogram();
        if self.takes_histograms && series.rows.iter().any(is_histogram) {
            // None of the children has a longer name.
            self.name_of(&format!("{}.count", series.metric), series)?;
        }
        self.name_of(&series.metric, series)
    }

    fn name_of(&self, metric: &str, series: &Series) -> Result<String, String> {
        let tags: Vec<(&str, &str)> =
            series.tags.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let name = series_name(metric, &tags).map_err(|reason| reason.label().to_owned())?;
        let name = name::canonical(&name, self.max_name_bytes).map_err(|error| error.to_string())?;
        Ok(name.into_owned())
    }

    /// Reads a series. The metric itself comes last, because a journal that has it has its children, too.
    pub(super) fn read(
        &self,
        tables: &KairosTables,
        series: &Series,
        name: &str,
    ) -> Result<(Vec<Bundle>, Found)> {
        let mut found = Found::default();
        let mut kept = Kept::new(self, series, name);
        let mut groups = series.rows.chunk_by(|a, b| a.row_time == b.row_time).peekable();
        while let Some(group) = groups.next() {
            // A point that lies in the next row is in the wrong one.
            let end = groups.peek().and_then(|next| next.first()).map_or(i64::MAX, |row| row.row_time);
            let reading = Reading { reader: self, tables, oldest_ms: kept.oldest_ms(self), end };
            let (mut numbers, mut histograms) = (Vec::new(), Vec::new());
            for row in group {
                match DataType::named(row.data_type.as_deref()) {
                    kind if kind.is_number() => reading.numbers(row, kind, &mut numbers, &mut found)?,
                    kind if kind.is_histogram() && self.takes_histograms => {
                        reading.histograms(row, kind, &mut histograms, &mut found)?;
                    }
                    _ => reading.count(row, &mut found)?,
                }
            }
            numbers.sort_by_key(|(time, _)| *time);
            histograms.sort_by_key(|(time, _)| *time);
            kept.push(&numbers, &histograms);
        }
        let bundles = kept.finish();
        found.slots = bundles.iter().map(Bundle::slots).sum();
        Ok((bundles, found))
    }
}

/// What is kept of a series while its rows are read.
struct Kept {
    number: Target,
    children: Vec<Target>,
}

/// A metric in the making.
struct Target {
    name: String,
    policy: Policy,
    cascade: Cascade,
}

impl Target {
    fn new(name: String, policy: Policy, now: u32) -> Self {
        Self { name, cascade: Cascade::new(policy.clone(), now), policy }
    }

    /// `None` if nothing is left of it.
    fn finish(self) -> Option<Bundle> {
        let bundle = Bundle { name: self.name, policy: self.policy, archives: self.cascade.finish() };
        (bundle.slots() > 0).then_some(bundle)
    }
}

impl Kept {
    fn new(reader: &Reader, series: &Series, name: &str) -> Self {
        let policy = |name: &str| reader.policies.policy_for(name, Arrival::labelled(0)).policy;
        let child = |&(part, _, meet): &Child| {
            let name = reader.name_of(&format!("{}.{part}", series.metric), series).ok()?;
            let policy = policy(&name);
            let target = Target::new(name, policy, reader.now);
            Some(Target { cascade: target.cascade.meeting(meet), ..target })
        };
        let children: Option<Vec<Target>> = CHILDREN.iter().map(child).collect();
        Self {
            number: Target::new(name.to_owned(), policy(name), reader.now),
            children: children.filter(|_| reader.takes_histograms).unwrap_or_default(),
        }
    }

    /// From when on anything is kept.
    fn oldest_ms(&self, reader: &Reader) -> i64 {
        let targets = std::iter::once(&self.number).chain(&self.children);
        let span = targets.map(|target| target.policy.retention.span_secs()).max().unwrap_or(0);
        i64::try_from(u64::from(reader.now).saturating_sub(span)).unwrap_or(0) * 1000
    }

    fn push(&mut self, numbers: &[(i64, f64)], histograms: &[(i64, Summary)]) {
        for &(time, value) in numbers {
            self.number.cascade.push(seconds(time), value);
        }
        for (time, summary) in histograms {
            for (target, (_, value, _)) in self.children.iter_mut().zip(&CHILDREN) {
                target.cascade.push(seconds(*time), value(summary));
            }
        }
    }

    fn finish(self) -> Vec<Bundle> {
        self.children.into_iter().chain([self.number]).filter_map(Target::finish).collect()
    }
}

/// Only times between 1970 and now come here.
fn seconds(ms: i64) -> u32 {
    u32::try_from(ms.div_euclid(1000)).unwrap_or(u32::MAX)
}

/// Rows of one start are being read.
struct Reading<'a> {
    reader: &'a Reader,
    tables: &'a KairosTables,
    oldest_ms: i64,
    end: i64,
}

impl Reading<'_> {
    fn numbers(
        &self,
        row: &Row,
        kind: DataType,
        points: &mut Vec<(i64, f64)>,
        found: &mut Found,
    ) -> Result<()> {
        self.values(row, kind, found, &mut |time, value, found| {
            let value = match value {
                Value::Double(value) => value,
                Value::Long(long) => {
                    found.inexact += u64::from(long.unsigned_abs() > EXACT);
                    long as f64
                }
                Value::Histogram(_) => return,
            };
            if value.is_nan() {
                found.nan += 1;
                return;
            }
            found.points += 1;
            // Of several points in one second the last one stays: a row has no more points in memory than seconds.
            match points.last_mut() {
                Some(last) if seconds(last.0) == seconds(time) && last.0 <= time => *last = (time, value),
                _ => points.push((time, value)),
            }
        })
    }

    fn histograms(
        &self,
        row: &Row,
        kind: DataType,
        points: &mut Vec<(i64, Summary)>,
        found: &mut Found,
    ) -> Result<()> {
        self.values(row, kind, found, &mut |time, value, found| {
            if let Value::Histogram(summary) = value {
                found.points += 1;
                points.push((time, summary));
            }
        })
    }

    /// Visits the points of a row that can be kept.
    fn values(
        &self,
        row: &Row,
        kind: DataType,
        found: &mut Found,
        visit: &mut dyn FnMut(i64, Value, &mut Found),
    ) -> Result<()> {
        let (layout, now_ms) = (self.reader.layout, (i64::from(self.reader.now) + 1) * 1000);
        let window_ms = self.window_ms();
        let Some(slice) = layout.slice(row.row_time, window_ms.0, window_ms.1) else { return Ok(()) };
        let take = &mut |column: &[u8], value: &[u8]| {
            let Some((time, bit)) = layout.time(row.row_time, column) else {
                return found.cannot(format!("a column name of {} bytes", column.len()));
            };
            if time >= window_ms.1 || time < window_ms.0 {
                // The slice ends at full seconds.
            } else if time >= self.end {
                found.cannot("it lies outside of its row");
            } else if time < self.oldest_ms {
                found.too_old += 1;
            } else if time >= now_ms {
                found.in_future += 1;
            } else {
                match kind.value(value, bit) {
                    Ok(value) => visit(time, value, found),
                    Err(why) => found.cannot(why),
                }
            }
        };
        Ok(self.tables.points(&row.key, slice, take)?)
    }

    /// Counts the points of a row that is left out.
    fn count(&self, row: &Row, found: &mut Found) -> Result<()> {
        let window_ms = self.window_ms();
        let Some(slice) = self.reader.layout.slice(row.row_time, window_ms.0, window_ms.1) else {
            return Ok(());
        };
        let data_type = row.data_type.clone().unwrap_or_default();
        let count = found.skipped.entry(data_type).or_default();
        Ok(self.tables.points(&row.key, slice, &mut |_, _| *count += 1)?)
    }

    fn window_ms(&self) -> (i64, i64) {
        let (from, until) = self.reader.window;
        (i64::from(from) * 1000, i64::from(until) * 1000)
    }
}
