//! The metric browser's files and what it asks for.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;

use super::Server;
use crate::config;

#[test]
fn the_page_and_its_files_come_with_their_types_and_guards() {
    let server = Server::start();
    for (path, content_type) in [
        ("/", "text/html; charset=utf-8"),
        ("/operate", "text/html; charset=utf-8"),
        ("/browser/app.js", "text/javascript; charset=utf-8"),
        ("/browser/style.css", "text/css; charset=utf-8"),
        ("/browser/icon.svg", "image/svg+xml"),
    ] {
        let reply = server.get(path);
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(content_type)), "{path}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    assert!(server.get("/").body.contains("<title>Plumbago</title>"));
}

#[test]
fn a_file_that_the_client_has_is_not_sent_again() {
    let server = Server::start();
    let first = server.get("/browser/app.js");
    let tag = first.header("etag").unwrap();
    assert_eq!(first.header("cache-control"), Some("no-cache"));
    let again = server.request("GET", "/browser/app.js", &[("if-none-match", tag)], "");
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let other = server.request("GET", "/browser/app.js", &[("if-none-match", "\"0\"")], "");
    assert_eq!((other.status, other.body), (200, first.body));
}

#[test]
fn only_known_names_are_files() {
    let server = Server::start();
    for path in [
        "/browser/",
        "/browser/nothing.js",
        "/browser/../browser/app.js",
        "/browser/..%2fCargo.toml",
        "/browser/%2e%2e/%2e%2e/etc/passwd",
        "/browser/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/browser//etc/passwd",
        "/browser/app.js/",
        "/browser/app.js%00.css",
        "/browser/index.html",
        "/browser/uPlot.LICENSE",
        "/../../../etc/passwd",
    ] {
        let reply = server.get(path);
        assert_eq!(reply.status, 404, "{path}: {}", reply.body);
    }
}

#[test]
fn the_tree_is_asked_for_by_place_and_page() {
    let server = Server::start();
    let name = |path: &str| server.json(&format!("/internal/browser/tree{path}"))["nodes"][0]["name"].clone();
    assert_eq!(name(""), "Directory(\"\")  500");
    assert_eq!(name("?path=a.b&after=c&limit=20"), "Directory(\"a.b\") c 20");
    assert_eq!(name("?limit=1000000"), "Directory(\"\")  1000");
    assert_eq!(name("?tagged=1"), "TaggedNames  500");
    assert_eq!(name("?tagged=1&path=disk"), "TaggedWith(\"disk\")  500");
    assert_eq!(server.get("/internal/browser/tree?limit=x").status, 400);
    let node = server.json("/internal/browser/tree")["nodes"][0].clone();
    assert_eq!(
        (&node["metric"], &node["directory"], &node["below"]),
        (&json!(true), &json!(true), &json!(7))
    );
}

#[test]
fn a_search_gives_what_it_has_when_its_time_is_up() {
    let config = config::Query { search_timeout: Duration::from_millis(20), ..config::Query::default() };
    let server = Server::with(config);
    assert_eq!(server.json("/internal/browser/search?query=+web1+&limit=5")["nodes"][0]["name"], "web1 5");
    assert_eq!(server.get("/internal/browser/search?query=invalid").status, 400);
    assert_eq!(server.telemetry.searches_cut_short.get(), 0);
    assert_eq!(server.json("/internal/browser/search?query=slow")["complete"], false);
    assert_eq!(server.telemetry.searches_cut_short.get(), 1);
}

#[test]
fn a_metric_is_described_or_missing() {
    let server = Server::start();
    let found = server.json("/internal/browser/metric?name=a.b");
    assert_eq!(
        (&found["aggregation"], &found["bytes"], &found["last"]),
        (&json!("sum"), &json!(12), &json!(null))
    );
    let missing = server.get("/internal/browser/metric?name=no.such");
    assert_eq!((missing.status, missing.body.as_str()), (404, "there is no metric `no.such`\n"));
    assert_eq!(server.get("/internal/browser/metric?name=away").status, 503);
}

#[test]
fn health_says_what_is_wrong() {
    let server = Server::start();
    assert_eq!(server.json("/internal/browser/health")["trouble"], json!(null));
    server.backend.broken.store(true, Ordering::SeqCst);
    assert_eq!(server.json("/internal/browser/health")["trouble"], "the log cannot be written");
}
