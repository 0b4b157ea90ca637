//! Creating, deleting and touching metrics.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scylla::statement::batch::{Batch, BatchType};
use scylla::value::{CqlTimestamp, CqlTimeuuid};

use super::directories::above;
use super::statement::Table;
use super::{IN_FLIGHT, Names, Record, config, flight, identity, stamp};
use crate::store::cassandra::{ClusterError, Fault, Purpose};
use plumbago_model::{Policy, Stretch};

/// Metrics that are created together. Directories are looked up once for all of them.
const CHUNK: usize = 1000;

/// Entries of the feed in one batch: all of them are in one partition.
const FEED_BATCH: usize = 50;

/// Metrics of a chunk under a rate: a tenth of a second's worth.
const CHUNKS_PER_SECOND: u32 = 10;

/// A metric that was created within this time is announced again by the next server that meets it: a day, since later on the others have
/// loaded all names again.
const TELL_AGAIN_MS: i64 = 86_400_000;

/// Milliseconds in a partition of the feed.
pub(super) const MINUTE_MS: i64 = 60_000;

/// What an entry of the feed says.
pub(super) const CREATED: &str = "created";
pub(super) const DELETED: &str = "deleted";

/// An entry for a stretch of time begins with this, followed by its two seconds.
const ERASED: &str = "erased";

fn erased(stretch: Stretch) -> String {
    format!("{ERASED} {} {}", stretch.from, stretch.until)
}

/// The stretch of time that an entry is about.
pub(super) fn erased_stretch(kind: &str) -> Option<Stretch> {
    let (from, until) = kind.strip_prefix(ERASED)?.trim_start().split_once(' ')?;
    Some(Stretch { from: from.parse().ok()?, until: until.parse().ok()? })
}

/// A metric to create.
#[derive(Clone, Debug)]
pub struct NewMetric {
    /// Its name; empty components are dropped.
    pub name: String,
    /// Its policy, unless the cluster already has the metric.
    pub policy: Arc<Policy>,
}

/// How to create.
#[derive(Clone, Copy, Debug)]
pub struct Creation {
    /// Most metrics per second, over all calls; `None` for no bound.
    pub per_second: Option<u32>,
    /// Most requests at the same time.
    pub in_flight: usize,
}

impl Default for Creation {
    fn default() -> Self {
        Self { per_second: None, in_flight: IN_FLIGHT }
    }
}

/// The outcome for a metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is new.
    Created,
    /// It already existed, with this policy, which stays in force.
    Existed(Arc<Policy>),
}

/// Spaces out creations.
#[derive(Debug, Default)]
pub(super) struct Pace {
    next: Mutex<Option<Instant>>,
}

impl Pace {
    /// When the next `count` may start.
    fn reserve(&self, count: usize, per_second: u32) -> Instant {
        let mut next = self.next.lock();
        let start = next.map_or_else(Instant::now, |next| next.max(Instant::now()));
        *next = Some(start + Duration::from_secs_f64(count as f64 / f64::from(per_second.max(1))));
        start
    }
}

impl Names {
    /// Creates metrics: the directories above them, their rows, an entry in the feed. Existing ones stay
    /// unchanged, and their policies are returned; young ones get an entry as well, and a use is recorded for those that had expired. Safe to repeat after an error,
    /// and for several servers at once.
    pub fn create(&self, metrics: &[NewMetric], creation: Creation) -> Result<Vec<Outcome>, ClusterError> {
        let mut spelled = Vec::with_capacity(metrics.len());
        for metric in metrics {
            let name = identity::canonical(&metric.name)
                .map_err(|error| ClusterError::new(Fault::Other, "create a metric", error.to_string()))?;
            spelled.push(NewMetric { name: name.into_owned(), policy: metric.policy.clone() });
        }
        let _naming = self.shared.cluster.naming();
        let chunk = creation.per_second.map_or(CHUNK, |rate| (rate / CHUNKS_PER_SECOND).max(1) as usize);
        self.block_on(async {
            let mut outcomes = Vec::with_capacity(metrics.len());
            for chunk in spelled.chunks(chunk.min(CHUNK)) {
                if let Some(rate) = creation.per_second {
                    tokio::time::sleep_until(self.shared.pace.reserve(chunk.len(), rate).into()).await;
                }
                outcomes.extend(self.create_chunk(chunk, creation.in_flight).await?);
            }
            Ok(outcomes)
        })
    }

