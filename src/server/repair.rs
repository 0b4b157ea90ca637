//! Putting the names of an embedded store right while it is used: what the catalogue lists must be in the index, where senders and
//! queries look.
//!
//! A name and its points change in one transaction of the catalogue, so a crash leaves nothing half done there. What can be wrong is
//! the index, which is made from the catalogue at a start: it leaves out what does not fit, and the log of the server has a line.

use super::engine::Engine;
use crate::http::Repaired;
use crate::index::Index;
use plumbago_model::{MetricId, QueryError};

impl Engine {
    /// Looks for metrics that are not found by their names, and makes them findable. A trial only lists them.
    pub(super) fn repair_names(&self, trial: bool) -> Result<Repaired, QueryError> {
        if !self.store.upstream.is_sole_writer() {
            return Err(QueryError::invalid(
                "several servers may share the names in Cassandra; `plumbago repair` without --url repairs its tables",
            ));
        }
        // What is in the log alone is in the index: it came from there.
        let mut lost = Vec::new();
        let mut checked = 0;
        self.store.metrics.load(&mut |metric| {
            checked += 1;
            if !is_findable(&self.index.read(), metric.id) {
                lost.push((metric.id, metric.name));
            }
        })?;
        // The catalogue may have metrics that were deleted a moment ago.
        lost.retain(|(id, _)| self.points.state(*id).is_some());
        let mut repaired = Repaired { done: !trial, checked, ..Repaired::default() };
        for (id, name) in lost {
            match if trial { Ok(()) } else { self.make_findable(id, &name) } {
                Ok(()) => repaired.metrics.push(name),
                Err(why) => repaired.left.push((name, why)),
            }
        }
        repaired.metrics.sort_unstable();
        Ok(repaired)
    }

    fn make_findable(&self, id: MetricId, name: &str) -> Result<(), String> {
        let size = self.resolver.size(id);
        let mut index = self.index.write();
        if is_findable(&index, id) {
            return Ok(());
        }
        index.remove(id);
        let inserted = index.insert(id, name).map_err(|error| error.to_string());
        if inserted.is_ok() {
            self.quotas.count([(id, name, size)]);
        }
        self.telemetry.metrics.set(index.len() as u64);
        inserted
    }
}

/// Is a metric found by its name, and in its directory or by its tags?
fn is_findable(index: &Index, id: MetricId) -> bool {
    index.name(id).is_some_and(|name| index.lookup(name.as_bytes()) == Some(id) && index.is_placed(id, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Sender;
    use crate::config::Config;
    use crate::receive::Sink as _;
    use plumbago_model::{Batch, Point};

    #[test]
    fn a_metric_that_the_index_lost_is_findable_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.store.path = dir.path().join("data");
        let engine = Engine::open(config).unwrap();
        let mut batch = Batch::default();
        let timestamp = super::super::engine::now();
        ["a.b", "t;k=v"].iter().for_each(|name| batch.push(name, Point { timestamp, value: 1.0 }));
        engine.accept(&batch, &Sender::default()).unwrap();
        engine.points.cut().unwrap();
        let repair = |trial| engine.repair_names(trial).unwrap();
        assert_eq!(repair(true), Repaired { checked: 2, ..Repaired::default() });
        let id = |name: &str| engine.index.read().lookup(name.as_bytes());
        let (a, t) = (id("a.b").unwrap(), id("t;k=v").unwrap());
        [a, t].iter().for_each(|id| assert!(engine.index.write().remove(*id)));
        let names = ["a.b", "t;k=v"].map(str::to_owned).to_vec();
        assert_eq!(repair(true).metrics, names);
        assert_eq!(id("a.b"), None, "a trial changes nothing");
        // The name of one belongs to another metric meanwhile: nobody can decide between the two.
        engine.index.write().insert(MetricId(9), "a.b").unwrap();
        let repaired = repair(false);
        assert_eq!((&repaired.metrics[..], repaired.left.len(), repaired.done), (&names[1..], 1, true));
        assert!(repaired.left[0].1.contains("belongs to metric 9"), "{repaired:?}");
        assert_eq!(id("t;k=v"), Some(t));
        engine.index.write().remove(MetricId(9));
        assert_eq!(repair(false).metrics, names[..1]);
        assert_eq!((id("a.b"), repair(true).metrics.len()), (Some(a), 0));
    }
}
