//! The soak behind `scripts/soak`: mixed load on real servers while one fault follows another, and a page that says what was lost.
//!
//! Every point says by its value which point it is, and a ledger notes which points were seen or acknowledged. What was seen once must be
//! there at the end, with its value, in every stage, and in the last backup; nothing else may be there.

mod backups;
mod churn;
mod client;
#[path = "../../tests/cassandra/clock.rs"]
mod clock;
mod cluster;
#[path = "../../tests/server/dice.rs"]
mod dice;
mod faults;
mod feed;
mod ledger;
mod page;
mod readers;
mod server;
mod verify;
mod wire;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Parser;

use churn::Churn;
use cluster::Nodes;
use dice::Dice;
use faults::Faults;
use feed::{Feed, Way};
use page::Page;
use readers::Latencies;
use server::{Places, Server};

#[derive(Debug, Parser)]
#[command(about = "Load and faults on real servers, and a page that says what was lost")]
struct Arguments {
    /// How long
    #[arg(default_value_t = 10.0)]
    minutes: f64,
    /// Two servers on three Cassandra nodes, instead of one on its own disk
    #[arg(long)]
    cassandra: bool,
    /// Nodes of Cassandra
    #[arg(long, default_value_t = 3)]
    nodes: u32,
    /// Repeats the choices of another run
    #[arg(long)]
    seed: Option<u64>,
    /// The server to run
    #[arg(long, env = "PLUMBAGO", default_value = "target/release/plumbago")]
    plumbago: PathBuf,
    /// Multiplies the number of metrics
    #[arg(long, default_value_t = 1)]
    load: u64,
    /// Writes the page here, too
    #[arg(long)]
    page: Option<PathBuf>,
    /// Where data directories are created
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    scratch: PathBuf,
    /// Passed by `cargo bench`; ignored.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What all threads share.
struct World {
    servers: Vec<Server>,
    feeds: Vec<Feed>,
    churn: Churn,
    latencies: Latencies,
    is_over: AtomicBool,
    /// Counts beginnings and ends of faults: odd while there is one.
    fault_edges: AtomicU64,
    /// What failed although nothing was wrong.
    unexpected: parking_lot::Mutex<Vec<String>>,
}

impl World {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }

    /// Runs `attempt`. If it fails although there was no fault meanwhile, that is noted.
    fn judged<T>(&self, what: &str, attempt: impl FnOnce() -> Result<T>) -> Option<T> {
        let before = self.fault_edges.load(Ordering::SeqCst);
        match attempt() {
            Ok(value) => Some(value),
            Err(error) => {
                self.note_unless_hurt_since(before, what, &error);
                None
            }
        }
    }

    /// Notes what failed, unless there was a fault since `edge`.
    fn note_unless_hurt_since(&self, edge: u64, what: &str, error: &anyhow::Error) {
        if self.is_calm_since(edge) {
            self.unexpected.lock().push(format!("{what}: {error:#}"));
        }
    }

    /// Is there no fault, and was there none since `edge`?
    fn is_calm_since(&self, edge: u64) -> bool {
        edge.is_multiple_of(2) && self.fault_edges.load(Ordering::SeqCst) == edge
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let seed = arguments.seed.unwrap_or_else(dice::fresh_seed);
    eprintln!("seed {seed}");
    let scratch = tempfile::Builder::new().prefix("soak-").tempdir_in(&arguments.scratch)?;
    let nodes = arguments.cassandra.then(|| Nodes::start(scratch.path(), arguments.nodes)).transpose()?;
    let mut places = Places::new(scratch.path(), nodes.as_ref())?;
    let page = soak(&arguments, seed, scratch.path(), &places, nodes.as_ref())?;
    let text = page.text();
    println!("{text}");
    if let Some(path) = &arguments.page {
        std::fs::write(path, &text)?;
    }
    if page.is_bad() {
        places.keep();
        eprintln!("points are lost or wrong: everything is kept in {}", scratch.keep().display());
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts servers, puts load and faults on them, and compares what is there with what was sent.
fn soak(
    arguments: &Arguments,
    seed: u64,
    scratch: &Path,
    places: &Places,
    nodes: Option<&Nodes>,
) -> Result<Page> {
    let mut dice = Dice::new(seed);
    let servers = places.start(&arguments.plumbago, nodes)?;
    let world = World {
        feeds: Feed::all(&servers, scratch, arguments.load)?,
        churn: Churn::new(arguments.cassandra, dice.split()),
        latencies: Latencies::default(),
        is_over: AtomicBool::new(false),
        fault_edges: AtomicU64::new(0),
        unexpected: parking_lot::Mutex::default(),
        servers,
    };
    let began = Instant::now();
    let length = Duration::from_secs_f64(arguments.minutes * 60.0);
    let mut faults = Faults::new(&world, places, nodes, dice.split());
    let backup_dir = (!arguments.cassandra).then(|| scratch.join("backup"));
    let backup = run(&world, &mut faults, length, backup_dir.as_deref(), &mut dice)?;
    let mut page = Page::new(seed, arguments, began.elapsed());
    page.load(&world);
    page.faults(&faults);
    verify::all(&world, places, nodes, backup.as_ref(), &mut page).context("the verdict")?;
    page.finish(&world);
    Ok(page)
}

/// Load and faults until the time is over, and then everything made well.
fn run(
    world: &World,
    faults: &mut Faults<'_>,
    length: Duration,
    backup_dir: Option<&Path>,
    dice: &mut Dice,
) -> Result<Option<backups::Backup>> {
    let end = Instant::now() + length;
    std::thread::scope(|scope| {
        for feed in &world.feeds {
            scope.spawn(move || feed.run(world));
        }
        scope.spawn(|| world.churn.run(world));
        for number in 0..2 {
            let dice = dice.split();
            scope.spawn(move || readers::run(world, number, dice));
        }
        for server in &world.servers {
            scope.spawn(move || server.watch(world));
        }
        let backup = backup_dir.map(|dir| scope.spawn(move || backups::run(world, dir)));
        let done = faults.run(end);
        // A last calm stretch, in which everything that waits gets through.
        std::thread::sleep(Duration::from_secs(8));
        world.is_over.store(true, Ordering::SeqCst);
        let backup = backup.and_then(|thread| thread.join().expect("the backups do not panic"));
        done.map(|()| backup)
    })
}

/// Seconds since 1970.
fn now() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}

/// The server whose turn it is.
fn turn(servers: &[Server], number: u64) -> &Server {
    &servers[(number % servers.len() as u64) as usize]
}

/// How many metrics a way of sending has.
fn metrics(way: Way, load: u64) -> u64 {
    load * match way {
        Way::Lines => 1000,
        Way::Pickles => 300,
        Way::Relay | Way::Http => 200,
        // One datagram.
        Way::Datagrams => return 20,
    }
}
