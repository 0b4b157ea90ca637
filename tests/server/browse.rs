//! What the metric browser asks the server for.

use serde_json::{Value, json};

use crate::harness::{Server, Setup, now};

const SCHEMAS: &str = "[web]\npattern = ^servers\\.web\nretentions = 10s:6h,1m:7d\n";

fn nodes(server: &Server, path: &str) -> Vec<(String, bool, Option<u64>)> {
    let answer = server.json(path);
    let node = |node: &Value| {
        let name = node["name"].as_str().unwrap().to_owned();
        (name, node["metric"].as_bool().unwrap(), node["below"].as_u64())
    };
    answer["nodes"].as_array().unwrap().iter().map(node).collect()
}

fn node(name: &str, metric: bool, below: u64) -> (String, bool, Option<u64>) {
    (name.to_owned(), metric, Some(below))
}

#[test]
fn the_tree_counts_what_is_below_and_pages() {
    let server = Server::start();
    let time = now();
    server
        .store(&format!("a.b 1 {time}\na.b.c 1 {time}\na.d 1 {time}\ntop 1 {time}\ndisk;host=x 1 {time}\n"));
    let tree = |query: &str| nodes(&server, &format!("/internal/browser/tree?{query}"));
    assert_eq!(tree(""), [node("a", false, 3), node("top", true, 0)]);
    assert_eq!(tree("path=a"), [node("b", true, 1), node("d", true, 0)]);
    assert_eq!(tree("path=a&limit=1"), [node("b", true, 1)]);
    assert_eq!(tree("path=a&limit=1&after=b"), [node("d", true, 0)]);
    assert_eq!(tree("path=no.such"), []);
    assert_eq!(tree("tagged=1"), [node("disk", false, 1)]);
    assert_eq!(tree("tagged=1&path=disk"), [node("disk;host=x", true, 0)]);
    assert_eq!(server.json("/internal/browser/tree?path=a&limit=1")["total"], 2);
}

#[test]
fn words_and_globs_find_names() {
    let server = Server::start();
    let time = now();
    server.store(&format!("dc.Web1.load 1 {time}\ndc.web2.load 1 {time}\ndc.db.load 1 {time}\n"));
    let search = |query: &str| -> Vec<String> {
        let found = nodes(&server, &format!("/internal/browser/search?query={query}"));
        found.into_iter().map(|(name, ..)| name).collect()
    };
    assert_eq!(search("load+web"), ["dc.Web1.load", "dc.web2.load"]);
    assert_eq!(search("b1.lo"), ["dc.Web1.load"]);
    assert_eq!(search("web2"), ["dc.web2"]);
    assert_eq!(search("dc.*.load"), ["dc.Web1.load", "dc.db.load", "dc.web2.load"]);
    assert_eq!(search(""), Vec::<String>::new());
    let refused = server.get(&format!("/internal/browser/search?query={}", "word+".repeat(40)));
    assert!(refused.status == 400 && refused.body.contains("at most 32 words"), "{}", refused.body);
    assert_eq!(server.json("/internal/browser/search?query=dc.*.load&limit=1")["total"], 3);
}

#[test]
fn a_metric_is_described_with_its_rule_and_its_last_point() {
    let setup = Setup::new();
    let schemas = setup.directory().join("storage-schemas.conf");
    std::fs::write(&schemas, SCHEMAS).unwrap();
    let server = setup.set("retention.schemas", &schemas.display().to_string()).start();
    let time = now() / 10 * 10;
    server.store(&format!(
        "servers.web1 4 {}\nservers.web1 5.5 {time}\nservers.db1 1 {time}\n",
        time - 3 * 3600
    ));
    let describe = |name: &str| server.json(&format!("/internal/browser/metric?name={name}"));
    let web = describe("servers.web1");
    assert_eq!(web["stages"], json!([{ "step": 10, "points": 2160 }, { "step": 60, "points": 10080 }]));
    assert_eq!(web["retention_rule"]["name"], "web");
    assert!(web["retention_rule"]["origin"].as_str().unwrap().contains("storage-schemas.conf:1"), "{web}");
    assert_eq!((&web["aggregation"], &web["x_files_factor"]), (&json!("average"), &json!(0.5)));
    assert_eq!(web["last"], json!({ "time": time, "value": 5.5 }));
    assert!(web["first"].as_u64().unwrap() <= time - 3 * 3600, "{web}");
    assert_eq!(web["bytes"], 0);
    assert_eq!(describe("servers.db1")["retention_rule"], json!(null));
    assert_eq!(server.get("/internal/browser/metric?name=servers.db2").status, 404);
    // Once its points are in blocks they take up room.
    assert_eq!(server.post("/internal/flush", &[("settle", "1")]).status, 200);
    assert!(describe("servers.web1")["bytes"].as_u64().unwrap() > 0);
}

