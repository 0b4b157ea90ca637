//! Plumbago itself, with its defaults and the retention that all servers get.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::{Kind, Ports, Running};
use crate::process::Process;

const COUNTERS: &str = "/internal/metrics";

/// The binary, and what it is called in the table.
#[derive(Debug)]
pub(crate) struct Plumbago {
    /// Column heading: an earlier build of Plumbago is a peer of this one.
    pub(crate) label: &'static str,
    /// Release build.
    pub(crate) binary: PathBuf,
    /// Is it this build? An earlier one may lack doors and logins, and refuses their keys.
    pub(crate) is_current: bool,
    /// Settings beside the usual ones, each as `key=value`.
    pub(crate) settings: Vec<String>,
}

impl Plumbago {
    /// The build that is measured.
    pub(crate) fn new(binary: &Path) -> Self {
        Self { label: "Plumbago", binary: binary.to_owned(), is_current: true, settings: Vec::new() }
    }
}

/// The arguments of a server on these ports with its files below `directory`.
pub(crate) fn serve<'c>(command: &'c mut Command, directory: &Path, ports: &Ports) -> &'c mut Command {
    command.arg("serve");
    for (key, value) in [
        ("listen.http", ports.http.to_string()),
        ("listen.carbon", ports.carbon.to_string()),
        ("listen.pickle", ports.spare[0].to_string()),
        ("store.path", directory.join("data").display().to_string()),
        ("retention.default", crate::RETENTION.to_owned()),
    ] {
        command.arg("--set").arg(format!("{key}={value}"));
    }
    command
}

impl Kind for Plumbago {
    fn label(&self) -> &'static str {
        self.label
    }

    fn start(&self, directory: &Path, ports: &Ports) -> Result<Vec<Process>> {
        let mut command = Command::new(&self.binary);
        serve(&mut command, directory, ports);
        if self.is_current {
            command.arg("--set").arg(format!("listen.kairosdb_telnet={}", ports.spare[1]));
        }
        for setting in &self.settings {
            command.arg("--set").arg(setting);
        }
        Ok(vec![Process::start(command.current_dir(directory), &directory.join("server.log"))?])
    }

    fn ready_path(&self) -> &'static str {
        "/health/ready"
    }

    fn is_current(&self) -> bool {
        self.is_current
    }

    fn command(&self) -> Option<&Path> {
        Some(&self.binary)
    }

    fn draws(&self) -> bool {
        true
    }

    fn answers_tags(&self) -> bool {
        true
    }

    fn has_page(&self) -> bool {
        true
    }

    fn reads_own_writes(&self) -> bool {
        true
    }

    fn stored(&self, server: &mut Running) -> Result<Option<u64>> {
        server.counter(COUNTERS, "plumbago_points_stored_total ").map(Some)
    }

    fn flush(&self, server: &mut Running) -> Result<()> {
        // Without settle=1, points may stay in the log: durable, but not in their final form.
        let (status, _) = server.control()?.request("POST", "/internal/flush?settle=1")?;
        if status != 200 {
            bail!("flush answered {status}");
        }
        Ok(())
    }
}
