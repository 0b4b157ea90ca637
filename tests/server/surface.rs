//! Anything can be asked, and is answered: random requests to every endpoint that reads, and then to every endpoint there is, with any
//! body. None gets a 5xx but for the 503 of a query that others have no memory for, none takes for ever, and together they leave no more
//! memory behind than queries may have.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use graphite_render::functions::registry;

use super::auth::documented;
use super::harness::{Server, Setup, now};

/// Requests. Each takes some milliseconds.
const REQUESTS: u32 = 1200;

const MIB: u64 = 1 << 20;

const ENDPOINTS: [&str; 22] = [
    "/metrics/find",
    "/metrics",
    "/metrics/expand",
    "/metrics/index.json",
    "/info",
    "/events/get_data",
    "/events/1",
    "/functions",
    "/functions/sumSeries",
    "/tags",
    "/tags/name",
    "/tags/findSeries",
    "/tags/autoComplete/tags",
    "/tags/autoComplete/values",
    "/internal/browser/tree",
    "/internal/browser/search",
    "/internal/browser/metric",
    "/internal/cardinality",
    "/internal/names",
    "/internal/usage",
    "/internal/queries",
    "/not/there",
];

const NAMES: [&str; 26] = [
    "target",
    "query",
    "expr",
    "tag",
    "tagPrefix",
    "valuePrefix",
    "filter",
    "limit",
    "from",
    "until",
    "now",
    "tz",
    "format",
    "jsonp",
    "pretty",
    "maxDataPoints",
    "noNullPoints",
    "leavesOnly",
    "groupByExpr",
    "wildcards",
    "position",
    "path",
    "depth",
    "below",
    "name",
    "tags",
];

const VALUES: [&str; 38] = [
    "",
    "*",
    "**",
    "load.*",
    "load.m1",
    "load.{m1,m2}",
    "load.m[",
    "a..b",
    ".",
    "é",
    "\u{0}",
    "name=load",
    "name=~.*",
    "name!=",
    "x=~((",
    "~",
    "-1d",
    "now",
    "0",
    "-1",
    "1",
    "99999999999999999999",
    "9223372036854775807",
    "-9223372036854775808",
    "1e400",
    "nan",
    "12:00 20260101",
    "UTC",
    "Mars/Base",
    "json",
    "msgpack",
    "pickle",
    "nodelist",
    "completer",
    "treejson",
    "f",
    "f;alert(1)",
    "seriesByTag('name=load')",
];

const ARGUMENTS: [&str; 30] = [
    "load.*",
    "load.m1",
    "load.{m1,m2}",
    "0",
    "1",
    "2",
    "-1",
    "10",
    "0.5",
    "1e308",
    "-1e308",
    "9223372036854775807",
    "4294967296",
    "true",
    "false",
    "None",
    "''",
    "'1min'",
    "'-1d'",
    "'99999999999y'",
    "'1s'",
    "'sum'",
    "'median'",
    "'last'",
    "'^(.*)$'",
    "'(('",
    "'#ff0000'",
    "'name'",
    "'*'",
    "seriesByTag('name=load')",
];

const FORMATS: [&str; 9] = ["json", "csv", "raw", "dygraph", "rickshaw", "pickle", "msgpack", "png", "svg"];

const WINDOWS: [&str; 8] = ["-10min", "-1h", "-1d", "-30d", "-1y", "0", "now+1d", "99999999999"];

/// A path with its query string.
fn request() -> impl Strategy<Value = String> {
    prop_oneof![2 => render(), 1 => other()]
}

fn other() -> impl Strategy<Value = String> {
    let parameter = (prop::sample::select(&NAMES[..]), prop::sample::select(&VALUES[..]));
    let parameters = prop::collection::vec(parameter, 0..5);
    (prop::sample::select(&ENDPOINTS[..]), parameters)
        .prop_map(|(endpoint, parameters)| path(endpoint, &parameters))
}

fn render() -> impl Strategy<Value = String> {
    let parameter = (prop::sample::select(&NAMES[8..]), prop::sample::select(&VALUES[..]));
    let chosen = (prop::sample::select(&FORMATS[..]), prop::sample::select(&WINDOWS[..]));
    let targets = prop::collection::vec(call(), 1..4);
    (targets, chosen, prop::collection::vec(parameter, 0..2)).prop_map(|(targets, (format, from), more)| {
        let mut parameters = vec![("format", format), ("from", from)];
        parameters.extend(targets.iter().map(|target| ("target", target.as_str())));
        parameters.extend(more);
        path("/render", &parameters)
    })
}

/// A call of any function with any arguments, some of which are calls.
fn call() -> impl Strategy<Value = String> {
    let argument = prop::sample::select(&ARGUMENTS[..]).prop_map(str::to_owned);
    argument.prop_recursive(3, 12, 3, |inner| {
        (0..registry::registry().len(), prop::collection::vec(inner, 0..4)).prop_map(|(row, arguments)| {
            format!("{}({})", registry::registry()[row].name, arguments.join(","))
        })
    })
}

fn path(endpoint: &str, parameters: &[(&str, &str)]) -> String {
    let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let pairs = parameters.iter().map(|(name, value)| format!("{name}={}", escaped(value)));
    format!("{endpoint}?{}", pairs.collect::<Vec<_>>().join("&"))
}

fn filled() -> Server {
    let setup = Setup::new().set("query.memory", "48MiB").set("query.memory_each", "16MiB");
    let (server, end) = (setup.start(), now() / 10 * 10);
    let mut lines = String::new();
    for slot in 0..360 {
        for metric in 0..20 {
            lines.push_str(&format!("load.m{metric} {} {}\n", metric * slot % 17, end - slot * 10));
        }
        lines.push_str(&format!("load;host=a;dc=b{} {slot} {}\n", slot % 5, end - slot * 10));
    }
    server.store(&lines);
    server
}

