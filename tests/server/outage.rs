//! Relays through an outage: what a relay holds while the server is away arrives once it is back.
//!
//! Carbon's protocols have no acknowledgement. A relay takes a point for delivered when its kernel has taken it, so what a
//! killed server had not read is lost with any receiver; these tests kill it when it has read everything. A stop in order
//! must lose nothing even while points are under way.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::harness::{Server, Setup, send_to, wait_until};
use super::relay::{Numbered, Relay, free_address};

/// A server that comes back on the same ports.
fn server() -> Server {
    let mut setup = Setup::new().set("retention.default", "6s:1d");
    for listener in ["http", "carbon", "pickle"] {
        setup = setup.set(&format!("listen.{listener}"), &free_address().to_string());
    }
    setup.start()
}

/// Kills the server, and sends on while it is away. `settled` says when the relay has noticed that all is delivered.
fn kill_and_come_back(relay: &Relay, server: Server, settled: impl Fn(&Server) -> bool) {
    let points = Numbered::new();
    send_to(relay.address, points.lines(0..10_000).as_bytes());
    points.arrive(&server, 10_000);
    wait_until("the relay to settle", || settled(&server));
    let setup = server.kill();
    for thousand in 10..20 {
        send_to(relay.address, points.lines(thousand * 1000..(thousand + 1) * 1000).as_bytes());
    }
    let server = setup.start();
    points.arrive(&server, 20_000);
    send_to(relay.address, points.lines(20_000..21_000).as_bytes());
    points.arrive(&server, 21_000);
}

/// Stops the server in order while points are under way, and starts it again.
fn stop_and_come_back(relay: &Relay, server: Server) {
    let flow = Flow::start(relay.address);
    flow.go_on(5);
    let (status, setup) = server.stop("TERM");
    assert_eq!(status.code(), Some(0));
    flow.go_on(5);
    let server = setup.start();
    flow.go_on(5);
    let (points, count) = flow.end();
    points.arrive(&server, count);
}

/// A sender that sends without end, at intervals as agents do.
struct Flow {
    rounds: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Numbered>,
}

impl Flow {
    const ROUND: u64 = 500;

    fn start(to: SocketAddr) -> Self {
        let (rounds, stop) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (sent, stopped) = (Arc::clone(&rounds), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let points = Numbered::new();
            let mut stream = TcpStream::connect(to).unwrap();
            while !stopped.load(Ordering::SeqCst) {
                let from = sent.load(Ordering::SeqCst) * Self::ROUND;
                stream.write_all(points.lines(from..from + Self::ROUND).as_bytes()).unwrap();
                sent.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(250));
            }
            points
        });
        Self { rounds, stop, thread }
    }

    /// Waits for so many more rounds.
    fn go_on(&self, rounds: u64) {
        let until = self.rounds.load(Ordering::SeqCst) + rounds;
        wait_until("the sender", || self.rounds.load(Ordering::SeqCst) >= until || self.thread.is_finished());
    }

    /// Ends it. Gives the points and how many of them were sent.
    fn end(self) -> (Numbered, u64) {
        self.stop.store(true, Ordering::SeqCst);
        let points = self.thread.join().unwrap();
        (points, self.rounds.load(Ordering::SeqCst) * Self::ROUND)
    }
}

/// carbon-c-relay finds out that a connection is dead by a write that fails, and the write before that is lost. It closes
/// connections that it has not needed for three seconds.
fn is_closed(server: &Server) -> bool {
    server.counter("plumbago_connections") == 0
}

#[test]
fn carbon_c_relay_holds_points_while_the_server_is_dead() {
    let (server, test) = (server(), "carbon_c_relay_holds_points_while_the_server_is_dead");
    let Some(relay) = Relay::carbon_c_relay(test, server.carbon) else { return };
    kill_and_come_back(&relay, server, is_closed);
}

#[test]
fn carbons_own_relay_holds_pickles_while_the_server_is_dead() {
    let (server, test) = (server(), "carbons_own_relay_holds_pickles_while_the_server_is_dead");
    let Some(relay) = Relay::carbon_relay(test, "pickle", server.pickle) else { return };
    kill_and_come_back(&relay, server, |_| true);
}

#[test]
fn carbons_own_relay_holds_lines_while_the_server_is_dead() {
    let (server, test) = (server(), "carbons_own_relay_holds_lines_while_the_server_is_dead");
    let Some(relay) = Relay::carbon_relay(test, "line", server.carbon) else { return };
    kill_and_come_back(&relay, server, |_| true);
}

#[test]
fn a_restart_under_carbon_c_relay_loses_nothing() {
    let (server, test) = (server(), "a_restart_under_carbon_c_relay_loses_nothing");
    let Some(relay) = Relay::carbon_c_relay(test, server.carbon) else { return };
    stop_and_come_back(&relay, server);
}

#[test]
fn a_restart_under_carbons_own_relay_with_pickles_loses_nothing() {
    let (server, test) = (server(), "a_restart_under_carbons_own_relay_with_pickles_loses_nothing");
    let Some(relay) = Relay::carbon_relay(test, "pickle", server.pickle) else { return };
    stop_and_come_back(&relay, server);
}

#[test]
fn a_restart_under_carbons_own_relay_with_lines_loses_nothing() {
    let (server, test) = (server(), "a_restart_under_carbons_own_relay_with_lines_loses_nothing");
    let Some(relay) = Relay::carbon_relay(test, "line", server.carbon) else { return };
    stop_and_come_back(&relay, server);
}
