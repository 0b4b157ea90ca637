//! Clients of KairosDB and OpenTSDB, and what others see of their points.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};

use super::harness::{Server, Setup, now};
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
fn clients_of_every_door_meet_on_one_series_and_after_a_kill() {
    let setup = Setup::new().set("listen.kairosdb_telnet", "127.0.0.1:0").set("retention.default", "1s:1h");
    let server = setup.start();
    let (target, points) = meeting::clients_of_all_doors_meet_on_one_series(&server, "cpu.load");
    // After a kill the series and its policy are made again from the log.
    let server = server.kill().start();
    let t = points[0].1;
    assert_eq!(server.points(&target, t - 1, t + 10), points);
    meeting::a_deletion_is_seen_through_every_door(&server, "cpu.load", &target);
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

/// Text with what names of Graphite cannot hold, and with what looks like an escape.
fn odd_text() -> impl Strategy<Value = String> {
    let odd = vec![
        ";", "~", "=", "!", "^", ".", "..", "%", "%25", "%3B", "%C2%85", "\u{85}", "\n", "\0", " ", ":", "é",
        "名", "{", "\"}", "\\", "name", "\u{2028}", "🦀",
    ];
    let piece = prop_oneof![2 => "[a-z0-9]{1,3}", 3 => select(odd).prop_map(str::to_owned)];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

/// Whatever metrics and tags are called, they come back as they were sent, and no series is taken for another or for one without tags.
#[test]
fn names_and_tags_come_back_whatever_is_in_them() {
    let server = Server::start();
    let (t, nth) = (now() - 100, std::cell::Cell::new(0_usize));
    let mut runner = TestRunner::new(Config { cases: 60, ..Config::default() });
    let series = (odd_text(), prop::collection::btree_map(odd_text(), odd_text(), 1..4));
    let check = |(metric, mut tags): (String, BTreeMap<String, String>)| -> Result<(), TestCaseError> {
        let number = nth.get() + 1;
        nth.set(number);
        // Each metric is another; what is odd stands at its beginning or at its end.
        let metric = if number.is_multiple_of(2) {
            format!("{metric}-{number}")
        } else {
            format!("{number}-{metric}")
        };
        let door = number % 3;
        // OpenTSDB's clients send tags without a value, which are left out.
        if door == 1 {
            tags.retain(|key, value| !key.trim().is_empty() && !value.trim().is_empty());
            tags.entry("host".to_owned()).or_insert_with(|| "a".to_owned());
        }
        let (path, item) = match door {
            0 => (
                "/api/v1/datapoints",
                json!({ "name": metric, "tags": tags, "datapoints": [[t * 1000, number]] }),
            ),
            1 => ("/api/put", json!({ "metric": metric, "tags": tags, "timestamp": t, "value": number })),
            _ => (
                "/api/write/single",
                json!({ "tenant": "t-1", "metricName": metric, "tags": tags, "ts": t, "value": number }),
            ),
        };
        let sent = server.post_json(path, &item);
        prop_assert!(matches!(sent.status, 200 | 204), "{}: {}", item, sent.body);
        if door == 2 {
            tags.insert("tenant".to_owned(), "t-1".to_owned());
        }
        let asked = json!({ "start_absolute": t * 1000, "metrics": [{ "name": metric, "tags": tags }] });
        let answer = server.post_json("/api/v1/datapoints/query", &asked);
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        let found = &answer["queries"][0]["results"];
        let listed: BTreeMap<&String, [&String; 1]> =
            tags.iter().map(|(key, value)| (key, [value])).collect();
        prop_assert_eq!(found.as_array().map(Vec::len), Some(1), "{}: {}", item, answer);
        prop_assert_eq!(&found[0]["name"], &json!(metric), "{}", item);
        prop_assert_eq!(&found[0]["tags"], &json!(listed), "{}", item);
        prop_assert_eq!(&found[0]["values"], &json!([[t * 1000, number]]), "{}", item);
        Ok(())
    };
    runner.run(&series, check).unwrap();
    assert_eq!(server.json("/metrics/index.json"), json!([]), "none is a metric without tags");
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
fn a_ttl_leaves_out_stages_and_a_suffix_chooses_the_method() {
    let server = Server::start();
    let day = 86_400;
    let policy = |metric: &str, ttl: u64| {
        let sent = json!({ "name": metric, "tags": { "host": "a" }, "timestamp": now() * 1000, "value": 1, "ttl": ttl });
        assert_eq!(server.post_json("/api/v1/datapoints", &sent).status, 204);
        let info = server.json(&format!("/internal/info?name={metric}%3Bhost%3Da"));
        let policy = info["policy"].as_str().unwrap();
        policy.strip_suffix("|labelled").unwrap_or_else(|| panic!("{policy}")).to_owned()
    };
    // A week of seconds, thirty days of minutes, two years of hours.
    assert_eq!(policy("always", 0), "604800*1s:43200*60s:17520*3600s|average|0");
    assert_eq!(policy("hour", 3600), "604800*1s|average|0");
    assert_eq!(policy("week", 7 * day), "604800*1s|average|0");
    assert_eq!(policy("month", 20 * day), "604800*1s:43200*60s|average|0");
    assert_eq!(policy("ages", 5000 * day), "604800*1s:43200*60s:17520*3600s|average|0");
    for (suffix, method) in [("_min", "min"), ("_max", "max"), ("_sum", "sum"), ("_count", "sum")] {
        assert_eq!(policy(&format!("x{suffix}"), day), format!("604800*1s|{method}|0"));
    }
    // It counts for new metrics alone.
    assert_eq!(policy("hour", 5000 * day), "604800*1s|average|0");
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
