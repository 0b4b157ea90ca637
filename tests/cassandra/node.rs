//! Finding a node, or starting one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use plumbago::store::cassandra::{Cluster, Purpose, Settings};

use crate::skip::skip;

/// The node all tests share, or why there is none.
static SHARED: LazyLock<Result<String, String>> = LazyLock::new(|| match std::env::var("TEST_CASSANDRA") {
    Ok(node) if !node.is_empty() => Ok(node),
    _ => start().map(|()| "127.0.0.1:9042".to_owned()),
});

/// A build machine may be busy.
fn patient() -> Settings {
    Settings { request_timeout: Duration::from_secs(30), ..Settings::default() }
}

/// The same with keyspaces that nobody else has.
pub(crate) fn with_own_keyspaces(settings: Settings) -> Settings {
    let name = uuid::Uuid::new_v4().simple().to_string();
    let keyspace = format!("t{}", &name[..12]);
    Settings { keyspace_metadata: format!("{keyspace}_metadata"), keyspace, ..settings }
}

/// Leaves the node as it was: a thousand indexes make it slow.
pub(crate) fn drop_keyspaces(cluster: &Cluster, all: &[&Settings]) {
    for keyspace in all.iter().flat_map(|settings| [&settings.keyspace, &settings.keyspace_metadata]) {
        let text = format!("DROP KEYSPACE IF EXISTS {keyspace}");
        cluster.block_on(cluster.run_once(Purpose::Background, &text, ())).unwrap();
    }
}

/// BigGraphite's environment; `None` after a loud skip.
pub(crate) fn biggraphite(test: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("TEST_BIGGRAPHITE") {
        return Some(path.into());
    }
    let made = Command::new(root().join("scripts/peers")).arg("biggraphite").output().unwrap();
    if !made.status.success() {
        skip(test, "BigGraphite could not be installed: scripts/peers biggraphite says why");
        return None;
    }
    Some(PathBuf::from(String::from_utf8(made.stdout).unwrap().trim()))
}

/// Settings for the shared node; `None` after a loud skip.
pub(crate) fn shared(test: &str) -> Option<Settings> {
    or_skip(test, reachable())
}

/// Settings for the shared node, or why there is none. For what several tests share: each of them skips by [`or_skip`].
pub(crate) fn reachable() -> Result<Settings, String> {
    let node = SHARED.as_ref().map_err(String::clone)?;
    Ok(with_own_keyspaces(Settings { nodes: vec![node.clone()], ..patient() }))
}

/// `None` after a loud skip.
pub(crate) fn or_skip<T>(test: &str, result: Result<T, impl AsRef<str>>) -> Option<T> {
    result.map_err(|why| skip(test, why.as_ref())).ok()
}

/// It stays up after the tests: the next run is faster by the time it takes to start, and `scripts/cassandra stop` ends it.
fn start() -> Result<(), String> {
    for command in ["start", "wait"] {
        script(command, &[])?;
    }
    Ok(())
}

/// Runs `scripts/cassandra`.
pub(crate) fn script(command: &str, environment: &[(&str, String)]) -> Result<(), String> {
    run(&command.split(' ').collect::<Vec<_>>(), environment).map(drop)
}

/// Runs Cassandra's own tool on the node of `scripts/cassandra`. Gives what it printed.
pub(crate) fn nodetool(arguments: &[&str]) -> Result<String, String> {
    run(&[&["nodetool"], arguments].concat(), &[])
}

fn run(arguments: &[&str], environment: &[(&str, String)]) -> Result<String, String> {
    let path = root().join("scripts/cassandra");
    let environment = environment.iter().map(|(name, value)| (*name, value.as_str()));
    let done =
        Command::new(&path).args(arguments).envs(environment).output().map_err(|error| error.to_string())?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(format!("scripts/cassandra {}: {}", arguments.join(" "), said.trim()))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Nodes of one test alone, gone with it.
pub(crate) struct OwnCluster {
    dir: tempfile::TempDir,
    port: u16,
    nodes: u32,
    environment: Vec<(&'static str, String)>,
}

impl OwnCluster {
    /// Each test has ports of its own: clients' and, from `internal` on, those between nodes.
    pub(crate) fn new(port: u16, internal: u16) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let environment = vec![
            ("PLUMBAGO_CASSANDRA_DIR", dir.path().join("run").display().to_string()),
            ("PLUMBAGO_CASSANDRA_PORT", port.to_string()),
            ("PLUMBAGO_CASSANDRA_INTERNAL", internal.to_string()),
            ("PLUMBAGO_CASSANDRA_HEAP", "512m".to_owned()),
            ("PLUMBAGO_CASSANDRA_WAIT", "400".to_owned()),
        ];
        Self { dir, port, nodes: 0, environment }
    }

    /// One more variable for `scripts/cassandra`.
    pub(crate) fn with(mut self, variable: &'static str, value: &str) -> Self {
        self.environment.push((variable, value.to_owned()));
        self
    }

    pub(crate) fn start(mut self, nodes: u32) -> Result<Self, String> {
        for number in 1..=nodes {
            self.nodes = number;
            self.bring_up(number)?;
        }
        Ok(self)
    }

    /// Nodes join one after another.
    pub(crate) fn bring_up(&self, number: u32) -> Result<(), String> {
        script(&format!("start {number}"), &self.environment)?;
        script(&format!("wait {number}"), &self.environment)
    }

    pub(crate) fn signal(&self, number: u32, signal: &str) {
        let pid = std::fs::read_to_string(self.dir.path().join(format!("run/node{number}/pid"))).unwrap();
        let sent = Command::new("kill").args([&format!("-{signal}"), pid.trim()]).status();
        assert!(sent.unwrap().success());
    }

    /// A directory that goes with the cluster.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn settings(&self) -> Settings {
        let nodes = (1..=self.nodes).map(|number| format!("127.0.0.{number}:{}", self.port)).collect();
        with_own_keyspaces(Settings { nodes, ..patient() })
    }
}

impl Drop for OwnCluster {
    fn drop(&mut self) {
        for number in 1..=self.nodes {
            let _ = script(&format!("stop {number}"), &self.environment);
        }
    }
}
