//! Events: posted, listed, counted in renders, and still there after a kill.

use serde_json::{Value, json};

use super::harness::{Server, Setup, now};

fn post(server: &Server, event: &Value) {
    let answer = server.post_json("/events/", event);
    assert_eq!((answer.status, answer.body.as_str()), (200, ""), "{event}");
}

fn whats(server: &Server, query: &str) -> Vec<String> {
    let events = server.json(&format!("/events/get_data?{query}"));
    let what = |event: &Value| event["what"].as_str().unwrap().to_owned();
    events.as_array().unwrap().iter().map(what).collect()
}

#[test]
fn an_event_that_was_answered_survives_a_kill() {
    let server = Server::start();
    let t = now() - 1000;
    post(&server, &json!({"what": "first", "tags": ["web", "prod"], "when": t, "data": "v1"}));
    post(&server, &json!({"what": "second", "tags": "db prod", "when": t}));
    let list = server.json("/events/get_data");
    let server = server.kill().start();
    assert_eq!(server.json("/events/get_data"), list);
    let first = &list[0];
    assert_eq!(first["tags"], json!(["web", "prod"]));
    assert_eq!((&first["when"], &first["data"], &first["what"]), (&json!(t), &json!("v1"), &json!("first")));
    let id = first["id"].as_u64().unwrap();
    assert!(id < 1 << 53);
    assert_eq!(server.json(&format!("/events/{id}"))["what"], "first");
    assert_eq!(whats(&server, "tags=db"), ["second"]);
    assert_eq!(whats(&server, "tags=web+db&set=union"), ["first", "second"]);
    // What comes after the restart has an id of its own, in the same second too.
    post(&server, &json!({"what": "third", "when": t}));
    assert_eq!(whats(&server, &format!("from={t}&until={t}")), ["first", "second", "third"]);
}

#[test]
fn renders_count_events_by_the_second() {
    let server = Server::start();
    let t = now() - 1000;
    for (tags, when) in [("a b", t + 1), ("a", t + 1), ("b", t + 3)] {
        post(&server, &json!({"what": "x", "tags": tags, "when": when}));
    }
    let counts = |target: &str| server.points(target, t, t + 10);
    assert_eq!(counts("events(\"*\")"), [(2.0, t + 1), (1.0, t + 3)]);
    assert_eq!(counts("events(\"a\", \"b\")"), [(1.0, t + 1)]);
}

#[test]
fn limits_are_refused_by_name_and_counted() {
    let setup = Setup::new().set("ingest.max_event_bytes", "100").set("query.max_events", "3");
    let server = setup.start();
    let long = server.post_json("/events/", &json!({"what": "x".repeat(101)}));
    assert_eq!(long.status, 413);
    assert!(long.body.contains("ingest.max_event_bytes"), "{}", long.body);
    for _ in 0..4 {
        post(&server, &json!({"what": "x", "when": 1000}));
    }
    let many = server.get("/events/get_data?until=1000");
    assert_eq!(many.status, 422, "{}", many.body);
    assert!(many.body.contains("query.max_events"), "{}", many.body);
    assert_eq!(server.get("/render?target=events('*')&from=900&until=1100&format=json").status, 422);
    assert_eq!(whats(&server, "from=1001").len(), 0);
    assert_eq!(server.counter("plumbago_events_stored_total"), 4);
    assert_eq!(server.counter("plumbago_events_refused_total"), 1);
    assert_eq!(server.counter("plumbago_events_limited_total"), 1);
}
