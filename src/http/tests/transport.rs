//! Methods, bodies, limits, connections.

use std::io::{Read, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Reply, Server};
use crate::config;
use serde_json::{Value, json};

fn texts(reply: &Reply) -> Vec<String> {
    let nodes: Vec<Value> =
        serde_json::from_str(&reply.body).unwrap_or_else(|e| panic!("{e}: {}", reply.body));
    nodes.iter().map(|node| node["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_form_body_counts_as_the_query_string_does() {
    let server = Server::start();
    assert_eq!(texts(&server.post("/metrics/find", "query=a.%2A")), ["b", "c"]);
    // Grafana's browser mode escapes nothing.
    assert_eq!(texts(&server.post("/metrics/find?from=-1", "query=a.{b,c}.*")), ["x", "y"]);
    // The body wins, and an escape that is none stays as it is.
    assert_eq!(texts(&server.post("/metrics/find?query=top", "query=a.*")), ["b", "c"]);
    assert_eq!(texts(&server.post("/metrics/find", "query=a.100%")), Vec::<String>::new());
    // No type at all is taken for a form.
    assert_eq!(texts(&server.request("POST", "/metrics/find", &[], "query=a.*\r\n")), ["b", "c"]);
    // And a charset with the type changes nothing.
    let headers = [("content-type", "application/x-www-form-urlencoded; charset=UTF-8")];
    assert_eq!(texts(&server.request("POST", "/metrics/find", &headers, "query=gr*")), ["grüße"]);
}

#[test]
fn unescaped_characters_in_the_query_string_are_taken_as_they_are() {
    let server = Server::start();
    assert_eq!(texts(&server.get("/metrics/find?query=a.{b,c}.*")), ["x", "y"]);
    for target in ["d.step10|alias('x')", "alias(d.step10,'x')", "aliasSub(d.step10,'^.*$','x')"] {
        let reply = server.get(&format!("/render?format=raw&from=1000&until=1010&target={target}"));
        assert_eq!(reply.body, "x,1010,1020,10|0.25\n", "{target}");
    }
}

#[test]
fn bodies_of_other_kinds_are_refused_rather_than_ignored() {
    let server = Server::start();
    let headers = [("content-type", "application/json")];
    let reply = server.request("POST", "/metrics/find?query=a", &headers, "{}");
    assert_eq!(reply.status, 415);
    assert!(reply.body.contains("`application/json`") && reply.body.contains("urlencoded"), "{}", reply.body);
}

/// As urllib3 sends forms for graphite-web, when REMOTE_STORE_USE_POST is set and to a tag database.
#[test]
fn forms_in_parts_are_read() {
    let server = Server::start();
    let part = |name: &str, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let headers = [("content-type", "multipart/form-data; boundary=b")];
    let form = [&part("query", "a.100%"), &part("query", "gr*"), &part("local", "1"), "--b--\r\n"].concat();
    assert_eq!(texts(&server.request("POST", "/metrics/find?query=top", &headers, form)), ["grüße"]);
    for (kind, body) in [("multipart/form-data", "x"), ("multipart/form-data; boundary=b", "--b\r\nbroken")] {
        let reply = server.request("POST", "/metrics/find?query=a", &[("content-type", kind)], body);
        assert_eq!(reply.status, 400, "{kind}: {}", reply.body);
        assert!(reply.body.starts_with("the request body could not be read: "), "{}", reply.body);
    }
}

#[test]
fn long_bodies_are_refused_before_and_while_they_are_read() {
    let server = Server::start();
    // Announced: nothing of it is read.
    let reply = server
        .raw("POST /render HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2097153\r\n\r\n");
    assert_eq!(reply.status, 413, "{}", reply.body);
    // Not announced.
    let mut stream = server.connect();
    stream
        .write_all(
            b"POST /render HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n",
        )
        .unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for _ in 0..33 {
        // The server may have stopped reading by then.
        let _ = stream.write_all(chunk.as_bytes());
    }
    let mut status = [0; 12];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 413");
}

#[test]
fn a_body_just_short_enough_is_read() {
    let server = Server::start();
    let form = format!("query=a.*&padding={}", "x".repeat(2 * 1024 * 1024 - 18));
    assert_eq!(form.len(), 2 * 1024 * 1024);
    assert_eq!(texts(&server.post("/metrics/find", &form)), ["b", "c"]);
}

#[test]
fn methods_and_paths() {
    let server = Server::start();
    let options = server.request("OPTIONS", "/render", &[("origin", "http://grafana.example")], "");
    assert_eq!((options.status, options.header("allow")), (204, Some("GET, HEAD, POST, OPTIONS")));
    assert_eq!(options.header("access-control-allow-origin"), None);
    for path in ["/render", "/metrics/find", "/version"] {
        let reply = server.request("DELETE", path, &[], "");
        assert_eq!(reply.status, 405, "{path}");
        assert!(reply.header("allow").unwrap().contains("GET"), "{path}");
    }
    let reply = server.get("/graphite/render");
    assert_eq!(reply.status, 404);
    assert!(
        reply.body.contains("/graphite/render") && reply.body.contains("/metrics/find"),
        "{}",
        reply.body
    );
}

#[test]
fn head_is_get_without_the_body() {
    let server = Server::start();
    let get = server.get("/metrics/find?query=a.*");
    let head = server.request("HEAD", "/metrics/find?query=a.*", &[], "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(head.header("content-type"), get.header("content-type"));
    assert_eq!(head.header("content-length"), get.header("content-length"));
}

#[test]
fn requests_are_numbered_and_counted() {
    let server = Server::start();
    let id = |reply: &Reply| reply.header("x-request-id").unwrap().parse::<u64>().unwrap();
    let (first, second) = (server.get("/version"), server.get("/nowhere"));
    assert!(id(&second) > id(&first));
    assert_eq!((server.telemetry.requests.get(), server.telemetry.request_errors.get()), (2, 1));
}

/// A label that a client chooses would make as many series as there are requests.
#[test]
fn requests_are_timed_by_endpoint_and_not_by_path() {
    let server = Server::start();
    for path in [
        "/version",
        "/version/",
        "/functions/sumSeries",
        "/functions/scale/",
        "/nowhere/1",
        "/nowhere/2",
        "/",
    ] {
        server.get(path);
    }
    server.request("OPTIONS", "/version", &[], "");
    server.request("DELETE", "/version", &[], "");
    let count = |endpoint: &str| server.telemetry.endpoints.durations(endpoint).count();
    assert_eq!((count("/version"), count("/functions/{name}"), count("other"), count("/")), (4, 2, 2, 1));
    let text = server.telemetry.prometheus();
    assert!(!text.contains("sumSeries") && !text.contains("nowhere"), "{text}");
    for (endpoint, status, answers) in [("/version", "2xx", 3), ("/version", "4xx", 1), ("other", "4xx", 2)] {
        let line =
            format!("plumbago_http_answers_total{{endpoint=\"{endpoint}\",status=\"{status}\"}} {answers}\n");
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}

#[test]
fn a_connection_serves_many_requests() {
    let server = Server::start();
    let mut stream = server.connect();
    for _ in 0..3 {
        stream.write_all(b"GET /version HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut reply = Vec::new();
        while !reply.ends_with(b"1.1.10") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            reply.push(byte[0]);
        }
        assert!(reply.starts_with(b"HTTP/1.1 200"));
    }
}

/// Waits for something another thread does, for as long as that can reasonably take.
pub(super) fn until(mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(20), "it never happened");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn work_stops_when_the_client_leaves() {
    let server = Server::start();
    for target in ["/metrics/find?query=slow", "/render?target=slow&format=json"] {
        let mut stream = server.connect();
        stream.write_all(format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).unwrap();
        until(|| server.backend.running.load(Ordering::SeqCst) == 1);
        drop(stream);
        until(|| server.backend.running.load(Ordering::SeqCst) == 0);
        assert!(!server.backend.ended.lock().pop().unwrap().deadline, "{target}");
    }
    // They are counted all the same: the slowest queries are the ones that people leave.
    let abandoned = |endpoint: &str| {
        let line = format!("plumbago_http_answers_total{{endpoint=\"{endpoint}\",status=\"abandoned\"}} 1\n");
        server.telemetry.prometheus().contains(&line)
    };
    until(|| abandoned("/metrics/find") && abandoned("/render"));
    assert_eq!(server.telemetry.endpoints.durations("/render").count(), 1);
}

#[test]
fn a_client_that_takes_nothing_of_its_answer_is_not_waited_for() {
    let server = Server::start();
    // More than the buffers of both sockets hold.
    let long = "/render?target=time('x',1)&from=-40d&format=raw";
    let mut stream = server.connect();
    stream.write_all(format!("GET {long} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).unwrap();
    until(|| server.telemetry.query_memory.get() > 0);
    until(|| server.telemetry.query_memory.get() == 0);
    until(|| server.telemetry.http_connections_idle_closed.get() == 1);
    assert!(
        server.telemetry.prometheus().contains("plumbago_queries_refused_total{reason=\"abandoned\"} 1\n")
    );
    // One that takes its time, but takes something, gets all of it.
    let mut stream = server.connect();
    stream
        .write_all(format!("GET {long} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let (mut read, mut piece, began) = (0, vec![0; 4 << 20], Instant::now());
    loop {
        match stream.read(&mut piece).unwrap() {
            0 => break,
            bytes => read += bytes,
        }
        std::thread::sleep(Duration::from_millis(if began.elapsed() < Duration::from_secs(4) {
            500
        } else {
            0
        }));
    }
    assert!(read > 40 << 20, "only {read} bytes");
}

#[test]
fn too_many_queries_at_once_are_put_off() {
    // One place; a second query waits for its turn, but not longer than it may take itself.
    let config = config::Query {
        max_concurrent: 1,
        find_timeout: Duration::from_millis(50),
        render_timeout: Duration::from_secs(60),
        ..Default::default()
    };
    let server = Server::with(config);
    let mut first = server.connect();
    first.write_all(b"GET /render?target=slow&format=json HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    until(|| server.backend.running.load(Ordering::SeqCst) == 1);
    let reply = std::thread::scope(|scope| {
        let asking = scope.spawn(|| server.get("/metrics/find?query=a.*"));
        until(|| server.telemetry.queries_waiting.get() == 1 || asking.is_finished());
        asking.join().unwrap()
    });
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
    assert_eq!(server.telemetry.queries_waiting.get(), 0);
    assert!(server.telemetry.prometheus().contains("plumbago_queries_refused_total{reason=\"busy\"} 1\n"));
    assert!(reply.body.contains("query.max_concurrent"), "{}", reply.body);
    // What does not query is answered all the same.
    assert_eq!(server.get("/health/ready").status, 200);
    drop(first);
    until(|| server.backend.running.load(Ordering::SeqCst) == 0);
    assert_eq!(server.json("/metrics/expand?query=top"), json!({"results": ["top"]}));
}

#[test]
fn too_many_queries_of_one_user_are_put_off_and_others_are_answered() {
    let config = config::Query {
        max_concurrent: 8,
        max_concurrent_each: 1,
        find_timeout: Duration::from_millis(50),
        ..Default::default()
    };
    let auth = config::Auth {
        proxies: config::Addresses::new(vec!["127.0.0.1".parse().unwrap()]),
        ..config::Auth::default()
    };
    let server = Server::with_logins(config::Http::default(), config, auth);
    let mut first = server.connect();
    first
        .write_all(
            b"GET /render?target=slow&format=json HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 192.0.2.1\r\n\r\n",
        )
        .unwrap();
    until(|| server.backend.running.load(Ordering::SeqCst) == 1);
    let find =
        |from: &str| server.request("GET", "/metrics/find?query=a.*", &[("x-forwarded-for", from)], "");
    let reply = find("192.0.2.1");
    assert_eq!((reply.status, reply.header("retry-after")), (429, Some("1")), "{}", reply.body);
    assert!(reply.body.contains("query.max_concurrent_each"), "{}", reply.body);
    assert!(server.telemetry.prometheus().contains("plumbago_queries_refused_total{reason=\"user\"} 1\n"));
    assert_eq!(find("192.0.2.2").status, 200);
    drop(first);
    until(|| server.backend.running.load(Ordering::SeqCst) == 0);
    assert_eq!(find("192.0.2.1").status, 200);
}

/// A server with few places.
fn narrow(max_connections: usize, idle_timeout: Duration) -> Server {
    let http = config::Http { max_connections, idle_timeout, ..config::Http::default() };
    Server::with_http(http, config::Query::default())
}

/// Does the server close the connection, without having sent anything?
fn is_closed(stream: &mut std::net::TcpStream) -> bool {
    matches!(stream.read(&mut [0]), Ok(0) | Err(_))
}

#[test]
fn connections_without_a_request_are_closed() {
    let server = narrow(100, Duration::from_millis(50));
    let mut silent = server.connect();
    let mut dribbling = server.connect();
    dribbling.write_all(b"GET /version HTTP/1.1\r\nhost: ").unwrap();
    let mut preface = server.connect();
    preface.write_all(b"PRI * HTTP/2.0\r\n").unwrap();
    let mut asking = server.connect();
    asking.write_all(b"GET /render?target=slow&format=json HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    for stream in [&mut silent, &mut dribbling, &mut preface] {
        assert!(is_closed(stream));
    }
    until(|| server.telemetry.http_connections_idle_closed.get() == 3);
    assert_eq!(server.backend.running.load(Ordering::SeqCst), 1, "a request is under way");
    drop(asking);
    until(|| server.telemetry.http_connections.get() == 0);
}

#[test]
fn a_connection_over_the_limit_is_closed_and_idle_ones_make_room() {
    let server = narrow(4, Duration::ZERO);
    let held: Vec<_> = (0..4).map(|_| server.connect()).collect();
    until(|| server.telemetry.http_connections.get() == 4);
    assert!(is_closed(&mut server.connect()));
    assert_eq!(server.telemetry.http_connections_refused.get(), 1);
    // All places are taken, and nobody asks anything: one makes room, though it may be idle for ever.
    until(|| server.telemetry.http_connections_idle_closed.get() > 0);
    assert_eq!(server.get("/version").status, 200);
    drop(held);
}

#[test]
fn a_head_may_be_long_and_not_longer() {
    let server = Server::start();
    let address = |bytes: usize| format!("/metrics/find?query={}", "x".repeat(bytes));
    assert_eq!(server.get(&address(60_000)).status, 200);
    assert_eq!(server.get(&address(70_000)).status, 414);
    let reply = server.request("GET", "/version", &[("x-long", &"x".repeat(200_000))], "");
    assert_eq!(reply.status, 431);
}

#[test]
fn stopping_lets_a_running_request_finish() {
    let config = config::Query { find_timeout: Duration::from_millis(100), ..Default::default() };
    let mut server = Server::with(config);
    let mut stream = server.connect();
    let mut idle = server.connect();
    stream.write_all(b"GET /metrics/find?query=slow HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    until(|| server.backend.running.load(Ordering::SeqCst) == 1);
    server.stop.send_replace(true);
    let running = server.running.take().unwrap();
    server.runtime.block_on(running).unwrap().unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 504"), "{reply}");
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0);
}

#[test]
fn an_unknown_time_zone_in_the_config_is_refused() {
    let mut server = Server::with(config::Query { timezone: "Mars/Base".to_owned(), ..Default::default() });
    let running = server.running.take().unwrap();
    let error = server.runtime.block_on(running).unwrap().unwrap_err();
    assert!(error.to_string().contains("`Mars/Base`"), "{error}");
}
