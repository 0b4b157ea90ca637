//! carbonapi in front: its protocol as it goes over the wire, and the program itself.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::graphite_web::page;
use crate::harness::{Server, Setup, now, wait_until};
use crate::protobuf::{Field, Message, message, text, varint};
use crate::skip::skip;

/// Asks as carbonapi does: a GET with a body, which says by its header what it wants.
fn ask(server: &Server, path: &str, body: &[u8]) -> Message {
    let mut stream = TcpStream::connect(server.http).unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: plumbago\r\naccept: application/x-carbonapi-v3-pb\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let body = &answer[end + 4..];
    assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}\n{}", String::from_utf8_lossy(body));
    assert!(head.contains("content-type: application/x-carbonapi-v3-pb"), "{path}: {head}");
    Message::read(body)
}

/// A few metrics, one of them kept and summed in a way of its own.
fn server() -> (Server, u64) {
    let setup = Setup::new();
    let schemas = setup.directory().join("storage-schemas.conf");
    std::fs::write(&schemas, "[all]\npattern = .*\nretentions = 10s:1h,1m:1d\n").unwrap();
    let aggregation = setup.directory().join("storage-aggregation.conf");
    let rule = "[sums]\npattern = \\.count$\naggregationMethod = sum\nxFilesFactor = 0.25\n";
    std::fs::write(&aggregation, rule).unwrap();
    let server = setup.start();
    let last = now() / 60 * 60;
    let points: String =
        (0..6).map(|step| format!("app.web1.count {step}.5 {}\n", last - 10 * step)).collect();
    server.store(&format!("{points}app.web2.count 7 {last}\napp.web1 8 {last}\ndisk;host=web1 9 {last}\n"));
    (server, last)
}

#[test]
fn carbonapi_finds() {
    let (server, _) = server();
    let answer = ask(
        &server,
        "/metrics/find/?format=carbonapi_v3_pb",
        &[text(1, "app.*"), text(1, "app.web?.count"), text(1, "nothing")].concat(),
    );
    let found: Vec<(String, Vec<(String, u64)>)> = answer
        .messages(1)
        .iter()
        .map(|glob| {
            let node = |node: &Message| (node.texts(1).concat(), node.number(2));
            (glob.texts(1).concat(), glob.messages(2).iter().map(node).collect())
        })
        .collect();
    let nodes = |nodes: &[(&str, u64)]| -> Vec<(String, u64)> {
        nodes.iter().map(|&(path, leaf)| (path.to_owned(), leaf)).collect()
    };
    let expected = [
        ("app.*".to_owned(), nodes(&[("app.web1", 0), ("app.web1", 1), ("app.web2", 0)])),
        ("app.web?.count".to_owned(), nodes(&[("app.web1.count", 1), ("app.web2.count", 1)])),
        ("nothing".to_owned(), nodes(&[])),
    ];
    assert_eq!(found, expected);
}

#[test]
fn carbonapi_fetches() {
    let (server, last) = server();
    let from = last - 60;
    let fetch = |name: &str, written: &str| {
        let times = [varint(2 << 3), varint(from), varint(3 << 3), varint(last)].concat();
        message(1, &[text(1, name), times, text(5, written)].concat())
    };
    let request = [
        fetch("app.web1.count", "app.*.count"),
        fetch("app.*", "app.*"),
        fetch("seriesByTag('host=web1')", "seriesByTag('host=web1')"),
        fetch("nothing", "nothing"),
    ];
    let answer = ask(&server, "/render/?format=carbonapi_v3_pb", &request.concat());
    let series = answer.messages(1);
    let names: Vec<(String, String)> =
        series.iter().map(|one| (one.texts(1).concat(), one.texts(2).concat())).collect();
    let named = |name: &str, written: &str| (name.to_owned(), written.to_owned());
    let tagged = "seriesByTag('host=web1')";
    let expected =
        [named("app.web1.count", "app.*.count"), named("app.web1", "app.*"), named("disk;host=web1", tagged)];
    assert_eq!(names, expected);

    let one = &series[0];
    let times: Vec<u64> = [4, 5, 6, 11, 12].iter().map(|&field| one.number(field)).collect();
    assert_eq!(times, [from + 10, last + 10, 10, from, last]);
    let values: Vec<f64> =
        one.bytes(9)[0].chunks(8).map(|v| f64::from_le_bytes(v.try_into().unwrap())).collect();
    assert_eq!(values, [5.5, 4.5, 3.5, 2.5, 1.5, 0.5]);
    assert_eq!(one.texts(3), ["sum"]);
    assert!(matches!(one.0[&7][..], [Field::Float(0.25)]), "{:?}", one.0[&7]);
    let values: Vec<f64> =
        series[1].bytes(9)[0].chunks(8).map(|v| f64::from_le_bytes(v.try_into().unwrap())).collect();
    assert!(values[..5].iter().all(|value| value.is_nan()) && values[5] == 8.0, "{values:?}");
    assert_eq!(series[1].texts(3), ["average"]);
}

