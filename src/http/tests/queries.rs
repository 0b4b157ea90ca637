//! `/internal/queries`: what an operator sees of queries, and that a call can cancel one.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use super::transport::until;
use super::{Reply, Server};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// The query that runs, as soon as it has reached `phase`.
fn running(server: &Server, phase: &str) -> Value {
    let mut found = Value::Null;
    until(|| {
        found = server.json("/internal/queries").pointer("/active/0").cloned().unwrap_or_default();
        found["phase"] == phase
    });
    found
}

#[test]
fn a_running_query_is_shown_with_its_caller_and_can_be_cancelled() {
    let server = Server::start();
    let mut asking = server.connect();
    let head = format!(
        "GET /render/?target=slow&target=a.*&format=json HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-dashboard-uid: abc\r\n\
         x-panel-id: 7\r\nx-grafana-org-id: 1\r\ntraceparent: 00-{TRACE}-00f067aa0ba902b7-01\r\n\r\n"
    );
    asking.write_all(head.as_bytes()).unwrap();
    let shown = running(&server, "plan");
    for (field, value) in [
        ("endpoint", json!("/render")),
        ("query", json!("slow a.*")),
        ("client", json!("127.0.0.1")),
        ("org", json!("1")),
        ("dashboard", json!("abc")),
        ("panel", json!("7")),
        ("trace", json!(TRACE)),
        ("user", Value::Null),
        ("outcome", Value::Null),
    ] {
        assert_eq!(shown[field], value, "{field} of {shown}");
    }
    let id = shown["id"].as_u64().unwrap();
    let cancelled = server.post("/internal/queries/cancel", &format!("id={id}"));
    assert_eq!((cancelled.status, cancelled.body), (200, format!("{{\"cancelled\":{id}}}")));
    let mut bytes = Vec::new();
    asking.read_to_end(&mut bytes).unwrap();
    let reply = Reply::parse(&bytes);
    assert_eq!(reply.status, 503);
    assert!(reply.body.contains("was cancelled"), "{}", reply.body);
    assert_eq!(reply.header("x-request-id"), Some(&*id.to_string()));
    until(|| server.json("/internal/queries")["active"] == json!([]));
    assert_eq!(server.json("/internal/queries")["slowest"][0]["outcome"], "cancelled");
    let text = server.telemetry.prometheus();
    assert!(text.contains("plumbago_queries_refused_total{reason=\"cancelled\"} 1\n"), "{text}");
}

