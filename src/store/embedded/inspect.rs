//! For debugging by hand: checks a data directory, and shows what is in its files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::block::Block;
use super::catalogue::{CATALOGUE_FILE, Catalogue};
use super::codec::{Chunk, Samples};
use super::points::POINTS_DIR;
use super::recovery::{DirLock, block_files};
use crate::store::{MetricStore, StoreError};

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Metrics in the catalogue.
    pub metrics: u64,
    /// Blocks in use.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The first log segment that holds points not in the blocks.
    pub log_floor: u64,
    /// Everything that is wrong, one line each.
    pub problems: Vec<String>,
    /// What is odd but harmless, one line each.
    pub remarks: Vec<String>,
}

/// Reads the catalogue and all blocks of a data directory and changes nothing; the log is checked apart. `progress` is called with blocks done and blocks in all.
pub fn fsck(dir: &Path, mut progress: impl FnMut(u64, u64)) -> Result<Report, StoreError> {
    let _lock = DirLock::take_existing(dir)?;
    let mut report = Report::default();
    let catalogue = Catalogue::open(&dir.join(CATALOGUE_FILE))?;
    let loaded = catalogue.load(&mut |_| report.metrics += 1);
    if let Err(error) = loaded.and_then(|()| catalogue.policies().map(|_| ())) {
        report.problems.push(error.to_string());
    }
    let (listed, position) = catalogue.blocks()?;
    for (done, relative) in listed.iter().enumerate() {
        progress(done as u64, listed.len() as u64);
        check_block(&dir.join(relative), &mut report);
    }
    progress(listed.len() as u64, listed.len() as u64);
    let in_force: Vec<PathBuf> = listed.iter().map(|p| dir.join(p)).collect();
    for path in block_files(&dir.join(POINTS_DIR))? {
        if !in_force.contains(&path) {
            report.remarks.push(format!("{} is not listed in the catalogue", path.display()));
        }
    }
    report.log_floor = position.log_floor;
    Ok(report)
}

fn check_block(path: &Path, report: &mut Report) {
    report.blocks += 1;
    match Block::open(path) {
        Ok(block) => {
            report.bytes += block.info().bytes;
            let errors = block.verify().err().unwrap_or_default();
            report.problems.extend(errors.iter().map(ToString::to_string));
        }
        Err(error) => report.problems.push(error.to_string()),
    }
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
        "a running server is using {path}; stop it first, or ask it instead: `plumbago find '**'` lists its metrics, \
         `plumbago cardinality` counts them",
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
    let block = Block::open(path).map_err(unreadable)?;
    let info = block.info();
    let meta = info.meta;
    writeln!(
        out,
        "# stage {} partition {} cuts {}-{}",
        meta.stage, meta.partition_start, meta.cut_from, meta.cut_to
    )?;
    writeln!(
        out,
        "# {} chunks in {} pages, {} bytes; columns: metric id, time, value, count",
        info.chunks, info.pages, info.bytes
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
    let catalogue = Catalogue::open(path).map_err(|error| match error {
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
