//! What listings have in common (ASCII, jsonp, pretty, no caching), the list of all names, and the small endpoints.

use std::sync::atomic::Ordering;

use super::Server;
use super::fake::LEAVES;
use serde_json::json;

/// Captured: the escapes, and the type that goes with them.
#[test]
fn ascii_depends_on_the_accept_header() {
    let server = Server::start();
    let find = |headers: &[(&str, &str)]| server.request("GET", "/metrics/expand?query=gr*", headers, "");
    for headers in [&[][..], &[("accept", "application/json")]] {
        let reply = find(headers);
        assert_eq!(reply.body, r#"{"results":["gr\u00fc\u00dfe"]}"#);
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
    for accept in ["*/*", "application/json, text/plain, */*"] {
        let reply = find(&[("accept", accept)]);
        assert_eq!(reply.body, r#"{"results":["grüße"]}"#);
        assert_eq!(reply.header("content-type"), Some("application/json;charset=utf-8"));
    }
}

#[test]
fn jsonp_and_pretty_wrap_and_nothing_is_cached() {
    let server = Server::start();
    let reply = server.get("/metrics/find?query=top&jsonp=my.cb");
    assert!(reply.body.starts_with("my.cb([{") && reply.body.ends_with("}])"), "{}", reply.body);
    assert_eq!(reply.header("content-type"), Some("text/javascript"));
    assert_eq!((reply.header("cache-control"), reply.header("pragma")), (Some("no-cache"), Some("no-cache")));
    // Captured.
    assert_eq!(
        server.get("/metrics/find?query=a.b.x&pretty=1").body,
        "[\n  {\n    \"text\": \"x\",\n    \"id\": \"a.b.x\",\n    \"allowChildren\": 0,\n    \"expandable\": 0,\n    \"leaf\": 1\n  }\n]"
    );
}

#[test]
fn the_index_lists_every_name() {
    let server = Server::start();
    let expected = json!(LEAVES);
    assert_eq!(server.json("/metrics/index.json"), expected);
    assert_eq!(server.json("/metrics/index.json/"), expected);
    let reply = server.get("/metrics/index.json?jsonp=x");
    assert!(reply.body.starts_with("x([\"Zed.q\"") && reply.body.ends_with("\"zed.q\"])"), "{}", reply.body);
    assert!(reply.body.contains(r"gr\u00fc\u00dfe"));
}

#[test]
fn a_long_index_is_streamed_whole() {
    let server = Server::start();
    for count in [8192 - LEAVES.len(), 10_000] {
        *server.backend.extra_names.lock() = (0..count).map(|i| format!("many.{i:05}")).collect();
        let reply = server.get("/metrics/index.json");
        assert_eq!(reply.header("transfer-encoding"), Some("chunked"));
        let names: Vec<String> = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(names.len(), count + LEAVES.len());
        assert!(names.is_sorted());
    }
}

#[test]
fn health_tells_what_is_wrong() {
    let server = Server::start();
    assert_eq!(server.get("/health/live").status, 200);
    assert_eq!(server.get("/health/ready").status, 200);
    server.backend.broken.store(true, Ordering::SeqCst);
    let reply = server.get("/health/ready/");
    assert_eq!((reply.status, reply.body.as_str()), (503, "the log cannot be written\n"));
    assert_eq!(server.get("/health/live").status, 200);
}

#[test]
fn flush_is_a_post_and_says_when_it_failed() {
    let server = Server::start();
    assert_eq!(server.get("/internal/flush").status, 405);
    assert_eq!(server.backend.flushes.load(Ordering::SeqCst), 0);
    assert_eq!(server.post("/internal/flush", "").status, 200);
    assert_eq!(server.backend.flushes.load(Ordering::SeqCst), 1);
    server.backend.broken.store(true, Ordering::SeqCst);
    let reply = server.post("/internal/flush", "");
    assert_eq!((reply.status, reply.body.as_str()), (500, "the flush failed: no space left\n"));
}

#[test]
fn version_counters_and_a_path_that_leads_nowhere() {
    let server = Server::start();
    assert_eq!(server.get("/version").body, "1.1.10");
    assert_eq!(server.get("/version/").body, "1.1.10");
    let reply = server.get("/internal/metrics");
    assert_eq!(reply.body, "plumbago_metrics 14\n");
    assert!(reply.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let lost = server.get("/nothing");
    assert!(lost.status == 404 && lost.body.contains("/nothing") && lost.body.contains("/metrics/find"));
}

#[test]
fn a_write_says_what_became_of_its_lines() {
    let server = Server::start();
    assert_eq!(server.get("/internal/write").status, 405);
    let reply = server.post("/internal/write", "a 1 1\nbad\nb 1 1\nbad\n");
    assert_eq!((reply.status, reply.body.as_str()), (200, "{\"stored\":2,\"refused\":{\"bad_line\":2}}\n"));
    server.backend.broken.store(true, Ordering::SeqCst);
    let reply = server.post("/internal/write", "a 1 1\n");
    assert_eq!((reply.status, reply.body.as_str()), (503, "the log cannot be written\n"));
}
