//! What the server counts and measures, and the Prometheus text of it.
//!
//! Most numbers are a row of the table below. What has labels is a file of its own: requests by endpoint in `endpoints`, bytes
//! by part and stage in `disk`, quotas in `quotas`. `process` reads what the system knows of this process.

mod disk;
mod endpoints;
mod histogram;
mod labelled;
mod logins;
#[cfg(feature = "otlp")]
pub mod otlp;
mod process;
mod quotas;
mod refusal;
mod text;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use plumbago_model::Reject;
use text::Text;

pub use disk::Disk;
pub use endpoints::Endpoints;
pub use histogram::{Durations, Histogram};
pub use labelled::{LabelledPhase, LabelledPhases};
pub use logins::{Logins, TurnedAway};
pub use process::Process;
pub use quotas::QuotaUse;
pub use refusal::Refusal;

/// A number that is read while it changes.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Takes `n` off, for gauges.
    pub fn sub(&self, n: u64) {
        self.0.fetch_sub(n, Ordering::Relaxed);
    }

    /// Sets the number, for gauges.
    pub fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    /// Reads the number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! telemetry {
    ($($field:ident: $kind:literal $name:literal $help:literal,)*) => {
        /// All counters and gauges of one server.
        #[derive(Debug, Default)]
        pub struct Telemetry {
            $(#[doc = $help] pub $field: Counter,)*
            /// HTTP requests, by endpoint.
            pub endpoints: Endpoints,
            /// Callers who were turned away.
            pub logins: Logins,
            /// Queries by metric and tags, by phase.
            pub labelled_phases: LabelledPhases,
            disk: Mutex<Disk>,
            quotas: Mutex<Vec<QuotaUse>>,
            rejected: [Counter; Reject::ALL.len()],
            refused: [Counter; Refusal::ALL.len()],
            thread_failures: Mutex<BTreeMap<&'static str, u64>>,
        }

        impl Telemetry {
            fn each(&self, mut visit: impl FnMut(&str, &str, &str, u64)) {
                $(visit($kind, $name, $help, self.$field.get());)*
            }
        }
    };
}

