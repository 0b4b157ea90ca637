//! The server's own numbers as metrics. Those that carbon-cache has too use its names, so dashboards made for carbon work;
//! `http`, `queries` and `disk` are Plumbago's.

use std::sync::Arc;

use super::engine::{Engine, now};
use crate::telemetry::{Durations, Process, Telemetry};
use plumbago_model::{Point, Reject};

/// The endpoints whose latencies are stored: those that people wait for.
const ENDPOINTS: [(&str, &str); 2] = [("http.render", "/render"), ("http.find", "/metrics/find")];

/// Shares of the requests that took no longer.
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

/// Numbers that only grow. Each point is the difference to the previous interval.
struct Counted {
    received: u64,
    stored: u64,
    created: u64,
    refused_creates: u64,
    failures: u64,
    cuts: u64,
    overflow: u64,
    queries: u64,
    slow_queries: u64,
    refused_queries: u64,
    blacklisted: u64,
    not_whitelisted: u64,
    cpu_seconds: Option<f64>,
    took: [Durations; ENDPOINTS.len()],
}

/// Turns them into points, once per interval.
pub(super) struct OwnMetrics {
    prefix: String,
    interval_secs: f64,
    last: Counted,
    /// The interval of the last points, counted since 1970.
    told: u64,
}

impl Counted {
    fn of(telemetry: &Telemetry, process: &Process) -> Self {
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
            slow_queries: telemetry.queries_slow.get(),
            refused_queries: telemetry.all_refused(),
            blacklisted: refused(&[Reject::Blacklisted]),
            not_whitelisted: refused(&[Reject::NotWhitelisted]),
            cpu_seconds: process.cpu_seconds,
            took: ENDPOINTS.map(|(_, template)| telemetry.endpoints.durations(template)),
        }
    }
}

impl OwnMetrics {
    /// Begins to count.
    pub(super) fn new(prefix: &str, interval_secs: f64, telemetry: &Telemetry) -> Self {
        let last = Counted::of(telemetry, &Process::read());
        Self { prefix: on_this_machine(prefix), interval_secs, last, told: 0 }
    }

    /// The points of this interval. Unknown numbers have no point, such as the latency of an endpoint without requests.
    pub(super) fn points(&mut self, engine: &Engine) -> Vec<(Arc<str>, Point)> {
        let timestamp = now();
        // Threads do not wake exactly on time. A second point in the same slot would replace the first, and what that one counted.
        let interval = (f64::from(timestamp) / self.interval_secs) as u64;
        if std::mem::replace(&mut self.told, interval) == interval {
            return Vec::new();
        }
        let process = Process::read();
        let is = Counted::of(&engine.telemetry, &process);
        let was = std::mem::replace(&mut self.last, is);
        let mut told = self.as_carbon_does(&was, &engine.telemetry, &process);
        told.extend(latencies(&was.took, &self.last.took));
        told.extend(self.of_queries(&was, &engine.telemetry));
        let disk = engine.disk();
        told.push(("disk.used".to_owned(), disk.used() as f64));
        told.extend(disk.free.map(|free| ("disk.free".to_owned(), free as f64)));
        let point = |(name, value): (String, f64)| {
            (Arc::from(format!("{}.{name}", self.prefix)), Point { timestamp, value })
        };
        told.into_iter().map(point).collect()
    }

    fn of_queries(&self, was: &Counted, telemetry: &Telemetry) -> [(String, f64); 4] {
        let is = &self.last;
        [
            ("queries.active", telemetry.queries_active.get() as f64),
            ("queries.memory", telemetry.query_memory.get() as f64),
            ("queries.slow", (is.slow_queries - was.slow_queries) as f64),
            ("queries.refused", (is.refused_queries - was.refused_queries) as f64),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }

    /// The numbers that carbon-cache has too.
    fn as_carbon_does(&self, was: &Counted, telemetry: &Telemetry, process: &Process) -> Vec<(String, f64)> {
        let is = &self.last;
        let stored = is.stored - was.stored;
        let cuts = is.cuts - was.cuts;
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
        ];
        let cpu =
            is.cpu_seconds.zip(was.cpu_seconds).map(|(is, was)| (is - was) / self.interval_secs * 100.0);
        let of_process = [("cpuUsage", cpu), ("memUsage", process.resident_bytes)];
        let known = of_process.into_iter().filter_map(|(name, value)| Some((name, value?)));
        told.into_iter().chain(known).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// `{host}` in `prefix` becomes the name of this machine, with underscores for its dots.
pub(super) fn on_this_machine(prefix: &str) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    prefix.replace("{host}", &host.trim().replace('.', "_"))
}

/// How long requests took between two times, in seconds: their mean, and the quantiles.
fn latencies(was: &[Durations], is: &[Durations]) -> Vec<(String, f64)> {
    let mut told = Vec::new();
    for ((name, _), took) in ENDPOINTS.iter().zip(is.iter().zip(was).map(|(is, was)| is.since(was))) {
        let quantiles = QUANTILES.iter().map(|&(quantile, share)| (quantile, took.quantile(share)));
        for (figure, seconds) in quantiles.chain([("mean", took.mean())]) {
            told.extend(seconds.map(|seconds| (format!("{name}.{figure}"), seconds)));
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn latencies_are_those_of_the_time_between() {
        let telemetry = Telemetry::default();
        let took = || Counted::of(&telemetry, &Process::default()).took;
        telemetry.endpoints.record("/render", Some(200), Duration::from_secs(40));
        let was = took();
        assert_eq!(latencies(&was, &took()), [], "nobody asked");
        for _ in 0..10 {
            telemetry.endpoints.record("/render", Some(200), Duration::from_millis(4));
        }
        telemetry.endpoints.record("/tags", Some(200), Duration::from_secs(2));
        let told = latencies(&was, &took());
        let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["http.render.p50", "http.render.p95", "http.render.p99", "http.render.mean"]);
        assert!(told.iter().all(|(_, seconds)| (0.0025..=0.005).contains(seconds)), "{told:?}");
    }
}