#[test]
fn any_request_is_answered_or_refused_in_time_and_within_the_memory() {
    let server = filled();
    let before = server.peak_rss();
    let mut runner =
        TestRunner::new(Config { cases: REQUESTS, failure_persistence: None, ..Config::default() });
    let ran = runner.run(&request(), |path| {
        // One that hangs fails here.
        let status = server.status_of(&path);
        if status >= 500 {
            let errors = server.errors();
            let last = errors.lines().last().unwrap_or_default();
            return Err(TestCaseError::fail(format!("{status} for {path}; the log ends with {last}")));
        }
        Ok(())
    });
    ran.unwrap();
    let grown = server.peak_rss() - before;
    assert!(grown < 148 * MIB, "it took {} MiB more", grown / MIB);
    assert_eq!(server.get("/health/ready").status, 200);
}

/// How a body says what it is.
const TYPES: [&str; 6] = [
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=b",
    "application/json",
    "text/plain",
    "application/x-carbonapi-v3-pb",
    "",
];

/// Bodies that mean something to one endpoint or another.
const BODIES: [&[u8]; 12] = [
    b"",
    b"load.m1 1 1700000000\nload.m2 nan -1\n\n\xff\xfe\n",
    b"target=load.*&format=json&from=-1d",
    b"query=load.*&format=msgpack&dry_run=1",
    b"load.m1\nload.m2\nno.such.metric\n",
    br#"{"what":"x","tags":["a","b"],"when":99999999999999999999,"data":{"a":[[[[]]]]}}"#,
    br#"{"what":"deploy","tags":"a b","when":1700000000,"data":""}"#,
    b"--b\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nload.*\r\n--b--\r\n",
    b"--b\r\nContent-Disposition: form-data; name=\"target\"\r\n",
    b"\x0a\x08load.m*\x12",
    b"\x0a\x12\x0a\x06load.*\x10\x00\x18\xff\xff\xff\xff\x0f\x2a\x06load.*",
    b"user=reader&password=x&path=load%3Bx%3Dy&path=a",
];

/// Lines of a head that somebody could send.
const HEADERS: [&str; 8] = [
    "",
    "Accept: application/x-carbonapi-v3-pb\r\n",
    "Accept: application/json\r\n",
    "Accept-Encoding: gzip, br, *;q=0\r\n",
    "Authorization: Basic !!!\r\n",
    "Cookie: plumbago_session=../../etc; a\r\n",
    "traceparent: 00-zz-00-1\r\nX-Forwarded-For: nobody\r\n",
    "Range: bytes=0-\r\nIf-None-Match: *\r\n",
];

/// A request to any endpoint: the words of its first line, its headers, and its body.
fn anything() -> impl Strategy<Value = (String, String, String, Vec<u8>)> {
    let calls: Vec<(String, String)> = documented()
        .into_iter()
        .map(|(method, path, ..)| {
            let path = path
                .replace("{id}", "1")
                .replace("{name}", "load.m1")
                .replace("{*tag}", "name")
                .replace("{*name}", "app.js");
            (method, path)
        })
        .collect();
    let parameter = (prop::sample::select(&NAMES[..]), prop::sample::select(&VALUES[..]));
    let more = prop::sample::select(
        &[
            "dry_run=1",
            "settle=1",
            "id=1",
            "dir=/proc/nowhere",
            "keep_policy=x",
            "source=load.m1&destination=load.c",
            "from=load&to=x",
            "unwritten_for=1",
        ][..],
    );
    let parameters = (prop::collection::vec(parameter, 0..5), prop::option::of(more));
    let body = prop_oneof![
        2 => prop::sample::select(&BODIES[..]).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..300),
        1 => (prop::sample::select(&BODIES[..]), 1..2000_usize).prop_map(|(body, times)| body.repeat(times)),
    ];
    let head = (prop::sample::select(&TYPES[..]), prop::sample::select(&HEADERS[..]));
    (prop::sample::select(calls), parameters, head, body).prop_map(
        |((method, path), (parameters, more), (kind, header), body)| {
            let mut path = self::path(&path, &parameters);
            if let Some(more) = more {
                path.push_str(&format!("&{more}"));
            }
            (method, path, format!("Content-Type: {kind}\r\n{header}"), body)
        },
    )
}

/// The status of an answer that came to its end.
fn status_of(
    server: &Server,
    (method, path, headers, body): &(String, String, String, Vec<u8>),
) -> (u16, String) {
    let mut stream = TcpStream::connect(server.http).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    // A server that refuses may close before it has read all.
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("{method} {path} has no answer: {ended:?}")), text)
}

#[test]
fn every_call_takes_any_parameters_and_any_body() {
    let server = filled();
    let before = server.peak_rss();
    let mut runner =
        TestRunner::new(Config { cases: REQUESTS, failure_persistence: None, ..Config::default() });
    let ran = runner.run(&anything(), |request| {
        let (status, answer) = status_of(&server, &request);
        let put_off =
            status == 503 && (answer.contains("query.memory") || answer.contains("queries are running"));
        if status >= 500 && !put_off {
            let errors = server.errors();
            let last = errors.lines().last().unwrap_or_default();
            return Err(TestCaseError::fail(format!(
                "{answer:.300} for {request:?}; the log ends with {last}"
            )));
        }
        Ok(())
    });
    ran.unwrap();
    let grown = server.peak_rss() - before;
    assert!(grown < 148 * MIB, "it took {} MiB more", grown / MIB);
    assert_eq!(server.get("/health/ready").status, 200);
    server.store(&format!("load.after 1 {}\n", now()));
}
