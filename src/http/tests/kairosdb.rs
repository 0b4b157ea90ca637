//! `/api/v1` of KairosDB and OpenTSDB's `/api`, as their clients call them.

use std::io::Write as _;
use std::sync::atomic::Ordering;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::{Reply, Server};
use plumbago_model::{Arrival, Point};

const DATAPOINTS: &str = "/api/v1/datapoints";

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

fn send(server: &Server, path: &str, body: &Value) -> Reply {
    server.request("POST", path, &[("content-type", "application/json")], body.to_string())
}

fn errors(reply: &Reply) -> Vec<String> {
    let json: Value = serde_json::from_str(&reply.body).unwrap_or_else(|e| panic!("{e}: {}", reply.body));
    json["errors"].as_array().unwrap().iter().map(|error| error.as_str().unwrap().to_owned()).collect()
}

fn item(name: &str) -> Value {
    json!({"name": name, "tags": {"host": "a"}, "timestamp": 1_999_999_999_123_u64, "value": 5})
}

#[test]
fn points_are_stored_plain_and_packed_in_both_ways() {
    let server = Server::start();
    let text = item("m").to_string();
    for (headers, body) in [
        (vec![("content-type", "application/json")], text.clone().into_bytes()),
        (vec![], text.clone().into_bytes()),
        (vec![("content-type", "application/gzip")], gzip(&text)),
        (vec![("content-type", "application/json"), ("content-encoding", "gzip")], gzip(&text)),
    ] {
        let reply = server.request("POST", DATAPOINTS, &headers, body);
        assert_eq!((reply.status, &*reply.body), (204, ""), "{headers:?}");
    }
    let point = Point { timestamp: 1_999_999_999, value: 5.0 };
    let taken = ("m;host=a".to_owned(), point, Arrival::labelled(0));
    assert_eq!(*server.backend.taken.lock(), [taken.clone(), taken.clone(), taken.clone(), taken]);
}

#[test]
fn what_is_wrong_is_said_and_the_rest_is_stored() {
    let server = Server::start();
    let mixed = json!([item("m"), {"name": "x"}, item("bad"), item("n")]);
    let reply = send(&server, DATAPOINTS, &mixed);
    assert_eq!(reply.status, 400);
    assert_eq!(
        errors(&reply),
        [
            "metric[1](name=x).tags count must be greater than or equal to 1.",
            "metric[2](name=bad) is a new metric, and there are ingest.max_metrics already",
        ]
    );
    assert_eq!(server.backend.taken.lock().len(), 2);
    let empty = send(&server, DATAPOINTS, &json!([]));
    assert_eq!(empty.status, 204);
    let nothing = server.request("POST", DATAPOINTS, &[], "");
    assert_eq!(
        (nothing.status, errors(&nothing)),
        (400, vec!["Invalid json. No content due to end of input.".into()])
    );
    let broken = server.request("POST", DATAPOINTS, &[("content-encoding", "gzip")], "x");
    assert!(broken.status == 400 && errors(&broken)[0].contains("gzip"), "{}", broken.body);
    let other = server.request("POST", DATAPOINTS, &[("content-encoding", "br")], "x");
    assert!(other.status == 400 && errors(&other)[0].contains("`br`"), "{}", other.body);
    assert_eq!(server.telemetry.points_received.get(), 2, "the parser's; the others are counted behind it");
}

#[test]
fn a_server_that_takes_no_points_says_when_to_come_back() {
    let server = Server::start();
    let full = send(&server, DATAPOINTS, &item("full"));
    assert_eq!((full.status, full.header("retry-after")), (429, Some("1")));
    assert_eq!(errors(&full), ["4 points wait in memory"]);
    server.backend.broken.store(true, Ordering::SeqCst);
    let unwell = send(&server, DATAPOINTS, &item("m"));
    assert_eq!((unwell.status, unwell.header("retry-after")), (503, Some("1")));
    assert_eq!(server.get("/api/v1/health/check").status, 500);
    assert_eq!(
        server.json("/api/v1/health/status"),
        json!(["JVM-Thread-Deadlock: OK", "Datastore-Query: FAIL"])
    );
}

