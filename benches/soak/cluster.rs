//! Cassandra nodes of this machine, started by `scripts/cassandra`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// The port for clients of all nodes, and the first of those between nodes.
const PORT: u16 = 19_742;
const INTERNAL: u16 = 17_900;

/// Nodes that end with this.
#[derive(Debug)]
pub(crate) struct Nodes {
    dir: PathBuf,
    pub(crate) count: u32,
}

impl Nodes {
    /// Starts them, one after another.
    pub(crate) fn start(scratch: &Path, count: u32) -> Result<Self> {
        let mut nodes = Self { dir: scratch.join("cassandra"), count: 0 };
        for number in 1..=count {
            nodes.count = number;
            nodes.bring_up(number)?;
        }
        Ok(nodes)
    }

    pub(crate) fn addresses(&self) -> Vec<String> {
        (1..=self.count).map(|number| format!("127.0.0.{number}:{PORT}")).collect()
    }

    /// Starts a node and waits until it answers.
    pub(crate) fn bring_up(&self, number: u32) -> Result<()> {
        for command in ["start", "wait"] {
            let done = self.script(&[command, &number.to_string()])?;
            ensure!(done.status.success(), "node {number}: {}", String::from_utf8_lossy(&done.stderr));
        }
        Ok(())
    }

    /// Sends a signal to a node.
    pub(crate) fn signal(&self, number: u32, signal: &str) -> Result<()> {
        let pid = std::fs::read_to_string(self.dir.join(format!("node{number}/pid")))
            .with_context(|| format!("node {number} does not run"))?;
        let sent = Command::new("kill").args([&format!("-{signal}"), pid.trim()]).status()?;
        ensure!(sent.success(), "no signal could be sent to node {number}");
        Ok(())
    }

    fn script(&self, arguments: &[&str]) -> Result<std::process::Output> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/cassandra");
        let mut command = Command::new(script);
        command
            .args(arguments)
            .env("PLUMBAGO_CASSANDRA_DIR", &self.dir)
            .env("PLUMBAGO_CASSANDRA_PORT", PORT.to_string())
            .env("PLUMBAGO_CASSANDRA_INTERNAL", INTERNAL.to_string())
            .env("PLUMBAGO_CASSANDRA_HEAP", "768m")
            .env("PLUMBAGO_CASSANDRA_WAIT", "400")
            // What a node acknowledges is on its disk: nodes are killed here.
            .env("PLUMBAGO_CASSANDRA_SYNC", "1")
            .env("PLUMBAGO_CASSANDRA_SASI", "false");
        command.output().context("run scripts/cassandra")
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for number in 1..=self.count {
            let _ = self.script(&["stop", &number.to_string()]);
        }
    }
}