    async fn create_chunk(&self, chunk: &[NewMetric], width: usize) -> Result<Vec<Outcome>, ClusterError> {
        let wanted: Vec<String> = chunk.iter().map(|metric| metric.name.clone()).collect();
        let Some(first) = chunk.first() else { return Ok(Vec::new()) };
        let there = self.records_async(&wanted, &first.policy).await?;
        let existed = |record: &Record| Outcome::Existed(record.policy.clone());
        let outcome = |name: &String| there.get(name).map_or(Outcome::Created, existed);
        let outcomes: Vec<Outcome> = wanted.iter().map(outcome).collect();
        let is_new = |(metric, outcome): (&NewMetric, &Outcome)| {
            (*outcome == Outcome::Created).then(|| metric.clone())
        };
        let new: Vec<NewMetric> = chunk.iter().zip(&outcomes).filter_map(is_new).collect();
        let directories = above(new.iter().map(|metric| metric.name.as_str()));
        self.prepare_directories(&directories).await?;
        self.insert_metrics(new.clone(), width).await?;
        self.confirm_directories(&directories).await?;
        let expired = there.iter().filter(|(_, record)| record.is_expired());
        let revived: Vec<String> = expired.map(|(name, _)| name.clone()).collect();
        self.touch(&self.statements().touch_updated, &revived, width).await?;
        // The server that created these may have died before it told the others. It may have been this one, before its last start.
        let young = there.iter().filter(|(_, record)| record.is_younger_than(TELL_AGAIN_MS));
        let told = new.iter().map(|metric| &metric.name).chain(&revived).chain(young.map(|(name, _)| name));
        self.tell(told.map(String::as_str), CREATED).await?;
        self.shared.created.fetch_add(new.len() as u64, Ordering::Relaxed);
        Ok(outcomes)
    }

    async fn insert_metrics(&self, new: Vec<NewMetric>, width: usize) -> Result<(), ClusterError> {
        let names = self.clone();
        let written = flight::map(new, width, move |metric| {
            let names = names.clone();
            async move {
                if !identity::is_tagged(&metric.name) {
                    names.insert_row(Table::Metrics, &metric.name).await?;
                }
                names.insert_metadata(&metric.name, &metric.policy).await
            }
        });
        written.await.map(drop)
    }

    pub(super) async fn insert_metadata(&self, name: &str, policy: &Policy) -> Result<(), ClusterError> {
        let values = (name, identity::id(name), config::encode(policy));
        self.write(&self.statements().insert_metadata, values).await
    }

