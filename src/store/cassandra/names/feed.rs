//! What other servers created and deleted.
//!
//! Plumbago's servers add an entry to `plumbago_created` for each metric they create or delete, or delete a stretch of time of, in
//! partitions of one minute. A
//! follower reads the last minute repeatedly, starting some seconds before its last read, so that neither clock skew nor a slow
//! write loses an entry. An entry only says where to look; the tables say what happened to the name.
//!
//! BigGraphite writes no such entries. Its creations are found through the index on `created_on`, less often. That also finds
//! what a server of ours created just before it died. Its deletions are not seen until all names are reloaded; where nobody made that
//! index, its creations are not either.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use scylla::value::{CqlTimestamp, CqlTimeuuid};

use super::config::Configs;
use super::statement::{MetadataRow, rows};
use super::writer::{DELETED, MINUTE_MS, erased_stretch};
use super::{IN_FLIGHT, Names, flight, stamp};
use crate::store::cassandra::{ClusterError, Purpose};
use plumbago_model::{Policy, Stretch};

/// How far before the last read to start again: longer than a request may take plus clock skew.
const OVERLAP_MS: i64 = 20_000;

/// The same for `created_on`.
const CREATED_OVERLAP_MS: i64 = 60_000;

/// How often to query `created_on`.
const CREATED_EVERY_MS: i64 = 30_000;

/// While others create many metrics, that query returns a lot: spend at most this fraction of the time on it.
const CREATED_SHARE: i64 = 20;

/// After more creations of our own than this, skip the query: it would mostly return our own metrics, and reading one takes as
/// long as creating it. Reload all names instead, once the creations are over.
const RUSH: u64 = 20_000;

/// Entries live for a day; what is older than this may be gone.
const REACH_MS: i64 = 23 * 3_600_000;

/// Something another server did.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A metric exists.
    Created {
        /// Its name.
        name: String,
        /// Its policy.
        policy: Arc<Policy>,
    },
    /// A metric is gone.
    Deleted {
        /// Its name.
        name: String,
    },
    /// The points of a metric are deleted in a stretch of time.
    Erased {
        /// Its name.
        name: String,
        /// Which points.
        stretch: Stretch,
        /// When that was told, in milliseconds since 1970.
        at_ms: i64,
    },
}

/// How far a follower has come. Make it before names are loaded, so that nothing falls between the two.
#[derive(Clone, Debug)]
pub struct Cursor {
    /// Everything before this was read, except what arrives late.
    until_ms: i64,
    /// Entries that are read again but were already handled.
    handled: HashSet<CqlTimeuuid>,
    created_until_ms: i64,
    created_due_ms: i64,
    /// `created_on` is queried from this time on.
    created_from_ms: i64,
    /// Our own creations when `created_on` was last queried.
    own_created: u64,
    has_gap: bool,
}

impl Cursor {
    /// Follows what happens from now on.
    pub fn now() -> Self {
        Self::since(stamp::now_ms())
    }

    /// Follows what happened from a moment on, in milliseconds since 1970: when a local copy of all names was made.
    pub fn since(ms: i64) -> Self {
        Self {
            until_ms: ms,
            handled: HashSet::new(),
            created_until_ms: ms,
            created_due_ms: 0,
            created_from_ms: i64::MIN,
            own_created: 0,
            has_gap: false,
        }
    }

    /// Is it so old that entries may be gone? Then all names must be reloaded.
    pub fn is_outdated(&self) -> bool {
        stamp::now_ms() - self.until_ms > REACH_MS
    }

    /// Up to when it has followed, in milliseconds since 1970.
    pub fn until_ms(&self) -> i64 {
        self.until_ms
    }

    /// The cursor to continue with, if we may have missed creations of BigGraphite and must reload all names. Like
    /// [`Cursor::now`], create it before the reload.
    pub fn after_gap(&self) -> Option<Self> {
        let now = stamp::now_ms();
        let next = Self { created_from_ms: now, own_created: self.own_created, ..Self::since(now) };
        self.has_gap.then_some(next)
    }

    /// Makes the next call look for BigGraphite's creations, whenever that is.
    pub fn hurry(&mut self) {
        self.created_due_ms = 0;
    }
}

/// An entry of the feed.
struct FeedRow {
    at: CqlTimeuuid,
    name: String,
    kind: Kind,
}

/// What an entry of the feed says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Created,
    Deleted,
    Erased(Stretch),
}

impl Kind {
    /// What a later version says is looked up like a creation.
    fn parse(text: Option<&str>) -> Self {
        match text {
            Some(DELETED) => Kind::Deleted,
            Some(text) => erased_stretch(text).map_or(Kind::Created, Kind::Erased),
            None => Kind::Created,
        }
    }
}

