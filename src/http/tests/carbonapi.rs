//! carbonapi's protocol: messages byte by byte, and what becomes of bad ones.

use super::{Reply, Server};

const PROTOBUF: &str = "application/x-carbonapi-v3-pb";

/// As carbonapi asks: a GET with a body that has no type.
fn ask(server: &Server, path: &str, message: &[u8]) -> Reply {
    server.request("GET", path, &[("accept", PROTOBUF)], message)
}

/// A field that holds bytes, shorter than 128.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
}

#[test]
fn a_find_names_what_matches_each_pattern() {
    let server = Server::start();
    let request = [field(1, b"a.*"), field(1, b"nope"), vec![0x10, 0x90, 0x4e]].concat();
    let node = |path: &[u8], leaf: bool| {
        field(2, &[field(1, path), if leaf { vec![0x10, 1] } else { Vec::new() }].concat())
    };
    let matches = [field(1, b"a.*"), node(b"a.b", false), node(b"a.b", true), node(b"a.c", false)].concat();
    let expected = [field(1, &matches), field(1, &field(1, b"nope"))].concat();
    for path in ["/metrics/find/?format=carbonapi_v3_pb", "/metrics/find"] {
        let reply = ask(&server, path, &request);
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(PROTOBUF)), "{}", reply.body);
        assert_eq!(reply.bytes, expected);
        assert_eq!(*server.backend.window.lock(), None, "the window is passed over");
    }
    // Without the header, by POST.
    let reply = server.request("POST", "/metrics/find/?format=carbonapi_v3_pb", &[], &request);
    assert_eq!(reply.bytes, expected);
}

#[test]
fn a_fetch_gives_series_as_they_are_stored() {
    let server = Server::start();
    // From 1000 until 1030, written by the user as `d.*`.
    let times = [0x10, 0xe8, 0x07, 0x18, 0x86, 0x08];
    let request = field(1, &[&field(1, b"d.step10")[..], &times, &field(5, b"d.*")].concat());
    let values: Vec<u8> = [0.25_f64, 0.5, 0.75].iter().flat_map(|value| value.to_le_bytes()).collect();
    let series = [
        &field(1, b"d.step10")[..],
        &field(2, b"d.*"),
        &field(3, b"average"),
        &[0x20, 0xf2, 0x07, 0x28, 0x90, 0x08, 0x30, 10],
        &field(9, &values),
        &[0x58, 0xe8, 0x07, 0x60, 0x86, 0x08],
    ];
    let reply = ask(&server, "/render/?format=carbonapi_v3_pb", &request);
    assert_eq!((reply.status, reply.header("content-type")), (200, Some(PROTOBUF)), "{}", reply.body);
    assert_eq!(reply.bytes, field(1, &series.concat()));
    assert_eq!(ask(&server, "/render/", &field(1, &[&field(1, b"nope")[..], &times].concat())).bytes, b"");
}

#[test]
fn mistakes_and_limits_are_refused_in_plain_text() {
    let server = Server::start();
    let times = [0x10, 0xe8, 0x07, 0x18, 0x86, 0x08];
    let fetch = |name: &[u8]| field(1, &[&field(1, name)[..], &times].concat());
    for (path, message, status, text) in [
        ("/metrics/find", b"nonsense".to_vec(), 400, "the body is not a carbonapi_v3_pb message"),
        ("/render", vec![0xff], 400, "the body is not a carbonapi_v3_pb message"),
        ("/info", vec![0xff], 400, "the body is not a carbonapi_v3_pb message"),
        ("/render", field(1, &field(1, b"a")), 400, "empty time range: `a` is asked for from 0 until 0"),
        ("/render", fetch(b"seriesByTag('a=b')|sumSeries()"), 400, "not a call of seriesByTag alone"),
        ("/render", fetch(b"seriesByTag("), 400, "Invalid parameters"),
        ("/metrics/find", field(1, b"limit"), 422, "more than 5 hits"),
        ("/render", fetch(b"limit"), 422, "more than 5 series"),
        ("/render", fetch(b"away"), 503, "out of reach"),
    ] {
        let reply = ask(&server, path, &message);
        assert_eq!(reply.status, status, "{path} {text}: {}", reply.body);
        assert!(reply.body.contains(text), "{path}: {}", reply.body);
        assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
    }
    assert_eq!((server.telemetry.find_limited.get(), server.telemetry.render_limited.get()), (1, 1));
    let reply = server.get("/info?target=a&format=json");
    assert_eq!(reply.status, 400);
    assert!(reply.body.contains("only the format carbonapi_v3_pb"), "{}", reply.body);
}

#[test]
fn capabilities_name_the_protocol_first() {
    let server = Server::start();
    let reply = ask(&server, "/_internal/capabilities/", b"");
    assert_eq!((reply.status, reply.header("content-type")), (200, Some(PROTOBUF)));
    let name = format!("plumbago {}", env!("CARGO_PKG_VERSION"));
    let expected =
        [field(1, b"carbonapi_v3_pb"), field(1, b"msgpack"), field(2, name.as_bytes()), vec![0x28, 1]];
    assert_eq!(reply.bytes, expected.concat());
}
