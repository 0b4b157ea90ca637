//! The load generator and measuring tool behind `scripts/bench`.
//!
//! It starts real servers, sends them carbon lines over real sockets, queries them over HTTP, and prints one table. Peers whose
//! binaries the environment names get the same load in the same run.

mod client;
mod cluster;
mod labelled;
mod phases;
mod process;
mod report;
mod send;
mod tagged;
mod targets;
mod workload;

use std::io::Read as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::{Parser, Subcommand};

use phases::{create, doors, find, ingest, moving, overload, page, render, restart, scope, tags};
use report::{Bar, Report};
use send::{Load, minutes_until_now};
use targets::{Kind, Running};

/// What every server keeps.
const RETENTION: &str = "1m:30d,1h:2y";

#[derive(Debug, Parser)]
#[command(about = "Puts carbon load on servers and measures them")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Action>,
    /// Passed by `cargo bench`; ignored.
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Start each server, measure everything, print the table
    Run(Suite),
    /// Start a Cassandra node, measure Plumbago and BigGraphite on it, print the table
    Cluster(cluster::Suite),
    /// Send to a running server
    Send {
        /// Carbon plaintext address
        target: SocketAddr,
        #[arg(long, default_value_t = 8)]
        connections: usize,
        #[arg(long, default_value_t = 100_000)]
        metrics: usize,
        #[arg(long, default_value_t = 60)]
        rounds: usize,
    },
    /// Measure the generator itself: sends to a socket that discards everything
    Sink,
}

/// What `run` measures.
#[derive(Debug, clap::Args)]
struct Suite {
    /// The server to measure
    #[arg(long, env = "PLUMBAGO", default_value = "target/release/plumbago")]
    plumbago: PathBuf,
    /// A tenth of the load: finds mistakes, not figures
    #[arg(long)]
    quick: bool,
    /// Measure only the peers
    #[arg(long)]
    only_peers: bool,
    /// Only phases whose name contains this: ingest, create, find, page, tags, doors, render, restart, moving, overload, scope
    #[arg(long)]
    only: Option<String>,
    /// Write the figures here as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Where data directories are created
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    scratch: PathBuf,
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        // `cargo test --benches` and `cargo bench` without arguments only check that the generator works.
        None | Some(Action::Sink) => sink(),
        Some(Action::Run(suite)) => suite.run(),
        Some(Action::Cluster(suite)) => suite.run(),
        Some(Action::Send { target, connections, metrics, rounds }) => {
            let sent = Load::servers(metrics, connections).send(target, &minutes_until_now(rounds))?;
            println!("{}", speed(&sent));
            Ok(())
        }
    }
}

impl Suite {
    fn run(&self) -> Result<()> {
        let mut report = Report::default();
        let mut failed = Vec::new();
        for kind in targets::from_environment(&self.plumbago, self.only_peers) {
            eprintln!("{}", kind.label());
            // A server that fails must not cost the figures of the others.
            if let Err(error) = self.measure(kind.as_ref(), &mut report) {
                eprintln!("{error:#}");
                failed.push(kind.label());
            }
        }
        print(&report, self.quick, self.json.as_deref())?;
        ensure!(failed.is_empty(), "not measured to the end: {}", failed.join(", "));
        Ok(())
    }

    fn measure(&self, kind: &dyn Kind, report: &mut Report) -> Result<()> {
        if self.wants("ingest") || self.wants("render") {
            self.on_fresh(kind, |server| self.small(server, report))?;
        }
        let page = self.wants("page") && kind.has_page();
        if page || ["create", "ingest", "find", "restart"].iter().any(|phase| self.wants(phase)) {
            self.on_fresh(kind, |server| self.large(server, report))?;
        }
        if self.wants("tags") && kind.answers_tags() {
            let series = if self.quick { 100_000 } else { 1_000_000 };
            self.on_fresh(kind, |server| tags::run("1 M", !self.quick, series, server, report))?;
        }
        if self.wants("doors") && kind.is_current() {
            let series = if self.quick { 200_000 } else { 1_000_000 };
            self.on_fresh(kind, |server| doors::ingest(self.quick, server, report))?;
            self.on_fresh(kind, |server| doors::queries("1 M", !self.quick, series, server, report))?;
        }
        if self.wants("overload") && kind.command().is_some() {
            let connections = if self.quick { 1000 } else { 10_000 };
            self.on_fresh(kind, |server| overload::run(connections, server, report))?;
        }
        if self.wants("scope")
            && kind.is_current()
            && let Some(binary) = kind.command()
        {
            scope::run(binary, self.quick, &self.scratch, report)?;
        }
        if self.wants("moving") && kind.command().is_some() {
            self.moving(kind, report)?;
        }
        Ok(())
    }

