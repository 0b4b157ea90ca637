//! What a service manager hears: that the server is ready, that it is alive, and that it stops.

use std::os::unix::net::UnixDatagram;

use crate::harness::{PATIENCE, Setup};

/// The socket of a service manager.
pub(crate) struct Manager {
    socket: UnixDatagram,
}

impl Manager {
    pub(crate) fn new(path: &std::path::Path) -> Self {
        let socket = UnixDatagram::bind(path).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { socket }
    }

    /// Waits until something is told, and gives everything that was told up to then.
    pub(crate) fn hears(&self, wanted: &str) -> Vec<String> {
        let mut heard = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let length = self.socket.recv(&mut buffer).unwrap_or_else(|error| {
                panic!("never heard {wanted}, only {heard:?}: {error}");
            });
            let told = String::from_utf8(buffer[..length].to_vec()).unwrap();
            heard.extend(told.lines().map(str::to_owned));
            if told.lines().any(|line| line == wanted) {
                return heard;
            }
        }
    }
}

#[test]
fn a_service_manager_hears_that_the_server_is_ready_alive_and_stopping() {
    let setup = Setup::new();
    let path = setup.directory().join("notify");
    let manager = Manager::new(&path);
    let server = setup
        .environment("NOTIFY_SOCKET", path.to_str().unwrap())
        .environment("WATCHDOG_USEC", "400000")
        .start();
    let before = manager.hears("READY=1");
    assert!(before.iter().all(|line| line != "WATCHDOG=1"), "{before:?}");
    assert_eq!(before.first().map(String::as_str), Some("STATUS=opening the store"));
    manager.hears("WATCHDOG=1");
    manager.hears("WATCHDOG=1");
    let (status, _) = server.stop("TERM");
    assert!(status.success());
    manager.hears("STOPPING=1");
}

/// The variable of a manager says for which process its watchdog is.
#[test]
fn the_watchdog_of_another_process_is_left_alone() {
    let setup = Setup::new();
    let path = setup.directory().join("notify");
    let manager = Manager::new(&path);
    let server = setup
        .environment("NOTIFY_SOCKET", path.to_str().unwrap())
        .environment("WATCHDOG_USEC", "100000")
        .environment("WATCHDOG_PID", "1")
        .start();
    manager.hears("READY=1");
    server.stop("TERM");
    let heard = manager.hears("STOPPING=1");
    assert!(heard.iter().all(|line| line != "WATCHDOG=1"), "{heard:?}");
}
