//! Points per second into existing metrics, their CPU time, and their bytes on disk.

use anyhow::Result;

use crate::process::disk_bytes;
use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now};
use crate::targets::{PATIENCE, Running};

/// What to send, and the bars.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ingest {
    /// The size as it is printed in the table: `100 k`.
    pub(crate) size: &'static str,
    /// Rounds of one point per metric.
    pub(crate) rounds: usize,
    /// Points per second, until the server is idle.
    pub(crate) rate: Bar,
    /// CPU seconds per million points.
    pub(crate) cpu: Bar,
    /// Resident memory afterwards, in megabytes.
    pub(crate) rss: Bar,
    /// Bytes per point on disk; not measured if there are too few points per metric for a meaningful figure.
    pub(crate) disk: Option<Bar>,
}

/// Sends, waits until everything is stored and the server is idle, and records the figures. The metrics must already exist, with
/// `before` points each.
pub(crate) fn run(
    plan: &Ingest,
    server: &mut Running,
    load: &mut Load,
    before: u64,
    report: &mut Report,
) -> Result<()> {
    let (label, size) = (server.kind.label(), plan.size);
    let stored = server.stored()?;
    let cpu = server.process()?.cpu_seconds()?;
    let sent = load.send(server.ports.carbon, &minutes_until_now(plan.rounds))?;
    server.wait_stored(stored, sent.points)?;
    // A server may store points and do the work later. The clock runs until it is idle, so that this work counts.
    let settled =
        server.process()?.wait_idle(PATIENCE)?.duration_since(sent.began).as_secs_f64().max(sent.seconds);
    let millions = sent.points as f64 / 1e6;
    let used = server.process()?.cpu_seconds()? - cpu;
    let note = format!(
        "accepted at {:.0} k/s; generator {:.2} CPU s/M",
        sent.points as f64 / sent.seconds / 1e3,
        sent.own_cpu / millions
    );
    report.add(
        label,
        &format!("ingest, {size} metrics"),
        "points/s",
        plan.rate,
        sent.points as f64 / settled,
        note,
    );
    report.add(
        label,
        &format!("ingest CPU, {size} metrics"),
        "CPU s/M points",
        plan.cpu,
        used / millions,
        String::new(),
    );
    let (rss, peak) = server.process()?.rss_mb()?;
    report.add(label, &format!("RSS, {size} metrics"), "MB", plan.rss, rss, format!("peak {peak:.0}"));
    if let Some(bar) = plan.disk {
        server.flush()?;
        let cut = server.process()?.cpu_seconds()? - cpu;
        let what = format!("ingest CPU, {size} metrics, blocks cut");
        report.add(label, &what, "CPU s/M points", Bar::None, cut / millions, String::new());
        let points = sent.points + before * load.metrics();
        let bytes = disk_bytes(&server.data()) as f64 / points as f64;
        report.add(
            label,
            &format!("disk, {size} metrics"),
            "bytes/point",
            bar,
            bytes,
            format!("{:.0} M points", points as f64 / 1e6),
        );
    }
    Ok(())
}