    /// The command line on a running server.
    fn moving(&self, kind: &dyn Kind, report: &mut Report) -> Result<()> {
        let (files, load) = if self.quick { (2000, (100_000, 4)) } else { (20_000, (1_000_000, 20)) };
        self.on_fresh(kind, |server| moving::import_and_copy(files, server, &self.scratch, report))?;
        self.on_fresh(kind, |server| moving::backup_and_delete("1 M", load, server, &self.scratch, report))
    }

    /// Measures a server that was just started on an empty directory.
    fn on_fresh(&self, kind: &dyn Kind, measure: impl FnOnce(&mut Running) -> Result<()>) -> Result<()> {
        std::fs::create_dir_all(&self.scratch)?;
        let mut server = Running::start(kind, &self.scratch)?;
        measure(&mut server)
            .with_context(|| format!("{} failed; it said:\n{}", kind.label(), server.last_words()))
    }

    fn wants(&self, phase: &str) -> bool {
        self.only.as_ref().is_none_or(|only| phase.contains(only.as_str()))
    }

    /// The load for which most peers publish figures: long series of 100 k metrics.
    fn small(&self, server: &mut Running, report: &mut Report) -> Result<()> {
        if self.wants("ingest") {
            let (metrics, rounds) = if self.quick { (10_000, 60) } else { (100_000, 240) };
            let mut load = Load::servers(metrics, 8);
            create::run("100 k", Bar::None, server, &mut load, report)?;
            let plan = ingest::Ingest {
                size: "100 k",
                rounds,
                rate: Bar::AtLeast(1_440_000.0),
                cpu: Bar::AtMost(0.63),
                rss: Bar::None,
                disk: Some(Bar::AtMost(2.0)),
            };
            // The last round overwrites the point that created the metric, so that point does not count.
            ingest::run(&plan, server, &mut load, 0, report)?;
        }
        if self.wants("render") && server.kind.answers_queries() {
            render::run(server, report)?;
        }
        Ok(())
    }

    /// A million metrics: creation, memory, find, the page, restart.
    fn large(&self, server: &mut Running, report: &mut Report) -> Result<()> {
        let (metrics, rounds) = if self.quick { (100_000, 4) } else { (1_000_000, 20) };
        let mut load = Load::servers(metrics, 8);
        create::run("1 M", Bar::AtLeast(150_000.0), server, &mut load, report)?;
        if self.wants("ingest") {
            let plan = ingest::Ingest {
                size: "1 M",
                rounds,
                rate: Bar::AtLeast(1_000_000.0),
                cpu: Bar::None,
                rss: Bar::AtMost(700.0),
                disk: None,
            };
            ingest::run(&plan, server, &mut load, 0, report)?;
        }
        if self.wants("find") && server.kind.answers_queries() {
            server.flush()?;
            find::run("1 M", !self.quick, server, report)?;
        }
        if self.wants("page") && server.kind.has_page() {
            server.flush()?;
            let (bar, loads) = if self.quick { (Bar::None, 3) } else { (Bar::AtMost(1000.0), 9) };
            page::run("1 M", bar, loads, server, report)?;
        }
        if self.wants("restart") {
            restart::run("1 M", Bar::AtMost(2.0), server, &mut load, report)?;
        }
        Ok(())
    }
}

/// Prints the table, and writes a file for scripts if one is asked for.
fn print(report: &Report, quick: bool, json: Option<&Path>) -> Result<()> {
    let (machine, date) = (machine(), date());
    println!("{machine}, {date}{}\n\n{}", if quick { ", quick" } else { "" }, report.table());
    println!("{}", report.verdict());
    if let Some(path) = json {
        std::fs::write(path, format!("{:#}\n", report.json(&machine, &date)))?;
    }
    Ok(())
}

/// Sends 20 million lines to a listener in this process that discards them.
fn sink() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let target = listener.local_addr()?;
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut buffer = vec![0; 1 << 20];
                while stream.read(&mut buffer).is_ok_and(|n| n > 0) {}
            });
        }
    });
    let mut load = Load::servers(100_000, 8);
    let page = memory_speed(&mut load)?;
    let sent = load.send(target, &minutes_until_now(100))?;
    println!(
        "lines generated: {page:.1} M/s on one core\nsent and discarded: {} (including the reader)",
        speed(&sent)
    );
    Ok(())
}

fn memory_speed(load: &mut Load) -> Result<f64> {
    let began = std::time::Instant::now();
    let lines = load.make(&minutes_until_now(50));
    Ok(lines as f64 / began.elapsed().as_secs_f64() / 1e6)
}

fn speed(sent: &send::Sent) -> String {
    let millions = sent.points as f64 / 1e6;
    format!(
        "{millions:.1} M lines in {:.2} s: {:.2} M/s, {:.3} CPU s per million",
        sent.seconds,
        millions / sent.seconds,
        sent.own_cpu / millions
    )
}

fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        info.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split(": ").nth(1));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{} cores of {}", cores, model.unwrap_or("an unknown processor"))
}

fn date() -> String {
    jiff::Zoned::now().date().to_string()
}
