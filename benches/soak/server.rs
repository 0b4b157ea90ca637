//! Servers that are stopped, killed and started again at the same addresses.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use parking_lot::Mutex;

use super::World;
use super::client::Client;
use super::clock;
use super::cluster::Nodes;

/// Nothing takes this long unless it never comes.
const PATIENCE: Duration = Duration::from_secs(240);
/// Memory of a server that was just started says little.
const WARM: Duration = Duration::from_secs(5);
/// Free space below which servers take no new metrics.
const RESERVE: &str = "8MiB";
/// All points stay in the first stage; the second answers when one asks further back.
pub(crate) const RETENTIONS: &str = "1s:6h,10s:2d,60s:7d";
/// The reach of the first stage, in seconds, and the step of the second.
pub(crate) const FIRST_STAGE: u64 = 6 * 3600;
pub(crate) const SECOND_STEP: u64 = 10;

/// Where everything is.
#[derive(Debug)]
pub(crate) struct Places {
    scratch: PathBuf,
    /// A small file system for data, where one can be mounted.
    pub(crate) disk: Option<PathBuf>,
    /// The library that lies about the time, where it is installed.
    pub(crate) clock: Option<PathBuf>,
    keyspace: Option<(Vec<String>, String)>,
    keep: bool,
}

/// What a server had at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) since_begin: Duration,
    pub(crate) rss: u64,
    pub(crate) descriptors: u64,
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) http: SocketAddr,
    pub(crate) carbon: SocketAddr,
    pub(crate) pickle: SocketAddr,
    binary: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    log: PathBuf,
    /// Says how far its clock is off, if that can be had.
    clock: Option<PathBuf>,
    running: Mutex<Option<(Child, Instant)>>,
    samples: Mutex<Vec<Sample>>,
    began: Instant,
}

impl Places {
    pub(crate) fn new(scratch: &Path, nodes: Option<&Nodes>) -> Result<Self> {
        let disk = scratch.join("disk");
        fs::create_dir(&disk)?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=768m", "tmpfs"])
            .arg(&disk)
            .output()
            .is_ok_and(|done| done.status.success());
        let clock = nodes.is_none().then(clock::library).flatten();
        let keyspace = nodes.map(|nodes| (nodes.addresses(), "soak".to_owned()));
        Ok(Self { scratch: scratch.to_owned(), disk: mounted.then_some(disk), clock, keyspace, keep: false })
    }

    /// Leaves the disk mounted: somebody will want to look at it.
    pub(crate) fn keep(&mut self) {
        self.keep = true;
    }

    /// Starts one server, or two in front of a cluster.
    pub(crate) fn start(&self, binary: &Path, nodes: Option<&Nodes>) -> Result<Vec<Server>> {
        ensure!(binary.exists(), "{} does not exist: build it first", binary.display());
        let names: &[&str] = if nodes.is_some() { &["one", "two"] } else { &["one"] };
        let servers: Vec<Server> =
            names.iter().map(|name| self.server(name, binary)).collect::<Result<_>>()?;
        if nodes.is_some() {
            servers[0].run(&["schema", "apply", "--create-keyspaces"])?;
        }
        servers.iter().try_for_each(Server::start)?;
        Ok(servers)
    }

    /// A server with an empty directory.
    pub(crate) fn server(&self, name: &str, binary: &Path) -> Result<Server> {
        let data = self.disk.as_ref().unwrap_or(&self.scratch).join(name);
        self.server_on(name, binary, &data)
    }

    /// A server on a certain directory.
    pub(crate) fn server_on(&self, name: &str, binary: &Path, data: &Path) -> Result<Server> {
        let [http, carbon, pickle] = [free_address()?, free_address()?, free_address()?];
        let settings = [
            ("store.path", data.display().to_string()),
            ("listen.http", http.to_string()),
            ("listen.carbon", carbon.to_string()),
            ("listen.pickle", pickle.to_string()),
            ("store.reserve_bytes", RESERVE.to_owned()),
            // Often, so that many faults hit a cut or a merge.
            ("store.cut_interval", "2s".to_owned()),
            ("retention.default", RETENTIONS.to_owned()),
            ("telemetry.carbon_interval", "0s".to_owned()),
            ("query.memory_each", "1GiB".to_owned()),
            ("query.memory", "2GiB".to_owned()),
        ];
        let mut settings: Vec<String> =
            settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        if let Some((nodes, keyspace)) = &self.keyspace {
            settings.extend([
                "store.kind=cassandra".to_owned(),
                format!("store.cassandra.nodes=[\"{}\"]", nodes.join("\",\"")),
                format!("store.cassandra.keyspace={keyspace}"),
                format!("store.cassandra.keyspace_metadata={keyspace}_metadata"),
                "store.cassandra.flush_interval=3s".to_owned(),
                "store.cassandra.consistency_write=LOCAL_QUORUM".to_owned(),
                "store.cassandra.consistency_read=LOCAL_QUORUM".to_owned(),
                "store.cassandra.request_timeout=15s".to_owned(),
            ]);
        }
        let mut environment = Vec::new();
        let file = self.scratch.join(format!("{name}.clock"));
        if let Some(library) = &self.clock {
            fs::write(&file, "+0\n")?;
            let fixed = clock::environment(library).map(|(name, text)| (name.to_owned(), text));
            environment.extend(fixed);
            environment.push(("FAKETIME_TIMESTAMP_FILE".to_owned(), file.display().to_string()));
            environment.push(("FAKETIME_NO_CACHE".to_owned(), "1".to_owned()));
        }
        Ok(Server {
            name: name.to_owned(),
            http,
            carbon,
            pickle,
            binary: binary.to_owned(),
            arguments: settings.into_iter().flat_map(|setting| ["--set".to_owned(), setting]).collect(),
            environment,
            log: self.scratch.join(format!("{name}.log")),
            clock: self.clock.is_some().then_some(file),
            running: Mutex::new(None),
            samples: Mutex::default(),
            began: Instant::now(),
        })
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        if let Some(disk) = self.disk.as_ref().filter(|_| !self.keep) {
            // A lazy one, since a server may still be going.
            let _ = Command::new("umount").arg("-l").arg(disk).status();
        }
    }
}