#[test]
fn health_counts_what_came_and_what_was_refused() {
    let server = Server::start();
    server.send(format!("a.b 1 {}\nnonsense\n", now()));
    server.wait_for("plumbago_points_received_total", 2);
    server.wait_for("plumbago_points_stored_total", 1);
    let health = server.json("/internal/browser/health");
    assert_eq!((&health["trouble"], &health["store"]), (&json!(null), &json!("embedded")));
    assert_eq!((&health["metrics"], &health["points_stored"]), (&json!(1), &json!(1)));
    assert_eq!(health["points_rejected"], json!([["bad_line", 1]]));
    assert_eq!(health["carbon"], server.carbon.to_string());
    assert_eq!(health["points_waiting"], json!(null));
}

/// A coarse slot with one point of many has no value, and the window that is searched is longer than the first stage reaches.
#[test]
fn a_lone_point_is_the_last_one() {
    let server = Setup::new().set("retention.default", "1s:1h,1m:1d,1h:30d").start();
    let time = now() - 30;
    server.store(&format!("lone 2.5 {time}\n"));
    let description = server.json("/internal/browser/metric?name=lone");
    assert_eq!(description["last"], json!({"time": time, "value": 2.5}), "{description}");
}

#[test]
fn a_cluster_that_is_out_of_reach_is_503_wherever_it_is_asked() {
    // Nothing listens on port 1.
    let server = Setup::new()
        .set("store.kind", "cassandra")
        .set("store.cassandra.nodes", "127.0.0.1:1")
        .set("store.cassandra.request_timeout", "1s")
        .set("store.cassandra.index", "sasi")
        .start();
    server.store(&format!("a.b 1 {}\n", now()));
    for path in [
        "/internal/browser/metric?name=a.b",
        "/internal/browser/tree",
        "/metrics/find?query=a.*",
        "/render?target=a.b&format=json",
        "/events/get_data",
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 503, "{path}: {}", answer.body);
        assert!(answer.body.contains("out of reach"), "{path}: {}", answer.body);
    }
}

#[test]
fn saved_graphs_are_kept_over_a_crash_within_the_limits_of_metadata() {
    let setup = Setup::new().set("kairosdb.max_metadata", "2").set("kairosdb.max_metadata_bytes", "200");
    let server = setup.start();
    let path = "/internal/browser/graphs";
    assert_eq!(server.json(path), json!([]));
    let save = |name: &str, graph: &str| server.post(path, &[("name", name), ("graph", graph)]);
    assert_eq!(save("größe & co", "target=a.b").status, 200);
    assert_eq!(save("second", "target=c").status, 200);
    assert_eq!(save("second", "target=d").status, 200, "what is there may change");
    let third = save("third", "target=e");
    assert!(third.status == 422 && third.body.contains("kairosdb.max_metadata"), "{}", third.body);
    assert_eq!(save("second", &"x".repeat(200)).status, 413);
    for name in ["", "  ", "two\nlines", &"x".repeat(101)] {
        assert_eq!(save(name, "target=a").status, 400, "{name:?}");
    }
    assert_eq!(save("empty", "").status, 400);
    // Clients of KairosDB do not get at them.
    assert_eq!(server.get("/api/v1/metadata/_plumbago/graphs").status, 401);
    let server = server.kill().start();
    let kept = server.json(path);
    let shown: Vec<_> = kept.as_array().unwrap().iter().map(|one| (&one["name"], &one["graph"])).collect();
    assert_eq!(shown, [(&json!("größe & co"), &json!("target=a.b")), (&json!("second"), &json!("target=d"))]);
    assert!(kept[0]["when"].as_u64().unwrap() + 60 > now() && kept[0]["by"].is_null(), "{kept}");
    assert_eq!(server.json(&format!("{path}?name=second"))[0]["graph"], "target=d");
    let gone = server.get(&format!("{path}?name=nothing"));
    assert!(gone.status == 404 && gone.body.contains("`nothing`"), "{}", gone.body);
    assert_eq!(server.post(&format!("{path}/delete"), &[("name", "second")]).status, 200);
    assert_eq!(server.json(path).as_array().unwrap().len(), 1);
}
