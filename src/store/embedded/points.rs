//! The point store: states, commits, and the files on disk.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::How;
use super::block::Block;
use super::catalogue::{self, CATALOGUE_FILE, Catalogue};
use super::cut::BlockCut;
use super::listing;
use super::opening::{self, Opened};
use super::partition::partition_secs;
use super::spans;
use super::spool::{Parcel, last_cut_us, next_parcel};
use super::state::{Partition, State, StateSnapshot};
use super::transcript::TRANSCRIPT_FILE;
use crate::disk::{self, Disk, Folder};
use crate::store::{
    Cut, DiskUsage, Headway, MetricStore as _, PointStore, Position, Report, Snapshot, StoreError,
};
use plumbago_model::{MetricId, Stage};

/// Where block files are, below the data directory.
pub(super) const POINTS_DIR: &str = "points";

/// See the module documentation.
pub(super) struct BlockStore {
    pub(super) root: Folder,
    pub(super) catalogue: Arc<Catalogue>,
    /// What blocks have of the store's id.
    pub(super) tag: u32,
    state: RwLock<Arc<State>>,
    /// Held while the catalogue and then the state are replaced.
    replacing: Mutex<()>,
    /// Held while merging: two mergers would choose the same blocks.
    merging: Mutex<()>,
    /// Directories of partitions whose names are known to be durable.
    pub(super) durable_dirs: Mutex<HashSet<PathBuf>>,
    /// In a store with a spool: when the last delivered parcel was cut.
    last_delivered_us: Option<Mutex<i64>>,
}

impl BlockStore {
    /// Opens every block in use. What cannot be read is set aside, and added to `damage`; the rest is served.
    pub(super) fn open(
        root: &Folder,
        opened: Opened,
        how: How,
        damage: &mut Vec<String>,
    ) -> Result<Self, StoreError> {
        let (catalogue, is_rebuilt) = (Arc::new(opened.catalogue), opened.is_rebuilt);
        let tag = opening::tag(catalogue.store_id());
        let (paths, position) = catalogue.blocks()?;
        let deleted = Arc::new(catalogue.deleted()?.into_iter().collect::<HashSet<u32>>());
        let mut state = State { position, deleted, ..State::default() };
        let (parcels, last_us) = catalogue.parcels()?;
        if how.has_spool {
            state.parcels = parcels.into_iter().map(|parcel| (parcel.cut, parcel)).collect();
        }
        let listing = listing::open(root, &paths, tag, how.only_looks, damage)?;
        listing.blocks.into_iter().for_each(|block| state.add(block));
        if !listing.gone.is_empty() {
            catalogue.replace_blocks(&[], &listing.gone, None, None)?;
        }
        if is_rebuilt {
            catalogue.touch(&spans::measure(&state))?;
        }
        super::recovery::sweep(root, &paths, &state, is_rebuilt.then_some(&mut *damage))?;
        Ok(Self {
            root: root.clone(),
            catalogue,
            tag,
            state: RwLock::new(Arc::new(state)),
            replacing: Mutex::new(()),
            merging: Mutex::new(()),
            durable_dirs: Mutex::default(),
            last_delivered_us: how.has_spool.then(|| Mutex::new(last_us)),
        })
    }

