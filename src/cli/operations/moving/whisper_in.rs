//! `import whisper`: a directory of whisper files.
//!
//! Some threads read files and gather bundles; each hands what it gathered to the store or the server in one piece, and lists the
//! files in the journal when the piece is durable there. A file that cannot be read costs one line, and the rest goes on.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use parking_lot::Mutex;
use serde_json::json;

use super::super::door::Door;
use super::super::transport::Journal;
use super::{glob, window};
use crate::bundle::{Archive, Bundle};
use crate::cli::progress::Progress;
use crate::cli::{ImportWhisper, Output, UsageError, to_stdout, words};
use crate::config::Config;
use crate::http::{ImportOptions, Imported};
use crate::rules::Rewriting;
use crate::server::now;
use crate::store::Column;
use crate::whisper::{FileError, Found, Reader, Series, Tree};
use plumbago_model::{Dialect, Policy};

/// Points that a piece gathers, and files: a piece is one commit, and fits into one call of a server.
const PIECE_POINTS: u64 = 2_000_000;
const PIECE_FILES: usize = 5000;
/// Files and names that are left out, with their reasons, are all listed with `--output json`, and so many of them in text.
const SHOWN: usize = 20;

/// Imports the files of a directory.
pub(super) fn run(config: &Config, arguments: &ImportWhisper, output: Output) -> Result<()> {
    let pattern = arguments.pattern.as_deref().map(glob).transpose()?;
    let mut renames = Rewriting::default();
    for rule in &arguments.rewrite {
        renames.push(rule).map_err(|why| UsageError(format!("--rewrite: {why}")))?;
    }
    let window = window(config, arguments.from.as_deref(), arguments.until.as_deref())?;
    let dir = std::path::absolute(&arguments.dir)?;
    let walk = || {
        Tree::open(&dir, pattern.clone(), config.ingest.max_name_bytes)
            .with_context(|| format!("reading {}", dir.display()))
    };
    let tree = walk()?;
    let door = match arguments.dry_run {
        true => None,
        false => Some(Door::into(config, arguments.url.as_deref())?),
    };
    let journal = match &door {
        None => None,
        Some(door) => {
            let what = format!("plumbago import whisper {} into {}", dir.display(), door.name());
            Some(Journal::open(&arguments.journal, &what)?)
        }
    };
    let import = Import {
        door,
        options: ImportOptions { keep_policy: arguments.keep_policy, window },
        renames,
        now: now(),
        // A walk without reading takes a moment, and tells how long the rest will take.
        progress: Progress::start(Some(walk()?.count() as u64), false)?,
        state: Mutex::new(State { tree, journal, done: Done::default(), failed: None }),
    };
    import.run(arguments.jobs)?;
    import.finish(output)
}

/// An import under way.
struct Import {
    /// `None` only reads.
    door: Option<Door>,
    options: ImportOptions,
    renames: Rewriting,
    now: u32,
    progress: Progress,
    state: Mutex<State>,
}

/// What the threads share.
struct State {
    tree: Tree,
    journal: Option<Journal>,
    done: Done,
    /// Why one of the threads gave up: the others stop too.
    failed: Option<anyhow::Error>,
}

/// What became of the files so far.
#[derive(Default)]
struct Done {
    files: u64,
    /// Files that an earlier run imported.
    earlier: u64,
    imported: Imported,
    /// Files that could not be read, and why.
    broken: Vec<(String, String)>,
}

/// Bundles that go together, and the files they come from.
#[derive(Default)]
struct Piece {
    bundles: Vec<Bundle>,
    paths: Vec<PathBuf>,
    slots: u64,
}

impl Import {
    fn run(&self, jobs: Option<usize>) -> Result<()> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = jobs.unwrap_or(cores).max(1);
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    if let Err(error) = self.work() {
                        self.state.lock().failed.get_or_insert(error);
                    }
                });
            }
        });
        match self.state.lock().failed.take() {
            None => Ok(()),
            Some(error) => {
                Err(error.context("the import stopped; run the same command again to go on where it was"))
            }
        }
    }

    fn work(&self) -> Result<()> {
        let mut reader = Reader::new();
        let mut piece = Piece::default();
        while let Some(found) = self.next()? {
            match reader.read(&found.path, self.now) {
                Ok(series) => self.take(series, found, &mut piece),
                Err(error) => self.skip(&error),
            }
            if piece.slots >= PIECE_POINTS || piece.paths.len() >= PIECE_FILES {
                self.hand_on(&mut piece)?;
            }
        }
        self.hand_on(&mut piece)
    }

    /// The next file that is not done; none after a failure.
    fn next(&self) -> Result<Option<Found>> {
        let mut state = self.state.lock();
        if state.failed.is_some() {
            return Ok(None);
        }
        while let Some(found) = state.tree.next() {
            if !state.journal.as_ref().is_some_and(|journal| journal.has(&found.path)) {
                return Ok(Some(found));
            }
            state.done.earlier += 1;
            self.progress.tally().files.add(1);
        }
        Ok(None)
    }

    fn take(&self, series: Series, found: Found, piece: &mut Piece) {
        let Found { path, name } = found;
        let name = self.renames.apply(&name).unwrap_or(name);
        let method = series.header.method;
        let bundles = bundles(series, &name);
        if bundles.is_empty() {
            let why = format!("its points are aggregated by {method}, which Plumbago does not have");
            self.state.lock().done.broken.push((path.display().to_string(), why));
            return;
        }
        for bundle in bundles {
            piece.slots += bundle.slots();
            piece.bundles.push(bundle);
        }
        piece.paths.push(path);
    }

    fn skip(&self, error: &FileError) {
        let path = error.path.display().to_string();
        self.progress.tally().files.add(1);
        self.progress.tally().failed.add(1);
        self.state.lock().done.broken.push((path, error.source.to_string()));
    }

    /// Hands a piece to the other end, and lists its files when they are durable there.
    fn hand_on(&self, piece: &mut Piece) -> Result<()> {
        let Piece { bundles, paths, slots } = std::mem::take(piece);
        if paths.is_empty() {
            return Ok(());
        }
        let imported = match &self.door {
            Some(door) => door.import(bundles, self.options)?,
            None => Imported { metrics: bundles.len() as u64, points: slots, ..Imported::default() },
        };
        let mut state = self.state.lock();
        if let Some(journal) = &mut state.journal {
            journal.add(&paths)?;
        }
        self.progress.tally().files.add(paths.len() as u64);
        self.progress.tally().points.add(slots);
        let done = &mut state.done;
        done.files += paths.len() as u64;
        done.imported.add(imported);
        Ok(())
    }

    /// Prints what became of everything, and fails if something was left out that should not have been.
    fn finish(self, output: Output) -> Result<()> {
        let told = self.progress.finish();
        let State { tree, journal, done, .. } = self.state.into_inner();
        if done.files + done.earlier == 0 && done.broken.is_empty() {
            bail!("there are no whisper files that could be imported{}", skipped_text(&tree));
        }
        let left_out = done.broken.len() + done.imported.refused.len();
        to_stdout(|out| match output {
            Output::Json | Output::Csv => Ok(output.line(out, &summary(&tree, &done))?),
            Output::Table => print_text(&tree, &done, self.door.is_none(), out),
        })?;
        eprintln!("{told}");
        if let Some(journal) = journal {
            journal.remove()?;
        }
        match left_out {
            0 => Ok(()),
            _ => bail!("{} left out, see above", words::count(left_out as u64, "file")),
        }
    }
}

