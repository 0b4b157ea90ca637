//! Answers to cache queries: points that are in memory alone.

use super::engine::Engine;
use crate::receive::Recent;
use plumbago_model::{MetricId, Point};

impl Recent for Engine {
    fn recent(&self, metric: &str) -> Vec<Point> {
        self.lookup(metric).map_or_else(Vec::new, |id| self.points.in_memory(id))
    }

    fn aggregation(&self, metric: &str) -> Option<String> {
        let (policy, _) = self.points.state(self.lookup(metric)?)?;
        let policy = self.points.policies().get(policy)?;
        Some(policy.aggregator.name().to_owned())
    }
}

impl Engine {
    fn lookup(&self, metric: &str) -> Option<MetricId> {
        self.index.read().lookup(metric.as_bytes())
    }
}
