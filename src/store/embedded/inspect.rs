//! For debugging by hand: checks a data directory, and shows what is in its files.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Embedded;
use super::block::Block;
use super::catalogue::Catalogue;
use super::codec::{Chunk, Samples};
use super::points::{BlockStore, POINTS_DIR};
use super::recovery::block_files;
use crate::disk::{self, ASIDE_DIR, Disk, Folder, Overlay};
use crate::store::{Headway, MetricStore, Report, StoreError};
use plumbago_model::count;

/// Reads the catalogue and all blocks of a data directory and changes nothing; the log is checked apart. `progress` is called with blocks done and blocks in all.
pub fn fsck(dir: &Folder, mut progress: impl FnMut(u64, u64)) -> Result<Report, StoreError> {
    dir.disk().about(dir.path()).map_err(super::cut::io("find", dir.path()))?;
    // It is opened like for a server, so that what a server would find is found; only nothing of it reaches the disk.
    let store = Embedded::look_at(dir)?;
    let mut report = check_catalogue(&store.blocks.catalogue);
    report.problems.splice(..0, store.damage().iter().cloned());
    let state = store.blocks.state();
    let blocks: Vec<&Arc<Block>> = state.blocks().collect();
    for (done, block) in blocks.iter().enumerate() {
        progress(done as u64, blocks.len() as u64);
        report.blocks += 1;
        check_open(block, &mut report);
    }
    progress(blocks.len() as u64, blocks.len() as u64);
    let listed: HashSet<PathBuf> =
        store.blocks.catalogue.blocks()?.0.iter().map(|path| dir.path().join(path)).collect();
    // On the overlay, what a crash left is gone by now.
    let files = block_files(&dir.join(POINTS_DIR))?;
    remark_on(files.into_iter().filter(|path| !listed.contains(path)), &mut report);
    remark_on_aside(dir, &mut report)?;
    report.log_floor = state.position.log_floor;
    Ok(report)
}

/// Mends a data directory that nobody uses, without its log. Gives the id of the store, the first log segment that is needed, and what was
/// done, one line each.
pub fn repair(dir: &Folder) -> Result<(u64, u64, Vec<String>), StoreError> {
    dir.disk().about(dir.path()).map_err(super::cut::io("find", dir.path()))?;
    let done = super::mending::mend(dir)?;
    let store = Embedded::open_in(dir)?;
    let floor = store.points.snapshot().position().log_floor;
    Ok((store.metrics.store_id(), floor, done))
}

fn remark_on_aside(dir: &Folder, report: &mut Report) -> Result<(), StoreError> {
    let aside = dir.join(ASIDE_DIR);
    if disk::exists(&**dir.disk(), aside.path())
        && !dir.disk().list(aside.path()).unwrap_or_default().is_empty()
    {
        report.remarks.push(format!("{} has damaged files that were set aside", aside.path().display()));
    }
    Ok(())
}

/// The same for a store that is in use. Writers and readers do not wait for it.
pub(super) fn verify(store: &BlockStore, headway: &Headway) -> Result<Report, StoreError> {
    let mut report = check_catalogue(&store.catalogue);
    let still = store.hold_still()?;
    // The store has these open: they can be read to their ends, even if a merge removes them meanwhile.
    let open: HashMap<&Path, &Arc<Block>> =
        still.state.blocks().map(|block| (block.info().path.as_path(), block)).collect();
    headway.begin(still.listed.len() as u64, open.values().map(|block| block.info().bytes).sum());
    for relative in &still.listed {
        if headway.is_stopped() {
            return Err(StoreError::Refused("the check ended early because the server stops".to_owned()));
        }
        let path = store.root.path().join(relative);
        match open.get(path.as_path()) {
            Some(block) => {
                report.blocks += 1;
                check_open(block, &mut report);
            }
            None => check_block(&**store.root.disk(), &path, &mut report),
        }
        headway.files.add(1);
    }
    report.problems.extend(store.catalogue.check_transcript()?);
    remark_on(store.unlisted()?.into_iter(), &mut report);
    remark_on_aside(&store.root, &mut report)?;
    report.log_floor = still.state.position.log_floor;
    Ok(report)
}

fn check_catalogue(catalogue: &Catalogue) -> Report {
    let mut report = Report { store: catalogue.store_id(), ..Report::default() };
    let loaded = catalogue.load(&mut |_| report.metrics += 1);
    if let Err(error) = loaded.and_then(|()| catalogue.policies().map(|_| ())) {
        report.problems.push(error.to_string());
    }
    report
}