    pub(super) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read())
    }

    /// Replaces blocks in the catalogue and then in the state. `change` sees the newest state.
    pub(super) fn replace(
        &self,
        change: impl FnOnce(&mut State) -> Option<Change>,
    ) -> Result<bool, StoreError> {
        let _one_at_a_time = self.replacing.lock();
        let mut next = State::clone(&self.state());
        let Some(change) = change(&mut next) else { return Ok(false) };
        if let Some(position) = change.position {
            next.position = position;
        }
        self.catalogue.replace_blocks(
            &self.all_relative(&change.added),
            &self.all_relative(&change.removed),
            Some(&next.position),
            change.parcel,
        )?;
        *self.state.write() = Arc::new(next);
        for path in &change.removed {
            // Readers that still have it open keep reading. A file that cannot be removed is removed at the next start.
            if let Err(error) = self.root.disk().remove(path) {
                tracing::warn!(path = %path.display(), %error, "cannot remove an old block");
            }
        }
        Ok(true)
    }

    /// The parcel a commit makes, in a store with a spool.
    pub(super) fn parcel(&self, state: &State, cut: u64, points: u64) -> Option<Parcel> {
        let delivered_us = *self.last_delivered_us.as_ref()?.lock();
        let now = self.root.disk().now();
        Some(next_parcel(cut, points, last_cut_us(&state.parcels, delivered_us), now))
    }

    /// Metrics received points. Behind a spool is a cluster, which notes that itself.
    pub(super) fn note_updated(&self, metrics: &[MetricId]) {
        if self.last_delivered_us.is_none() {
            self.catalogue.note_updated(metrics);
        }
    }

    /// When the last cut was made, in a store with a spool.
    pub(super) fn last_cut_us(&self) -> i64 {
        // The state comes first: a parcel that is delivered in between is then in one of the two.
        let state = self.state();
        last_cut_us(&state.parcels, self.last_delivered_us.as_ref().map_or(0, |us| *us.lock()))
    }

    /// Records that a parcel was delivered.
    pub(super) fn remove_parcel(&self, cut: u64) -> Result<(), StoreError> {
        let _one_at_a_time = self.replacing.lock();
        let mut next = State::clone(&self.state());
        let Some(parcel) = next.parcels.remove(&cut) else { return Ok(()) };
        self.catalogue.remove_parcel(&parcel)?;
        if let Some(last_us) = &self.last_delivered_us {
            *last_us.lock() = parcel.cut_at_us;
        }
        *self.state.write() = Arc::new(next);
        Ok(())
    }

    /// The store as of its last commit, to be copied. Commits wait for as long as it takes to copy two pointers.
    pub(super) fn hold_still(&self) -> Result<Still, StoreError> {
        let (catalogue, state) = {
            let _no_commit = self.replacing.lock();
            (self.catalogue.read()?, self.state())
        };
        let listed = catalogue::blocks_in(&catalogue)?.0;
        Ok(Still { state, listed, catalogue, disk: Arc::clone(self.root.disk()) })
    }

    /// Block files that the catalogue does not list, and that nobody is writing at this moment.
    pub(super) fn unlisted(&self) -> Result<Vec<PathBuf>, StoreError> {
        // A merge has files that are complete and not listed yet.
        let _no_merge = self.merging.lock();
        let still = self.hold_still()?;
        let listed: HashSet<PathBuf> = still.listed.iter().map(|path| self.root.path().join(path)).collect();
        let (newest, disk) = (still.state.position.cut, &**self.root.disk());
        let is_being_cut =
            |path: &Path| Block::open(disk, path).is_ok_and(|block| block.info().meta.cut_from > newest);
        let mut files = super::recovery::block_files(&self.root.join(POINTS_DIR))?;
        files.retain(|path| {
            !listed.contains(path) && path.extension().is_none_or(|e| e != "tmp") && !is_being_cut(path)
        });
        // A partition may have expired since.
        files.retain(|path| disk::exists(disk, path));
        Ok(files)
    }

    /// A path below the data directory, as the catalogue has it.
    pub(super) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.root.path()).unwrap_or(path).to_string_lossy().into_owned()
    }

    fn all_relative(&self, paths: &[PathBuf]) -> Vec<String> {
        paths.iter().map(|path| self.relative(path)).collect()
    }

    /// The directory of a partition.
    pub(super) fn partition_dir(&self, stage: Stage, start: u32) -> PathBuf {
        self.root.path().join(POINTS_DIR).join(stage_dir(stage)).join(start.to_string())
    }
}

/// What [`BlockStore::replace`] does to the files.
#[derive(Default)]
pub(super) struct Change {
    pub(super) added: Vec<PathBuf>,
    pub(super) removed: Vec<PathBuf>,
    pub(super) position: Option<Position>,
    pub(super) parcel: Option<Parcel>,
}

