//! Plumbago on Cassandra.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::node::PORT;
use crate::process::Process;
use crate::targets::plumbago::serve;
use crate::targets::{Kind, PATIENCE, Ports, Running};

const COUNTERS: &str = "/internal/metrics";

/// A server on the tables of one keyspace.
#[derive(Clone, Debug)]
pub(crate) struct OnCassandra {
    /// Release build.
    pub(crate) binary: PathBuf,
    /// The keyspace of points; that of names ends in `_metadata`.
    pub(crate) keyspace: &'static str,
    /// `memory` or `sasi`.
    pub(crate) index: &'static str,
}

impl OnCassandra {
    /// Creates the keyspaces and tables.
    pub(crate) fn apply_schema(&self) -> Result<()> {
        let mut command = Command::new(&self.binary);
        command.args(["schema", "apply", "--create-keyspaces"]);
        command.arg("--set").arg(format!("retention.default={}", crate::RETENTION));
        let status = self.set(&mut command).status()?;
        ensure!(status.success(), "schema apply failed: {status}");
        Ok(())
    }

    fn set<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        for (key, value) in [
            ("store.kind", "cassandra".to_owned()),
            ("store.cassandra.nodes", format!("[\"127.0.0.1:{PORT}\"]")),
            ("store.cassandra.keyspace", self.keyspace.to_owned()),
            ("store.cassandra.keyspace_metadata", format!("{}_metadata", self.keyspace)),
            ("store.cassandra.index", self.index.to_owned()),
        ] {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        command
    }
}

impl Kind for OnCassandra {
    fn label(&self) -> &'static str {
        "Plumbago"
    }

    fn start(&self, directory: &Path, ports: &Ports) -> Result<Vec<Process>> {
        let mut command = Command::new(&self.binary);
        self.set(serve(&mut command, directory, ports));
        Ok(vec![Process::start(command.current_dir(directory), &directory.join("server.log"))?])
    }

    fn ready_path(&self) -> &'static str {
        "/health/ready"
    }

    /// A point is stored when it is in Cassandra.
    fn stored(&self, server: &mut Running) -> Result<Option<u64>> {
        server.counter(COUNTERS, "plumbago_points_delivered_total ").map(Some)
    }

    fn flush(&self, server: &mut Running) -> Result<()> {
        let (status, _) = server.control()?.request("POST", "/internal/flush?settle=1")?;
        ensure!(status == 200, "flush answered {status}");
        Ok(())
    }
}

/// Waits until a counter of a Plumbago server is at least `value`. Returns when it was.
pub(crate) fn wait_counter(server: &mut Running, name: &str, value: u64) -> Result<Instant> {
    let give_up = Instant::now() + PATIENCE;
    let mut told = Instant::now();
    loop {
        let now = server.counter(COUNTERS, name)?;
        if now >= value {
            return Ok(Instant::now());
        }
        if told.elapsed() >= Duration::from_secs(10) {
            eprintln!("{name}{now} of {value}");
            told = Instant::now();
        }
        if Instant::now() > give_up {
            bail!("{name}is {now} of {value} after {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