fn remark_on(unlisted: impl Iterator<Item = PathBuf>, report: &mut Report) {
    report.remarks.extend(unlisted.map(|path| format!("{} is not listed in the catalogue", path.display())));
}

fn check_block(disk: &dyn Disk, path: &Path, report: &mut Report) {
    report.blocks += 1;
    match Block::open(disk, path) {
        Ok(block) => check_open(&block, report),
        Err(error) => report.problems.push(error.to_string()),
    }
}

fn check_open(block: &Block, report: &mut Report) {
    report.bytes += block.info().bytes;
    let errors = block.verify().err().unwrap_or_default();
    report.problems.extend(errors.iter().map(ToString::to_string));
}

/// Prints what is in a block or a catalogue, by the name of the file.
pub fn dump(path: &Path, out: &mut dyn Write) -> Result<(), DumpError> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("blk") => dump_block(path, out),
        Some("redb") => dump_catalogue(path, out),
        _ => Err(DumpError::Unknown { path: path.to_owned() }),
    }
}

/// Why a dump ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The name is not that of a data file.
    #[error("{path} is no block (.blk), log segment (.log) or catalogue (.redb)", path = path.display())]
    Unknown {
        /// Which file.
        path: PathBuf,
    },
    /// A server has the catalogue open.
    #[error(
        "a running server has {path} open, and the database lets only one process open it; `plumbago backup DIR` makes a copy \
         while the server runs, and DIR/catalogue-N.redb in there can be dumped. `plumbago find '**'` lists the metrics",
        path = path.display()
    )]
    InUse {
        /// Which file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

fn unreadable(error: impl ToString) -> DumpError {
    DumpError::Unreadable(error.to_string())
}

fn dump_block(path: &Path, out: &mut dyn Write) -> Result<(), DumpError> {
    let block = Block::open(&*disk::real(), path).map_err(unreadable)?;
    let info = block.info();
    let meta = info.meta;
    writeln!(
        out,
        "# stage {} partition {} cuts {}-{}",
        meta.stage, meta.partition_start, meta.cut_from, meta.cut_to
    )?;
    writeln!(
        out,
        "# {} in {}, {}; columns: metric id, time, value, count",
        count(info.chunks, "chunk"),
        count(info.pages, "page"),
        count(info.bytes, "byte")
    )?;
    let mut samples = Samples::default();
    let mut cursor = block.cursor();
    loop {
        match cursor.advance() {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(error) => {
                writeln!(out, "# {error}")?;
                continue;
            }
        }
        let Some((metric, bytes)) = cursor.current() else { continue };
        if let Err(error) = Chunk::parse(bytes).and_then(|chunk| chunk.decode(&mut samples)) {
            writeln!(out, "# metric {metric}: {error}")?;
            continue;
        }
        for (at, &slot) in samples.slots.iter().enumerate() {
            let time = u64::from(meta.partition_start) + u64::from(slot) * u64::from(meta.stage.step_secs);
            write!(out, "{metric} {time} {}", samples.values[at])?;
            match samples.counts.get(at) {
                Some(count) => writeln!(out, " {}", count & !plumbago_model::Partial::DIRECT)?,
                None => writeln!(out)?,
            }
        }
    }
}

fn dump_catalogue(path: &Path, out: &mut dyn Write) -> Result<(), DumpError> {
    if !path.is_file() {
        return Err(unreadable(format!("{} does not exist", path.display())));
    }
    let catalogue = Catalogue::open(&Overlay::over(disk::real()), path).map_err(|error| match error {
        StoreError::InUse { path } => DumpError::InUse { path },
        other => unreadable(other),
    })?;
    let (blocks, position) = catalogue.blocks().map_err(unreadable)?;
    writeln!(out, "cut {} log_floor {}", position.cut, position.log_floor)?;
    for mark in &position.marks {
        writeln!(out, "mark policy {} level {} until {}", mark.policy.0, mark.level, mark.until)?;
    }
    for (id, policy) in catalogue.policies().map_err(unreadable)? {
        writeln!(out, "policy {} {policy}", id.0)?;
    }
    blocks.iter().try_for_each(|block| writeln!(out, "block {block}"))?;
    let mut result = Ok(());
    let loaded = catalogue.load(&mut |m| {
        if result.is_ok() {
            let policies: Vec<String> = m.policies.iter().map(|p| p.0.to_string()).collect();
            result = writeln!(out, "metric {} policy {} {}", m.id.0, policies.join(","), m.name);
        }
    });
    loaded.map_err(unreadable)?;
    Ok(result?)
}
