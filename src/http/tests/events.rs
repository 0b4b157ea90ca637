//! Events: which are accepted, which are found, and how they are written.

use std::time::Duration;

use serde_json::{Value, json};

use super::Server;
use crate::config;

/// Posts an event, which must be taken.
fn post(server: &Server, event: Value) {
    let reply =
        server.request("POST", "/events/", &[("content-type", "application/json")], event.to_string());
    assert_eq!((reply.status, reply.body.as_str()), (200, ""), "{event}");
}

fn deploys() -> Server {
    let server = Server::start();
    post(&server, json!({"what": "b", "tags": "web prod", "when": 20, "data": "x"}));
    post(&server, json!({"what": "a", "tags": ["db", "prod"], "when": 10}));
    post(&server, json!({"what": "c", "when": 30}));
    server
}

fn whats(server: &Server, query: &str) -> String {
    let Value::Array(events) = server.json(&format!("/events/get_data?{query}")) else { panic!("no list") };
    events.iter().map(|event| event["what"].as_str().unwrap()).collect()
}

#[test]
fn events_have_the_types_that_grafana_wants() {
    let server = deploys();
    let expected = json!([
        {"when": 10, "what": "a", "data": "", "tags": ["db", "prod"], "id": 2},
        {"when": 20, "what": "b", "data": "x", "tags": ["web", "prod"], "id": 1},
        {"when": 30, "what": "c", "data": "", "tags": [], "id": 3},
    ]);
    for path in ["/events/get_data", "/events/get_data/", "/events", "/events/?from=0"] {
        assert_eq!(server.json(path), expected, "{path}");
    }
    let reply = server.get("/events/get_data?until=15&jsonp=cb&pretty=1");
    assert!(reply.body.starts_with("cb([\n  {\n    \"when\": 10,"), "{}", reply.body);
    assert_eq!(reply.header("content-type"), Some("text/javascript"));
    assert_eq!(server.telemetry.events_stored.get(), 3);
}

#[test]
fn time_and_tags_choose_among_them() {
    let server = deploys();
    for (query, expected) in [
        ("from=10&until=20", "ab"),
        ("from=11&until=19", ""),
        ("until=-1d", "abc"),
        ("from=-1h", ""),
        ("tags=prod", "ab"),
        ("tags=prod+web", "b"),
        ("tags=prod%20web&set=intersection", "b"),
        ("tags=db+web&set=union", "ab"),
        ("tags=db+web", ""),
        ("tags=", ""),
        ("from=15&tags=prod", "b"),
    ] {
        assert_eq!(whats(&server, query), expected, "{query}");
    }
    // The last value of a form wins, as everywhere.
    let reply = server.post("/events/get_data?tags=db", "tags=web");
    assert!(reply.body.contains("\"b\"") && !reply.body.contains("\"a\""), "{}", reply.body);
}

#[test]
fn one_event_has_its_time_written_out() {
    let server = deploys();
    let expected =
        json!({"id": 1, "when": "1970-01-01T00:00:20Z", "what": "b", "data": "x", "tags": ["web", "prod"]});
    assert_eq!(server.json("/events/1"), expected);
    assert_eq!(server.json("/events/1/"), expected);
    for id in ["4", "0", "-1", "x", "18446744073709551616"] {
        let reply = server.get(&format!("/events/{id}"));
        assert_eq!(reply.status, 404, "{id}");
        assert_eq!(reply.body, format!(r#"{{"error":"there is no event {id}"}}"#));
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
}

#[test]
fn errors_are_json_and_counted() {
    let server =
        Server::with(config::Query { find_timeout: Duration::from_millis(500), ..Default::default() });
    let send = |method, path: &str, body: &str| {
        let reply = server.request(method, path, &[], body);
        let error: Value = serde_json::from_str(&reply.body).unwrap_or_else(|_| panic!("{}", reply.body));
        (reply.status, error["error"].as_str().unwrap().to_owned())
    };
    let long = json!({ "what": "x".repeat(101) }).to_string();
    for (method, path, body, status, part) in [
        ("POST", "/events/", "what=x", 400, "an event is a JSON object"),
        ("POST", "/events/", r#"{"what":"x","tags":1}"#, 400, "must be an array or space-separated string"),
        ("POST", "/events", &long, 413, "101 bytes of text; ingest.max_event_bytes allows 100"),
        ("POST", "/events", r#"{"what":"store"}"#, 500, "the store of events failed: disk on fire"),
        ("POST", "/events", r#"{"what":"away"}"#, 503, "out of reach: no node answers"),
        ("PUT", "/events/", "", 405, "PUT is not possible here"),
        ("POST", "/events/1", "x=1", 405, "POST is not possible here"),
        ("DELETE", "/events/get_data", "", 405, "DELETE is not possible here"),
        ("GET", "/events/get_data?from=junk", "", 400, "`junk`"),
        ("GET", "/events/get_data?jsonp=1;", "", 400, "jsonp"),
        ("GET", "/events/get_data?tags=slow", "", 504, "query.find_timeout"),
    ] {
        let (got, error) = send(method, path, body);
        assert_eq!(got, status, "{method} {path} {body}: {error}");
        assert!(error.contains(part), "{method} {path} {body}: {error}");
    }
    assert_eq!(server.telemetry.events_refused.get(), 3);
    for when in 0..6 {
        post(&server, json!({"what": "many", "when": when}));
    }
    assert_eq!(send("GET", "/events/get_data", "").0, 422);
    assert_eq!(server.telemetry.events_limited.get(), 1);
}
