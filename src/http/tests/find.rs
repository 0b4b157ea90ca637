//! `/metrics/find` and `/metrics/expand`, row by row.

use super::Server;
use crate::config;
use serde_json::{Value, json};
use std::time::Duration;

fn entry(text: &str, id: &str, leaf: u8) -> Value {
    let branch = 1 - leaf;
    json!({"text": text, "id": id, "allowChildren": branch, "expandable": branch, "leaf": leaf})
}

/// Captured.
#[test]
fn treejson_lists_branches_before_leaves() {
    let server = Server::start();
    for path in [
        "/metrics/find?query=*",
        "/metrics/find/?query=*",
        "/metrics?query=*",
        "/metrics/?query=*&format=treejson",
    ] {
        let names = ["Zed", "a", "d", "gd", "grüße", "zed"];
        let mut expected: Vec<Value> = names.iter().map(|name| entry(name, name, 0)).collect();
        expected.push(entry("top", "top", 1));
        assert_eq!(server.json(path), Value::Array(expected), "{path}");
    }
}

/// Captured: wildcards stay in the id, a name is listed once, and one that is both is a branch.
#[test]
fn treejson_names_and_ids() {
    let server = Server::start();
    for (query, expected) in [
        ("a.*", json!([entry("b", "a.b", 0), entry("c", "a.c", 0)])),
        ("a.*&wildcards=1", json!([entry("*", "a.*", 0), entry("b", "a.b", 0), entry("c", "a.c", 0)])),
        ("a.*&leavesOnly=1", json!([entry("b", "a.b", 1)])),
        ("gd.*.x", json!([entry("x", "gd.*.x", 1)])),
        (
            "gd.*.*&wildcards=1",
            json!([entry("*", "gd.*.*", 0), entry("y", "gd.*.y", 0), entry("x", "gd.*.x", 1)]),
        ),
        (
            "a.b.*&wildcards=1",
            json!([entry("*", "a.b.*", 1), entry("x", "a.b.x", 1), entry("y", "a.b.y", 1)]),
        ),
        ("top&wildcards=1", json!([entry("top", "top", 1)])),
        ("nope", json!([])),
    ] {
        assert_eq!(server.json(&format!("/metrics/find?query={query}")), expected, "{query}");
    }
}

/// Captured.
#[test]
fn completer_completes_the_last_component() {
    let server = Server::start();
    let branch = |path: &str, name: &str| json!({"path": path, "name": name, "is_leaf": "0"});
    let leaf = |path: &str, name: &str| json!({"path": path, "name": name, "is_leaf": "1"});
    let children = [branch("a.b.", "b"), leaf("a.b", "b"), branch("a.c.", "c")];
    let [first, second, third] = &children;
    for (query, expected) in [
        ("a.*", json!(children)),
        ("a.", json!(children)),
        ("a.&wildcards=1", json!([first, second, third, {"name": "*"}])),
        ("a.b,c&automatic_variants=1", json!(children)),
        ("a..x", json!([])),
    ] {
        let answer = server.json(&format!("/metrics/find?format=completer&query={query}"));
        assert_eq!(answer, json!({ "metrics": expected }), "{query}");
    }
}

/// Captured.
#[test]
fn json_and_nodelist() {
    let server = Server::start();
    assert_eq!(
        server.json("/metrics/find?query=a.*&format=json"),
        json!([
            {"path": "a.b", "is_leaf": false},
            {"path": "a.b", "is_leaf": true, "intervals": [{"start": 1000, "end": 2000}]},
            {"path": "a.c", "is_leaf": false},
        ])
    );
    for (position, nodes) in [
        ("", json!(["b", "c", "gaps", "one", "q", "step10", "step60", "two", "x"])),
        ("&position=0", json!(["Zed", "a", "d", "gd", "grüße", "zed"])),
        ("&position=-2", json!(["Zed", "a", "d", "gd", "grüße", "zed"])),
        ("&position=5", json!([])),
        ("&position=-9223372036854775808", json!([])),
    ] {
        let answer = server.json(&format!("/metrics/find?query=*.*&format=nodelist{position}"));
        assert_eq!(answer, json!({ "nodes": nodes }), "{position}");
    }
}

