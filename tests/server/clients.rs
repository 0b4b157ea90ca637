//! Clients of KairosDB and OpenTSDB as they were published, for Java, Python and Node.js, against the real binary.
//!
//! `scripts/peers` installs them, and `scripts/test` says where in `TEST_JAVA_CLIENT`, `TEST_PYTHON_CLIENTS` and `TEST_NODE_CLIENTS`.
//! The programs in `clients/` send and read through them and print what they found.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::harness::{Server, Setup, find_program, now, run_to_end};
use super::skip::skip;

fn server() -> Server {
    Setup::new().set("listen.kairosdb_telnet", "127.0.0.1:0").start()
}

fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/clients").join(name).display().to_string()
}

/// Where the clients are; `None` after a loud skip.
fn place(test: &str, variable: &str, peer: &str) -> Option<String> {
    let place = std::env::var(variable).ok();
    if place.is_none() {
        skip(test, &format!("{variable} does not say where the clients are: scripts/peers {peer}"));
    }
    place
}

/// What a program found.
fn found(server: &Server, mut command: Command) -> Value {
    command.stdin(std::process::Stdio::null());
    let done = run_to_end(command);
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{out}\n{err}\n{}", server.errors());
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}\n{err}"))
}

/// KairosDB's own client: every call that it has, but for those about roll-up tasks.
#[test]
fn kairosdbs_client_for_java_does_all_that_it_can() {
    let test = "kairosdbs_client_for_java_does_all_that_it_can";
    let Some(place) = place(test, "TEST_JAVA_CLIENT", "java-client") else { return };
    let (Some(java), Some(_)) = (find_program("java"), find_program("javac")) else {
        return skip(test, "there is no Java compiler");
    };
    let server = server();
    let t = (now() - 600) / 60 * 60;
    let mut command = Command::new(java);
    // Since Java 16 its library for JSON may not look into a time zone without that.
    for package in ["java.util", "sun.util.calendar"] {
        command.arg("--add-opens").arg(format!("java.base/{package}=ALL-UNNAMED"));
    }
    command.arg("-cp").arg(format!("{place}/*")).arg(script("KairosClient.java"));
    command.arg(format!("http://{}", server.http));
    command.arg(server.listener("telnet    ").port().to_string()).arg(t.to_string());
    let found = found(&server, command);
    assert!(found["version"].as_str().unwrap().starts_with("KairosDB 1.3.0-plumbago"), "{found}");
    assert_eq!(found["status"], json!(["JVM-Thread-Deadlock: OK", "Datastore-Query: OK"]));
    assert_eq!(found["check"], 204);
    assert_eq!(found["metrics"], json!(["java.gzip", "java.http", "java.telnet"]));
    // Two halves of a minute with the seconds from 0 to 59; times are seconds from the first point on.
    let halves = |first: f64, second: f64| json!([[0, first], [30, second]]);
    let many = |count: u64, first: [f64; 2], second: [f64; 2]| json!([count, first, second]);
    for (aggregator, expected) in [
        ("avg", halves(14.5, 44.5)),
        ("min", halves(0.0, 30.0)),
        ("max", json!([[30, 29.0], [60, 59.0]])),
        ("sum", halves(435.0, 1335.0)),
        ("count", halves(30.0, 30.0)),
        ("first", halves(0.0, 30.0)),
        ("last", halves(29.0, 59.0)),
        ("gaps", many(60, [0.0, 0.0], [1.0, 1.0])),
        ("custom", many(60, [0.0, 0.0], [1.0, 1.0])),
        ("percentile", halves(14.5, 44.5)),
        ("rate", many(59, [1.0, 1.0], [2.0, 1.0])),
        ("diff", many(59, [1.0, 1.0], [2.0, 1.0])),
        ("div", many(60, [0.0, 0.0], [1.0, 0.5])),
        ("scale", many(60, [0.0, 0.0], [1.0, 10.0])),
        ("sma", many(58, [2.0, 1.0], [3.0, 2.0])),
        ("trim", many(58, [1.0, 1.0], [2.0, 2.0])),
        ("filter", json!([[58, 58.0], [59, 59.0]])),
        ("save_as", many(60, [0.0, 0.0], [1.0, 1.0])),
    ] {
        same(&found["aggregators"][aggregator], &expected, aggregator);
    }
    let groups = &found["groups"];
    assert_eq!(groups["tag"], json!([120, [["tag", 60], ["tag", 60]]]));
    assert_eq!(groups["time"], json!([120, [["time", 60], ["time", 60]]]));
    assert_eq!(groups["value"], json!([120, [["value", 90], ["value", 30]]]));
    assert_eq!(groups["bin"], json!([120, [["bin", 15], ["bin", 95], ["bin", 10]]]));
    same(&found["limited"], &json!([[59, 118.0], [58, 116.0]]), "limited");
    assert_eq!(found["tags"], json!({ "dc": ["ams"], "host": ["web1", "web2"] }));
    let mistake = found["mistake"].as_str().unwrap();
    assert!(mistake.contains("query.metric[0].aggregators[0].bogus invalid aggregators name"), "{mistake}");
    assert_eq!(found["deleted"], json!([60, ["java.http", "java.saved", "java.telnet"]]));
    let gone = server.points("seriesByTag('name=java.telnet')", t - 1, t + 5);
    assert_eq!(gone, [(3.0, t), (4.5, t + 1)]);
}

