//! Finding a node, or starting one.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use plumbago::store::cassandra::Settings;

/// The node all tests share, or why there is none.
static SHARED: LazyLock<Result<String, String>> = LazyLock::new(|| match std::env::var("TEST_CASSANDRA") {
    Ok(node) if !node.is_empty() => Ok(node),
    _ => start().map(|()| "127.0.0.1:9042".to_owned()),
});

/// Settings for the shared node; `None` after a loud skip.
pub(crate) fn shared(test: &str) -> Option<Settings> {
    match &*SHARED {
        Ok(node) => Some(Settings { nodes: vec![node.clone()], ..Settings::default() }),
        Err(why) => {
            skip(test, why);
            None
        }
    }
}

/// It stays up after the tests: the next run is faster by the time it takes to start, and `scripts/cassandra stop` ends it.
fn start() -> Result<(), String> {
    for command in ["start", "wait"] {
        script(command)?;
    }
    Ok(())
}

fn script(command: &str) -> Result<(), String> {
    let path = root().join("scripts/cassandra");
    let done = Command::new(&path).arg(command).output().map_err(|error| error.to_string())?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(format!("scripts/cassandra {command}: {}", said.trim().lines().last().unwrap_or("failed")))
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Says loudly that a test did not run. On a build machine that is a failure.
fn skip(test: &str, why: &str) {
    let message = format!("{test}: {why}");
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "must not be skipped on a build machine: {message}"
    );
    eprintln!("SKIPPED {message}");
    if let Some(log) = std::env::var_os("TEST_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new().append(true).create(true).open(log).unwrap();
        writeln!(log, "{message}").unwrap();
    }
}