#[test]
fn a_query_whose_client_left_leaves_the_register() {
    let server = Server::start();
    let mut asking = server.connect();
    asking.write_all(b"GET /metrics/find?query=slow HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    running(&server, "find");
    drop(asking);
    until(|| server.json("/internal/queries")["active"] == json!([]));
    assert_eq!(server.json("/internal/queries")["slowest"][0]["outcome"], "abandoned");
    let text = server.telemetry.prometheus();
    assert!(text.contains("plumbago_queries_refused_total{reason=\"abandoned\"} 1\n"), "{text}");
    assert!(text.contains("\nplumbago_query_memory_bytes 0\n"), "{text}");
}

#[test]
fn the_same_question_is_counted() {
    let server = Server::start();
    for _ in 0..3 {
        server.json("/metrics/find?query=a.*&format=json");
    }
    server.json("/metrics/expand?query=a.*");
    // An answer arrives a moment before its query is over.
    until(|| server.json("/internal/queries")["most_frequent"][1]["count"] == 1);
    let frequent = &server.json("/internal/queries")["most_frequent"][0];
    assert_eq!(
        (&frequent["count"], &frequent["last"]["endpoint"], &frequent["last"]["query"]),
        (&json!(3), &json!("/metrics/find"), &json!("a.*"))
    );
    assert_eq!(frequent["last"]["outcome"], "answered");
    assert!(frequent["last"]["bytes"].as_u64().unwrap() > 100, "{frequent}");
}

#[test]
fn a_render_tells_what_it_took() {
    let server = Server::start();
    let reply = server.get("/render?target=a.*&from=1000&until=2000&now=2000&format=json");
    assert_eq!(reply.status, 200);
    for name in ["x-plumbago-series", "x-plumbago-points", "x-plumbago-memory"] {
        assert!(reply.header(name).unwrap().parse::<u64>().is_ok(), "{name}");
    }
    let times = reply.header("x-plumbago-millis").unwrap();
    let names: Vec<&str> = times.split(", ").map(|time| time.split_once('=').unwrap().0).collect();
    assert_eq!(names, ["wait", "plan", "find", "fetch", "functions", "write"]);
}

#[test]
fn only_this_machine_may_look_and_cancel() {
    let server = Server::start();
    for (method, path) in [("GET", "/internal/queries"), ("POST", "/internal/queries/cancel?id=1")] {
        let reply = server.request(method, path, &[("x-forwarded-for", "192.0.2.1")], "");
        assert_eq!(reply.status, 403, "{path}");
    }
    assert_eq!(server.get("/internal/queries/cancel?id=1").status, 405);
    let reply = server.post("/internal/queries/cancel", "id=99999");
    assert!(reply.status == 404 && reply.body.contains("no query 99999"), "{}", reply.body);
    let reply = server.post("/internal/queries/cancel", "id=x");
    assert!(reply.status == 400 && reply.body.contains("`x`"), "{}", reply.body);
}

#[test]
fn a_body_waits_for_memory_and_is_then_put_off() {
    let config = crate::config::Query {
        memory: 16 << 20,
        memory_wait: std::time::Duration::from_millis(20),
        ..Default::default()
    };
    let server = Server::with(config);
    // The target itself takes a little.
    *server.backend.greed.lock() = (16 << 20) - 192;
    let mut asking = server.connect();
    asking.write_all(b"GET /render?target=greedy&format=json HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    until(|| server.telemetry.query_memory.get() == 16 << 20);
    assert_eq!(
        server.post("/metrics/find", "query=a.*").status,
        200,
        "a small one needs no memory of others"
    );
    let large = format!("query=a.*&x={}", "y".repeat(20_000));
    for reply in [server.post("/metrics/find", &large), server.get("/render?target=greedy")] {
        assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
        assert!(reply.body.contains("16 MiB that query.memory allows"), "{}", reply.body);
    }
    drop(asking);
    until(|| server.telemetry.query_memory.get() == 0);
    assert_eq!(server.post("/metrics/find", &large).status, 200);
    *server.backend.greed.lock() = 16 << 20;
    let reply = server.get("/render?target=greedy");
    assert_eq!((reply.status, reply.header("retry-after")), (422, None));
    assert!(reply.body.contains("query.memory_each allows 16 MiB"), "{}", reply.body);
    let text = server.telemetry.prometheus();
    assert!(text.contains("plumbago_queries_refused_total{reason=\"memory\"} 1\n"), "{text}");
    assert!(text.contains("plumbago_queries_refused_total{reason=\"crowded\"} 1\n"), "{text}");
}

/// A week of seconds: fourteen megabytes.
const LONG: &str = "target=time('a,b',1)&from=0&until=604800&now=604800";

#[test]
fn a_long_answer_is_sent_while_it_is_written() {
    let server = Server::start();
    let reply = server.get(&format!("/render?{LONG}&format=json"));
    assert_eq!((reply.status, reply.header("content-length")), (200, None));
    let document: Value = serde_json::from_str(&reply.body).unwrap();
    let points = document[0]["datapoints"].as_array().unwrap();
    assert_eq!((points.len(), &points[70_000]), (604_800, &json!([70_000.0, 70_000])));
    let called = server.get(&format!("/render?{LONG}&format=json&jsonp=f"));
    assert_eq!(called.body, format!("f({})", reply.body));
    let table = server.get(&format!("/render?{LONG}&format=csv"));
    assert_eq!(table.body.lines().count(), 604_800);
    assert_eq!(table.body.lines().nth(70_000), Some("\"a,b\",1970-01-01 19:26:40,70000.0"));
    until(|| server.telemetry.query_memory.get() == 0);
    let queries = server.json("/internal/queries");
    assert!(
        queries["slowest"].as_array().unwrap().iter().all(|query| query["outcome"] == "answered"),
        "{queries}"
    );
    let longest = queries["slowest"].as_array().unwrap().iter().map(|query| query["bytes"].as_u64()).max();
    assert_eq!(longest.flatten(), Some(table.bytes.len() as u64), "{queries}");
}

#[test]
fn a_client_that_leaves_while_it_is_sent_to_gives_the_memory_back() {
    let server = Server::start();
    let mut asking = server.connect();
    asking
        .write_all(format!("GET /render?{LONG}&format=json HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes())
        .unwrap();
    asking.read_exact(&mut [0; 1000]).unwrap();
    let shown = running(&server, "send");
    assert!(server.telemetry.query_memory.get() >= 604_800 * 8, "{shown}");
    drop(asking);
    until(|| server.telemetry.query_memory.get() == 0);
    assert_eq!(server.json("/internal/queries")["slowest"][0]["outcome"], "abandoned");
}

#[test]
fn an_answer_that_is_being_sent_can_be_cancelled() {
    let server = Server::start();
    let mut asking = server.connect();
    let request = format!("GET /render?{LONG}&format=json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    asking.write_all(request.as_bytes()).unwrap();
    asking.read_exact(&mut [0; 1000]).unwrap();
    let id = running(&server, "send")["id"].as_u64().unwrap();
    assert_eq!(server.post("/internal/queries/cancel", &format!("id={id}")).status, 200);
    let mut rest = Vec::new();
    let _ = asking.read_to_end(&mut rest);
    assert!(!rest.ends_with(b"0\r\n\r\n"), "the client cannot tell that the answer is not complete");
    until(|| server.telemetry.query_memory.get() == 0);
}
