//! graphite-web that reads whisper files and asks Plumbago for the newest points, by carbon's cache queries.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::web::{Web, environment};
use crate::harness::{Server, Setup, now, wait_until};
use crate::skip::skip;

fn server() -> Server {
    Setup::new().set("listen.cache_query", "127.0.0.1:0").set("retention.default", "10s:1h").start()
}

fn queries(server: &Server) -> SocketAddr {
    server.listener("queries")
}

/// A whisper file with five minutes of points, and the cache that has newer ones.
fn settings(cache: SocketAddr, last: u64) -> String {
    format!(
        "import os, whisper\n\
         WHISPER_DIR = os.path.join(STORAGE_DIR, 'whisper')\n\
         STANDARD_DIRS = [WHISPER_DIR]\n\
         os.makedirs(WHISPER_DIR + '/app')\n\
         whisper.create(WHISPER_DIR + '/app/cpu.wsp', [(10, 360)])\n\
         old = range({last} - 300, {last} - 50, 10)\n\
         whisper.update_many(WHISPER_DIR + '/app/cpu.wsp', [(t, 1.0) for t in old])\n\
         CARBONLINK_HOSTS = ['{cache}:a']\n"
    )
}

#[test]
fn points_of_the_cache_are_shown_behind_those_of_files() {
    let test = "points_of_the_cache_are_shown_behind_those_of_files";
    let (server, last) = (server(), now() / 10 * 10);
    let newest: String = (0..6).map(|n| format!("app.cpu {}.5 {}\n", 40 + n, last - 50 + 10 * n)).collect();
    server.store(&newest);
    let Some(web) = Web::start(test, &settings(queries(&server), last)) else { return };
    let path = format!("/render?target=app.cpu&from={}&until={last}&now={last}&format=json", last - 100);
    let rendered = web.json(&path);
    let points = rendered[0]["datapoints"].as_array().unwrap();
    let values: Vec<f64> = points.iter().filter_map(|point| point[0].as_f64()).collect();
    assert_eq!(values, [1.0, 1.0, 1.0, 1.0, 40.5, 41.5, 42.5, 43.5, 44.5, 45.5], "{rendered}");
    assert_eq!(server.counter("plumbago_cache_query_errors_total"), 0);
    assert!(server.counter("plumbago_cache_queries_total") > 0);
}

/// Every question of the protocol, in every version of pickle, over one connection.
const ASK: &str = r#"
import json, pickle, socket, struct, sys
host, port = sys.argv[1].rsplit(":", 1)
connection = socket.create_connection((host, int(port)), 30)

def exactly(count):
    read = b""
    while len(read) < count:
        part = connection.recv(count - len(read))
        if not part:
            sys.exit("the connection ended")
        read += part
    return read

for question in json.load(sys.stdin):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        request = pickle.dumps(question, protocol)
        connection.sendall(struct.pack("!L", len(request)) + request)
        answer = pickle.loads(exactly(struct.unpack("!L", exactly(4))[0]))
        if protocol == 0:
            first = answer
        elif answer != first:
            sys.exit("protocol %d: %r is not %r" % (protocol, answer, first))
    print(json.dumps(first, sort_keys=True))
"#;

fn ask(test: &str, cache: SocketAddr, questions: &Value) -> Option<Vec<Value>> {
    let Some(environment) = environment() else {
        skip(test, "graphite-web could not be installed: scripts/peers graphite-web says why");
        return None;
    };
    let mut python = Command::new(environment.join("bin/python"))
        .args(["-c", ASK, &cache.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(questions.to_string().as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    Some(lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn every_question_of_the_protocol_is_answered() {
    let test = "every_question_of_the_protocol_is_answered";
    let server = server();
    let t = now() / 10 * 10 - 60;
    server.store(&format!("a.sum 2 {}\na.sum 1 {t}\na.sum 3 {}\nb;x=y 7 {t}\n", t + 10, t + 10));
    let questions = json!([
        {"type": "cache-query", "metric": "a.sum"},
        {"type": "cache-query", "metric": "no.such"},
        {"type": "cache-query-bulk", "metrics": ["a.sum", "b;x=y", "no.such"]},
        {"type": "get-metadata", "metric": "a.sum", "key": "aggregationMethod"},
        {"type": "get-metadata", "metric": "no.such", "key": "aggregationMethod"},
        {"type": "get-metadata", "metric": "a.sum", "key": "colour"},
        {"type": "set-metadata", "metric": "a.sum", "key": "aggregationMethod", "value": "max"},
        {"type": "reboot"},
        {"type": "cache-query"},
        ["not", "a", "dictionary"],
    ]);
    let Some(answers) = ask(test, queries(&server), &questions) else { return };
    let error = |text: &str| json!({"error": text});
    assert_eq!(
        answers,
        [
            // The last value for a second counts, and they come in the order of time.
            json!({"datapoints": [[t, 1.0], [t + 10, 3.0]]}),
            json!({"datapoints": []}),
            json!({"datapointsByMetric": {
                "a.sum": [[t, 1.0], [t + 10, 3.0]], "b;x=y": [[t, 7.0]], "no.such": [],
            }}),
            json!({"value": "average"}),
            error("there is no metric no.such"),
            error("there is no metadata colour; aggregationMethod is all there is"),
            error(
                "aggregationMethod cannot be set from here: retention and aggregation follow the rules in the \
                 configuration"
            ),
            error("Invalid request type \"reboot\""),
            error("a cache-query needs `metric`, as text"),
            error("the pickle is not a dictionary"),
        ]
    );
    // What is in the store is not in memory any more.
    assert_eq!(server.post("/internal/flush?settle=1", &[]).status, 200);
    let Some(answers) = ask(test, queries(&server), &json!([{"type": "cache-query", "metric": "a.sum"}]))
    else {
        return;
    };
    assert_eq!(answers, [json!({"datapoints": []})]);
}

/// Bytes that are no question end in an answer or a closed connection, never in a hang.
#[test]
fn what_is_no_question_does_no_harm() {
    let server = server();
    let mut closed = std::net::TcpStream::connect(queries(&server)).unwrap();
    closed.write_all(b"\xff\xff\xff\xff").unwrap();
    closed.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    assert_eq!(std::io::Read::read(&mut closed, &mut [0; 8]).unwrap_or(0), 0, "a frame of 4 GiB");
    wait_until("the error to be counted", || server.counter("plumbago_cache_query_errors_total") == 1);
    assert_eq!(server.get("/health/ready").status, 200);
}