/// Lists of numbers, whether they are written with a fraction or without.
#[track_caller]
fn same(found: &Value, expected: &Value, what: &str) {
    fn numbers(value: &Value) -> Vec<f64> {
        match value {
            Value::Array(list) => list.iter().flat_map(numbers).collect(),
            other => vec![other.as_f64().unwrap_or(f64::NAN)],
        }
    }
    assert_eq!(numbers(found), numbers(expected), "{what}: {found}");
}

/// kairosdb-python reads, opentsdb-py and potsdb send.
#[test]
fn clients_for_python_send_and_read() {
    let test = "clients_for_python_send_and_read";
    let Some(place) = place(test, "TEST_PYTHON_CLIENTS", "python-clients") else { return };
    let server = server();
    let t = now() - 600;
    let mut command = Command::new(format!("{place}/bin/python"));
    command.arg(script("python_clients.py")).arg(server.http.to_string());
    command.arg(server.listener("telnet    ").to_string()).arg(t.to_string());
    let found = found(&server, command);
    // Sixty seconds twice, the counter, and the gauge.
    assert_eq!(found["statuses"], json!({ "success": 122, "failed": 0, "queued": 122 }));
    assert_eq!(found["healthy"], true);
    assert_eq!(found["status"], json!(["JVM-Thread-Deadlock: OK", "Datastore-Query: OK"]));
    assert_eq!(found["all_features"], json!(["group_by", "aggregators"]));
    assert!(found["features"].as_array().unwrap().contains(&json!("least_squares")), "{found}");
    let queries = &found["query"]["queries"];
    assert_eq!((&queries[0]["sample_size"], &queries[1]["sample_size"]), (&json!(60), &json!(10)));
    assert_eq!(queries[0]["results"][0]["values"][0], json!([t * 1000, 60]), "the later of two points stays");
    assert_eq!(queries[1]["results"][0]["tags"], json!({ "dc": ["ams"], "host": ["web1"] }));
    let mistake = "query.metric[0].start_time relative or absolute time must be set";
    assert_eq!(found["mistake"], json!({ "errors": [mistake] }));
    assert_eq!(server.points("seriesByTag('name=py.telnet')", t - 1, t), [(1.5, t)]);
    for (metric, value) in [("py.counter", 2.0), ("py.gauge", 7.5)] {
        let points = server.points(&format!("seriesByTag('name={metric}','dc=ams')"), t, now() + 5);
        assert_eq!((points.len(), points[0].0), (1, value), "{metric}");
    }
}

/// The packages kairosdb, and opentsdb with its client, its queries and its socket.
#[test]
fn clients_for_node_send_and_read() {
    let test = "clients_for_node_send_and_read";
    let Some(place) = place(test, "TEST_NODE_CLIENTS", "node-clients") else { return };
    let Some(node) = find_program("node") else { return skip(test, "node is not installed") };
    let server = server();
    let t = (now() - 600) / 10 * 10;
    let mut command = Command::new(node);
    command.arg(script("node_clients.mjs")).arg(&place).arg(server.http.port().to_string());
    command.arg(server.listener("telnet    ").port().to_string()).arg(t.to_string());
    let found = found(&server, command);
    assert!(found["version"]["version"].as_str().unwrap().starts_with("KairosDB 1.3.0-plumbago"), "{found}");
    let result = &found["query"]["queries"][0]["results"][0];
    assert_eq!(result["values"], json!([[t * 1000, 1], [(t + 1) * 1000, 2.5]]));
    assert_eq!(found["mistake"], "400: server error");
    assert_eq!(found["metrics"], json!(["js.http", "js.telnet"]));
    assert!(found["aggregators"].as_array().unwrap().contains(&json!("zimsum")), "{found}");
    assert!(found["opentsdb"]["version"].as_str().unwrap().starts_with("2.4.0-plumbago"), "{found}");
    let pairs = found["pairs"].as_array().unwrap();
    let dps: Vec<&Value> = pairs.iter().map(|result| &result["dps"]).collect();
    assert_eq!(dps, [&json!([[t * 1000, 0]]), &json!([[t * 1000, 1]])]);
    let members: Vec<&Value> = found["members"].as_array().unwrap().iter().map(|one| &one["dps"]).collect();
    let slot = t.to_string();
    assert_eq!(members, [&json!({ &slot: 2.5 }), &json!({ &slot: 0 }), &json!({ &slot: 1 })]);
}
