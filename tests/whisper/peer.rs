//! The other programs, asked by one line of JSON each time.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use plumbago_model::Point;
use serde_json::{Value, json};

use super::shown::Shown;
use crate::skip::skip;

/// A program that ends with this.
pub(crate) struct Peer {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Python with whisper and carbon; `None` after a loud skip where they cannot be installed.
    pub(crate) fn whisper(test: &str) -> Option<Self> {
        let Some(environment) = place("TEST_CARBON", "carbon") else {
            skip(test, "carbon and whisper could not be installed: scripts/peers carbon says why");
            return None;
        };
        let script = root().join("tests/whisper/peer.py");
        Some(Self::start(Command::new(environment.join("bin/python")).arg(script)))
    }

    /// go-whisper; `None` after a loud skip where it cannot be built.
    pub(crate) fn go_whisper(test: &str) -> Option<Self> {
        let Some(program) = place("TEST_GO_WHISPER", "go-whisper") else {
            skip(test, "go-whisper could not be built: scripts/peers go-whisper says why");
            return None;
        };
        Some(Self::start(&mut Command::new(program)))
    }

    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let requests = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, requests, answers }
    }

    /// Asks, and returns the answer or the error.
    pub(crate) fn try_ask(&mut self, request: &Value) -> Result<Value, String> {
        writeln!(self.requests, "{request}").expect("it listens");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        let mut answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        match answer.get("error") {
            Some(error) => Err(error.as_str().unwrap_or_default().to_owned()),
            None => Ok(answer["answer"].take()),
        }
    }

    /// Asks for something that must work.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.try_ask(request).unwrap_or_else(|error| panic!("{error}: {request}"))
    }

    /// Writes points as of `now`.
    pub(crate) fn update(&mut self, path: &Path, points: &[Point], now: u32) {
        let points: Vec<Value> = points.iter().map(|p| json!([p.timestamp, p.value.to_bits()])).collect();
        self.ask(&json!({"do": "update", "path": path, "points": points, "now": now}));
    }

    /// What it shows from `start` to `end` at `now`; `more` are further parameters.
    pub(crate) fn fetch(
        &mut self,
        path: &Path,
        start: u32,
        end: u32,
        now: u32,
        more: &Value,
    ) -> Option<Shown> {
        let mut request = json!({"do": "fetch", "path": path, "start": start, "end": end, "now": now});
        let fields = request.as_object_mut().unwrap();
        fields.extend(more.as_object().cloned().unwrap_or_default());
        Shown::of_answer(&self.ask(&request))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Fails only if it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where a peer is: a variable says it, else `scripts/peers` makes it.
fn place(variable: &str, name: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(path.into());
    }
    let made = Command::new(root().join("scripts/peers")).arg(name).output().ok()?;
    let path = String::from_utf8(made.stdout).ok()?;
    made.status.success().then(|| PathBuf::from(path.trim()))
}
