//! The results: a table for people, a JSON file for scripts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bar {
    /// A figure without a bar.
    None,
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
}

impl Bar {
    fn text(self) -> String {
        match self {
            Bar::None => String::new(),
            Bar::AtLeast(bar) => format!("≥ {}", figure(bar)),
            Bar::AtMost(bar) => format!("≤ {}", figure(bar)),
        }
    }

    fn is_met(self, value: f64) -> Option<bool> {
        match self {
            Bar::None => None,
            Bar::AtLeast(bar) => Some(value >= bar),
            Bar::AtMost(bar) => Some(value <= bar),
        }
    }
}

/// One line of the table: a figure of each server.
#[derive(Debug)]
struct Row {
    what: String,
    unit: &'static str,
    bar: Bar,
    /// Peers, and how many times smaller Plumbago's figure has to be.
    ratios: Vec<(&'static str, f64)>,
    values: BTreeMap<&'static str, (f64, String)>,
    /// The number of values or names in each answer, if there is one.
    held: BTreeMap<&'static str, usize>,
    /// Servers for which this was not measured, and why.
    unmeasured: BTreeMap<&'static str, String>,
}

/// Share by which two answers may differ in size and still count as equal: servers disagree on whether a window includes its
/// first or its last slot.
const SAME_ANSWER: f64 = 0.01;

impl Row {
    /// A peer's figure divided by Plumbago's. A server with another answer did other work, so it has no ratio.
    fn ratio(&self, server: &str) -> Option<f64> {
        let (ours, theirs) = self.values.get("Plumbago").zip(self.values.get(server))?;
        (ours.0 > 0.0 && self.is_comparable(server)).then(|| theirs.0 / ours.0)
    }

    /// Is the answer of `server` as large as Plumbago's?
    fn is_comparable(&self, server: &str) -> bool {
        let Some((&ours, &theirs)) = self.held.get("Plumbago").zip(self.held.get(server)) else {
            return true;
        };
        ours.abs_diff(theirs) as f64 <= ours.max(theirs) as f64 * SAME_ANSWER
    }

    /// Is Plumbago's figure better than that of `server` by the required factor, if there is one?
    fn is_beaten(&self, server: &str) -> Option<bool> {
        let (_, times) = self.ratios.iter().find(|(peer, _)| *peer == server)?;
        Some(self.ratio(server)? >= *times)
    }

    /// Bars that Plumbago's figure misses.
    fn missed(&self) -> usize {
        let bar = self.values.get("Plumbago").and_then(|(value, _)| self.bar.is_met(*value));
        let ratios = self.ratios.iter().map(|(server, _)| self.is_beaten(server));
        ratios.chain([bar]).filter(|met| *met == Some(false)).count()
    }
}

/// All figures of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    servers: Vec<&'static str>,
}

impl Report {
    /// Records a figure of `server`; `note` says what the figure alone would hide (hits found, points in the log).
    pub(crate) fn add(
        &mut self,
        server: &'static str,
        what: &str,
        unit: &'static str,
        bar: Bar,
        value: f64,
        note: String,
    ) {
        eprintln!(
            "  {what}: {} {unit}{}",
            figure(value),
            if note.is_empty() { note.clone() } else { format!(" ({note})") }
        );
        self.row(server, what, unit, bar).values.insert(server, (value, note));
    }

    /// Records that `server` has no figure, so that a missing line does not look like a bar that is met.
    pub(crate) fn unmeasured(
        &mut self,
        server: &'static str,
        what: &str,
        unit: &'static str,
        bar: Bar,
        why: String,
    ) {
        eprintln!("  {what}: NOT MEASURED: {why}");
        self.row(server, what, unit, bar).unmeasured.insert(server, why);
    }