/// The metrics in a file: one, except in a mix of methods, where each method has a metric of its own.
fn bundles(series: Series, name: &str) -> Vec<Bundle> {
    let methods = series.methods();
    let many = methods.len() > 1;
    let mut bundles = Vec::with_capacity(methods.len());
    for method in methods {
        let Some(aggregator) = method.aggregator() else { continue };
        let only = series.clone().only(method);
        let policy = Policy {
            retention: only.header.retention.clone(),
            aggregator,
            x_files_factor: only.header.x_files_factor,
            dialect: Dialect::Carbon,
        };
        let archives = only.archives.into_iter().map(archive).collect();
        let name = if many { format!("{name}.{aggregator}") } else { name.to_owned() };
        bundles.push(Bundle { name, policy, archives });
    }
    bundles
}

fn archive(archive: crate::whisper::Archive) -> Archive {
    let times = archive.points.iter().map(|point| point.timestamp).collect();
    let values = archive.points.iter().map(|point| point.value).collect();
    let column = Column { times, values, counts: Vec::new() };
    Archive { step_secs: archive.stage.step_secs, points: archive.stage.points, column }
}

fn summary(tree: &Tree, done: &Done) -> serde_json::Value {
    let pairs = |list: &[(String, String)]| -> Vec<_> {
        list.iter().map(|(what, why)| json!({ "what": what, "why": why })).collect()
    };
    let skipped = tree.skipped().iter().map(|(reason, skipped)| {
        json!({ "why": reason.to_string(), "count": skipped.count, "examples": skipped.examples })
    });
    json!({
        "files": done.files,
        "files_done_earlier": done.earlier,
        "metrics": done.imported.metrics,
        "metrics_created": done.imported.created,
        "points": done.imported.points,
        "aggregates": done.imported.aggregates,
        "slots_there_already": done.imported.there,
        "broken_files": pairs(&done.broken),
        "refused_names": pairs(&done.imported.refused),
        "skipped": skipped.collect::<Vec<_>>(),
    })
}

fn print_text(tree: &Tree, done: &Done, trial: bool, out: &mut dyn std::io::Write) -> Result<()> {
    let imported = &done.imported;
    let would = if trial { " would be imported" } else { " imported" };
    writeln!(out, "{}{would}", words::count(done.files, "file"))?;
    if done.earlier > 0 {
        writeln!(out, "{} were imported earlier", words::count(done.earlier, "file"))?;
    }
    if trial {
        writeln!(out, "{} in them", words::count(imported.points, "point"))?;
    } else {
        writeln!(out, "{}, {} of them new", words::count(imported.metrics, "metric"), imported.created)?;
        writeln!(
            out,
            "{} and {}",
            words::count(imported.points, "point"),
            words::count(imported.aggregates, "aggregate")
        )?;
    }
    if imported.there > 0 {
        writeln!(out, "{} were there already and stay", words::count(imported.there, "slot"))?;
    }
    for (title, list) in [("cannot be read", &done.broken), ("refused", &imported.refused)] {
        for (what, why) in list.iter().take(SHOWN) {
            writeln!(out, "{title}: {what}: {why}")?;
        }
        if list.len() > SHOWN {
            writeln!(out, "{title}: {} more (--output json lists all)", list.len() - SHOWN)?;
        }
    }
    write!(out, "{}", skipped_text(tree).trim_start())?;
    Ok(())
}

/// What of the directory was not looked at, and why.
fn skipped_text(tree: &Tree) -> String {
    let mut text = String::new();
    for (reason, skipped) in tree.skipped() {
        let examples = skipped.examples.join(", ");
        text.push_str(&format!("\nskipped {}: {reason} ({examples})", skipped.count));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