telemetry! {
    points_received: "counter" "plumbago_points_received_total" "Points read from sockets, good or bad.",
    points_stored: "counter" "plumbago_points_stored_total" "Points written to the log and readable.",
    last_point: "gauge" "plumbago_last_point_timestamp_seconds" "When a point of a sender was stored last, in seconds since 1970; 0 before the first.",
    points_imported: "counter" "plumbago_points_imported_total" "Slots written by imports, over all stages.",
    metrics_created: "counter" "plumbago_metrics_created_total" "Metrics seen for the first time.",
    metrics_renamed: "counter" "plumbago_metrics_renamed_total" "Metrics that were given other names.",
    metrics_forgotten: "counter" "plumbago_metrics_forgotten_total" "Metrics that left because their last point was too old.",
    metrics: "gauge" "plumbago_metrics" "Metrics in the index.",
    spool_points: "gauge" "plumbago_spool_points" "Points in the log that are not in the store yet.",
    connections: "gauge" "plumbago_connections" "Open carbon connections.",
    connections_refused: "counter" "plumbago_connections_refused_total" "Carbon connections over the limit.",
    senders_refused: "counter" "plumbago_senders_refused_total" "Carbon connections and datagrams from addresses that are not in listen.allow.",
    connections_idle_closed: "counter" "plumbago_connections_idle_closed_total" "Carbon connections closed because they were idle.",
    handshakes_failed: "counter" "plumbago_tls_handshakes_failed_total" "Carbon connections whose TLS handshake failed.",
    cache_queries: "counter" "plumbago_cache_queries_total" "Queries at listen.cache_query.",
    cache_query_errors: "counter" "plumbago_cache_query_errors_total" "Queries at listen.cache_query that could not be answered.",
    backpressure_pauses: "counter" "plumbago_backpressure_pauses_total" "Times reading from a socket paused because the store could not take points.",
    log_bytes: "counter" "plumbago_log_bytes_total" "Bytes appended to the write-ahead log.",
    log_syncs: "counter" "plumbago_log_syncs_total" "Times the write-ahead log was synced to disk.",
    cuts: "counter" "plumbago_cuts_total" "Times the points in memory were written to the store.",
    cut_failures: "counter" "plumbago_cut_failures_total" "Cuts that failed and will be retried.",
    merges: "counter" "plumbago_merges_total" "Times the blocks of a partition were merged.",
    partitions_expired: "counter" "plumbago_partitions_expired_total" "Partitions dropped because their retention passed.",
    slots_deleted: "counter" "plumbago_slots_deleted_total" "Slots that were deleted by a range of time.",
    tombstones: "counter" "plumbago_tombstones_total" "Deletions of partitions, and of ranges within one, that were sent to the cluster for ranges of time.",
    damaged_places: "gauge" "plumbago_damaged_places" "Places in the data directory that the start found damaged; the log names them.",
    backups: "counter" "plumbago_backups_total" "Backups that were made.",
    backup_failures: "counter" "plumbago_backup_failures_total" "Backups that failed.",
    backup_time: "gauge" "plumbago_backup_last_success_timestamp_seconds" "When the last backup since the start was complete, in seconds since 1970; 0 without one.",
    backup_duration: "gauge" "plumbago_backup_last_duration_seconds" "How long the last complete backup took, in whole seconds.",
    points_delivered: "counter" "plumbago_points_delivered_total" "Points that arrived in the cluster.",
    rows_delivered: "counter" "plumbago_rows_delivered_total" "Rows that arrived in the cluster, including those of aggregated stages.",
    running_rows: "counter" "plumbago_running_rows_total" "Rows of slots that are not over yet that arrived in the cluster; the counter of rows delivered does not include them.",
    names_delivered: "counter" "plumbago_names_delivered_total" "Metrics whose names arrived in the cluster.",
    names_loaded: "gauge" "plumbago_names_loaded" "1 when all names of the cluster are known here.",
    cluster_trouble: "gauge" "plumbago_cluster_trouble" "1 while points do not arrive in the cluster; the log says why.",
    points_gathered: "counter" "plumbago_points_gathered_total" "Points that went into an aggregate and were not stored themselves.",
    gathered_dropped: "counter" "plumbago_gathered_dropped_total" "Points left out of an aggregate because rules.max_gathered was reached.",
    gathered_intervals: "gauge" "plumbago_gathered_intervals" "Intervals that aggregates are being gathered for.",
    rules_trouble: "gauge" "plumbago_rules_trouble" "1 while a rule file is invalid and the old rules stay in force; the log says why.",
    reloads: "counter" "plumbago_reloads_total" "Times the configuration was to be read again, by SIGHUP or a call.",
    reload_failures: "counter" "plumbago_reload_failures_total" "Reloads that changed nothing because a file is invalid, or that failed.",
    values_rounded: "counter" "plumbago_values_rounded_total" "Integers of KairosDB's and OpenTSDB's clients that a double does not hold exactly: they are beyond 2^53.",
    events_stored: "counter" "plumbago_events_stored_total" "Events accepted at /events/.",
    events_refused: "counter" "plumbago_events_refused_total" "Events that were too long or could not be parsed.",
    events_limited: "counter" "plumbago_events_limited_total" "Queries for more events than one answer may hold.",
    metadata_stored: "counter" "plumbago_metadata_stored_total" "Values that clients of KairosDB put under /api/v1/metadata, and graphs that people saved.",
    metadata_refused: "counter" "plumbago_metadata_refused_total" "Values of metadata and saved graphs that were too long, no text, or too many.",
    requests: "counter" "plumbago_http_requests_total" "HTTP requests.",
    http_connections: "gauge" "plumbago_http_connections" "Open connections to the HTTP listeners.",
    http_connections_refused: "counter" "plumbago_http_connections_refused_total" "HTTP connections over http.max_connections.",
    http_connections_idle_closed: "counter" "plumbago_http_connections_idle_closed_total" "HTTP connections closed because they had no request for http.idle_timeout, or for seconds while places were scarce, or because their client took nothing of an answer for half a minute.",
    request_errors: "counter" "plumbago_http_errors_total" "HTTP requests answered with an error status.",
    queries_active: "gauge" "plumbago_queries_active" "Queries that wait, run, or send their answer.",
    queries_waiting: "gauge" "plumbago_queries_waiting" "Of these, those that wait for their turn because query.max_concurrent or query.max_renders others run.",
    queries_slow: "counter" "plumbago_queries_slow_total" "Queries that took longer than query.slow.",
    query_memory: "gauge" "plumbago_query_memory_bytes" "Memory that queries use.",
    query_memory_limit: "gauge" "plumbago_query_memory_limit_bytes" "Memory that all queries together may use (query.memory).",
    index_passes: "counter" "plumbago_labelled_index_passes_total" "Passes over the index for queries and deletions by metric and tags: one for each metric of a request, however many values of tags it has.",
    find_limited: "counter" "plumbago_find_limited_total" "Finds rejected because of a limit.",
    searches_cut_short: "counter" "plumbago_searches_cut_short_total" "Searches of the metric browser that timed out and returned partial results.",
    render_limited: "counter" "plumbago_render_limited_total" "Renders rejected because of a limit.",
    fonts_left_out: "counter" "plumbago_fonts_left_out_total" "Font files of the system that were not read because of query.max_fonts or query.max_font_bytes.",
}

