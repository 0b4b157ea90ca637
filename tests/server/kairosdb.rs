//! Clients of KairosDB and OpenTSDB, and what others see of their points.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::harness::{Server, Setup, now, send_to};
use super::meeting;

fn with_telnet() -> Server {
    Setup::new().set("listen.kairosdb_telnet", "127.0.0.1:0").start()
}

fn telnet(server: &Server) -> std::net::SocketAddr {
    server.listener("telnet    ")
}

fn results(server: &Server, path: &str) -> Value {
    server.json(path)["results"].clone()
}

#[test]
fn one_series_is_the_same_through_every_door() {
    let server = with_telnet();
    let t = now() - 100;
    let tags = json!({"host": "a", "dc": "x"});
    let sent = json!({"name": "cpu.load", "tags": tags, "timestamp": t * 1000 + 999, "value": 1});
    assert_eq!(server.post_json("/api/v1/datapoints", &sent).status, 204);
    let sent = json!({"metric": "cpu.load", "tags": tags, "timestamp": t + 1, "value": 2});
    assert_eq!(server.post_json("/api/put", &sent).status, 204);
    send_to(telnet(&server), format!("put cpu.load {} 3 host=a dc=x\n", t + 2).as_bytes());
    server.wait_for("plumbago_points_stored_total", 3);
    server.store(&format!("cpu.load;host=a;dc=x 4 {}\ndotted.name 5 {t}\n", t + 3));
    let series = server.render("seriesByTag('name=cpu.load', 'host=a')", t - 1, t + 3);
    let points = vec![(1.0, t), (2.0, t + 1), (3.0, t + 2), (4.0, t + 3)];
    assert_eq!(series, [("cpu.load;dc=x;host=a".to_owned(), points)]);
    assert_eq!(results(&server, "/api/v1/metricnames?prefix=d"), json!(["dotted.name"]));
    assert_eq!(results(&server, "/api/v1/metricnames?prefix=cpu"), json!(["cpu.load"]));
    assert_eq!(results(&server, "/api/v1/tagvalues"), json!(["a", "x"]));
    // After a kill the series and its policy are made again from the log.
    let server = server.kill().start();
    let series = server.render("seriesByTag('name=cpu.load')", t - 1, t + 3);
    assert_eq!(series[0].1.len(), 4);
}

#[test]
fn a_point_a_second_is_kept_and_odd_names_come_back() {
    let server = Server::start();
    let t = now() - 100;
    let points: Vec<Value> = (0..60).map(|n| json!([(t + n) * 1000, n])).collect();
    let sent = json!({"name": ".odd;metric", "tags": {"name": "~x;y", "k=": "100%"}, "datapoints": points});
    assert_eq!(server.post_json("/api/v1/datapoints", &sent).status, 204);
    let series = server.render("seriesByTag('k%3D=100%')", t - 1, t + 59);
    assert_eq!(series.len(), 1);
    assert_eq!(series[0].0, "%2Eodd%3Bmetric;%6Eame=%7Ex%3By;k%3D=100%");
    assert_eq!(series[0].1, (0..60).map(|n| (n as f64, t + n)).collect::<Vec<_>>());
    assert_eq!(results(&server, "/api/v1/metricnames?prefix=.o"), json!([".odd;metric"]));
    assert_eq!(results(&server, "/api/v1/tagnames"), json!(["k=", "name"]));
}

#[test]
fn telnet_tells_its_version_and_counts_what_is_no_point() {
    let server = with_telnet();
    let mut client = TcpStream::connect(telnet(&server)).unwrap();
    let t = now();
    write!(client, "put m {t} 1 host=a\nput m {t} hello host=a\nversion\n").unwrap();
    let mut line = String::new();
    BufReader::new(&client).read_line(&mut line).unwrap();
    assert!(line.starts_with("KairosDB 1.3.0-plumbago-"), "{line}");
    assert_eq!(server.counter("plumbago_points_stored_total"), 1);
    assert_eq!(server.rejected("bad_value"), 1);
}

#[test]
fn metadata_is_kept_over_a_crash_within_its_limits() {
    let setup = Setup::new().set("kairosdb.max_metadata", "6").set("kairosdb.max_metadata_bytes", "100");
    let server = setup.start();
    meeting::metadata_comes_and_goes(&server);
    let at = |rest: &str| format!("/api/v1/metadata/s/k/{rest}");
    assert_eq!(server.post_text(&at("sixth"), "1").status, 204);
    // The fifth of the others was deleted; there is room for one more.
    assert_eq!(server.post_text(&at("seventh"), "1").status, 204);
    let full = server.post_text(&at("eighth"), "1");
    assert!(full.status == 422 && full.body.contains("kairosdb.max_metadata"), "{}", full.body);
    assert_eq!(server.post_text(&at("sixth"), "2").status, 204, "what is there may change");
    let long = server.post_text(&at("seventh"), &"x".repeat(100));
    assert!(long.status == 413 && long.body.contains("109 bytes together"), "{}", long.body);
    assert_eq!(server.counter("plumbago_metadata_refused_total"), 2);
    assert_eq!(server.counter("plumbago_metadata_stored_total"), 6 + 3);
    for path in ["/api/v1/metadata/_s", "/api/v1/metadata/_s/k", "/api/v1/metadata/_s/k/x"] {
        assert_eq!((server.get(path).status, &*server.get(path).body), (401, ""), "{path}");
    }
    assert_eq!(server.post_text("/api/v1/metadata/_s/k/x", "1").status, 401);
    assert_eq!(server.delete("/api/v1/metadata/_s/k/x").status, 401);
    let server = server.kill().start();
    assert_eq!(server.get(&at("sixth")).body, "2");
    assert_eq!(server.json("/api/v1/metadata/s/k"), json!({ "results": ["seventh", "sixth"] }));
}

#[test]
fn features_tell_of_aggregators_and_groups() {
    let server = Server::start();
    let all = server.json("/api/v1/features");
    assert_eq!((&all[0]["name"], &all[1]["name"]), (&json!("group_by"), &json!("aggregators")));
    assert_eq!(all[0]["properties"], server.json("/api/v1/features/group_by"));
    assert_eq!(all[1]["properties"], server.json("/api/v1/features/Aggregators"));
    // Each is taken by a query, with the defaults that it shows.
    for aggregator in all[1]["properties"].as_array().unwrap() {
        let mut asked = json!({ "name": aggregator["name"] });
        for property in aggregator["properties"].as_array().unwrap() {
            let (name, usual) = (property["name"].as_str().unwrap(), property["defaultValue"].as_str());
            match usual {
                Some("") => asked[name] = json!("1"),
                Some("{}") | None => {}
                Some(usual) => asked[name] = json!(usual),
            }
        }
        let query = json!({ "start_absolute": 1, "metrics": [{ "name": "m", "aggregators": [asked] }] });
        let answer = server.post_json("/api/v1/datapoints/query", &query);
        assert_eq!(answer.status, 200, "{asked}: {}", answer.body);
    }
    let unknown = server.get("/api/v1/features/Bogus");
    assert_eq!((unknown.status, &*unknown.body), (404, r#"{"errors":["Unknown feature 'bogus'"]}"#));
}