#[test]
fn bodies_have_a_limit_as_sent_and_as_unpacked() {
    let server = Server::start();
    let bomb = gzip(&" ".repeat((64 << 20) + 1));
    let reply = server.request("POST", DATAPOINTS, &[("content-encoding", "gzip")], bomb);
    assert_eq!(reply.status, 413, "{}", reply.body);
    let announced = "POST /api/v1/datapoints HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 99999999\r\n\r\n";
    let reply = server.raw(announced);
    assert!(reply.status == 413 && errors(&reply)[0].contains("67108864"), "{}", reply.body);
}

#[test]
fn names_are_listed_as_they_were_sent() {
    let server = Server::start();
    server.backend.make(&["sys.cpu;host=a", "sys.cpu;host=b%3Bc", "%2Eodd;%6Eame=x"]);
    let names = |path: &str| server.json(path)["results"].clone();
    assert_eq!(names("/api/v1/metricnames?prefix=sys"), json!(["sys.cpu"]));
    assert_eq!(names("/api/v1/metricnames?prefix=."), json!([".odd"]));
    assert_eq!(names("/api/v1/metricnames?prefix=d."), json!(["d.gaps", "d.step10", "d.step60"]));
    assert_eq!(names("/api/v1/tagnames"), json!(["host", "name"]));
    assert_eq!(names("/api/v1/tagvalues/"), json!(["a", "b;c", "x"]));
    assert_eq!(server.json("/api/suggest?type=metrics&q=sys"), json!(["sys.cpu"]));
    assert_eq!(server.json("/api/suggest?type=tagv&q=&max=2"), json!(["a", "b;c"]));
    assert_eq!(server.json("/api/suggest?type=tagk&q=h"), json!(["host"]));
    assert_eq!(server.get("/api/suggest?type=odd").status, 400);
}

#[test]
fn clients_learn_whom_they_talk_to() {
    let server = Server::start();
    let version = server.get("/api/v1/version");
    assert!(version.body.starts_with(r#"{"version":"KairosDB 1.3.0-plumbago"#), "{}", version.body);
    assert_eq!(version.header("content-type"), Some("application/json; charset=UTF-8"));
    assert_eq!(server.get("/api/v1/health/check").status, 204);
    assert_eq!(
        server.json("/api/v1/health/status"),
        json!(["JVM-Thread-Deadlock: OK", "Datastore-Query: OK"])
    );
}

#[test]
fn opentsdb_counts_what_it_took_if_asked() {
    let server = Server::start();
    let put = |path: &str, metric: &str| {
        let point = json!({"metric": metric, "timestamp": 1_999_999_999, "value": 1, "tags": {"host": "a"}});
        send(&server, path, &json!([point, {"metric": "m"}]))
    };
    let good = json!({"metric": "m", "timestamp": 1_999_999_999, "value": 1, "tags": {"host": "a"}});
    assert_eq!(send(&server, "/api/put", &good).status, 204);
    let summary = send(&server, "/api/put?summary", &good);
    assert_eq!((summary.status, &*summary.body), (200, r#"{"success":1,"failed":0}"#));
    let details = put("/api/put?details", "m");
    assert_eq!(
        (details.status, &*details.body),
        (400, r#"{"success":1,"failed":1,"errors":["[1]: Invalid timestamp"]}"#)
    );
    let plain = put("/api/put", "bad");
    assert_eq!(plain.status, 400);
    assert!(
        plain.body.contains(r#""error":{"code":400"#) && plain.body.contains("[0]: bad is a new metric"),
        "{}",
        plain.body
    );
    let full = put("/api/put", "full");
    assert_eq!((full.status, full.header("retry-after")), (429, Some("1")));
}
