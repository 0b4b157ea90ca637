//! go-carbon with whisper files, and carbonapi in front of it if the environment names one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::{Kind, PATIENCE, Ports, Running};
use crate::process::Process;

/// A whisper file has its full size from the first point on: with the retention of the other servers, a million metrics would
/// take hundreds of gigabytes. This retention is enough to answer the queries.
const RETENTION: &str = "1m:25h";

/// The `go-carbon` binary, and `carbonapi` if there is one.
#[derive(Debug)]
pub(crate) struct GoCarbon {
    /// From the environment.
    pub(crate) binary: PathBuf,
    /// From the environment; without it find and render are not measured.
    pub(crate) carbonapi: Option<PathBuf>,
}

impl Kind for GoCarbon {
    fn label(&self) -> &'static str {
        "go-carbon"
    }

    fn start(&self, directory: &Path, ports: &Ports) -> Result<Vec<Process>> {
        let data = self.data(directory);
        fs::create_dir_all(&data)?;
        let schemas = directory.join("storage-schemas.conf");
        fs::write(&schemas, format!("[default]\npattern = .*\nretentions = {}\n", RETENTION))?;
        let carbonserver = if self.carbonapi.is_some() { ports.spare[0] } else { ports.http };
        let config = directory.join("go-carbon.conf");
        fs::write(&config, storage_config(&data, &schemas, ports, carbonserver))?;
        let log = directory.join("server.log");
        let storage = Process::start(Command::new(&self.binary).arg("-config").arg(&config), &log)?;
        let Some(carbonapi) = &self.carbonapi else { return Ok(vec![storage]) };
        let config = directory.join("carbonapi.yaml");
        fs::write(&config, api_config(ports))?;
        let api =
            Process::start(Command::new(carbonapi).arg("-config").arg(&config), &directory.join("api.log"))?;
        Ok(vec![storage, api])
    }

    fn ready_path(&self) -> &'static str {
        if self.carbonapi.is_some() { "/version/" } else { "/metrics/find/?query=*&format=json" }
    }

    /// It counts only once a minute, into its own metrics, so its idleness has to show when it is done.
    fn stored(&self, _: &mut Running) -> Result<Option<u64>> {
        Ok(None)
    }

    fn flush(&self, server: &mut Running) -> Result<()> {
        // The index of files that find uses is rebuilt every five seconds here.
        std::thread::sleep(Duration::from_secs(6));
        server.process()?.wait_idle(PATIENCE).map(drop)
    }

    fn answers_queries(&self) -> bool {
        self.carbonapi.is_some()
    }
}

/// No limit on cache or creations, so that it drops nothing and runs as fast as it can.
fn storage_config(data: &Path, schemas: &Path, ports: &Ports, carbonserver: std::net::SocketAddr) -> String {
    format!(
        r#"[common]
user = ""
max-cpu = 2
metric-interval = "1m0s"
metric-endpoint = "local"
[whisper]
data-dir = "{data}"
schemas-file = "{schemas}"
workers = 2
max-updates-per-second = 0
max-creates-per-second = 0
enabled = true
[cache]
max-size = 0
write-strategy = "noop"
[tcp]
listen = "{carbon}"
enabled = true
[udp]
enabled = false
[pickle]
enabled = false
[carbonlink]
enabled = false
[carbonserver]
listen = "{carbonserver}"
enabled = true
query-cache-enabled = false
find-cache-enabled = false
scan-frequency = "5s"
trie-index = true
trigram-index = false
max-globs = 1000000
max-metrics-globbed = 10000000
max-metrics-rendered = 1000000
[[logging]]
logger = ""
file = "stderr"
level = "warn"
"#,
        data = data.display(),
        schemas = schemas.display(),
        carbon = ports.carbon,
    )
}

fn api_config(ports: &Ports) -> String {
    format!(
        r#"listen: "{http}"
concurency: 1000
cache:
  type: "null"
backendCache:
  type: "null"
maxBatchSize: 0
notFoundStatusCode: 200
upstreams:
  tldCacheDisabled: true
  timeouts:
    find: "60s"
    render: "120s"
    connect: "500ms"
  backendsv2:
    backends:
      - groupName: "storage"
        protocol: "carbonapi_v3_pb"
        lbMethod: "broadcast"
        maxTries: 1
        maxBatchSize: 0
        servers: ["http://{storage}"]
logger:
  - logger: ""
    file: "stderr"
    level: "warn"
"#,
        http = ports.http,
        storage = ports.spare[0],
    )
}