    /// The line for `what`; added if there is none yet.
    fn row(&mut self, server: &'static str, what: &str, unit: &'static str, bar: Bar) -> &mut Row {
        if !self.servers.contains(&server) {
            self.servers.push(server);
        }
        let at = self.rows.iter().position(|row| row.what == what).unwrap_or_else(|| {
            self.rows.push(Row {
                what: what.to_owned(),
                unit,
                bar,
                ratios: Vec::new(),
                values: BTreeMap::new(),
                held: BTreeMap::new(),
                unmeasured: BTreeMap::new(),
            });
            self.rows.len() - 1
        });
        let row = &mut self.rows[at];
        if row.bar == Bar::None {
            row.bar = bar;
        }
        row
    }

    /// Requires that a recorded figure is this many times smaller than a peer's.
    pub(crate) fn beat(&mut self, what: &str, ratios: &[(&'static str, f64)]) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.what == what) {
            row.ratios = ratios.to_vec();
        }
    }

    /// Records the number of values or names in the answer behind a figure: only equal answers have a ratio.
    pub(crate) fn held(&mut self, server: &'static str, what: &str, count: usize) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.what == what) {
            row.held.insert(server, count);
        }
    }

    /// A recorded figure.
    pub(crate) fn value(&self, server: &str, what: &str) -> Option<f64> {
        let row = self.rows.iter().find(|row| row.what == what)?;
        row.values.get(server).map(|(value, _)| *value)
    }

    /// The table in Markdown. Each figure of a peer has its ratio to Plumbago's.
    pub(crate) fn table(&self) -> String {
        let mut out = String::from("| what | unit | bar |");
        self.servers.iter().for_each(|server| {
            let _ = write!(out, " {server} |");
        });
        out.push_str("\n|---|---|---|");
        self.servers.iter().for_each(|_| out.push_str("---|"));
        for row in &self.rows {
            let _ = write!(out, "\n| {} | {} | {} |", row.what, row.unit, row.bar.text());
            for server in &self.servers {
                let _ = write!(out, " {} |", self.cell(row, server));
            }
        }
        out.push('\n');
        out
    }

    fn cell(&self, row: &Row, server: &str) -> String {
        if let Some(why) = row.unmeasured.get(server) {
            return format!("**not measured: {why}**");
        }
        let Some((value, note)) = row.values.get(server) else { return "–".to_owned() };
        let mut cell = figure(*value);
        let met = if server == "Plumbago" { row.bar.is_met(*value) } else { row.is_beaten(server) };
        if let Some(ratio) = row.ratio(server).filter(|_| server != "Plumbago") {
            let _ = write!(cell, " ({ratio:.2}×)");
        }
        if !row.is_comparable(server) {
            cell.push_str(" (another answer, not comparable)");
        }
        match met {
            Some(true) => cell.push_str(" ✓"),
            Some(false) => cell.push_str(" ✗"),
            None => {}
        }
        if !note.is_empty() {
            let _ = write!(cell, " [{note}]");
        }
        cell
    }

    /// The same for scripts.
    pub(crate) fn json(&self, machine: &str, date: &str) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                let measured = row.values.iter().map(|(server, (value, note))| (*server, json!(value), note));
                let unmeasured = row.unmeasured.iter().map(|(server, why)| (*server, Value::Null, why));
                let values: serde_json::Map<String, Value> = measured
                    .chain(unmeasured)
                    .map(|(server, value, note)| (server.to_owned(), json!({"value": value, "note": note})))
                    .collect();
                let met = row.values.contains_key("Plumbago").then(|| row.missed() == 0);
                json!({"what": row.what, "unit": row.unit, "bar": row.bar.text(), "met": met, "values": values})
            })
            .collect();
        json!({"machine": machine, "date": date, "rows": rows})
    }

    /// A sentence about the bars: how many are missed, and how many were not measured.
    pub(crate) fn verdict(&self) -> String {
        let missed: usize = self.rows.iter().map(Row::missed).sum();
        let unmeasured = self.rows.iter().filter(|row| row.unmeasured.contains_key("Plumbago")).count();
        match unmeasured {
            0 => format!("{missed} bars missed"),
            _ => format!("{missed} bars missed, {unmeasured} NOT MEASURED"),
        }
    }
}

/// Three significant digits, with a separator for thousands.
fn figure(value: f64) -> String {
    if value < 10.0 {
        return format!("{value:.2}");
    }
    if value < 100.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