impl Telemetry {
    /// Counts `n` refused points.
    pub fn reject(&self, reason: Reject, n: u64) {
        self.rejected[reason as usize].add(n);
    }

    /// How many were refused for `reason`.
    pub fn rejected(&self, reason: Reject) -> u64 {
        self.rejected[reason as usize].get()
    }

    /// Counts a query that was refused or given up.
    pub fn refuse(&self, reason: Refusal) {
        self.refused[reason as usize].add(1);
    }

    /// How many queries were refused or given up for `reason`.
    pub fn refused(&self, reason: Refusal) -> u64 {
        self.refused[reason as usize].get()
    }

    /// How many queries were refused or given up.
    pub fn all_refused(&self) -> u64 {
        Refusal::ALL.into_iter().map(|reason| self.refused(reason)).sum()
    }

    /// A thread that is watched has started.
    pub fn thread_started(&self, thread: &'static str) {
        self.thread_failures.lock().entry(thread).or_default();
    }

    /// Counts a thread that failed.
    pub fn thread_failed(&self, thread: &'static str) {
        *self.thread_failures.lock().entry(thread).or_default() += 1;
    }

    /// Sets the gauges of the disk.
    pub fn set_disk(&self, disk: Disk) {
        *self.disk.lock() = disk;
    }

    /// Sets the numbers of all quotas.
    pub fn set_quotas(&self, quotas: Vec<QuotaUse>) {
        *self.quotas.lock() = quotas;
    }

    /// The Prometheus text format, with what the system says of this process now.
    pub fn prometheus(&self) -> String {
        let mut text = Text::new();
        self.each(|kind, name, help, value| text.single(kind, name, help, value));
        self.write_labelled(&mut text);
        self.endpoints.write(&mut text);
        self.logins.write(&mut text);
        self.labelled_phases.write(&mut text);
        self.disk.lock().write(&mut text);
        quotas::write(&self.quotas.lock(), &mut text);
        Process::read().write(&mut text);
        text.finish()
    }

    fn write_labelled(&self, text: &mut Text) {
        let name = "plumbago_points_rejected_total";
        text.family("counter", name, "Points rejected, by reason.");
        for &reason in Reject::ALL {
            text.sample(name, &[("reason", reason.label())], self.rejected(reason));
        }
        let name = "plumbago_queries_refused_total";
        text.family("counter", name, "Queries refused or given up, by reason.");
        for reason in Refusal::ALL {
            text.sample(name, &[("reason", reason.label())], self.refused(reason));
        }
        let name = "plumbago_thread_failures_total";
        text.family("counter", name, "Threads and listeners that panicked or ended by themselves.");
        for (thread, failures) in &*self.thread_failures.lock() {
            text.sample(name, &[("thread", thread)], failures);
        }
        let name = "plumbago_build_info";
        text.family("gauge", name, "The running version.");
        text.sample(name, &[("version", env!("CARGO_PKG_VERSION"))], 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_and_counter_is_in_the_text() {
        let t = Telemetry::default();
        t.reject(Reject::NotUtf8, 3);
        t.points_stored.add(7);
        let text = t.prometheus();
        assert!(text.contains("plumbago_points_rejected_total{reason=\"not_utf8\"} 3\n"));
        assert!(text.contains("\nplumbago_points_stored_total 7\n"));
        assert!(text.contains("plumbago_build_info{version="));
        for reason in Reject::ALL {
            assert!(text.contains(reason.label()));
        }
    }
}
