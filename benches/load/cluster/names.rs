//! Names: creating them in Cassandra, and loading all of them into a server that starts.

use std::time::Instant;

use anyhow::Result;

use super::plumbago::wait_counter;
use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now};
use crate::targets::Running;

/// The row for the creation of new names.
pub(crate) const NEW: &str = "new metrics";

/// Sends one point to each of `metrics` metrics and waits until all of their names are in Cassandra.
/// Returns their number, the seconds it took, and the CPU seconds of the server.
pub(crate) fn create(server: &mut Running, metrics: usize) -> Result<(u64, f64, f64)> {
    const DELIVERED: &str = "plumbago_names_delivered_total ";
    // The server does not create names again that it has read from the tables.
    wait_loaded(server)?;
    let known = server.counter("/internal/metrics", "plumbago_metrics ")?;
    let mut load = Load::servers(metrics, 8);
    let cpu = server.process()?.cpu_seconds()?;
    let sent = load.send(server.ports.carbon, &minutes_until_now(1))?;
    let created = sent.points - known;
    let done = wait_counter(server, DELIVERED, created)?;
    let seconds = done.duration_since(sent.began).as_secs_f64();
    Ok((created, seconds, server.process()?.cpu_seconds()? - cpu))
}

/// Creates names on a warm node, as BigGraphite does.
pub(crate) fn created(server: &mut Running, metrics: usize, report: &mut Report) -> Result<()> {
    let (created, seconds, cpu) = create(server, metrics)?;
    let note = format!("{created} of them, {:.0} µs of CPU each", cpu * 1e6 / created as f64);
    report.add("Plumbago", NEW, "metrics/s", Bar::AtLeast(2000.0), created as f64 / seconds, note);
    Ok(())
}

/// Starts a server without names, and again when it has them all.
pub(crate) fn load(server: &mut Running, metrics: usize, report: &mut Report) -> Result<()> {
    for (how, bar) in [("cold", Bar::AtMost(30.0)), ("from its snapshot", Bar::AtMost(2.0))] {
        server.kill();
        let began = Instant::now();
        server.launch()?;
        let ready = began.elapsed().as_secs_f64();
        let done = wait_counter(server, "plumbago_metrics ", metrics as u64)?;
        wait_loaded(server)?;
        let seconds = done.duration_since(began).as_secs_f64();
        let what = format!("names loaded, {}, {how}", thousands(metrics));
        report.add("Plumbago", &what, "s", bar, seconds, format!("answers after {ready:.1} s"));
    }
    Ok(())
}

/// Waits until the server has loaded all names that were in the tables when it started.
fn wait_loaded(server: &mut Running) -> Result<()> {
    wait_counter(server, "plumbago_names_loaded ", 1).map(drop)
}

fn thousands(metrics: usize) -> String {
    if metrics.is_multiple_of(1_000_000) {
        format!("{} M", metrics / 1_000_000)
    } else {
        format!("{} k", metrics / 1000)
    }
}
