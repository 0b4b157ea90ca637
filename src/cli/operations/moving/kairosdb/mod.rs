//! `import kairosdb`: the metrics of a live keyspace of KairosDB.
//!
//! | file        | noun                                                            |
//! |-------------|-----------------------------------------------------------------|
//! | `listing`   | which series there are, and which rows each of them has         |
//! | `series`    | a series: from its rows to bundles                              |
//! | `report`    | what became of everything                                       |
//!
//! One thread lists series, a metric at a time, and some read their rows. What they make is handed on in pieces, read back, and listed
//! in the journal. The keyspace is only read.

mod listing;
mod report;
mod series;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use anyhow::{Context as _, Result, bail};
use parking_lot::Mutex;

use super::super::door::Door;
use super::super::transport::{Carrier, Delivery, Journal};
use super::{glob, window};
use crate::cli::progress::Progress;
use crate::cli::{ImportKairosdb, Output, UsageError, words};
use crate::config::{self, Config, PolicyMatcher};
use crate::http::ImportOptions;
use crate::kairosdb::row::Layout;
use crate::server::{cluster_settings, now};
use crate::store::cassandra::KairosTables;
use listing::{Listing, Series};
use report::Report;
use series::Reader;

/// Series that are read at the same time, unless somebody says how many.
const JOBS: usize = 8;
/// Series that are listed before they are read.
const AHEAD: usize = 256;

/// Imports the metrics of a keyspace.
pub(super) fn run(config: &Config, arguments: &ImportKairosdb, output: Output) -> Result<()> {
    let pattern = arguments.metric.as_deref().map(glob).transpose()?;
    let window = window(config, arguments.from.as_deref(), arguments.until.as_deref())?;
    let tables = KairosTables::open(cluster_settings(&origin(arguments))?)
        .with_context(|| format!("reading KairosDB's keyspace {}", arguments.keyspace))?;
    let layout = layout(&tables)?;
    let mut names = tables.metrics()?;
    names.retain(|name| pattern.as_ref().is_none_or(|pattern| pattern.matches(name)));
    if names.is_empty() {
        let which =
            arguments.metric.as_deref().map_or(String::new(), |glob| format!(" that matches `{glob}`"));
        bail!("keyspace {} has no metric{which}", arguments.keyspace);
    }
    let listing = Listing::new(&tables, layout, window, names)?;
    eprintln!(
        "{} with {} of data, times in {}",
        words::count(listing.metrics(), "metric"),
        words::count(listing.rows(), "row"),
        layout.unit
    );
    let door = match arguments.dry_run {
        true => None,
        false => Some(Door::into(config, arguments.url.as_deref())?),
    };
    let delivery = door.as_ref().map(|door| delivery(door, arguments, window)).transpose()?;
    let import = Import {
        tables: &tables,
        reader: Reader {
            layout,
            window,
            now: now(),
            policies: PolicyMatcher::new(config.retention.clone()),
            takes_histograms: arguments.histograms,
            max_name_bytes: config.ingest.max_name_bytes,
        },
        progress: Progress::counting("row", listing.rows())?,
        state: Mutex::new(State { delivery, report: Report::default(), failed: None }),
    };
    import.run(&listing, arguments.jobs.unwrap_or(JOBS))?;
    import.finish(output)
}

/// How to reach KairosDB's cluster. Nothing of `[store.cassandra]` is used: its password is for another cluster.
fn origin(arguments: &ImportKairosdb) -> config::Cassandra {
    config::Cassandra {
        nodes: arguments.nodes.clone(),
        keyspace: arguments.keyspace.clone(),
        keyspace_metadata: arguments.keyspace.clone(),
        datacenter: arguments.datacenter.clone(),
        username: arguments.username.clone(),
        password_file: arguments.password_file.clone(),
        tls: config::Tls {
            enabled: arguments.ca_file.is_some(),
            ca_file: arguments.ca_file.clone(),
            ..config::Tls::default()
        },
        ..config::Cassandra::default()
    }
}

/// How times are written there. Without this, all of them might be off by a factor of two.
fn layout(tables: &KairosTables) -> Result<Layout> {
    let settings = tables.settings()?;
    let of = |name: &str| settings.get(name).map(String::as_str);
    Ok(Layout::new(of("row_time_unit"), of("row_width"))?)
}