impl Names {
    /// What others did since the last call. A metric may be reported more than once, or although it is known; its policy may
    /// then have changed. `known` says which metrics the caller has; `default` supplies what a config lacks. It costs two small
    /// reads if nothing happened, so call it every second or two. After an error, call it again with the same cursor.
    pub fn changes(
        &self,
        cursor: &mut Cursor,
        default: &Arc<Policy>,
        known: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<Change>, ClusterError> {
        self.shared.cluster.block_on(async {
            let mut changes = self.told(cursor, default).await?;
            let now = stamp::now_ms();
            if now >= cursor.created_due_ms && !self.has_index("metrics_metadata", "created_on").await? {
                // What BigGraphite creates is seen when all names are reloaded.
                (cursor.created_until_ms, cursor.created_due_ms) = (now, now + CREATED_EVERY_MS);
            } else if now >= cursor.created_due_ms {
                let own = self.shared.created.load(Ordering::Relaxed);
                if own - cursor.own_created > RUSH {
                    (cursor.has_gap, cursor.created_from_ms) = (true, now);
                } else {
                    let since = (cursor.created_until_ms - CREATED_OVERLAP_MS).max(cursor.created_from_ms);
                    changes.extend(self.created_since(since, default, known).await?);
                }
                let took = stamp::now_ms() - now;
                (cursor.created_until_ms, cursor.own_created) = (now, own);
                cursor.created_due_ms = now + CREATED_EVERY_MS.max(CREATED_SHARE * took);
            }
            Ok(changes)
        })
    }

    /// What the feed says.
    async fn told(&self, cursor: &mut Cursor, default: &Arc<Policy>) -> Result<Vec<Change>, ClusterError> {
        let (from, now) = (cursor.until_ms - OVERLAP_MS, stamp::now_ms());
        let minutes: Vec<i64> = (from.div_euclid(MINUTE_MS)..=(now + OVERLAP_MS).div_euclid(MINUTE_MS))
            .map(|minute| minute * MINUTE_MS)
            .collect();
        let names = self.clone();
        let entries = flight::map(minutes, IN_FLIGHT, move |minute| {
            let names = names.clone();
            async move { names.entries(minute, from).await }
        });
        // Of several entries for a name the last one counts.
        let mut latest: BTreeMap<String, (bool, Vec<CqlTimeuuid>)> = BTreeMap::new();
        let (mut erased, mut erased_at) = (Vec::new(), Vec::new());
        for entry in entries.await?.into_iter().flatten() {
            if self.shared.stamps.is_own(entry.at) || cursor.handled.contains(&entry.at) {
                continue;
            }
            if let Kind::Erased(stretch) = entry.kind {
                erased_at.push(entry.at);
                erased.push(Change::Erased { name: entry.name, stretch, at_ms: stamp::millis(entry.at) });
                continue;
            }
            let (deleted, stamps) = latest.entry(entry.name).or_default();
            *deleted = entry.kind == Kind::Deleted;
            stamps.push(entry.at);
        }
        let mut changes = self.look_at(&latest, default, &mut cursor.handled).await?;
        changes.extend(erased);
        cursor.handled.extend(erased_at);
        cursor.until_ms = now.max(cursor.until_ms);
        let from = cursor.until_ms - OVERLAP_MS;
        cursor.handled.retain(|at| stamp::millis(*at) >= from);
        Ok(changes)
    }

    /// The entries of one minute that are not older than `from`, in their order.
    async fn entries(&self, minute: i64, from: i64) -> Result<Vec<FeedRow>, ClusterError> {
        let text = &self.statements().select_feed;
        let statement = self.shared.cluster.prepare(Purpose::Metadata, text).await?;
        let mut entries = Vec::new();
        self.pages(&statement, &(CqlTimestamp(minute), CqlTimestamp(from)), |page| {
            for row in rows::<(CqlTimeuuid, String, Option<&str>)>(&page)? {
                let (at, name, kind) = row?;
                entries.push(FeedRow { at, name, kind: Kind::parse(kind) });
            }
            Ok(true)
        })
        .await?;
        Ok(entries)
    }

    /// What happened to the names.
    async fn look_at(
        &self,
        latest: &BTreeMap<String, (bool, Vec<CqlTimeuuid>)>,
        default: &Arc<Policy>,
        handled: &mut HashSet<CqlTimeuuid>,
    ) -> Result<Vec<Change>, ClusterError> {
        let wanted: Vec<String> = latest.keys().cloned().collect();
        let mut there = self.policies(&wanted, default).await?;
        let mut changes = Vec::new();
        for (name, (deleted, stamps)) in wanted.into_iter().zip(latest.values()) {
            match there.remove(&name) {
                Some(policy) => changes.push(Change::Created { name, policy }),
                None if *deleted => changes.push(Change::Deleted { name }),
                // The node that answered does not have it yet: the next call reads it again.
                None => continue,
            }
            handled.extend(stamps);
        }
        Ok(changes)
    }

    /// Metrics that anyone created since, and that are not known yet.
    async fn created_since(
        &self,
        since: i64,
        default: &Arc<Policy>,
        known: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<Change>, ClusterError> {
        let text = &self.statements().select_created;
        let statement = self.shared.cluster.prepare(Purpose::Metadata, text).await?;
        let mut configs = Configs::new(default.clone());
        let mut changes = Vec::new();
        self.pages(&statement, &(CqlTimestamp(since),), |page| {
            for row in rows::<MetadataRow<'_>>(&page)? {
                let (name, Some(_), Some(config)) = row? else { continue };
                if !known(name) {
                    let policy = configs.decode(config.filter_map(Result::ok));
                    changes.push(Change::Created { name: name.to_owned(), policy });
                }
            }
            Ok(true)
        })
        .await?;
        Ok(changes)
    }
}