/// The store as of one commit. The catalogue is read in one transaction, and all blocks are open.
pub(super) struct Still {
    pub(super) state: Arc<State>,
    /// The blocks that the catalogue lists. Those that could not be opened are not in `state`.
    pub(super) listed: Vec<String>,
    catalogue: redb::ReadTransaction,
    disk: Arc<dyn Disk>,
}

impl Still {
    /// Writes the catalogue to a new file, which is on disk when this returns.
    pub(super) fn copy_catalogue(&self, path: &Path) -> Result<(), StoreError> {
        catalogue::copy(&self.catalogue, &*self.disk, path)
    }
}

/// `10s-8640-raw`, `3600s-17520-aggr`: sorts by step and needs no quoting in a shell.
pub fn stage_dir(stage: Stage) -> String {
    let kind = match stage.kind {
        plumbago_model::StageKind::Raw => "raw",
        plumbago_model::StageKind::Aggregated => "aggr",
    };
    format!("{}s-{}-{kind}", stage.step_secs, stage.points)
}

impl PointStore for BlockStore {
    fn snapshot(&self) -> Box<dyn Snapshot> {
        Box::new(StateSnapshot(self.state()))
    }

    fn begin(&self) -> Result<Box<dyn Cut + '_>, StoreError> {
        Ok(Box::new(BlockCut::new(self)))
    }

    fn expire(&self, stage: Stage, before: u32) -> Result<u64, StoreError> {
        let length = u64::from(partition_secs(stage));
        let is_past = |start: u32| u64::from(start) + length <= u64::from(before);
        let mut dropped = 0;
        let before_change = self.state();
        self.replace(|state| {
            let partitions = state.stages.get_mut(&stage)?;
            let is_delivered =
                |blocks: &Partition| blocks.iter().all(|b| !before_change.is_spooled(b.info().meta.cut_to));
            let past: Vec<u32> = partitions
                .iter()
                .filter(|(start, blocks)| is_past(**start) && is_delivered(blocks))
                .map(|(&start, _)| start)
                .collect();
            let blocks = past.iter().filter_map(|start| partitions.remove(start)).flatten();
            let removed: Vec<PathBuf> = blocks.map(|b| b.info().path.clone()).collect();
            dropped = past.len() as u64;
            (dropped > 0).then(|| Change { removed, ..Change::default() })
        })?;
        Ok(dropped)
    }

    fn tidy(&self) -> Result<u64, StoreError> {
        let _one_at_a_time = self.merging.lock();
        super::merge::tidy(self)
    }

    fn delete(&self, metrics: &[MetricId]) -> Result<(), StoreError> {
        self.replace(|state| {
            let mut deleted = HashSet::clone(&state.deleted);
            deleted.extend(metrics.iter().map(|id| id.0));
            state.deleted = Arc::new(deleted);
            Some(Change::default())
        })?;
        Ok(())
    }

    fn chunk_bytes(&self, metrics: &[MetricId]) -> Result<u64, StoreError> {
        let ids: Vec<u32> = metrics.iter().map(|id| id.0).collect();
        let mut bytes = 0;
        let mut buffer = Vec::new();
        for block in self.state().blocks() {
            let read = block.chunks(&ids, &mut buffer, |_, chunk| bytes += chunk.len() as u64);
            if let Some(error) = read.err().and_then(|errors| errors.into_iter().next()) {
                let path = block.info().path.clone();
                return Err(StoreError::Damaged { path, detail: error.to_string() });
            }
        }
        Ok(bytes)
    }

    fn verify(&self, headway: &Headway) -> Result<Report, StoreError> {
        super::inspect::verify(self, headway)
    }

    fn disk_usage(&self) -> DiskUsage {
        let state = self.state();
        // A file is missing only if a person removed it. The next commit reports that.
        let bytes =
            |name: &str| self.root.disk().about(&self.root.path().join(name)).map_or(0, |file| file.len);
        let catalogue = bytes(CATALOGUE_FILE) + bytes(TRANSCRIPT_FILE);
        let mut usage = DiskUsage { catalogue, spool: state.spool_bytes(), ..DiskUsage::default() };
        for block in state.blocks() {
            *usage.stages.entry(block.info().meta.stage).or_default() += block.info().bytes;
        }
        usage
    }
}
