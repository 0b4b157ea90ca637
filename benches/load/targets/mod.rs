//! The servers that get the same load.

mod go_carbon;
pub(crate) mod plumbago;
mod victoria_metrics;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::client::Client;
use super::process::Process;

/// How long a server may take to finish a phase before the phase counts as failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(900);

/// A kind of server: how it is started and asked.
pub(crate) trait Kind {
    /// Column heading in the table.
    fn label(&self) -> &'static str;

    /// Starts the server on `directory`, and other processes that it needs. The first process is the one that stores.
    fn start(&self, directory: &Path, ports: &Ports) -> Result<Vec<Process>>;

    /// The path that answers 200 once the server works.
    fn ready_path(&self) -> &'static str;

    /// Points stored since the start, if the server counts them.
    fn stored(&self, server: &mut Running) -> Result<Option<u64>>;

    /// Makes the server write everything in memory to disk in its final form, as far as it has a call for that.
    fn flush(&self, server: &mut Running) -> Result<()>;

    /// Do answers include a point as soon as it is stored? Peers show it seconds later, by design.
    fn reads_own_writes(&self) -> bool {
        false
    }

    /// The path that finds `query`, which is already escaped, in a format that lists every hit.
    fn find_path(&self, query: &str) -> String {
        format!("/metrics/find?format=json&query={query}")
    }

    /// The files with points, below the directory that it was started on.
    fn data(&self, directory: &Path) -> PathBuf {
        directory.join("data")
    }

    /// Does it accept tagged names, and answer `seriesByTag` and `/tags/findSeries`?
    fn answers_tags(&self) -> bool {
        false
    }

    /// Does it have a metric browser?
    fn has_page(&self) -> bool {
        false
    }

    /// Is it the build that is measured, with all doors and logins of today?
    fn is_current(&self) -> bool {
        false
    }

    /// The program whose commands look after the server while it runs, if it has any.
    fn command(&self) -> Option<&Path> {
        None
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
    /// For anything else that a server needs.
    pub(crate) spare: [SocketAddr; 3],
}

impl Ports {
    /// Chooses five.
    pub(crate) fn free() -> Result<Self> {
        // All five stay open until all are known, so that no two are the same.
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

    /// Starts it again on the same directory. Returns the seconds until it was ready.
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

    /// The end of its log and its exit status, to explain a failure.
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

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        self.processes.iter_mut().for_each(Process::kill);
    }

    /// The process that stores.
    pub(crate) fn process(&self) -> Result<&Process> {
        self.processes.first().context("the server was not started")
    }

    /// Where its points are.
    pub(crate) fn data(&self) -> PathBuf {
        self.kind.data(self.directory.path())
    }

    /// A kept-alive connection for requests that are not measured.
    pub(crate) fn control(&mut self) -> Result<&mut Client> {
        if self.control.is_none() {
            self.control = Some(Client::connect(self.ports.http)?);
        }
        self.control.as_mut().context("just connected")
    }

    /// Points stored since the start, if the server counts them.
    pub(crate) fn stored(&mut self) -> Result<Option<u64>> {
        self.kind.stored(self)
    }

    /// Makes it write everything to disk.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.kind.flush(self)
    }

    /// Waits until `points` more than `before` are stored. Returns when they were.
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

/// The servers to measure: Plumbago, and each peer whose binary the environment names.
pub(crate) fn from_environment(plumbago: &Path, only_peers: bool) -> Vec<Box<dyn Kind>> {
    let given = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let mut kinds: Vec<Box<dyn Kind>> = Vec::new();
    if !only_peers {
        kinds.push(Box::new(plumbago::Plumbago::new(plumbago)));
    }
    if let Some(binary) = given("PLUMBAGO_BEFORE") {
        let earlier = plumbago::Plumbago::new(&binary);
        kinds.push(Box::new(plumbago::Plumbago { label: "before", is_current: false, ..earlier }));
    }
    if let Some(binary) = given("VICTORIAMETRICS") {
        kinds.push(Box::new(victoria_metrics::VictoriaMetrics { binary }));
    }
    if let Some(binary) = given("GO_CARBON") {
        kinds.push(Box::new(go_carbon::GoCarbon { binary, carbonapi: given("CARBONAPI") }));
    }
    kinds
}