    /// Adds entries to the feed that other servers follow.
    pub(super) async fn tell<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
        kind: &str,
    ) -> Result<(), ClusterError> {
        let entries: Vec<(CqlTimeuuid, String)> =
            names.map(|name| (self.shared.stamps.next(), name.to_owned())).collect();
        let by_minute = |a: &(CqlTimeuuid, String), b: &(CqlTimeuuid, String)| minute(a.0) == minute(b.0);
        let mut batches = Vec::new();
        for same in entries.chunk_by(by_minute) {
            batches.extend(same.chunks(FEED_BATCH).map(<[_]>::to_vec));
        }
        let (names, kind): (Names, Arc<str>) = (self.clone(), kind.into());
        let told = flight::map(batches, IN_FLIGHT, move |batch| {
            let (names, kind) = (names.clone(), Arc::clone(&kind));
            async move { names.tell_batch(batch, &kind).await }
        });
        told.await.map(drop)
    }

    async fn tell_batch(&self, entries: Vec<(CqlTimeuuid, String)>, kind: &str) -> Result<(), ClusterError> {
        let cluster = &self.shared.cluster;
        let statement = cluster.prepare(Purpose::Naming, &self.statements().insert_feed).await?;
        let mut batch = Batch::new(BatchType::Unlogged);
        batch.set_is_idempotent(true);
        batch.set_execution_profile_handle(Some(cluster.profile(Purpose::Naming)));
        let mut values = Vec::with_capacity(entries.len());
        for (at, name) in entries {
            batch.append_statement((*statement).clone());
            values.push((CqlTimestamp(minute(at)), at, name, kind));
        }
        let done = cluster.session().await?.batch(&batch, values).await;
        done.map(drop).map_err(|error| ClusterError::of("tell other servers of metrics", &error))
    }

    /// Tells other servers that the points of metrics are deleted in a stretch of time. Their own part of aggregates goes then.
    pub fn tell_erased(&self, metrics: &[String], stretch: Stretch) -> Result<(), ClusterError> {
        self.block_on(self.tell(metrics.iter().map(String::as_str), &erased(stretch)))
    }

    /// Puts metrics under other policies, and tells other servers. One that is gone stays gone.
    pub fn change_policies(&self, metrics: &[NewMetric], in_flight: usize) -> Result<(), ClusterError> {
        let names = self.clone();
        self.block_on(async {
            let changed = flight::map(metrics.to_vec(), in_flight, move |metric| {
                let names = names.clone();
                async move {
                    let values = (config::encode(&metric.policy), metric.name);
                    names.write(&names.statements().update_config, values).await
                }
            });
            changed.await?;
            self.tell(metrics.iter().map(|metric| metric.name.as_str()), CREATED).await
        })
    }

    /// Deletes metrics: their rows, and the directories that are empty without them. Returns the removed directories. Safe
    /// to repeat after an error. Points are not touched.
    pub fn delete(&self, metrics: &[String], in_flight: usize) -> Result<Vec<String>, ClusterError> {
        self.block_on(self.delete_async(metrics, in_flight))
    }

    pub(super) async fn delete_async(
        &self,
        metrics: &[String],
        in_flight: usize,
    ) -> Result<Vec<String>, ClusterError> {
        let mut removed = Vec::new();
        for chunk in metrics.chunks(CHUNK) {
            let names = self.clone();
            let deleted = flight::map(chunk.to_vec(), in_flight, move |name| {
                let names = names.clone();
                async move { names.delete_rows(&name).await }
            });
            deleted.await?;
            self.tell(chunk.iter().map(String::as_str), DELETED).await?;
            let parents: BTreeSet<String> = chunk
                .iter()
                .filter(|name| !identity::is_tagged(name))
                .filter_map(|name| Some(name.rsplit_once('.')?.0.to_owned()))
                .collect();
            removed.extend(self.remove_empty(parents).await?);
        }
        Ok(removed)
    }

    /// The metadata first: a leftover row of `metrics` can be found and deleted again, while metadata alone would look like a
    /// half-created metric.
    async fn delete_rows(&self, name: &str) -> Result<(), ClusterError> {
        self.write(&self.statements().delete(Table::Metadata), (name,)).await?;
        self.write(&self.statements().delete(Table::Metrics), (name,)).await
    }

    /// Records that metrics were written to just now. The caller decides which ones are worth it; a deleted metric stays
    /// deleted.
    pub fn touch_updated(&self, metrics: &[String], in_flight: usize) -> Result<(), ClusterError> {
        self.block_on(self.touch(&self.statements().touch_updated, metrics, in_flight))
    }

    /// Records that metrics were read just now, like [`Names::touch_updated`].
    pub fn touch_read(&self, metrics: &[String], in_flight: usize) -> Result<(), ClusterError> {
        self.block_on(self.touch(&self.statements().touch_read, metrics, in_flight))
    }

    async fn touch(&self, text: &str, metrics: &[String], width: usize) -> Result<(), ClusterError> {
        let (names, text): (Names, Arc<str>) = (self.clone(), text.into());
        let touched = flight::map(metrics.to_vec(), width, move |name| {
            let (names, text) = (names.clone(), text.clone());
            async move { names.write(&text, (name,)).await }
        });
        touched.await.map(drop)
    }
}

/// The feed partition of an entry.
pub(super) fn minute(at: CqlTimeuuid) -> i64 {
    let millis = stamp::millis(at);
    millis - millis.rem_euclid(MINUTE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_says_which_stretch_of_time() {
        let stretch = Stretch { from: 60, until: u32::MAX };
        assert_eq!(erased_stretch(&erased(stretch)), Some(stretch));
        for other in [CREATED, DELETED, "erased", "erased 1", "erased a b"] {
            assert_eq!(erased_stretch(other), None, "{other}");
        }
    }

    #[test]
    fn creations_are_spaced_by_the_rate() {
        let pace = Pace::default();
        let first = pace.reserve(50, 100);
        assert_eq!(pace.reserve(1, 100) - first, Duration::from_millis(500));
        assert_eq!(pace.reserve(1, 100) - first, Duration::from_millis(510));
    }
}
