//! This server's own numbers as metrics, under the names that carbon-cache gives them, so that dashboards made for carbon
//! show something.

use std::sync::Arc;

use super::engine::{Engine, now};
use crate::telemetry::Telemetry;
use plumbago_model::{Point, Reject};

/// What is told as a difference to the last time.
struct Counted {
    received: u64,
    stored: u64,
    created: u64,
    refused_creates: u64,
    failures: u64,
    cuts: u64,
    overflow: u64,
    queries: u64,
    blacklisted: u64,
    not_whitelisted: u64,
    cpu_seconds: f64,
}

/// Writes them, again and again.
pub(super) struct OwnMetrics {
    prefix: String,
    interval_secs: f64,
    last: Counted,
}

impl Counted {
    fn of(telemetry: &Telemetry) -> Self {
        let refused = |reasons: &[Reject]| reasons.iter().map(|&reason| telemetry.rejected(reason)).sum();
        Self {
            received: telemetry.points_received.get(),
            stored: telemetry.points_stored.get(),
            created: telemetry.metrics_created.get(),
            refused_creates: refused(&[Reject::CreateRate, Reject::MetricLimit, Reject::DiskFull]),
            failures: telemetry.cut_failures.get(),
            cuts: telemetry.cuts.get(),
            overflow: refused(&[Reject::Overload]),
            queries: telemetry.requests.get() + telemetry.cache_queries.get(),
            blacklisted: refused(&[Reject::Blacklisted]),
            not_whitelisted: refused(&[Reject::NotWhitelisted]),
            cpu_seconds: cpu_seconds().unwrap_or(0.0),
        }
    }
}

impl OwnMetrics {
    /// `host` stands for the name of this machine in `prefix`, with its dots as underscores.
    pub(super) fn new(prefix: &str, interval_secs: f64, telemetry: &Telemetry) -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim().replace('.', "_");
        Self { prefix: prefix.replace("{host}", &host), interval_secs, last: Counted::of(telemetry) }
    }

    /// What there is to tell now.
    pub(super) fn points(&mut self, engine: &Engine) -> Vec<(Arc<str>, Point)> {
        let telemetry = &engine.telemetry;
        let is = Counted::of(telemetry);
        let was = std::mem::replace(&mut self.last, is);
        let is = &self.last;
        let stored = is.stored - was.stored;
        let cuts = is.cuts - was.cuts;
        let percent = (is.cpu_seconds - was.cpu_seconds) / self.interval_secs * 100.0;
        let timestamp = now();
        let told = [
            ("metricsReceived", (is.received - was.received) as f64),
            ("committedPoints", stored as f64),
            ("creates", (is.created - was.created) as f64),
            ("droppedCreates", (is.refused_creates - was.refused_creates) as f64),
            ("errors", (is.failures - was.failures) as f64),
            ("updateOperations", cuts as f64),
            ("pointsPerUpdate", if cuts == 0 { 0.0 } else { stored as f64 / cuts as f64 }),
            ("blacklistMatches", (is.blacklisted - was.blacklisted) as f64),
            ("whitelistRejects", (is.not_whitelisted - was.not_whitelisted) as f64),
            ("cache.size", telemetry.spool_points.get() as f64),
            ("cache.queues", telemetry.metrics.get() as f64),
            ("cache.queries", (is.queries - was.queries) as f64),
            ("cache.overflow", (is.overflow - was.overflow) as f64),
            ("activeConnections", telemetry.connections.get() as f64),
            ("cpuUsage", percent),
            ("memUsage", resident_bytes().unwrap_or(0.0)),
        ];
        let point = |(name, value): (&str, f64)| {
            (Arc::from(format!("{}.{name}", self.prefix)), Point { timestamp, value })
        };
        told.into_iter().map(point).collect()
    }
}

/// CPU seconds this process has used.
fn cpu_seconds() -> Option<f64> {
    /// `/proc` counts in these on every Linux that Rust runs on.
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program may hold anything; what follows its last bracket does not.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
}

fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_can_be_looked_at() {
        assert!(cpu_seconds().is_some_and(|seconds| seconds >= 0.0));
        assert!(resident_bytes().is_some_and(|bytes| bytes > 1e6));
    }
}