/// What graphite-web's remote finder reads: plain lists and dictionaries, and an interval that covers something.
#[test]
fn pickle_and_msgpack() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Record {
        path: String,
        is_leaf: bool,
        intervals: Option<Vec<(u32, u32)>>,
    }
    let record = |path: &str, intervals: Option<(u32, u32)>| Record {
        path: path.to_owned(),
        is_leaf: intervals.is_some(),
        intervals: intervals.map(|interval| vec![interval]),
    };
    let expected = [record("a.b", None), record("a.b", Some((1000, 2000))), record("a.c", None)];
    let server = Server::start();
    let ask = |format: &str, query: &str| {
        let reply = server.get(&format!("/metrics/find/?local=1&query={query}&now=5000&format={format}"));
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(reply.header("cache-control"), Some("no-cache"));
        reply
    };
    let pickle = ask("pickle", "a.*");
    assert_eq!(pickle.header("content-type"), Some("application/pickle"));
    let read: Vec<Record> = serde_pickle::from_slice(&pickle.bytes, serde_pickle::DeOptions::new()).unwrap();
    assert_eq!(read, expected);
    let msgpack = ask("msgpack", "a.*");
    assert_eq!(msgpack.header("content-type"), Some("application/x-msgpack"));
    assert_eq!(rmp_serde::from_slice::<Vec<Record>>(&msgpack.bytes).unwrap(), expected);
    assert_eq!(rmp_serde::from_slice::<Vec<Record>>(&ask("msgpack", "nope").bytes).unwrap(), []);
    // A single point, and a metric of which it is not known when it has data.
    let one = ask("msgpack", "instant");
    assert_eq!(
        rmp_serde::from_slice::<Vec<Record>>(&one.bytes).unwrap(),
        [record("instant", Some((1500, 1501)))]
    );
    let unknown = ask("msgpack", "timeless");
    let any_time = [record("timeless", Some((0, 5000)))];
    assert_eq!(rmp_serde::from_slice::<Vec<Record>>(&unknown.bytes).unwrap(), any_time);
}

/// A server in front takes any of them, and chooses by how much of the time a metric covers.
#[test]
fn an_interval_is_the_same_in_every_format() {
    type Record = (String, bool, Vec<(u32, u32)>);
    let server = Server::start();
    for query in ["a.b", "instant", "d.*"] {
        let ask =
            |format: &str| server.get(&format!("/metrics/find?query={query}&leavesOnly=1&format={format}"));
        let json: Vec<Value> = serde_json::from_str(&ask("json").body).unwrap();
        let edge = |interval: &Value, name: &str| interval[name].as_u64().unwrap() as u32;
        let record = |node: &Value| -> Record {
            let intervals = node["intervals"].as_array().unwrap();
            let intervals = intervals.iter().map(|i| (edge(i, "start"), edge(i, "end"))).collect();
            (node["path"].as_str().unwrap().to_owned(), node["is_leaf"].as_bool().unwrap(), intervals)
        };
        let expected: Vec<Record> = json.iter().map(record).collect();
        assert!(expected.iter().all(|(_, leaf, intervals)| *leaf && intervals.len() == 1), "{expected:?}");
        let binary = |value: Value| {
            value
                .as_array()
                .unwrap()
                .iter()
                .map(|node| {
                    let interval =
                        |pair: &Value| (pair[0].as_u64().unwrap() as u32, pair[1].as_u64().unwrap() as u32);
                    let intervals = node["intervals"].as_array().unwrap().iter().map(interval).collect();
                    (node["path"].as_str().unwrap().to_owned(), node["is_leaf"].as_bool().unwrap(), intervals)
                })
                .collect::<Vec<Record>>()
        };
        let pickle = serde_pickle::from_slice(&ask("pickle").bytes, serde_pickle::DeOptions::new()).unwrap();
        assert_eq!(binary(pickle), expected, "{query} as pickle");
        assert_eq!(
            binary(rmp_serde::from_slice(&ask("msgpack").bytes).unwrap()),
            expected,
            "{query} as msgpack"
        );
    }
}

#[test]
fn a_window_is_handed_on_unless_it_is_minus_one() {
    let server = Server::start();
    server.json("/metrics/find?query=a&from=1000&until=2000");
    assert_eq!(*server.backend.window.lock(), Some((1000, 2000)));
    server.json("/metrics/find?query=a&now=5000&from=-1h");
    assert_eq!(*server.backend.window.lock(), Some((1400, i64::from(u32::MAX))));
    server.json("/metrics/find?query=a&from=-1&until=-1");
    assert_eq!(*server.backend.window.lock(), None);
}

