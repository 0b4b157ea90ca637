//! Kill -9 with ten minutes of points not yet cut, and the time until the server works again.

use anyhow::Result;

use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now};
use crate::targets::Running;

/// Rounds that are in the log when it is killed.
const MINUTES: usize = 10;

/// Sends ten rounds after everything earlier was written out, kills the server as soon as they are stored, and starts it
/// again.
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
