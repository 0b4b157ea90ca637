//! BigGraphite on the same node: its carbon daemon for writing, its accessor in a Python process for everything else.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::node::PORT;
use crate::process::Process;

/// Where it is installed.
#[derive(Clone, Debug)]
pub(crate) struct BigGraphite {
    /// A Python environment.
    pub(crate) environment: PathBuf,
    /// The keyspace of points; that of names ends in `_metadata`.
    pub(crate) keyspace: &'static str,
}

/// The accessor.
#[derive(Debug)]
pub(crate) struct Accessor {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl BigGraphite {
    /// Starts its carbon daemon with every limit off.
    pub(crate) fn carbon(
        &self,
        directory: &Path,
        carbon: SocketAddr,
        spare: [SocketAddr; 2],
    ) -> Result<Process> {
        let config = directory.join("carbon.conf");
        fs::write(&config, self.carbon_config(directory, carbon, spare))?;
        fs::write(
            directory.join("storage-schemas.conf"),
            format!("[default]\npattern = .*\nretentions = {}\n", crate::RETENTION),
        )?;
        let mut command = Command::new(self.environment.join("bin/python"));
        command.arg(self.environment.join("bin/bg-carbon-cache"));
        command.arg("--config").arg(&config).args(["--nodaemon", "start"]);
        let process = Process::start(
            command.env("GRAPHITE_ROOT", directory).env("GRAPHITE_CONF_DIR", directory),
            &directory.join("carbon.log"),
        )?;
        let give_up = Instant::now() + Duration::from_secs(60);
        while std::net::TcpStream::connect(carbon).is_err() {
            if Instant::now() > give_up {
                bail!("BigGraphite's carbon does not listen; its log is in {}", directory.display());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(process)
    }

    fn carbon_config(&self, directory: &Path, carbon: SocketAddr, spare: [SocketAddr; 2]) -> String {
        format!(
            "[cache]\n\
             STORAGE_DIR = {directory}/\nLOG_DIR = {directory}/\nPID_DIR = {directory}/\n\
             DATABASE = biggraphite\n\
             LINE_RECEIVER_INTERFACE = 127.0.0.1\nLINE_RECEIVER_PORT = {line}\n\
             PICKLE_RECEIVER_INTERFACE = 127.0.0.1\nPICKLE_RECEIVER_PORT = {pickle}\n\
             CACHE_QUERY_INTERFACE = 127.0.0.1\nCACHE_QUERY_PORT = {query}\n\
             USE_FLOW_CONTROL = True\nMAX_CACHE_SIZE = inf\nMAX_UPDATES_PER_SECOND = inf\n\
             MAX_CREATES_PER_MINUTE = inf\nENABLE_LOGROTATION = False\nLOG_UPDATES = False\n\
             BG_DRIVER = cassandra\nBG_CASSANDRA_CONTACT_POINTS = 127.0.0.1\nBG_CASSANDRA_PORT = {PORT}\n\
             BG_CASSANDRA_CONTACT_POINTS_METADATA = 127.0.0.1\nBG_CASSANDRA_PORT_METADATA = {PORT}\n\
             BG_CASSANDRA_KEYSPACE = {keyspace}\nBG_CREATION_RATE_LIMIT = 1000000\nBG_CACHE = memory\n",
            directory = directory.display(),
            line = carbon.port(),
            pickle = spare[0].port(),
            query = spare[1].port(),
            keyspace = self.keyspace,
        )
    }

    /// Starts an accessor.
    pub(crate) fn accessor(&self) -> Result<Accessor> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/load/cluster/peer.py");
        let mut child = Command::new(self.environment.join("bin/python"))
            .arg(script)
            .args([&PORT.to_string(), self.keyspace])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start BigGraphite's Python")?;
        let asks = child.stdin.take().context("a pipe to BigGraphite")?;
        let answers = BufReader::new(child.stdout.take().context("a pipe from BigGraphite")?);
        Ok(Accessor { child, asks, answers })
    }
}

impl Accessor {
    /// How long a glob takes in milliseconds, and its number of hits.
    pub(crate) fn glob(&mut self, pattern: &str) -> Result<(Vec<f64>, u64)> {
        self.timed(&json!(["glob", pattern]))
    }

    /// How long it takes to read metrics between two times in milliseconds, and the number of points read.
    pub(crate) fn fetch(&mut self, pattern: &str, from: u64, until: u64) -> Result<(Vec<f64>, u64)> {
        self.timed(&json!(["fetch", pattern, from, until]))
    }

    fn timed(&mut self, ask: &Value) -> Result<(Vec<f64>, u64)> {
        writeln!(self.asks, "{ask}")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("BigGraphite's answer to {ask}: {line:?}"))
    }
}

impl Drop for Accessor {
    fn drop(&mut self) {
        // This fails only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