#[test]
fn bad_parameters_are_refused_in_plain_text() {
    let server = Server::start();
    for (path, text) in [
        ("/metrics/find", "Invalid parameters (missing required parameter 'query')"),
        ("/metrics/find?query=", "Invalid parameters (required parameter 'query' is empty)"),
        (
            "/metrics/find?query=a&wildcards=x",
            "Invalid parameters (parameter `wildcards` must be a whole number, not `x`)",
        ),
        ("/metrics/find?query=a&from=nonsense", "Invalid parameters (`nonsense` is not a time"),
        ("/metrics/find?query=invalid", "Invalid parameters (unclosed `{` in `invalid`)"),
        ("/metrics/find?query=a&format=bogus", "Invalid value for 'format' parameter: `bogus`; use treejson"),
        ("/metrics/find?query=a&jsonp=alert(1)//", "Invalid parameters (jsonp must be"),
    ] {
        let reply = server.get(path);
        assert_eq!(reply.status, 400, "{path}");
        assert!(reply.body.starts_with(text), "{path}: {}", reply.body);
        assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
    }
}

#[test]
fn failures_have_their_own_codes_and_are_counted() {
    let server =
        Server::with(config::Query { find_timeout: Duration::from_millis(30), ..Default::default() });
    for (query, status, text) in [
        ("limit", 422, "more than 5 hits (query.max_find_hits)"),
        ("store", 500, "reading the store failed: disk on fire"),
        ("away", 503, "out of reach for now; nothing is wrong with the query: no node answers"),
        ("slow", 504, "query.find_timeout"),
        ("panic", 500, "internal error"),
    ] {
        let reply = server.get(&format!("/metrics/find?query={query}"));
        assert_eq!(reply.status, status, "{query}");
        assert!(reply.body.contains(text), "{query}: {}", reply.body);
    }
    assert_eq!(server.telemetry.find_limited.get(), 1);
    assert_eq!(server.telemetry.requests.get(), 5);
    assert_eq!(server.telemetry.request_errors.get(), 5);
}

/// Captured.
#[test]
fn expand_gives_paths() {
    let server = Server::start();
    for (query, expected) in [
        ("query=a.*", json!(["a.b", "a.c"])),
        ("query=a.*&query=gd.*.x", json!(["a.b", "a.c", "gd.one.x", "gd.two.x"])),
        (
            "query=a.*&query=gd.*.x&groupByExpr=1",
            json!({"a.*": ["a.b", "a.c"], "gd.*.x": ["gd.one.x", "gd.two.x"]}),
        ),
        ("query=a.*&leavesOnly=1", json!(["a.b"])),
        ("query[]=a.*", json!(["a.b", "a.c"])),
        ("", json!([])),
    ] {
        let answer = server.json(&format!("/metrics/expand?{query}"));
        assert_eq!(answer, json!({ "results": expected }), "{query}");
    }
    assert_eq!(server.get("/metrics/expand?query=limit").status, 422);
}

#[test]
fn an_empty_pattern_expands_to_the_root() {
    let server = Server::start();
    assert_eq!(server.get("/metrics/expand?query=").body, r#"{"results":[""]}"#);
    assert_eq!(server.get("/metrics/expand?query=&leavesOnly=1").body, r#"{"results":[]}"#);
}

#[test]
fn a_pattern_that_ends_in_a_dot_finds_nothing() {
    let server = Server::start();
    assert_eq!(server.get("/metrics/expand?query=d.").body, r#"{"results":[]}"#);
    for format in ["treejson", "json"] {
        assert_eq!(server.get(&format!("/metrics/find?query=d.&format={format}")).body, "[]", "{format}");
    }
}

#[test]
fn a_reversed_interval_is_refused() {
    let server = Server::start();
    for format in ["treejson", "json", "pickle"] {
        let reply = server.get(&format!("/metrics/find?query=*&from=2000&until=1000&format={format}"));
        assert_eq!((reply.status, reply.body.starts_with("Invalid interval")), (400, true), "{}", reply.body);
    }
}

#[test]
fn functions_are_only_read() {
    let server = Server::start();
    for path in ["/functions", "/functions/scale"] {
        assert_eq!((server.get(path).status, server.post(path, "").status), (200, 405), "{path}");
    }
}

#[test]
fn an_unknown_path_is_answered_with_every_format_of_a_render() {
    let reply = Server::start().get("/nowhere");
    assert_eq!(reply.status, 404);
    assert!(reply.body.contains("json|csv|raw|dygraph|rickshaw|pickle|msgpack|png|svg"), "{}", reply.body);
}

#[test]
fn a_time_that_is_none_is_answered_with_how_to_write_one() {
    let reply = Server::start().get("/render?target=a&from=banana");
    assert_eq!(reply.status, 400);
    assert!(reply.body.contains("`-3h`"), "{}", reply.body);
}

#[test]
fn health_is_readiness() {
    let server = Server::start();
    assert_eq!((server.get("/health").status, server.get("/health/ready").status), (200, 200));
    server.backend.broken.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!((server.get("/health").status, server.get("/health/ready").status), (503, 503));
}