fn delivery<'a>(door: &'a Door, arguments: &ImportKairosdb, window: (u32, u32)) -> Result<Delivery<'a>> {
    if arguments.batch == 0 {
        bail!(UsageError("--batch must be 1 or more".to_owned()));
    }
    let what = format!(
        "plumbago import kairosdb {} of {} into {}, {} to {}{}",
        arguments.keyspace,
        arguments.nodes.join(","),
        door.name(),
        window.0,
        window.1,
        if arguments.histograms { ", with histograms" } else { "" }
    );
    let journal = Journal::open(&arguments.journal, &what)?;
    let carrier = Carrier::uncounted(door, ImportOptions { keep_policy: false, window }, arguments.batch);
    Ok(Delivery::new(door, window, carrier, journal))
}

/// An import under way.
struct Import<'a> {
    tables: &'a KairosTables,
    reader: Reader,
    progress: Progress,
    state: Mutex<State<'a>>,
}

/// What the threads share.
struct State<'a> {
    /// `None` only reads.
    delivery: Option<Delivery<'a>>,
    report: Report,
    /// Why one of the threads gave up: the others stop too.
    failed: Option<anyhow::Error>,
}

impl Import<'_> {
    fn run(&self, listing: &Listing<'_>, jobs: usize) -> Result<()> {
        let (sender, receiver) = sync_channel(AHEAD);
        let receiver = Mutex::new(receiver);
        std::thread::scope(|scope| {
            for _ in 0..jobs.max(1) {
                scope.spawn(|| self.work(&receiver));
            }
            self.list(listing, sender);
        });
        match self.state.lock().failed.take() {
            None => Ok(()),
            Some(error) => {
                Err(error.context("the import stopped; run the same command again to go on where it was"))
            }
        }
    }

    fn list(&self, listing: &Listing<'_>, sender: SyncSender<Series>) {
        let listed = listing.visit(&mut |series| {
            let goes_on = self.state.lock().failed.is_none();
            // It fails when all readers are gone, and they go last.
            Ok(goes_on && sender.send(series).is_ok())
        });
        match listed {
            Ok(found) => {
                self.progress.tally().files.add(found.passed_over);
                self.state.lock().report.listed(found);
            }
            Err(error) => self.fail(error),
        }
    }

    /// Reads series until there are no more. After a failure it only empties the queue.
    fn work(&self, receiver: &Mutex<Receiver<Series>>) {
        loop {
            let next = receiver.lock().recv();
            let Ok(series) = next else { return };
            if self.state.lock().failed.is_some() {
                continue;
            }
            if let Err(error) = self.import(&series) {
                self.fail(error);
            }
        }
    }

    fn fail(&self, error: anyhow::Error) {
        self.state.lock().failed.get_or_insert(error);
    }

    fn import(&self, series: &Series) -> Result<()> {
        self.progress.tally().files.add(series.rows.len() as u64);
        let name = match self.reader.name(series) {
            Ok(name) => name,
            Err(why) => {
                self.state.lock().report.refuse(series.to_string(), &why);
                return Ok(());
            }
        };
        let is_done = |delivery: &mut Delivery<'_>| delivery.is_done(&name);
        if self.state.lock().delivery.as_mut().is_some_and(is_done) {
            return Ok(());
        }
        let (bundles, found) = self.reader.read(self.tables, series, &name)?;
        self.progress.tally().points.add(found.points);
        let mut state = self.state.lock();
        state.report.add(found);
        let Some(delivery) = &mut state.delivery else { return Ok(()) };
        bundles.into_iter().try_for_each(|bundle| delivery.take(bundle))
    }

    /// Prints what became of everything, and fails if something was left out that should not have been.
    fn finish(self, output: Output) -> Result<()> {
        let State { delivery, report, .. } = self.state.into_inner();
        let delivered = delivery.map(Delivery::finish).transpose()?;
        let told = self.progress.finish();
        let left_out = report.print(delivered.as_ref().map(|(done, checked, _)| (done, checked)), output)?;
        eprintln!("{told}");
        if let Some((.., journal)) = delivered {
            journal.remove()?;
        }
        match left_out {
            0 => Ok(()),
            1 => bail!("1 series left out, see above"),
            _ => bail!("{left_out} series left out, see above"),
        }
    }
}
