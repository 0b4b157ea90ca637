//! VictoriaMetrics, single node, through its Graphite port and its Graphite query API.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::{Kind, PATIENCE, Ports, Running};
use crate::process::Process;

/// The `victoria-metrics` binary.
#[derive(Debug)]
pub(crate) struct VictoriaMetrics {
    /// From the environment.
    pub(crate) binary: PathBuf,
}

impl Kind for VictoriaMetrics {
    fn label(&self) -> &'static str {
        "VictoriaMetrics"
    }

    fn start(&self, directory: &Path, ports: &Ports) -> Result<Vec<Process>> {
        let mut command = Command::new(&self.binary);
        command
            .arg(format!("-storageDataPath={}", self.data(directory).display()))
            .arg(format!("-httpListenAddr={}", ports.http))
            .arg(format!("-graphiteListenAddr={}", ports.carbon))
            .arg("-retentionPeriod=2y")
            // By default answers leave out the newest half minute, and would miss what was just sent.
            .arg("-search.latencyOffset=1s")
            // With its default of 10 s it would compute six values for each one that was sent.
            .arg("-search.graphiteStorageStep=60s")
            // Plumbago has no cache of results, so VictoriaMetrics answers without one, too.
            .arg("-search.disableCache")
            .arg("-search.maxGraphiteSeries=1000000")
            .arg("-search.maxGraphitePathExpressionLen=4096");
        Ok(vec![Process::start(command.current_dir(directory), &directory.join("server.log"))?])
    }

    /// It has no `json`, and its `treejson` shows each last component once.
    fn find_path(&self, query: &str) -> String {
        format!("/metrics/find?format=completer&query={query}")
    }

    fn ready_path(&self) -> &'static str {
        "/health"
    }

    fn answers_tags(&self) -> bool {
        true
    }

    fn stored(&self, server: &mut Running) -> Result<Option<u64>> {
        server.counter("/metrics", "vm_rows_inserted_total{type=\"graphite\"}").map(Some)
    }

    fn flush(&self, server: &mut Running) -> Result<()> {
        server.control()?.get("/internal/force_flush")?;
        // This makes points visible. They reach the disk within five seconds, in two steps, and merges run in the background. The
        // disk figure is taken after all of that.
        std::thread::sleep(Duration::from_secs(15));
        server.process()?.wait_idle(PATIENCE).map(drop)
    }
}
