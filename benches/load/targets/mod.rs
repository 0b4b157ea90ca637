//! The servers that can be put under the same load.

mod go_carbon;
pub(crate) mod plumbago;
mod victoria_metrics;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::client::Client;
use super::process::Process;

/// How long a server may take to digest a phase before the phase counts as failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(900);

/// A kind of server: how it is started and asked.
pub(crate) trait Kind {
    /// Column heading in the table.
    fn label(&self) -> &'static str;

    /// Starts the server on `directory`, and whatever it needs beside it. The first process is the one that stores.
    fn start(&self, directory: &Path, ports: &Ports) -> Result<Vec<Process>>;

    /// The path that answers 200 once the server works.
    fn ready_path(&self) -> &'static str;

    /// Points stored since the start, where the server tells.
    fn stored(&self, server: &mut Running) -> Result<Option<u64>>;

    /// Has everything in memory written to disk as it will stay there, as far as the server can be told to.
    fn flush(&self, server: &mut Running) -> Result<()>;

    /// Is a point in answers as soon as it is stored? Peers show it seconds later, by design.
    fn reads_own_writes(&self) -> bool {
        false
    }

    /// The path that finds `query`, escaped already, in a format that lists every hit.
    fn find_path(&self, query: &str) -> String {
        format!("/metrics/find?format=json&query={query}")
    }

    /// Files that hold points, below the directory it was started on.
    fn data(&self, directory: &Path) -> PathBuf {
        directory.join("data")
    }

    /// Does it take tagged names, and answer `seriesByTag` and `/tags/findSeries`?
    fn answers_tags(&self) -> bool {
        false
    }

    /// Does it have a page to look at metrics with?
    fn has_page(&self) -> bool {
        false
    }

    /// Does it draw pictures?
    fn draws(&self) -> bool {
        false
    }

    /// Does it have find and the render functions? (A bare whisper server has neither.)
    fn answers_queries(&self) -> bool {
        true
    }
}

/// Ports of one run, free when they were chosen.
#[derive(Clone, Debug)]
pub(crate) struct Ports {
    /// Carbon plaintext.
    pub(crate) carbon: SocketAddr,
    /// Queries.
    pub(crate) http: SocketAddr,
    /// For whatever else a server needs.
    pub(crate) spare: [SocketAddr; 3],
}

impl Ports {
    /// Chooses five.
    pub(crate) fn free() -> Result<Self> {
        // All five are held until all five are known, so that no two are the same.
        let held: Vec<TcpListener> =
            (0..5).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
        let at = |i: usize| held[i].local_addr();
        Ok(Self { carbon: at(0)?, http: at(1)?, spare: [at(2)?, at(3)?, at(4)?] })
    }
}

/// A server that runs.
pub(crate) struct Running<'a> {
    /// What it is.
    pub(crate) kind: &'a dyn Kind,
    /// Where it listens.
    pub(crate) ports: Ports,
    directory: tempfile::TempDir,
    processes: Vec<Process>,
    control: Option<Client>,
}

impl<'a> Running<'a> {
    /// Starts `kind` on an empty directory below `scratch` and waits until it is ready.
    pub(crate) fn start(kind: &'a dyn Kind, scratch: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("bench-").tempdir_in(scratch)?;
        let ports = Ports::free()?;
        let mut server = Self { kind, ports, directory, processes: Vec::new(), control: None };
        server.launch()?;
        Ok(server)
    }

    /// Starts again on the same directory. Gives the seconds until it was ready.
    pub(crate) fn launch(&mut self) -> Result<f64> {
        let began = Instant::now();
        self.control = None;
        self.processes = self.kind.start(self.directory.path(), &self.ports)?;
        while self.probe().is_err() {
            if began.elapsed() > Duration::from_secs(120) {
                let log =
                    std::fs::read_to_string(self.directory.path().join("server.log")).unwrap_or_default();
                let tail: Vec<&str> = log.lines().rev().take(8).collect();
                bail!("{} was not ready within two minutes: {tail:?}", self.kind.label());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(began.elapsed().as_secs_f64())
    }

    /// The end of its log and how it ended, for whoever wants to know why it failed.
    pub(crate) fn last_words(&mut self) -> String {
        let log = std::fs::read_to_string(self.directory.path().join("server.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let ends: Vec<String> =
            self.processes.iter_mut().filter_map(Process::end).map(|end| end.to_string()).collect();
        format!("{}\n{}", lines[lines.len().saturating_sub(12)..].join("\n"), ends.join(", "))
    }

    fn probe(&mut self) -> Result<()> {
        Client::connect(self.ports.http)?.get(self.kind.ready_path()).map(drop)
    }

    /// Ends it without warning.
    pub(crate) fn kill(&mut self) {
        self.processes.iter_mut().for_each(Process::kill);
    }

    /// The process that stores.
    pub(crate) fn process(&self) -> Result<&Process> {
        self.processes.first().context("the server was not started")
    }

    /// Where its points lie.
    pub(crate) fn data(&self) -> PathBuf {
        self.kind.data(self.directory.path())
    }

    /// A kept-alive connection for questions that are not measured.
    pub(crate) fn control(&mut self) -> Result<&mut Client> {
        if self.control.is_none() {
            self.control = Some(Client::connect(self.ports.http)?);
        }
        self.control.as_mut().context("just connected")
    }

    /// Points stored since the start, where the server tells.
    pub(crate) fn stored(&mut self) -> Result<Option<u64>> {
        self.kind.stored(self)
    }

    /// Has it write everything out.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.kind.flush(self)
    }

    /// Waits until `points` more than `before` are stored. Gives the moment they were.
    pub(crate) fn wait_stored(&mut self, before: Option<u64>, points: u64) -> Result<Instant> {
        let Some(before) = before else { return self.process()?.wait_idle(PATIENCE) };
        let give_up = Instant::now() + PATIENCE;
        loop {
            let stored = self.stored()?.unwrap_or(0);
            if stored >= before + points {
                return Ok(Instant::now());
            }
            if Instant::now() > give_up {
                bail!("only {} of {points} points are stored after {PATIENCE:?}", stored - before);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// A number from a page in the Prometheus text format, summed over the lines that begin with `name`.
    pub(crate) fn counter(&mut self, path: &str, name: &str) -> Result<u64> {
        let text = String::from_utf8_lossy(self.control()?.get(path)?).into_owned();
        let values = text.lines().filter(|line| line.starts_with(name)).map(|line| line.rsplit(' ').next());
        Ok(values.flatten().filter_map(|value| value.parse::<f64>().ok()).sum::<f64>() as u64)
    }
}

/// The servers to measure: ours, and each peer whose binary the environment names.
pub(crate) fn from_environment(plumbago: &Path, only_peers: bool) -> Vec<Box<dyn Kind>> {
    let given = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let mut kinds: Vec<Box<dyn Kind>> = Vec::new();
    if !only_peers {
        kinds.push(Box::new(plumbago::Plumbago { binary: plumbago.to_owned() }));
    }
    if let Some(binary) = given("VICTORIAMETRICS") {
        kinds.push(Box::new(victoria_metrics::VictoriaMetrics { binary }));
    }
    if let Some(binary) = given("GO_CARBON") {
        kinds.push(Box::new(go_carbon::GoCarbon { binary, carbonapi: given("CARBONAPI") }));
    }
    kinds
}
