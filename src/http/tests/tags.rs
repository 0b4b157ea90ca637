//! The tags API: what it gives, what it refuses.

use serde_json::{Value, json};

use super::Server;
use crate::config;

/// The server's tags are those of these names.
const NAMES: [&str; 5] = [
    "cpu;dc=east;host=a",
    "cpu;dc=east;host=b",
    "cpu;dc=west;host=c",
    "mem;dc=east;env=prod;host=a",
    "plain.name",
];

fn server() -> Server {
    let server = Server::start();
    server.backend.make(&NAMES);
    server
}

/// Lists of objects without their ids, which are hashes.
fn without_ids(mut value: Value) -> Value {
    if let Value::Array(list) = &mut value {
        for item in list {
            let id = item.as_object_mut().unwrap().remove("id").unwrap();
            assert!(id.as_u64().unwrap() < 1 << 53);
        }
    }
    value
}

#[test]
fn tags_and_values_are_listed_in_order() {
    let server = server();
    let tags = |query: &str| {
        let listed = without_ids(server.json(&format!("/tags{query}")));
        listed
            .as_array()
            .unwrap()
            .iter()
            .map(|tag| tag["tag"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(tags(""), ["dc", "env", "host", "name"]);
    assert_eq!(tags("/?filter=e|h"), ["env", "host"]);
    assert_eq!(tags("?limit=1"), ["dc"]);
    let mut dc = server.json("/tags/dc");
    assert_eq!(dc["tag"], "dc");
    let values = without_ids(dc["values"].take());
    assert_eq!(values, json!([{"value": "east", "count": 3}, {"value": "west", "count": 1}]));
    assert_eq!(server.json("/tags/dc?filter=w")["values"].as_array().unwrap().len(), 1);
    assert_eq!(server.json("/tags/nosuch"), Value::Null);
    // Numbers that stay: the same for the same text, another for another.
    let id = |path: &str| server.json(path)["id"].clone();
    assert_eq!(id("/tags/dc"), id("/tags/dc/"));
    assert_ne!(id("/tags/dc"), id("/tags/host"));
}

#[test]
fn series_are_found_by_expressions() {
    let server = server();
    let ask = |query: &str| server.json(&format!("/tags/findSeries?{query}"));
    assert_eq!(ask("expr=name=cpu&expr=dc=east"), json!([NAMES[0], NAMES[1]]));
    assert_eq!(ask("expr[]=host=~[bc]"), json!([NAMES[1], NAMES[2]]));
    assert_eq!(ask("expr=env!="), json!([NAMES[3]]));
    assert_eq!(ask("expr=name=cpu&expr=dc!=east"), json!([NAMES[2]]));
    assert_eq!(ask("expr=name=nosuch"), json!([]));
    let posted = server.post("/tags/findSeries", "expr=env=prod&pretty=1");
    assert_eq!(posted.body, format!("[\n  \"{}\"\n]", NAMES[3]));
}

#[test]
fn completions_follow_the_expressions() {
    let server = server();
    for (path, expected) in [
        ("tags", json!(["dc", "env", "host", "name"])),
        ("tags?tagPrefix=e", json!(["env"])),
        ("tags?expr=name=cpu", json!(["dc", "host"])),
        ("tags?expr=dc=east&expr=host=a&limit=1", json!(["env"])),
        ("tags?expr=dc=nosuch", json!([])),
        ("values?tag=host", json!(["a", "b", "c"])),
        ("values?tag=host&limit=2", json!(["a", "b"])),
        ("values?tag=dc&expr=host=a", json!(["east"])),
        ("values?tag=dc&expr=host!=a", json!(["east", "west"])),
        ("values?tag=host&valuePrefix=b&expr=dc=east", json!(["b"])),
        ("values?tag=nosuch", json!([])),
    ] {
        assert_eq!(server.json(&format!("/tags/autoComplete/{path}")), expected, "{path}");
    }
    let posted = server.post("/tags/autoComplete/values", "tag=dc&expr=host%3Dc");
    assert_eq!(posted.body, r#"["west"]"#);
    let few = Server::with(config::Query { tag_completions: 2, ..Default::default() });
    few.backend.make(&NAMES);
    assert_eq!(few.json("/tags/autoComplete/tags"), json!(["dc", "env"]));
    assert_eq!(few.json("/tags/autoComplete/tags?limit=3"), json!(["dc", "env", "host"]));
}

#[test]
fn series_are_made_and_deleted() {
    let server = server();
    let reply = server.post("/tags/tagSeries", "path=disk%3Bhost%3Dz%3Bdc%3Deast");
    assert_eq!((reply.status, reply.body.as_str()), (200, r#""disk;dc=east;host=z""#));
    let reply = server.post("/tags/tagMultiSeries", "path=x%3Ba%3D1&path=x%3Ba%3D2");
    assert_eq!(reply.body, r#"["x;a=1","x;a=2"]"#);
    assert_eq!(
        server.json("/tags/findSeries?expr=name=~disk|x"),
        json!(["disk;dc=east;host=z", "x;a=1", "x;a=2"])
    );
    assert_eq!(server.post("/tags/delSeries", "path=x%3Ba%3D1&path=x%3Ba%3D2").body, "true");
    assert_eq!(server.json("/tags/findSeries?expr=name=x"), json!([]));
    assert_eq!(server.json("/tags/a"), Value::Null);
}

#[test]
fn errors_are_json() {
    let server = Server::with(config::Query { max_find_hits: 2, ..Default::default() });
    server.backend.make(&NAMES);
    for (method, path, status, part) in [
        ("GET", "/tags/findSeries", 400, "no tag expressions specified"),
        ("GET", "/tags/findSeries?expr=dc", 400, "`dc`"),
        ("GET", "/tags/findSeries?expr=dc=~(", 400, "regular expression"),
        ("GET", "/tags/findSeries?expr=dc!=east", 400, "must not match the empty string"),
        ("GET", "/tags/findSeries?expr=dc=~.", 422, "query.max_find_hits"),
        ("GET", "/tags", 422, "query.max_find_hits"),
        ("GET", "/tags/host", 422, "query.max_find_hits"),
        ("GET", "/tags?limit=x", 400, "`x`"),
        ("GET", "/tags?filter=(", 400, "regular expression"),
        ("GET", "/tags/autoComplete/values", 400, "no tag specified"),
        ("GET", "/tags/autoComplete/values?tag=a%3Bb", 400, "a;b!="),
        ("GET", "/tags/tagSeries?path=a", 405, "GET is not possible here"),
        ("GET", "/tags/delSeries?path=a", 405, "GET is not possible here"),
        ("POST", "/tags/tagSeries", 400, "no path specified"),
        ("POST", "/tags/tagMultiSeries", 400, "no paths specified"),
        ("POST", "/tags/delSeries", 400, "no path specified"),
        ("POST", "/tags", 405, "POST is not possible here"),
        ("PUT", "/tags/findSeries", 405, "PUT is not possible here"),
    ] {
        let reply = server.request(method, path, &[], "");
        assert_eq!(reply.status, status, "{method} {path}: {}", reply.body);
        let error: Value = serde_json::from_str(&reply.body).unwrap();
        assert!(error["error"].as_str().unwrap().contains(part), "{method} {path}: {}", reply.body);
    }
    assert_eq!(server.telemetry.find_limited.get(), 3);
    assert_eq!(server.json("/tags?limit=2").as_array().unwrap().len(), 2);
}

#[test]
fn metrics_are_counted_by_tag_and_by_prefix() {
    let server = server();
    let expected = json!({
        "metrics": 5,
        "tagged": 4,
        "tags": [
            {"tag": "host", "values": 3, "metrics": 4},
            {"tag": "dc", "values": 2, "metrics": 4},
        ],
        "prefixes": [{"prefix": "plain", "metrics": 1}],
    });
    assert_eq!(server.json("/internal/cardinality?limit=2"), expected);
    assert_eq!(
        server.json("/internal/cardinality?below=plain")["prefixes"],
        json!([{"prefix": "plain.name", "metrics": 1}])
    );
    assert_eq!(server.get("/internal/cardinality?depth=-1").status, 400);
}
