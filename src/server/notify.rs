//! Tells the service manager how far the server is, and that it is alive: systemd's `Type=notify` and its watchdog.
//!
//! systemd names a socket in the environment. Without one, nothing is told.

use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::runtime::Handle;

/// The socket's path, or its name behind an `@`.
const SOCKET: &str = "NOTIFY_SOCKET";
/// After how many microseconds without a sign of life systemd ends the server.
const WATCHDOG: &str = "WATCHDOG_USEC";
/// For which process that is meant.
const WATCHDOG_PID: &str = "WATCHDOG_PID";

/// The service manager, if there is one.
pub(super) struct Notifier {
    socket: Option<UnixDatagram>,
    /// How long it waits for a sign of life.
    patience: Option<Duration>,
    stopping: AtomicBool,
}

impl Notifier {
    /// The one that started this process.
    pub(super) fn of_environment() -> Arc<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let socket = variable(SOCKET).and_then(|path| {
            let socket = connect(&path);
            socket
                .map_err(|error| tracing::warn!(%error, path, "the service manager cannot be told anything"))
                .ok()
        });
        let is_ours = variable(WATCHDOG_PID).is_none_or(|pid| pid == std::process::id().to_string());
        let patience = variable(WATCHDOG).and_then(|micros| micros.parse().ok()).map(Duration::from_micros);
        Arc::new(Self { socket, patience: patience.filter(|_| is_ours), stopping: AtomicBool::new(false) })
    }

    /// What it is doing, in words that `systemctl status` shows.
    pub(super) fn status(&self, text: &str) {
        self.send(&format!("STATUS={text}"));
    }

    /// Points are taken and queries are answered. From now on each of the runtimes must show that it runs.
    pub(super) fn ready(self: &Arc<Self>, status: &str, runtimes: [&Handle; 2]) -> Result<()> {
        self.send(&format!("READY=1\nSTATUS={status}"));
        let (Some(patience), Some(_)) = (self.patience, &self.socket) else { return Ok(()) };
        let (own, runtimes) = (Arc::clone(self), runtimes.map(Clone::clone));
        let watchdog = thread::Builder::new().name("watchdog".to_owned());
        // Nobody waits for its end: it shows that the process runs for as long as it does.
        watchdog.spawn(move || own.beat(patience, &runtimes)).map(drop).context("starting the watchdog")
    }

    /// A stop has begun. It ends by itself, or by the manager's limit on it.
    pub(super) fn stopping(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.send("STOPPING=1\nSTATUS=reading what senders have already sent");
    }

    fn beat(&self, patience: Duration, runtimes: &[Handle]) {
        loop {
            let runs = |runtime: &Handle| runs(runtime, patience / 2);
            if self.stopping.load(Ordering::SeqCst) || runtimes.iter().all(runs) {
                self.send("WATCHDOG=1");
            } else {
                tracing::error!(
                    "a runtime of the server does no work; the service manager will end the process"
                );
            }
            thread::sleep(patience / 4);
        }
    }

    fn send(&self, text: &str) {
        let Some(socket) = &self.socket else { return };
        if let Err(error) = socket.send(text.as_bytes()) {
            tracing::debug!(%error, "the service manager cannot be told anything");
        }
    }
}

fn connect(path: &str) -> std::io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    match path.strip_prefix('@') {
        None => socket.connect(path)?,
        Some(name) => connect_abstract(&socket, name)?,
    }
    Ok(socket)
}

#[cfg(target_os = "linux")]
fn connect_abstract(socket: &UnixDatagram, name: &str) -> std::io::Result<()> {
    use std::os::linux::net::SocketAddrExt as _;
    socket.connect_addr(&std::os::unix::net::SocketAddr::from_abstract_name(name)?)
}

#[cfg(not(target_os = "linux"))]
fn connect_abstract(_: &UnixDatagram, _: &str) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Does a runtime get to a new task in time?
fn runs(runtime: &Handle, patience: Duration) -> bool {
    let (done, waits) = sync_channel(1);
    runtime.spawn(async move {
        // Nobody listens any more if it took too long.
        let _ = done.send(());
    });
    waits.recv_timeout(patience).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_whose_threads_hang_does_not_run() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        assert!(runs(runtime.handle(), Duration::from_secs(60)));
        let (go_on, hangs) = sync_channel::<()>(1);
        let (began, has_begun) = sync_channel(1);
        runtime.spawn(async move {
            began.send(()).unwrap();
            let _ = hangs.recv();
        });
        has_begun.recv().unwrap();
        assert!(!runs(runtime.handle(), Duration::from_millis(50)));
        drop(go_on);
    }

    #[test]
    fn a_socket_may_have_a_path_or_a_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        let notifier = Notifier {
            socket: Some(connect(path.to_str().unwrap()).unwrap()),
            patience: None,
            stopping: AtomicBool::new(false),
        };
        notifier.status("here");
        let mut buffer = [0; 100];
        let length = listener.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"STATUS=here");
        assert!(connect("/nowhere").is_err());
        assert!(connect("@plumbago-nobody-listens-here").is_err());
    }
}
