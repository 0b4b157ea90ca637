//! Connections that want nothing and clients that leave: they cost little, and nobody else notices them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::auth::https;
use super::harness::{Server, Setup, now, wait_until};
use super::tls::{self, Certificates, Sender};

const MIB: u64 = 1 << 20;

fn connect(address: std::net::SocketAddr, said: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(said).unwrap();
    stream
}

/// Idle, slow and half-open connections, by tens.
fn crowd(server: &Server, tens: usize) -> Vec<TcpStream> {
    let of_one = |nth: usize| match nth % 10 {
        0..=2 => connect(server.http, b""),
        3..=5 => {
            let mut stream = connect(server.http, b"GET /version HTTP/1.1\r\nhost: x\r\n\r\n");
            stream.read_exact(&mut [0; 12]).unwrap();
            stream
        }
        6 => connect(server.http, b"GET /render?target=a HTTP/1.1\r\nhost: x\r\nx-slow: "),
        7 => connect(server.carbon, b""),
        8 => connect(server.carbon, b"a.metric.without.an.end"),
        _ => connect(server.pickle, b"\0\0\xff\xff(lp0\n"),
    };
    (0..10 * tens).map(of_one).collect()
}

#[test]
fn a_crowd_of_connections_costs_little_and_others_are_served() {
    let server = Server::start();
    server.store(&format!("a.b 1 {}\n", now()));
    let before = server.rss();
    let held = crowd(&server, 100);
    wait_until("all connections", || {
        server.counter("plumbago_http_connections") >= 700 && server.counter("plumbago_connections") == 300
    });
    let grown = server.rss().saturating_sub(before);
    // Ten thousand of them have 200 MB.
    assert!(grown < 20 * MIB + 10 * MIB, "a thousand connections take {} MiB", grown / MIB);
    server.store(&format!("a.b 2 {}\n", now()));
    assert_eq!(server.json("/metrics/index.json"), json!(["a.b"]));
    drop(held);
    wait_until("the end of all connections", || {
        // The one that asks is open, too.
        server.counter("plumbago_http_connections") < 10 && server.counter("plumbago_connections") == 0
    });
}

/// What a client of each kind says once its handshake is over.
const KINDS: [(&str, &[u8], usize); 4] = [
    // Nothing at all; a request, and its answer; the beginning of HTTP/2, and the server's settings; a line of carbon's.
    ("https, silent", b"", 0),
    ("https, HTTP/1.1", b"GET /version HTTP/1.1\r\nhost: x\r\n\r\n", 12),
    ("https, HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", 9),
    ("carbon", b"idle.metric 1 1\n", 0),
];

/// Ten thousand of them, over TLS, have 200 MB as well.
#[test]
fn idle_connections_over_tls_cost_little() {
    const MANY: usize = 600;
    let Some(certificates) = Certificates::make("idle_connections_over_tls_cost_little") else { return };
    let server = certificates.setup().set("listen.https", "127.0.0.1:0").start();
    let config = certificates.client("ca", None);
    let mut http2 = config.clone();
    http2.alpn_protocols = vec![b"h2".to_vec()];
    let open = |kind: usize| -> Sender {
        let (name, said, answered) = KINDS[kind];
        let (to, config) = match name {
            "carbon" => (tls::address(&server, "carbon"), &config),
            "https, HTTP/2" => (https(&server), &http2),
            _ => (https(&server), &config),
        };
        let mut stream = tls::connect(to, config.clone());
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).unwrap();
        }
        stream.write_all(said).unwrap();
        stream.flush().unwrap();
        stream.read_exact(&mut vec![0; answered]).unwrap();
        stream
    };
    let mut held: Vec<Sender> = Vec::new();
    for (kind, (name, ..)) in KINDS.iter().enumerate() {
        // The first of a kind make what all share.
        held.extend((0..50).map(|_| open(kind)));
        let before = server.rss();
        held.extend((0..MANY).map(|_| open(kind)));
        wait_until("all connections", || {
            let http = server.counter("plumbago_http_connections") - 1;
            http + server.counter("plumbago_connections") == held.len() as u64
        });
        let each = server.rss().saturating_sub(before) / MANY as u64;
        println!("{name}: {each} bytes a connection");
        assert!(each < 30_000, "{name}: {each} bytes a connection");
    }
}

#[test]
fn connections_that_want_nothing_are_closed_in_time() {
    let server = Setup::new().set("http.idle_timeout", "1s").set("ingest.idle_timeout", "1s").start();
    let held = crowd(&server, 1);
    for mut stream in held {
        // To its end, which only the server makes.
        let _ = stream.read_to_end(&mut Vec::new());
    }
    server.wait_for("plumbago_http_connections_idle_closed_total", 7);
    server.wait_for("plumbago_connections_idle_closed_total", 3);
}

#[test]
fn frames_and_lines_without_an_end_are_bounded_together() {
    let server =
        Setup::new().set("ingest.max_unfinished_bytes", "4MiB").set("ingest.max_line_bytes", "1MiB").start();
    let before = server.rss();
    let frame = [&0x000f_ffff_u32.to_be_bytes()[..], &vec![b'x'; 1_000_000]].concat();
    let line = vec![b'x'; 1_000_000];
    // The server resets those it has no room for.
    let send = |nth: usize| {
        let (address, bytes) =
            if nth.is_multiple_of(2) { (server.pickle, &frame) } else { (server.carbon, &line) };
        let mut stream = TcpStream::connect(address).unwrap();
        let _ = stream.write_all(bytes);
        stream
    };
    let held: Vec<TcpStream> = (0..100).map(send).collect();
    wait_until("most of them to be refused", || server.rejected("overload") >= 90);
    let grown = server.rss().saturating_sub(before);
    assert!(grown < 50 * MIB, "it took {} MiB", grown / MIB);
    // Others send as before.
    server.store(&format!("a.b 1 {}\n", now()));
    drop(held);
}

fn queries(server: &Server) -> Value {
    server.json("/internal/queries")
}

/// A server with points of twenty hours, and a render of them that takes minutes: a window in a window has its argument evaluated twice.
fn with_minutes_of_work(setup: Setup) -> (Server, String) {
    let server = setup.start();
    let end = now() / 10 * 10;
    let lines: Vec<String> =
        (0..50_000).map(|i| format!("load.m{} {i} {}\n", i % 50, end - i / 50 * 10)).collect();
    server.store(&lines.concat());
    let target = (0..12).fold("load.*".to_owned(), |target, _| format!("movingMedian({target},5)"));
    (server, format!("/render?format=json&from=-20h&target={target}"))
}

#[test]
fn the_work_for_a_client_that_leaves_ends() {
    let (server, path) = with_minutes_of_work(Setup::new());
    let asking = connect(server.http, format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes());
    wait_until("the functions", || queries(&server)["active"][0]["phase"] == "functions");
    drop(asking);
    wait_until("the end of the work", || queries(&server)["active"] == json!([]));
    assert_eq!(queries(&server)["slowest"][0]["outcome"], "abandoned");
    wait_until("the memory", || server.counter("plumbago_query_memory_bytes") == 0);
}

#[test]
fn a_deadline_ends_the_work() {
    // One passes before the work begins, the other one during it.
    for deadline in ["1ms", "500ms"] {
        let (server, path) = with_minutes_of_work(Setup::new().set("query.render_timeout", deadline));
        let answer = server.get(&path);
        assert_eq!(answer.status, 504, "{}", answer.body);
        assert!(answer.body.contains("query.render_timeout"), "{}", answer.body);
        wait_until("the end of the work", || queries(&server)["active"] == json!([]));
    }
}
