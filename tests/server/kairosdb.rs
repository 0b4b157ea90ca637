//! Clients of KairosDB and OpenTSDB, and what others see of their points.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::harness::{Server, Setup, now, send_to};

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
