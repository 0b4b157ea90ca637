//! What clients of several doors do on one server, whatever store is behind it. The tests of each store run it.

use serde_json::{Value, json};

use super::harness::Server;

/// Texts are kept under a service, a service key and a key, and come back as they were sent.
pub(crate) fn metadata_comes_and_goes(server: &Server) {
    let service = format!("Metric%20Service-{}", std::process::id());
    let at = |rest: &str| format!("/api/v1/metadata/{service}{rest}");
    let lists = |rest: &str, names: Value| {
        assert_eq!(server.json(&at(rest)), json!({ "results": names }), "{rest}");
    };
    lists("", json!([]));
    lists("/disk.available", json!([]));
    for (place, text) in [
        ("/disk.available/owner", "OPs team"),
        ("/disk.available/unit", "MB"),
        ("/foo.throughput/unit", "{\"name\": \"Bytes\"}\n"),
        ("/foo.throughput/%C3%BC%2Fx", "größe"),
        ("/foo.throughput/empty", ""),
    ] {
        let answer = server.post_text(&at(place), text);
        assert_eq!((answer.status, &*answer.body), (204, ""), "{place}");
        let answer = server.get(&at(place));
        assert_eq!((answer.status, &*answer.body), (200, text), "{place}");
        assert_eq!(answer.content_type, "text/plain; charset=UTF-8");
    }
    lists("", json!(["disk.available", "foo.throughput"]));
    lists("?startsWith=foo", json!(["foo.throughput"]));
    lists("/disk.available", json!(["owner", "unit"]));
    lists("/disk.available?startsWith=o", json!(["owner"]));
    lists("/foo.throughput", json!(["empty", "unit", "ü/x"]));
    assert_eq!(server.post_json(&at("/disk.available/unit"), &json!("GB")).status, 204);
    assert_eq!(server.get(&at("/disk.available/unit")).body, "\"GB\"");
    for _ in 0..2 {
        assert_eq!(server.delete(&at("/disk.available/owner")).status, 204);
        let answer = server.get(&at("/disk.available/owner"));
        assert_eq!((answer.status, &*answer.body), (404, r#"{"errors":["Key not found"]}"#));
    }
    lists("/disk.available", json!(["unit"]));
}
