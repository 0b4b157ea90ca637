//! Quotas: how much of the server some metrics or some senders may take.

use super::Addresses;
use plumbago_model::Scope;
use plumbago_model::glob::Glob;

/// One quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// What its counters and messages call it. No two have the same.
    pub name: String,
    /// Its place: `plumbago.toml:12`.
    pub origin: String,
    /// What it is about.
    pub reach: Reach,
    /// Only what these users send; nobody listed means everybody.
    pub users: Vec<String>,
    /// Only what comes from here; none means everywhere.
    pub from: Addresses,
    /// Most of each.
    pub limits: QuotaLimits,
    /// Count what is over a limit, and take it all the same?
    pub dry_run: bool,
}

/// What a quota is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// These metrics, all together.
    Metrics(Scope),
    /// Each directory that matches has these limits for all metrics below it.
    Directories(Glob),
    /// All metrics, beside the quotas of their directories.
    Root,
}

/// Most that a quota allows. `None` means any number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaLimits {
    /// Metrics that there are.
    pub metrics: Option<u64>,
    /// Metrics created in a minute.
    pub new_metrics_per_minute: Option<u64>,
    /// Points taken in a minute.
    pub points_per_minute: Option<u64>,
    /// Directories directly below.
    pub namespaces: Option<u64>,
    /// Points of all metrics when they are full.
    pub data_points: Option<u64>,
    /// Bytes of the files that whisper would make for all metrics.
    pub logical_bytes: Option<u64>,
    /// Bytes on disk of all metrics when they are full.
    pub physical_bytes: Option<u64>,
}

impl QuotaLimits {
    /// Does it matter how metrics are kept?
    pub fn ask_for_size(&self) -> bool {
        [self.data_points, self.logical_bytes, self.physical_bytes].iter().any(Option::is_some)
    }
}

impl Quota {
    /// Does it ask who sends?
    pub fn asks_for_sender(&self) -> bool {
        !self.users.is_empty() || !self.from.is_empty()
    }

    /// The limits in words: `at most 1000 metrics, 10 new metrics per minute`.
    pub fn in_words(&self) -> String {
        let QuotaLimits { metrics, new_metrics_per_minute, points_per_minute, .. } = self.limits;
        let QuotaLimits { namespaces, data_points, logical_bytes, physical_bytes, .. } = self.limits;
        let parts = [
            metrics.map(|most| format!("{most} metrics")),
            new_metrics_per_minute.map(|most| format!("{most} new metrics per minute")),
            points_per_minute.map(|most| match most % 60 {
                0 => format!("{} points per second", most / 60),
                _ => format!("{most} points per minute"),
            }),
            namespaces.map(|most| format!("{most} namespaces")),
            data_points.map(|most| format!("{most} data points")),
            logical_bytes.map(|most| format!("{most} bytes as whisper files")),
            physical_bytes.map(|most| format!("{most} bytes on disk")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let limits =
            if parts.is_empty() { "no limit".to_owned() } else { format!("at most {}", parts.join(", ")) };
        format!("{limits}{}", if self.dry_run { " (dry run: nothing is refused)" } else { "" })
    }
}
