//! What one quota, or one directory of it, has and had.

use std::sync::Arc;

use parking_lot::Mutex;

use super::stock::Stock;
use super::window::{Window, minute};
use crate::config::QuotaLimits;

/// A limit of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Metrics,
    NewMetrics,
    Points,
    Namespaces,
    DataPoints,
    LogicalSize,
    PhysicalSize,
}

impl Limit {
    pub(super) const ALL: [Limit; 7] = [
        Limit::Metrics,
        Limit::NewMetrics,
        Limit::Points,
        Limit::Namespaces,
        Limit::DataPoints,
        Limit::LogicalSize,
        Limit::PhysicalSize,
    ];

    /// The key that sets it.
    pub(super) fn label(self) -> &'static str {
        match self {
            Limit::Metrics => "metrics",
            Limit::NewMetrics => "new_metrics_per_minute",
            Limit::Points => "points_per_second",
            Limit::Namespaces => "namespaces",
            Limit::DataPoints => "data-points",
            Limit::LogicalSize => "logical-size",
            Limit::PhysicalSize => "physical-size",
        }
    }

    /// How much of it a quota allows.
    pub(super) fn most(self, limits: &QuotaLimits) -> Option<u64> {
        match self {
            Limit::Metrics => limits.metrics,
            Limit::NewMetrics => limits.new_metrics_per_minute,
            Limit::Points => limits.points_per_minute,
            Limit::Namespaces => limits.namespaces,
            Limit::DataPoints => limits.data_points,
            Limit::LogicalSize => limits.logical_bytes,
            Limit::PhysicalSize => limits.physical_bytes,
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
    /// What there is.
    pub(super) stock: Stock,
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
            stock: Stock::default(),
            created: Created::default(),
            points: Arc::new(Mutex::new(window)),
        }
    }

    /// The limit that forbids what is to come and to stay.
    pub(super) fn limit_of_stock(&self, limits: &QuotaLimits, coming: Stock) -> Option<Limit> {
        let mut all = self.stock;
        all.add(coming);
        let amounts = [
            (Limit::Metrics, all.metrics, coming.metrics),
            (Limit::Namespaces, all.namespaces, coming.namespaces),
            (Limit::DataPoints, all.size.points, coming.size.points),
            (Limit::LogicalSize, all.size.logical, coming.size.logical),
            (Limit::PhysicalSize, all.size.physical, coming.size.physical),
        ];
        let is_over = |&(limit, all, coming): &(Limit, u64, u64)| {
            coming > 0 && limit.most(limits).is_some_and(|most| all > most)
        };
        amounts.into_iter().find(is_over).map(|(limit, ..)| limit)
    }

    /// The limit that forbids another metric.
    pub(super) fn limit_of_new(&self, limits: &QuotaLimits, coming: Stock, now: u32) -> Option<Limit> {
        if let Some(limit) = self.limit_of_stock(limits, coming) {
            return Some(limit);
        }
        let created = self.created.at(now).now;
        if limits.new_metrics_per_minute.is_some_and(|most| created >= most) {
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
        self.points.lock().take_new(now);
    }

    /// How much of a limit is used.
    pub(super) fn used(&self, limit: Limit, now: u32) -> u64 {
        match limit {
            Limit::Metrics => self.stock.metrics,
            Limit::NewMetrics => {
                let created = self.created.at(now);
                created.now.max(created.before)
            }
            Limit::Points => self.points.lock().used(now),
            Limit::Namespaces => self.stock.namespaces,
            Limit::DataPoints => self.stock.size.points,
            Limit::LogicalSize => self.stock.size.logical,
            Limit::PhysicalSize => self.stock.size.physical,
        }
    }
}
