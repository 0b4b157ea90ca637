//! What became of everything that was read.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

use super::super::super::transport::Checked;
use super::listing::Listed;
use super::series::Found;
use crate::cli::{Output, to_stdout, words};
use crate::http::Imported;

/// Of each list so many are shown in text; JSON has all that are kept.
const SHOWN: usize = 20;
/// Most that a list keeps.
const LISTED: usize = 10_000;

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Report {
    metrics: u64,
    series: u64,
    points: u64,
    slots: u64,
    inexact: u64,
    too_old: u64,
    in_future: u64,
    nan: u64,
    skipped: BTreeMap<String, Skipped>,
    unreadable_points: u64,
    /// Why some of them cannot be read.
    reasons: BTreeMap<String, u64>,
    unreadable_keys: Items,
    refused: Items,
}

/// What of a type was left out.
#[derive(Clone, Copy, Debug, Default)]
struct Skipped {
    series: u64,
    points: u64,
}

/// Things with reasons: all are counted, and the first of them are kept.
#[derive(Debug, Default)]
struct Items {
    count: u64,
    first: Vec<(String, String)>,
}

impl Items {
    fn add(&mut self, what: String, why: String) {
        self.count += 1;
        if self.first.len() < LISTED {
            self.first.push((what, why));
        }
    }

    fn json(&self) -> Value {
        let items = self.first.iter().map(|(what, why)| json!({ "what": what, "why": why }));
        json!({ "count": self.count, "items": items.collect::<Vec<_>>() })
    }

    fn print(&self, title: &str, out: &mut dyn Write) -> Result<()> {
        for (what, why) in self.first.iter().take(SHOWN) {
            writeln!(out, "{title}: {what}: {why}")?;
        }
        let more = self.count.saturating_sub(SHOWN as u64);
        if more > 0 {
            writeln!(out, "{title}: {more} more (--output json lists them)")?;
        }
        Ok(())
    }
}

impl Report {
    /// Adds what listing found.
    pub(super) fn listed(&mut self, listed: Listed) {
        self.metrics += listed.metrics;
        listed.unreadable.into_iter().for_each(|(key, why)| self.unreadable_keys.add(key, why));
    }

    /// Adds what a series had.
    pub(super) fn add(&mut self, found: Found) {
        self.series += 1;
        self.points += found.points;
        self.slots += found.slots;
        self.inexact += found.inexact;
        self.too_old += found.too_old;
        self.in_future += found.in_future;
        self.nan += found.nan;
        for (data_type, points) in found.skipped {
            let skipped = self.skipped.entry(data_type).or_default();
            skipped.series += 1;
            skipped.points += points;
        }
        self.unreadable_points += found.unreadable.0;
        if let Some(why) = found.unreadable.1 {
            *self.reasons.entry(why).or_default() += 1;
        }
    }

    /// A series whose name cannot be kept.
    pub(super) fn refuse(&mut self, series: String, why: &str) {
        self.series += 1;
        self.refused.add(series, why.to_owned());
    }

    /// Prints it, with what became of it at the other end. Gives how many series were left out that should not have been.
    pub(super) fn print(&self, delivered: Option<(&Imported, &Checked)>, output: Output) -> Result<u64> {
        to_stdout(|out| match output {
            Output::Json | Output::Csv => Ok(output.line(out, &self.json(delivered))?),
            Output::Table => self.text(delivered, out),
        })?;
        let beyond = delivered.map_or(0, |(done, checked)| done.refused.len() + checked.different.len());
        Ok(self.refused.count + self.unreadable_keys.count + beyond as u64)
    }

    fn json(&self, delivered: Option<(&Imported, &Checked)>) -> Value {
        let skipped: serde_json::Map<String, Value> = self
            .skipped
            .iter()
            .map(|(data_type, s)| (data_type.clone(), json!({ "series": s.series, "points": s.points })))
            .collect();
        let mut json = json!({
            "metrics": self.metrics,
            "series": self.series,
            "points_read": self.points,
            "slots": self.slots,
            "beyond_2_53": self.inexact,
            "older_than_retention": self.too_old,
            "in_future": self.in_future,
            "not_a_number": self.nan,
            "skipped_types": skipped,
            "unreadable_points": self.unreadable_points,
            "unreadable_because": self.reasons,
            "unreadable_keys": self.unreadable_keys.json(),
            "refused_names": self.refused.json(),
        });
        if let Some((done, checked)) = delivered {
            let refused = done.refused.iter().map(|(name, why)| json!({ "what": name, "why": why }));
            json["imported"] = json!({
                "metrics": done.metrics,
                "metrics_created": done.created,
                "points": done.points,
                "aggregates": done.aggregates,
                "slots_there_already": done.there,
                "verified": checked.verified,
                "merged": checked.merged,
                "kept_by_other_rules": checked.adapted,
                "imported_earlier": checked.earlier,
                "different": checked.different,
                "refused": refused.collect::<Vec<_>>(),
            });
        }
        json
    }

    fn text(&self, delivered: Option<(&Imported, &Checked)>, out: &mut dyn Write) -> Result<()> {
        let metrics = words::count(self.metrics, "metric");
        let points = words::count(self.points, "point");
        writeln!(out, "{metrics} with {} series and {points} read", self.series)?;
        match delivered {
            None => {
                writeln!(out, "{} in all stages would be imported", words::count(self.slots, "slot"))?;
            }
            Some((done, checked)) => print_delivered(done, checked, out)?,
        }
        for (data_type, skipped) in &self.skipped {
            let points = words::count(skipped.points, "point");
            writeln!(out, "skipped: {points} of type {data_type} in {} series", skipped.series)?;
        }
        for (number, what) in [
            (self.inexact, "integers beyond 2^53, rounded"),
            (self.too_old, "points older than the retention, left out"),
            (self.in_future, "points in the future, left out"),
            (self.nan, "values that are no number, left out"),
            (self.unreadable_points, "points that cannot be read, left out"),
        ] {
            if number > 0 {
                writeln!(out, "{number} {what}")?;
            }
        }
        for (why, series) in self.reasons.iter().take(SHOWN) {
            writeln!(out, "cannot be read: {why} ({series} series)")?;
        }
        self.unreadable_keys.print("not the key of a row", out)?;
        self.refused.print("refused", out)
    }
}

fn print_delivered(done: &Imported, checked: &Checked, out: &mut dyn Write) -> Result<()> {
    let (points, aggregates) =
        (words::count(done.points, "point"), words::count(done.aggregates, "aggregate"));
    writeln!(out, "{}, {} of them new", words::count(done.metrics, "metric"), done.created)?;
    writeln!(out, "{points} and {aggregates} imported")?;
    Ok(checked.print(done, "imported", out)?)
}
