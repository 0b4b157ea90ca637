//! Looking after metrics: what is answered, and to whom.

use serde_json::json;

use super::Server;

#[test]
fn calls_answer_as_json() {
    let server = Server::start();
    let post = |path: &str| server.request("POST", path, &[], "");
    let reply = post("/internal/delete?query=a.*&dry_run=1");
    let expected = json!({ "deleted": false, "metrics": ["a.*"], "only_directories": false });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&reply.body).unwrap(), expected);
    assert!(post("/internal/delete/?query=a.*").body.contains("\"deleted\":true"));
    let reply = post("/internal/rename?from=a&to=b&dry_run=1");
    let expected = json!({ "renamed": false, "metrics": [["a", "b"]], "merged": 0 });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&reply.body).unwrap(), expected);
    let cleaned = |path: &str| serde_json::from_str::<serde_json::Value>(&post(path).body).unwrap();
    assert_eq!(cleaned("/internal/clean?dry_run=1"), json!({ "done": false, "metrics": ["None"] }));
    assert_eq!(cleaned("/internal/clean?unwritten_for=60"), json!({ "done": true, "metrics": ["Some(60)"] }));
    let reply = post("/internal/clean?unwritten_for=90d");
    assert!(reply.status == 400 && reply.body.contains("`90d` is not a whole number"), "{}", reply.body);
    assert_eq!(server.get("/internal/clean").status, 405);
    assert_eq!(server.json("/internal/usage?query=a.b")["metrics"], 3);
    assert_eq!(server.json("/internal/names?query=a.b"), json!(["a.b"]));
    assert_eq!(server.json("/internal/stats")["metrics"], 14);
    assert_eq!(server.json("/internal/info?name=a.b")["name"], "a.b");
    assert_eq!(server.get("/internal/info?name=not.there").status, 404);
    // The sum of what it was asked.
    assert_eq!(server.json("/internal/top?below=ab&depth=3&limit=4")["metrics"], 9);
    assert_eq!(server.json("/internal/top")["metrics"], 21);
    assert_eq!(server.get("/internal/top?limit=-1").status, 400);
}

#[test]
fn a_backup_goes_to_a_whole_path_and_is_for_this_machine() {
    let server = Server::start();
    for (path, wrong) in
        [("/internal/backup", "`dir` is missing"), ("/internal/backup?dir=here", "write a whole path")]
    {
        let reply = server.request("POST", path, &[], "");
        assert_eq!(reply.status, 400, "{path}");
        assert!(reply.body.contains(wrong), "{}", reply.body);
    }
    for method in ["GET", "POST"] {
        let reply =
            server.request(method, "/internal/backup?dir=/tmp", &[("x-forwarded-for", "192.0.2.1")], "");
        assert_eq!(reply.status, 403, "{method}");
    }
}

#[test]
fn what_is_missing_is_named_and_a_get_deletes_nothing() {
    let server = Server::start();
    let reply = server.request("POST", "/internal/delete", &[], "");
    assert_eq!(reply.status, 400);
    assert!(reply.body.contains("`query` is missing"), "{}", reply.body);
    assert_eq!(server.get("/internal/delete?query=a").status, 405);
    let reply = server.request("POST", "/internal/rename?from=a", &[], "");
    assert!(reply.status == 400 && reply.body.contains("`to` is missing"), "{}", reply.body);
    assert_eq!(server.get("/internal/rename?from=a&to=b").status, 405);
    for path in [
        "/internal/names?query=a",
        "/internal/usage?query=a",
        "/internal/stats",
        "/internal/top",
        "/internal/info?name=a.b",
    ] {
        let reply = server.request("GET", path, &[("x-forwarded-for", "192.0.2.1")], "");
        assert_eq!(reply.status, 403, "{path}");
    }
}