#[test]
fn carbonapi_learns_of_retentions() {
    let (server, _) = server();
    let answer =
        ask(&server, "/info/?format=carbonapi_v3_pb", &[text(1, "app.web1.count"), text(1, "no")].concat());
    let [info] = &answer.messages(1)[..] else { panic!("{answer:?}") };
    assert_eq!((info.texts(1), info.texts(2)), (vec!["app.web1.count".to_owned()], vec!["sum".to_owned()]));
    assert_eq!(info.number(3), 86_400);
    let stages: Vec<(u64, u64)> = info.messages(5).iter().map(|s| (s.number(1), s.number(2))).collect();
    assert_eq!(stages, [(10, 360), (60, 1440)]);
    let capabilities = ask(&server, "/_internal/capabilities/", b"");
    assert_eq!(capabilities.texts(1)[0], "carbonapi_v3_pb");
}

/// The program named by the variable `TEST_CARBONAPI`, with our server as its only backend.
struct Carbonapi {
    child: Child,
    address: String,
    agent: ureq::Agent,
}

impl Carbonapi {
    fn start(program: &str, server: &Server, protocol: &str) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let config = server.setup().directory().join("carbonapi.yaml");
        // Nothing is remembered, so that everything comes from us.
        let head = format!(
            "listen: \"{address}\"\nnotFoundStatusCode: 200\ncache: {{ type: \"null\" }}\n\
             backendCache: {{ type: \"null\" }}\n"
        );
        let settings = page::settings("carbonapi", server.http);
        assert!(settings.contains("\"carbonapi_v3_pb\""), "{settings}");
        let text = head + &settings.replace("\"carbonapi_v3_pb\"", &format!("\"{protocol}\""));
        std::fs::write(&config, text).unwrap();
        let child = Command::new(program)
            .arg("-config")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let started = Self { child, address, agent };
        wait_until("carbonapi", || TcpStream::connect(&started.address).is_ok());
        started
    }

    fn json(&self, path: &str) -> Value {
        let mut response = self.agent.get(format!("http://{}{path}", self.address)).call().unwrap();
        let body = response.body_mut().read_to_string().unwrap();
        serde_json::from_str(&body).unwrap_or_else(|e| panic!("{path}: {e}: {body}"))
    }
}

impl Drop for Carbonapi {
    fn drop(&mut self) {
        // Fails only if it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Values and stamps of each series: one of us writes 7, the other 7.0.
fn points(rendered: &Value) -> Vec<Vec<(Option<f64>, Option<u64>)>> {
    let series = rendered.as_array().unwrap().iter();
    let point = |point: &Value| (point[0].as_f64(), point[1].as_u64());
    series.map(|one| one["datapoints"].as_array().unwrap().iter().map(point).collect()).collect()
}

#[test]
fn the_real_carbonapi_works_in_front() {
    let Ok(program) = std::env::var("TEST_CARBONAPI") else {
        return skip("the_real_carbonapi_works_in_front", "TEST_CARBONAPI names no carbonapi");
    };
    let (server, last) = server();
    for protocol in ["carbonapi_v3_pb", "auto", "msgpack"] {
        let carbonapi = Carbonapi::start(&program, &server, protocol);
        let tree = carbonapi.json("/metrics/find?query=app.*&format=treejson");
        let texts: Vec<&str> = tree.as_array().unwrap().iter().filter_map(|n| n["text"].as_str()).collect();
        assert!(texts.contains(&"web1") && texts.contains(&"web2"), "{protocol}: {tree}");
        let query = format!("from={}&until={last}&format=json", last - 60);
        for (target, series) in [
            ("app.web1.count", 1),
            ("app.*.count", 2),
            ("sumSeries(app.*.count)", 1),
            ("seriesByTag('host=web1')", 1),
            ("nothing.*", 0),
        ] {
            let theirs = carbonapi.json(&format!("/render?target={target}&{query}"));
            assert_eq!(theirs.as_array().unwrap().len(), series, "{protocol} {target}: {theirs}");
            let ours = server.json(&format!("/render?target={target}&{query}"));
            assert_eq!(points(&theirs), points(&ours), "{protocol} {target}");
        }
    }
}
