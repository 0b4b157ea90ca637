//! One Cassandra node for the whole run, on the same machine as everything else.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::process::wait_idle;
use crate::targets::PATIENCE;

/// Ports that a node started by hand with `scripts/cassandra` does not use.
pub(crate) const PORT: u16 = 9242;
const INTERNAL: u16 = 7200;

/// A node. At the end it is stopped and its data removed.
#[derive(Debug)]
pub(crate) struct Node {
    script: PathBuf,
    directory: PathBuf,
    heap: String,
}

impl Node {
    /// Starts an empty node below `scratch` and waits until it answers.
    pub(crate) fn start(scratch: &Path, heap: &str) -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/cassandra");
        let node = Self { script, directory: scratch.join("bench-cassandra"), heap: heap.to_owned() };
        node.run("wipe")?;
        node.run("start")?;
        node.run("wait")?;
        Ok(node)
    }

    /// Waits until it has written and compacted everything, as a node on its own machine would have.
    pub(crate) fn rest(&self) -> Result<()> {
        let file = self.directory.join("node1/pid");
        let pid = std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
        eprintln!("waiting until Cassandra is idle");
        wait_idle(pid.trim().parse()?, Duration::from_secs(10), PATIENCE)
            .map(drop)
            .with_context(|| format!("the last output of the node:\n{}", self.last_words()))
    }

    /// The end of its output, which is removed with its directory.
    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.directory.join("node1/logs/output.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn run(&self, command: &str) -> Result<()> {
        let status = Command::new(&self.script)
            .arg(command)
            .env("PLUMBAGO_CASSANDRA_DIR", &self.directory)
            .env("PLUMBAGO_CASSANDRA_PORT", PORT.to_string())
            .env("PLUMBAGO_CASSANDRA_INTERNAL", INTERNAL.to_string())
            .env("PLUMBAGO_CASSANDRA_HEAP", &self.heap)
            .status()?;
        ensure!(status.success(), "scripts/cassandra {command} failed: {status}");
        Ok(())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        for command in ["stop", "wipe"] {
            if let Err(error) = self.run(command) {
                eprintln!("{error:#}");
            }
        }
    }
}
