//! What other programs ask, asked of servers on a cluster: the metric browser, carbonapi, graphite-web, relays.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::harness::{Server, now};
use crate::protobuf::{Message, text};
use crate::servers::{RETENTIONS, fresh, schema, settle, setup, until};

/// Servers that look names up in each way, with metrics that another server wrote.
struct Servers {
    top: String,
    t: u64,
    memory: Server,
    sasi: Server,
}

impl Servers {
    fn start(test: &str) -> Option<Self> {
        let settings = schema(test)?;
        let writer = setup(settings, "memory").start();
        let (top, t) = (fresh("eco"), now() - 60);
        writer.store(&format!("{top}.a.x 1.5 {t}\n{top}.a.y 2 {t}\n{top}.b 3 {t}\n{top}.t;dc=east 4 {t}\n"));
        settle(&writer);
        let (memory, sasi) = (setup(settings, "memory").start(), setup(settings, "sasi").start());
        let name = format!("{top}.b");
        until("all names in memory", || memory.counter("plumbago_names_loaded") == 1);
        until("the writer's names", || memory.points(&name, t - 1, t) == [(3.0, t)]);
        Some(Self { top, t, memory, sasi })
    }

    fn both(&self) -> [(&'static str, &Server); 2] {
        [("memory", &self.memory), ("sasi", &self.sasi)]
    }
}

/// A page of the tree: name, metric, directory.
fn tree(server: &Server, path: &str) -> Vec<(String, bool, bool)> {
    let page = server.json(&format!("/internal/browser/tree?path={path}"));
    let node = |node: &Value| {
        let is = |key: &str| node[key].as_bool().unwrap();
        (node["name"].as_str().unwrap().to_owned(), is("metric"), is("directory"))
    };
    page["nodes"].as_array().unwrap().iter().map(node).collect()
}

#[test]
fn the_metric_browser_shows_what_is_in_the_cluster() {
    let Some(servers) = Servers::start("the_metric_browser_shows_what_is_in_the_cluster") else { return };
    let (top, t) = (&servers.top, servers.t);
    for (index, server) in servers.both() {
        let expected = [("a".to_owned(), false, true), ("b".to_owned(), true, false)];
        assert_eq!(tree(server, top), expected, "{index}");
        let found = server.json(&format!("/internal/browser/search?query={top}.*.x"));
        assert_eq!(found["nodes"][0]["name"], json!(format!("{top}.a.x")), "{index}: {found}");
        let description = server.json(&format!("/internal/browser/metric?name={top}.a.x"));
        assert_eq!(description["last"], json!({"time": t, "value": 1.5}), "{index}: {description}");
        assert_eq!(description["stages"].as_array().unwrap().len(), 3, "{index}: {description}");
        assert_eq!(server.get(&format!("/internal/browser/metric?name={top}.no")).status, 404, "{index}");
        assert_eq!(server.json("/internal/browser/health")["store"], json!("cassandra"), "{index}");
    }
    // Words and tags need all names; without them it is said what to do.
    let words = servers.memory.json(&format!("/internal/browser/search?query={top}+x"));
    assert_eq!(words["nodes"][0]["name"], json!(format!("{top}.a.x")), "{words}");
    let refused = servers.sasi.get(&format!("/internal/browser/search?query={top}+x"));
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body.contains("store.cassandra.index"), "{}", refused.body);
}

