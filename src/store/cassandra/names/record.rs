//! All that is recorded about some metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use scylla::deserialize::value::MapIterator;
use scylla::value::CqlTimeuuid;

use super::config::Configs;
use super::statement::{KEYS_AT_ONCE, rows};
use super::{IN_FLIGHT, Names, flight, stamp};
use crate::store::cassandra::ClusterError;
use plumbago_model::Policy;

/// Plumbago and BigGraphite record writes to a metric every three days; allow one more day for a server that is late.
const MARGIN_MS: i64 = 4 * 86_400_000;

/// Name, config, and when it was created, written and read.
type Row<'f> = (
    &'f str,
    Option<MapIterator<'f, 'f, &'f str, &'f str>>,
    Option<CqlTimeuuid>,
    Option<CqlTimeuuid>,
    Option<CqlTimeuuid>,
);

/// A metric as `metrics_metadata` has it. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its policy; the default for what its config lacks.
    pub policy: Arc<Policy>,
    /// When it was created.
    pub created_ms: Option<i64>,
    /// The last recorded write.
    pub updated_ms: Option<i64>,
    /// The last recorded read.
    pub read_ms: Option<i64>,
}

impl Record {
    /// Was it created within this time?
    pub(super) fn is_younger_than(&self, age_ms: i64) -> bool {
        self.created_ms.is_some_and(|created| stamp::now_ms() - created < age_ms)
    }

    /// Is the last write so old that all its data has expired?
    pub fn is_expired(&self) -> bool {
        is_expired(self.updated_ms.or(self.created_ms), &self.policy, stamp::now_ms())
    }
}

/// Has all data expired of a metric that was last used at `used_ms`? Not if nothing is known about it.
pub(super) fn is_expired(used_ms: Option<i64>, policy: &Policy, now_ms: i64) -> bool {
    let kept_ms = i64::try_from(policy.retention.span_secs().saturating_mul(1000)).unwrap_or(i64::MAX);
    used_ms.is_some_and(|used| used.saturating_add(kept_ms).saturating_add(MARGIN_MS) < now_ms)
}

impl Names {
    /// What is recorded about those of these metrics that exist, by name.
    pub fn records(
        &self,
        wanted: &[String],
        default: &Arc<Policy>,
    ) -> Result<BTreeMap<String, Record>, ClusterError> {
        self.block_on(self.records_async(wanted, default))
    }

    /// A row without a config is what a late touch leaves of a deleted metric, and does not count.
    pub(super) async fn records_async(
        &self,
        wanted: &[String],
        default: &Arc<Policy>,
    ) -> Result<BTreeMap<String, Record>, ClusterError> {
        let (names, default) = (self.clone(), default.clone());
        let lists = wanted.chunks(KEYS_AT_ONCE).map(<[String]>::to_vec).collect();
        let found = flight::map(lists, IN_FLIGHT, move |list| {
            let (names, mut configs) = (names.clone(), Configs::new(default.clone()));
            async move {
                let page = names.read(&names.statements().select_record, (list,)).await?;
                let mut found = Vec::new();
                for row in rows::<Row<'_>>(&page)? {
                    let (name, Some(config), created, updated, read) = row? else { continue };
                    let record = Record {
                        policy: configs.decode(config.filter_map(Result::ok)),
                        created_ms: created.map(stamp::millis),
                        updated_ms: updated.map(stamp::millis),
                        read_ms: read.map(stamp::millis),
                    };
                    found.push((name.to_owned(), record));
                }
                Ok(found)
            }
        });
        Ok(found.await?.into_iter().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_expires_when_its_last_point_must_be_gone() {
        let policy: Policy = "3600*1s:24*3600s|sum|0".parse().unwrap();
        let day = 86_400_000;
        let now = 100 * day;
        // Kept for a day, and writes are recorded up to three days late.
        for (used, expired) in [(Some(now - 6 * day), true), (Some(now - 4 * day), false), (None, false)] {
            assert_eq!(is_expired(used, &policy, now), expired, "{used:?}");
        }
        assert!(!is_expired(Some(i64::MAX), &policy, now));
    }
}