impl Server {
    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// Starts it and waits until it answers.
    pub(crate) fn start(&self) -> Result<()> {
        self.spawn()?;
        let client = Client::new(Duration::from_secs(5));
        self.wait("be live", || client.get(self.http, "/health/live").is_ok())
    }

    /// Starts it.
    pub(crate) fn spawn(&self) -> Result<()> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut command = self.command();
        command.arg("serve").stdout(log.try_clone()?).stderr(log);
        *self.running.lock() = Some((command.spawn().context("start the server")?, Instant::now()));
        Ok(())
    }

    /// Runs another command with its settings.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String> {
        let done = self.command().args(arguments).output()?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        ensure!(done.status.success(), "plumbago {}: {said}", arguments.join(" "));
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(&self.arguments).stdin(Stdio::null()).envs(self.environment.iter().cloned());
        command
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: &str) -> Result<()> {
        let pid = self.pid().context("it does not run")?;
        let sent = Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status()?;
        ensure!(sent.success(), "no signal could be sent to {}", self.name);
        Ok(())
    }

    /// Waits for its end after a signal.
    pub(crate) fn wait_for_end(&self) -> Result<()> {
        let Some((mut child, _)) = self.running.lock().take() else { return Ok(()) };
        let give_up = Instant::now() + PATIENCE;
        while child.try_wait()?.is_none() {
            ensure!(Instant::now() < give_up, "{} did not end", self.name);
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Has it ended by itself?
    pub(crate) fn has_ended(&self) -> bool {
        self.running.lock().as_mut().is_some_and(|(child, _)| !matches!(child.try_wait(), Ok(None)))
    }

    /// Sets its clock so many seconds off. False where that cannot be had.
    pub(crate) fn set_clock(&self, off: i64) -> Result<bool> {
        let Some(clock) = &self.clock else { return Ok(false) };
        // In one step, or it would read half of it.
        let part = clock.with_extension("part");
        fs::write(&part, format!("{off:+}\n"))?;
        fs::rename(&part, clock)?;
        Ok(true)
    }

    /// Waits until it takes points and answers.
    pub(crate) fn wait_ready(&self) -> Result<()> {
        let client = Client::new(Duration::from_secs(5));
        self.wait("be ready", || client.get(self.http, "/health/ready").is_ok())
    }

    pub(crate) fn wait(&self, what: &str, mut done: impl FnMut() -> bool) -> Result<()> {
        let give_up = Instant::now() + PATIENCE;
        while !done() {
            if self.has_ended() || Instant::now() > give_up {
                bail!("{} did not {what}; its log is {}", self.name, self.log.display());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn pid(&self) -> Option<u32> {
        self.running.lock().as_ref().map(|(child, _)| child.id())
    }

    /// Notes memory and descriptors once a second, while nothing is wrong.
    pub(crate) fn watch(&self, world: &World) {
        while world.goes_on() {
            let is_calm = world.fault_edges.load(Ordering::SeqCst).is_multiple_of(2);
            let running = self.running.lock().as_ref().map(|(child, since)| (child.id(), since.elapsed()));
            if let Some((pid, age)) = running
                && is_calm
                && age > WARM
                && let Some((rss, descriptors)) = measure(pid)
            {
                let since_begin = self.began.elapsed();
                self.samples.lock().push(Sample { since_begin, rss, descriptors });
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.samples.lock().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some((mut child, _)) = self.running.lock().take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Resident bytes and open descriptors of a process.
fn measure(pid: u32) -> Option<(u64, u64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64;
    Some((kib * 1024, descriptors))
}

/// An address that stays free while its server is down: below those that the system hands out to everybody.
pub(crate) fn free_address() -> Result<SocketAddr> {
    static NEXT: std::sync::atomic::AtomicU16 = std::sync::atomic::AtomicU16::new(0);
    let base = 24_000 + u16::try_from(std::process::id() % 4_000)?;
    for _ in 0..1000 {
        let address = SocketAddr::from(([127, 0, 0, 1], base + NEXT.fetch_add(1, Ordering::SeqCst)));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    bail!("no free port")
}
