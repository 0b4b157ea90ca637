//! Starts the real binary on free ports and an empty directory, talks to it, and kills it when the test is over.

#![allow(dead_code, reason = "each test binary that includes this file uses its own part of it")]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;
use tempfile::TempDir;

/// Nothing a test waits for takes this long unless it never comes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Settings of a server that is to be started.
pub(crate) struct Setup {
    settings: Vec<String>,
    environment: Vec<(String, String)>,
    directory: Arc<TempDir>,
    data: PathBuf,
}

impl Setup {
    /// Free ports and an empty directory.
    pub(crate) fn new() -> Self {
        let directory = Arc::new(TempDir::new().unwrap());
        let data = directory.path().join("data");
        let mut setup = Self { settings: Vec::new(), environment: Vec::new(), directory, data };
        for listener in ["http", "carbon", "pickle"] {
            setup = setup.set(&format!("listen.{listener}"), "127.0.0.1:0");
        }
        // Disks of test machines are often nearly full, and a test that takes a minute expects only its own metrics.
        setup.set("store.reserve_bytes", "0").set("telemetry.carbon_interval", "0s")
    }

    /// Adds `--set key=value`; a later one wins.
    pub(crate) fn set(mut self, key: &str, value: &str) -> Self {
        self.settings.push(format!("{key}={value}"));
        self
    }

    /// Sets a variable in the environment of the server; a later one wins.
    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Uses `data` instead of a directory below the temporary one.
    pub(crate) fn data(mut self, data: &Path) -> Self {
        self.data = data.to_owned();
        self
    }

    /// The directory that goes away with the last server on it.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The command line, ready to be run.
    pub(crate) fn command(&self) -> Command {
        let mut command = plumbago();
        command.current_dir(self.directory.path()).arg("serve");
        command.envs(self.environment.iter().cloned());
        command.arg("--set").arg(format!("store.path={}", self.data.display()));
        for setting in &self.settings {
            command.arg("--set").arg(setting);
        }
        command
    }

    /// Another command on the same settings, which must end by itself.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = plumbago();
        command.current_dir(self.directory.path());
        command.arg("--set").arg(format!("store.path={}", self.data.display()));
        for setting in &self.settings {
            command.arg("--set").arg(setting);
        }
        command.args(arguments);
        run_to_end(command)
    }

    /// Starts the server and waits until it is ready.
    pub(crate) fn start(self) -> Server {
        // A file, not a pipe: what the server said before it answered is there when the answer is.
        let errors = tempfile::tempfile().unwrap();
        let stderr = Stdio::from(errors.try_clone().unwrap());
        let mut child = self.command().stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let lines = lines_of(child.stdout.take().unwrap());
        let mut server = Server {
            http: SocketAddr::from(([0, 0, 0, 0], 0)),
            carbon: SocketAddr::from(([0, 0, 0, 0], 0)),
            pickle: SocketAddr::from(([0, 0, 0, 0], 0)),
            banner: Vec::new(),
            child,
            setup: self,
            errors,
            agent: ureq::Agent::config_builder()
                .http_status_as_error(false)
                .timeout_global(Some(PATIENCE))
                .build()
                .into(),
        };
        server.read_banner(&lines);
        server
    }

    /// Runs a server that is expected to give up at once.
    pub(crate) fn run_to_end(&self) -> Output {
        run_to_end(self.command())
    }
}

