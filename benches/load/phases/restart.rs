//! Kills the server with ten minutes of points in the log, and measures the time until it works again.

use anyhow::Result;

use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now};
use crate::targets::Running;

/// Rounds that are in the log at the kill.
const MINUTES: usize = 10;

/// Flushes everything, sends ten rounds, kills the server as soon as they are stored, and starts it again.
pub(crate) fn run(
    size: &str,
    bar: Bar,
    server: &mut Running,
    load: &mut Load,
    report: &mut Report,
) -> Result<()> {
    server.flush()?;
    let before = server.stored()?;
    let sent = load.send(server.ports.carbon, &minutes_until_now(MINUTES))?;
    server.wait_stored(before, sent.points)?;
    server.kill();
    let seconds = server.launch()?;
    let what = format!("ready after kill -9, {size} metrics, {MINUTES} min of log");
    report.add(server.kind.label(), &what, "s", bar, seconds, String::new());
    Ok(())
}
