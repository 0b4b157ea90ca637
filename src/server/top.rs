//! Which prefixes are busy, which metrics are new, and which are never read.

use super::engine::{Engine, now};
use crate::index::{Ranking, Survey, Top};
use plumbago_model::{Cancel, Dates, MetricId, QueryError, Scope};

/// Names looked at while the index is locked.
const LOOKED_AT: u32 = 1024;
const DAY: u32 = 86_400;

impl Engine {
    /// Looks at all metrics inside of a scope. What other servers know of the metrics of a cluster is not in it.
    pub(super) fn rank(&self, scope: &Scope, survey: &Survey, cancel: &Cancel) -> Result<Top, QueryError> {
        let now = now();
        let received = self.points.received(now);
        let mut ranking = Ranking::new(survey);
        let bound = self.points.id_bound();
        for from in (0..bound).step_by(LOOKED_AT as usize) {
            cancel.check()?;
            let ids: Vec<MetricId> =
                (from..bound.min(from.saturating_add(LOOKED_AT))).map(MetricId).collect();
            let dates = self.store.upstream.dates(&ids);
            let mut dates = dates.unwrap_or_default().into_iter();
            let index = self.index.read();
            for id in ids {
                let mut dates: Dates = dates.next().unwrap_or_default();
                let points = received.as_ref().map_or(0, |received| received.of(id));
                if points > 0 {
                    dates.updated = Some(midnight(now));
                }
                let name = index.name(id).filter(|name| scope.covers(name));
                if let Some(name) = name.and_then(|name| scope.shown(name)) {
                    ranking.visit(&name, dates, points);
                }
            }
        }
        let since = self.store.upstream.dates_since();
        Ok(Top {
            metrics: ranking.metrics(),
            received: received.map(|received| ranking.received(received.since, now)),
            created: since.map(|_| ranking.created()),
            never_read: since.map(|_| ranking.never_read(since)),
        })
    }

    /// When a metric was created and used, as far as this machine notes it.
    pub(super) fn dates(&self, id: MetricId) -> Dates {
        let Some(mut dates) = self.store.upstream.dates(&[id]) else { return Dates::default() };
        let dates = dates.pop().unwrap_or_default();
        // The store hears of points when they are cut.
        if self.points.holds(id) { Dates { updated: Some(midnight(now())), ..dates } } else { dates }
    }
}

/// The day, as the store has it.
fn midnight(time: u32) -> u32 {
    time / DAY * DAY
}
