//! OpenTSDB's clients: points as telegraf's output sends them, what is asked before a query, and every aggregator.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::auth::parse;
use super::harness::{Server, Setup, now, send_to};

/// POSTs a body of bytes with headers of its own.
fn post(server: &Server, path: &str, headers: &str, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(server.http).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    parse(&answer)
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

/// Telegraf makes a metric of each field, writes a list with a line for each point, and packs it. Its older releases sent values as
/// texts, and misspelt the type of the content.
#[test]
fn telegraf_sends_by_http_and_by_telnet() {
    let server = Setup::new().set("listen.kairosdb_telnet", "127.0.0.1:0").start();
    let t = now() - 100;
    let body = |value: &str, time: u64| {
        format!(
            "[{{\"metric\":\"my.cpu_usage_idle\",\"timestamp\":{time},\"value\":{value},\"tags\":{{\"cpu\":\"cpu-total\",\"host\":\"web1\"}}}}\n,\
             {{\"metric\":\"my.mem_used\",\"timestamp\":{time},\"value\":9007199254740993,\"tags\":{{\"host\":\"web1\"}}}}\n]"
        )
    };
    let headers = "Content-Type: applicaton/json\r\nContent-Encoding: gzip\r\n";
    let sent = post(&server, "/api/put", headers, &gzip(&body("\"91.500000\"", t)));
    assert_eq!(sent, (204, String::new()));
    let sent = post(&server, "/api/put?details", headers, &gzip(&body("92.5", t + 1)));
    assert_eq!(sent, (200, r#"{"success":2,"failed":0,"errors":[]}"#.to_owned()));
    let lines = format!(
        "put my.cpu_usage_idle {} 93.500000 cpu=cpu-total host=web1\nput my.mem_used {} 7 host=web1\n",
        t + 2,
        t + 2
    );
    send_to(server.listener("telnet    "), lines.as_bytes());
    server.wait_for("plumbago_points_stored_total", 6);
    let idle = server.points("seriesByTag('name=my.cpu_usage_idle','cpu=cpu-total')", t - 1, t + 5);
    assert_eq!(idle, [(91.5, t), (92.5, t + 1), (93.5, t + 2)]);
    assert_eq!(server.counter("plumbago_values_rounded_total"), 2);
}

#[test]
fn each_aggregator_that_is_listed_is_answered() {
    let server = Server::start();
    let version = server.json("/api/version")["version"].as_str().unwrap().to_owned();
    assert!(version.starts_with("2.4.0-plumbago-"), "{version}");
    let t = now() / 10 * 10 - 100;
    let lines: String =
        (0..3).map(|n| format!("m;host=a {} {}\nm;host=b 10 {}\n", n, t + n * 10, t + n * 10)).collect();
    server.store(&lines);
    let listed = server.json("/api/aggregators");
    let listed: Vec<&str> = listed.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted, listed);
    let first = |m: &str| {
        let answer = server.json(&format!("/api/query?start={t}&end={}&arrays=true&ms=true&m={m}", t + 30));
        answer[0]["dps"][0].clone()
    };
    for name in &listed {
        let series = if *name == "none" { "none:m%7Bhost=a%7D".to_owned() } else { format!("{name}:m") };
        let point = first(&series);
        assert_eq!(point[0], json!(t * 1000), "{name}: {point}");
        assert!(point[1].is_number(), "{name}: {point}");
    }
    for (name, value) in
        [("sum", 10), ("avg", 5), ("min", 0), ("max", 10), ("count", 2), ("diff", 10), ("mult", 0)]
    {
        assert_eq!(first(&format!("{name}:m"))[1], json!(value), "{name}");
    }
    let unknown = server.get(&format!("/api/query?start={t}&m=bogus:m"));
    let said: Value = serde_json::from_str(&unknown.body).unwrap();
    assert_eq!((unknown.status, &said["error"]["code"]), (400, &json!(400)));
    assert!(said["error"]["message"].as_str().unwrap().contains("`bogus`"), "{said}");
}