/// The binary, without the settings in the environment of the tests.
pub(crate) fn plumbago() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumbago"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PLUMBAGO_") {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// Runs a command that must end by itself.
pub(crate) fn run_to_end(mut command: Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (out, err) = (collect(child.stdout.take().unwrap()), collect(child.stderr.take().unwrap()));
    let status = wait_for_end(&mut child).unwrap_or_else(|| {
        let _ = child.kill();
        panic!("{command:?} did not end; stderr: {}", err.lock());
    });
    // The pipes are closed by now or soon; give the collectors a moment to see the end.
    wait_until("the end of the output", || Arc::strong_count(&out) == 1 && Arc::strong_count(&err) == 1);
    let bytes = |text: &Arc<Mutex<String>>| text.lock().clone().into_bytes();
    Output { status, stdout: bytes(&out), stderr: bytes(&err) }
}

/// A server that runs until it is dropped.
pub(crate) struct Server {
    /// Where each listener listens.
    pub(crate) http: SocketAddr,
    pub(crate) carbon: SocketAddr,
    pub(crate) pickle: SocketAddr,
    /// What it printed on stdout until it was ready.
    pub(crate) banner: Vec<String>,
    child: Child,
    setup: Setup,
    errors: File,
    agent: ureq::Agent,
}

impl Server {
    /// A server with default settings.
    pub(crate) fn start() -> Self {
        Setup::new().start()
    }

    fn read_banner(&mut self, lines: &Receiver<String>) {
        let address = |line: &str| -> SocketAddr {
            let word = line.split_whitespace().nth(1).unwrap_or_default();
            word.trim_start_matches("http://").trim_end_matches('/').parse().unwrap()
        };
        let give_up = Instant::now() + PATIENCE;
        loop {
            let line = match lines.recv_timeout(give_up.saturating_duration_since(Instant::now())) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => panic!("not ready in time: {}", self.errors()),
                Err(RecvTimeoutError::Disconnected) => panic!("ended before it was ready: {}", self.errors()),
            };
            match line.split_whitespace().next() {
                Some("http") => self.http = address(&line),
                Some("carbon") => self.carbon = address(&line),
                Some("pickle") => self.pickle = address(&line),
                _ => {}
            }
            let ready = line.starts_with("ready");
            self.banner.push(line);
            if ready {
                return;
            }
        }
    }

    /// Where a listener is that only some servers have: the second word of its line.
    pub(crate) fn listener(&self, line: &str) -> SocketAddr {
        let found = self.banner.iter().find_map(|found| found.strip_prefix(line)).unwrap_or_else(|| {
            panic!("no line `{line}` in {:?}", self.banner);
        });
        found.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// What it was started with.
    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// What it said on stderr so far.
    pub(crate) fn errors(&self) -> String {
        let mut said = vec![0; self.errors.metadata().unwrap().len() as usize];
        // Reading at an offset leaves the server's own offset alone, which this handle shares.
        self.errors.read_exact_at(&mut said, 0).unwrap();
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Resident memory in bytes.
    pub(crate) fn rss(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// The most resident memory that it ever had, in bytes.
    pub(crate) fn peak_rss(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    /// Ends it without warning. Gives the setup, to start again on the same directory.
    pub(crate) fn kill(mut self) -> Setup {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.take_setup()
    }

    /// Asks it to stop with `signal` (`TERM`, `INT`). Gives its exit status and the setup.
    pub(crate) fn stop(mut self, signal: &str) -> (ExitStatus, Setup) {
        self.signal(signal);
        let status = wait_for_end(&mut self.child);
        let status = status.unwrap_or_else(|| panic!("did not stop on SIG{signal}: {}", self.errors()));
        let setup = self.take_setup();
        (status, setup)
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let kill =
            Command::new("kill").arg(format!("-{signal}")).arg(self.pid().to_string()).status().unwrap();
        assert!(kill.success());
    }

    /// Has it ended by itself?
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    fn take_setup(&mut self) -> Setup {
        Setup {
            settings: std::mem::take(&mut self.setup.settings),
            environment: std::mem::take(&mut self.setup.environment),
            directory: Arc::clone(&self.setup.directory),
            data: self.setup.data.clone(),
        }
    }

    /// Sends plaintext over a connection of its own and closes it.
    pub(crate) fn send(&self, lines: impl AsRef<[u8]>) {
        send_to(self.carbon, lines.as_ref());
    }

    /// Sends good plaintext lines and waits until every one of them is stored.
    pub(crate) fn store(&self, lines: &str) {
        let before = self.counter("plumbago_points_stored_total");
        self.send(lines);
        self.wait_for("plumbago_points_stored_total", before + lines.lines().count() as u64);
    }

    /// Waits until a counter has reached `value`.
    pub(crate) fn wait_for(&self, counter: &str, value: u64) {
        let give_up = Instant::now() + PATIENCE;
        while self.counter(counter) < value {
            if Instant::now() > give_up {
                panic!(
                    "{counter} did not reach {value}:\n{}\n{}",
                    self.get("/internal/metrics").body,
                    self.errors()
                );
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// A counter by its Prometheus name, with its labels if it has any.
    pub(crate) fn counter(&self, name: &str) -> u64 {
        let text = self.get("/internal/metrics").body;
        let line =
            text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
        let line = line.unwrap_or_else(|| panic!("no counter {name} in\n{text}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64
    }

    /// How many points were refused for `reason`.
    pub(crate) fn rejected(&self, reason: &str) -> u64 {
        self.counter(&format!("plumbago_points_rejected_total{{reason=\"{reason}\"}}"))
    }

    /// GET.
    pub(crate) fn get(&self, path: &str) -> Answer {
        answer(self.agent.get(self.url(path)).call().unwrap())
    }

    /// GET an answer to its end, and give its status alone.
    pub(crate) fn status_of(&self, path: &str) -> u16 {
        let mut response = self.agent.get(self.url(path)).call().unwrap();
        std::io::copy(&mut response.body_mut().as_reader(), &mut std::io::sink()).unwrap();
        response.status().as_u16()
    }

    /// GET an answer that must be 200 and JSON.
    pub(crate) fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap_or_else(|e| panic!("{path}: {e}: {}", answer.body))
    }

    /// POST a form.
    pub(crate) fn post(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        answer(self.agent.post(self.url(path)).send_form(form.iter().copied()).unwrap())
    }

    /// DELETE.
    pub(crate) fn delete(&self, path: &str) -> Answer {
        answer(self.agent.delete(self.url(path)).call().unwrap())
    }

    /// POST a text as it is.
    pub(crate) fn post_text(&self, path: &str, text: &str) -> Answer {
        answer(self.agent.post(self.url(path)).content_type("text/plain").send(text).unwrap())
    }

    /// POST a JSON document.
    pub(crate) fn post_json(&self, path: &str, document: &Value) -> Answer {
        let request = self.agent.post(self.url(path)).content_type("application/json");
        answer(request.send(document.to_string()).unwrap())
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.http)
    }

    /// The values and times of the one series that `target` gives over `(from, until]`, without the nulls.
    pub(crate) fn points(&self, target: &str, from: u64, until: u64) -> Vec<(f64, u64)> {
        let series = self.render(target, from, until);
        assert!(series.len() <= 1, "{target} gives several series: {series:?}");
        series.into_iter().next().map_or_else(Vec::new, |(_, points)| points)
    }

    /// Name and points of each series, without the nulls.
    pub(crate) fn render(&self, target: &str, from: u64, until: u64) -> Vec<(String, Vec<(f64, u64)>)> {
        let target = target.replace('%', "%25").replace(';', "%3B").replace('=', "%3D").replace('{', "%7B");
        let target = target.replace('}', "%7D").replace('"', "%22").replace(' ', "%20");
        let answer = self.json(&format!("/render?target={target}&from={from}&until={until}&format=json"));
        let point = |point: &Value| Some((point[0].as_f64()?, point[1].as_u64().unwrap()));
        let series = |series: &Value| {
            let points = series["datapoints"].as_array().unwrap().iter().filter_map(point).collect();
            (series["target"].as_str().unwrap().to_owned(), points)
        };
        answer.as_array().unwrap().iter().map(series).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the server said:\n{}", self.errors());
        }
    }
}

/// An HTTP answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    headers: ureq::http::HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    /// A header, if it is there.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

fn answer(mut response: ureq::http::Response<ureq::Body>) -> Answer {
    let content_type =
        response.headers().get("content-type").and_then(|v| v.to_str().ok()).unwrap_or_default();
    Answer {
        status: response.status().as_u16(),
        content_type: content_type.to_owned(),
        headers: response.headers().clone(),
        body: response.body_mut().with_config().limit(256 << 20).read_to_string().unwrap(),
    }
}

/// Sends bytes over a connection of its own and closes it.
pub(crate) fn send_to(address: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
}

/// Seconds since the epoch.
pub(crate) fn now() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()
}

/// Polls until `done` is true.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < give_up, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Is there a program of this name?
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let directories =
        std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")]);
    directories.map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// Waits for a child. `None` if it does not end in time.
pub(crate) fn wait_for_end(child: &mut Child) -> Option<ExitStatus> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if Instant::now() > give_up {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn lines_of(pipe: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        // Goes on reading when nobody listens any more, so that the server never blocks on a full pipe.
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    receiver
}

/// Reads a pipe to its end, on a thread of its own.
pub(crate) fn collect(mut pipe: impl std::io::Read + Send + 'static) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&text);
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = pipe.read(&mut buffer) {
            kept.lock().push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
    });
    text
}
