//! graphite-web, started for this test.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::golden::server::{self, Reply};
use crate::skip::skip;

/// A graphite-web that ends with this.
pub(crate) struct Peer {
    child: Child,
    address: String,
}

impl Peer {
    /// Starts it; `None` after a loud skip where it cannot be installed.
    pub(crate) fn start(test: &str) -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let Some(environment) = environment(root) else {
            skip(test, "graphite-web could not be installed: scripts/peers graphite-web says why");
            return None;
        };
        let mut child = Command::new(environment.join("bin/python"))
            .arg(root.join("tests/differential/serve.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let mut port = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut port).expect("its port");
        Some(Self { child, address: format!("127.0.0.1:{}", port.trim()) })
    }

    /// Asks for a render as JSON.
    pub(crate) fn render(&self, options: &crate::golden::case::Options) -> Reply {
        server::render_at(&self.address, options)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Fails only if it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn environment(root: &Path) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("TEST_GRAPHITE_WEB") {
        return Some(path.into());
    }
    let made = Command::new(root.join("scripts/peers")).arg("graphite-web").output().ok()?;
    let path = String::from_utf8(made.stdout).ok()?;
    made.status.success().then(|| PathBuf::from(path.trim()))
}