/// Asks as carbonapi does: a GET with a body.
fn carbonapi(server: &Server, path: &str, body: &[u8]) -> Message {
    let mut stream = TcpStream::connect(server.http).unwrap();
    let head = format!(
        "GET {path}?format=carbonapi_v3_pb HTTP/1.1\r\nhost: plumbago\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "{path}: {}", String::from_utf8_lossy(&answer));
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    Message::read(&answer[end + 4..])
}

#[test]
fn carbonapi_and_graphite_web_find_what_is_in_the_cluster() {
    let Some(servers) = Servers::start("carbonapi_and_graphite_web_find_what_is_in_the_cluster") else {
        return;
    };
    let top = &servers.top;
    for (index, server) in servers.both() {
        let found = carbonapi(server, "/metrics/find/", &text(1, &format!("{top}.*")));
        let nodes: Vec<(String, u64)> = found.messages(1)[0]
            .messages(2)
            .iter()
            .map(|node| (node.texts(1).concat(), node.number(2)))
            .collect();
        assert_eq!(nodes, [(format!("{top}.a"), 0), (format!("{top}.b"), 1)], "{index}");
        let local = server.json(&format!("/metrics/find?local=1&query={top}.*"));
        let texts: Vec<&Value> = local.as_array().unwrap().iter().map(|node| &node["text"]).collect();
        assert_eq!(texts, [&json!("a"), &json!("b")], "{index}: {local}");
        let expanded = server.json(&format!("/metrics/expand?query={top}.*.*&leavesOnly=1"));
        assert_eq!(expanded["results"], json!([format!("{top}.a.x"), format!("{top}.a.y")]), "{index}");
    }
}

#[test]
fn a_name_without_tags_is_found_by_its_name() {
    let Some(servers) = Servers::start("a_name_without_tags_is_found_by_its_name") else { return };
    let (top, server) = (&servers.top, &servers.memory);
    let find = |name: &str| server.json(&format!("/tags/findSeries?expr=name={name}"));
    // The one is known from another server, the other is made here.
    let (known, made) = (format!("{top}.b"), format!("{top}.plain"));
    let entered = server.post("/tags/tagSeries", &[("path", &format!("~{made}"))]);
    assert_eq!((entered.status, entered.body), (200, format!("\"{made}\"")));
    assert_eq!(server.post("/tags/tagSeries", &[("path", "~~~~")]).status, 400);
    assert_eq!((find(&known), find(&made)), (json!([known]), json!([made])));
    let refused = servers.sasi.get(&format!("/tags/findSeries?expr=name={known}"));
    assert!(refused.status == 400 && refused.body.contains("store.cassandra.index"), "{}", refused.body);
}

/// A client of Ceres, a sender of carbon's lines and a render, on two servers of one cluster.
#[test]
fn a_call_of_ceres_a_carbon_line_and_a_render_meet_on_one_series() {
    let test = "a_call_of_ceres_a_carbon_line_and_a_render_meet_on_one_series";
    let Some(settings) = schema(test) else { return };
    let start = || setup(settings, "memory").set("kairosdb.retention", RETENTIONS).start();
    let server = start();
    let (tenant, metric, t) = (fresh("t"), fresh("cpu"), (now() - 300) / 60 * 60);
    until("all names in memory", || server.counter("plumbago_names_loaded") == 1);
    let item = json!({"tenant": tenant, "metricName": metric, "tags": {"host": "h-1"}, "ts": t, "value": 1});
    let written = server.post_json("/api/write/single", &item);
    assert_eq!(written.status, 200, "{}", written.body);
    server.store(&format!("{metric};host=h-1;tenant={tenant} 3 {}\n", t + 1));
    settle(&server);
    let other = start();
    until("all names on the other server", || other.counter("plumbago_names_loaded") == 1);
    let target = format!("seriesByTag('name={metric}','tenant={tenant}')");
    until("the points on the other server", || {
        other.points(&target, t - 1, t + 5) == [(1.0, t), (3.0, t + 1)]
    });
    let iso = |seconds: u64| jiff::Timestamp::from_second(seconds as i64).unwrap().to_string();
    let (start, end) = (iso(t), iso(t + 60));
    let query =
        format!("/api/query?tenant={tenant}&metricName={metric}&tag=host=h-1&start={start}&end={end}");
    for server in [&server, &other] {
        assert_eq!(server.json(&query)[0]["values"], json!({ iso(t): 1.0, iso(t + 1): 3.0 }));
        let summed = server.json(&format!("{query}&aggregator=sum&granularity=PT1M"));
        assert_eq!(summed[0]["values"], json!({ iso(t): 4.0 }));
        assert_eq!(server.json(&query.replace(&tenant, "nobody")), json!([]));
    }
}
