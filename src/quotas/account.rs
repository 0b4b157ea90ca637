//! What one quota, or one directory of it, has and had.

use std::sync::Arc;

use parking_lot::Mutex;

use super::window::{Window, minute};
use crate::config::QuotaLimits;

/// A limit of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Metrics,
    NewMetrics,
    Points,
}

impl Limit {
    pub(super) const ALL: [Limit; 3] = [Limit::Metrics, Limit::NewMetrics, Limit::Points];

    /// The key that sets it.
    pub(super) fn label(self) -> &'static str {
        match self {
            Limit::Metrics => "metrics",
            Limit::NewMetrics => "new_metrics_per_minute",
            Limit::Points => "points_per_second",
        }
    }
}

/// One account.
#[derive(Debug)]
pub(super) struct Account {
    /// The place of its quota.
    pub(super) quota: usize,
    /// The directory, if each has its own account.
    pub(super) directory: Box<str>,
    /// Metrics that there are.
    pub(super) metrics: u64,
    created: Created,
    pub(super) points: Arc<Mutex<Window>>,
}

/// Metrics that were created in the minute under way, and in the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Created {
    minute: u32,
    now: u64,
    before: u64,
}

impl Created {
    fn at(self, now: u32) -> Self {
        match minute(now) {
            minute if minute == self.minute => self,
            minute if minute == self.minute + 1 => Self { minute, now: 0, before: self.now },
            minute => Self { minute, ..Self::default() },
        }
    }
}

impl Account {
    pub(super) fn new(quota: usize, directory: &str, limits: &QuotaLimits) -> Self {
        let window = Window::new(limits.points_per_minute.unwrap_or(0));
        Self {
            quota,
            directory: directory.into(),
            metrics: 0,
            created: Created::default(),
            points: Arc::new(Mutex::new(window)),
        }
    }

    /// The limit that forbids another metric.
    pub(super) fn limit_of_new(&self, limits: &QuotaLimits, now: u32) -> Option<Limit> {
        let is_full = |used: u64, most: Option<u64>| most.is_some_and(|most| used >= most);
        if is_full(self.metrics, limits.metrics) {
            return Some(Limit::Metrics);
        }
        if is_full(self.created.at(now).now, limits.new_metrics_per_minute) {
            return Some(Limit::NewMetrics);
        }
        let has_room = |most| self.points.lock().has_room_for_new(most, now);
        let points = limits.points_per_minute.is_some_and(|most| !has_room(most));
        points.then_some(Limit::Points)
    }

    /// A metric was created, with a point.
    pub(super) fn create(&mut self, now: u32) {
        self.created = self.created.at(now);
        self.created.now += 1;
        self.metrics += 1;
        self.points.lock().take_new(now);
    }

    /// How much of a limit is used.
    pub(super) fn used(&self, limit: Limit, now: u32) -> u64 {
        match limit {
            Limit::Metrics => self.metrics,
            Limit::NewMetrics => {
                let created = self.created.at(now);
                created.now.max(created.before)
            }
            Limit::Points => self.points.lock().used(now),
        }
    }
}
