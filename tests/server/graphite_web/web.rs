//! A graphite-web of its own for a test, with Plumbago behind it.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

use crate::skip::skip;

/// A graphite-web that ends with this.
pub(crate) struct Web {
    child: Child,
    pub(crate) address: SocketAddr,
    agent: ureq::Agent,
}

/// What it answers.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: ureq::http::HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    fn read(mut response: ureq::http::Response<ureq::Body>) -> Self {
        let body = response.body_mut().with_config().limit(1 << 30).read_to_string().unwrap();
        Self { status: response.status().as_u16(), headers: response.headers().clone(), body }
    }

    /// A header, if it is there.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

impl Web {
    /// Starts it with these settings; `None` after a loud skip where it cannot be installed.
    pub(crate) fn start(test: &str, settings: &str) -> Option<Self> {
        let Some(environment) = environment() else {
            skip(test, "graphite-web could not be installed: scripts/peers graphite-web says why");
            return None;
        };
        let mut child = Command::new(environment.join("bin/python"))
            .arg(root().join("tests/server/graphite_web/serve.py"))
            .arg(settings)
            .env("PYTHONPATH", root().join("graphite-web-plugin/src"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        assert!(!port.is_empty(), "graphite-web did not start: {:?}", child.wait());
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build();
        let address = SocketAddr::from(([127, 0, 0, 1], port.trim().parse().unwrap()));
        Some(Self { child, address, agent: agent.into() })
    }

    /// GET.
    pub(crate) fn get(&self, path: &str) -> Reply {
        Reply::read(self.agent.get(format!("http://{}{path}", self.address)).call().unwrap())
    }

    /// POST a form.
    pub(crate) fn post(&self, path: &str, form: &[(&str, &str)]) -> Reply {
        let request = self.agent.post(format!("http://{}{path}", self.address));
        Reply::read(request.send_form(form.iter().copied()).unwrap())
    }

    /// GET an answer that must be 200 and JSON.
    pub(crate) fn json(&self, path: &str) -> Value {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        serde_json::from_str(&reply.body).unwrap_or_else(|e| panic!("{path}: {e}: {}", reply.body))
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        // Fails only if it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The Python environment of graphite-web.
pub(crate) fn environment() -> Option<&'static Path> {
    static ENVIRONMENT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find =
        || std::env::var_os("TEST_GRAPHITE_WEB").map(PathBuf::from).or_else(|| peer("graphite-web").ok());
    ENVIRONMENT.get_or_init(find).as_deref()
}

/// The environment that `scripts/peers` makes under this name, or why it cannot.
pub(crate) fn peer(name: &str) -> Result<PathBuf, String> {
    let made = Command::new(root().join("scripts/peers")).arg(name).output().map_err(|e| e.to_string())?;
    if made.status.success() {
        return Ok(PathBuf::from(String::from_utf8_lossy(&made.stdout).trim()));
    }
    let said = String::from_utf8_lossy(&made.stderr);
    Err(said.lines().last().unwrap_or("scripts/peers failed").to_owned())
}

/// The checkout.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
