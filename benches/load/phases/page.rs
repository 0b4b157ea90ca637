//! The metric browser in a real Chromium with an empty profile: how long until a person sees it, and can use it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::Latency;
use crate::report::{Bar, Report};
use crate::targets::Running;

/// Names under which distributions install Chromium.
const CHROMIUM: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Nothing is worse than an empty window.
const FIRST_PAINT: Bar = Bar::AtMost(500.0);

/// The programs that open the page.
struct Tools {
    node: PathBuf,
    chromium: PathBuf,
    /// What `scripts/peers browser` prints.
    playwright: PathBuf,
}

/// What `page.mjs` prints: one entry per load.
#[derive(Debug, Deserialize)]
struct Loads {
    /// Milliseconds until the first text was on the screen.
    painted: Vec<f64>,
    /// Milliseconds until the tree was shown and the search field accepted a key.
    interactive: Vec<f64>,
    /// Milliseconds from the last key of a search until something was found.
    found: Vec<f64>,
    /// The number of metrics that the page shows.
    metrics: Vec<String>,
}

/// Opens the page `loads` times, each in a new browser, on a server that already has the metrics.
pub(crate) fn run(size: &str, bar: Bar, loads: usize, server: &Running, report: &mut Report) -> Result<()> {
    let label = server.kind.label();
    let what = format!("page, cold load → interactive, {size} metrics, p50");
    let first = format!("page, cold load → first paint, {size} metrics, p50");
    let tools = match Tools::find() {
        Ok(tools) => tools,
        Err(missing) => {
            report.unmeasured(label, &first, "ms", FIRST_PAINT, missing.clone());
            report.unmeasured(label, &what, "ms", bar, missing);
            return Ok(());
        }
    };
    let loads = tools.open(server.ports.http, loads)?;
    let note = format!("slowest {:.0}", loads.painted.iter().copied().fold(0.0, f64::max));
    let painted = Latency::of(loads.painted).p50;
    report.add(label, &first, "ms", FIRST_PAINT, painted, note);
    let (slowest, count) = (loads.interactive.iter().copied().fold(0.0, f64::max), loads.interactive.len());
    let (interactive, found) = (Latency::of(loads.interactive), Latency::of(loads.found));
    let note = format!(
        "slowest of {count} {slowest:.0}; search typed → found {:.0}; {}",
        found.p50,
        loads.metrics.first().map_or("", String::as_str)
    );
    report.add(label, &what, "ms", bar, interactive.p50, note);
    Ok(())
}

impl Tools {
    /// Finds all of them, or says what is missing.
    fn find() -> Result<Self, String> {
        let node = program("node").ok_or("node is not installed")?;
        let chromium = CHROMIUM.into_iter().find_map(program).ok_or("Chromium is not installed")?;
        let playwright = std::env::var_os("TEST_PLAYWRIGHT").map(PathBuf::from).filter(|path| path.is_dir());
        let playwright =
            playwright.ok_or("TEST_PLAYWRIGHT does not name what scripts/peers browser prints")?;
        Ok(Self { node, chromium, playwright })
    }

    fn open(&self, http: SocketAddr, loads: usize) -> Result<Loads> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/load/phases/page.mjs");
        let mut command = Command::new(&self.node);
        command.arg(script).arg(format!("http://{http}/")).arg(loads.to_string());
        command.env("TEST_CHROMIUM", &self.chromium).env("TEST_PLAYWRIGHT", &self.playwright);
        let output = command.output().context("start node")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "the page did not work: {errors}");
        let loads: Loads = serde_json::from_slice(&output.stdout).context("read what page.mjs printed")?;
        ensure!(!loads.interactive.is_empty() && !loads.found.is_empty(), "page.mjs opened no page");
        Ok(loads)
    }
}

/// Where a program is installed.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}
