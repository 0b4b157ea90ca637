//! What clients of several doors do on one server, whatever store is behind it. The tests of each store run it.

use serde_json::{Value, json};

use super::harness::{Server, now, send_to};

/// The tag that Ceres' points carry, so the others must, too.
const TENANT: &str = "t-1";

/// A KairosDB client, one of its telnet, an OpenTSDB client, a Ceres curl and a carbon line write to one series, and each of them and
/// Grafana reads what all of them wrote. Gives the target that renders it, and its points.
pub(crate) fn clients_of_all_doors_meet_on_one_series(
    server: &Server,
    metric: &str,
) -> (String, Vec<(f64, u64)>) {
    let t = now() - 100;
    let tags = json!({ "dc": "ams", "host": "web1", "tenant": TENANT });
    let sent =
        json!({ "name": metric, "tags": tags, "datapoints": [[t * 1000 + 999, 1], [(t + 1) * 1000, "2"]] });
    assert_eq!(server.post_json("/api/v1/datapoints", &sent).status, 204);
    let sent = json!({ "metric": metric, "tags": tags, "timestamp": t + 2, "value": 3 });
    assert_eq!(server.post_json("/api/put", &sent).status, 204);
    let own = json!({ "dc": "ams", "host": "web1" });
    let sent = json!({ "tenant": TENANT, "metricName": metric, "tags": own, "ts": t + 3, "value": 4 });
    assert_eq!(server.post_json("/api/write/single", &sent).status, 200);
    let lines = format!(
        "put {metric} {} 5 host=web1 dc=ams tenant={TENANT}\nputm {metric} {}000 6 host=web1 dc=ams tenant={TENANT}\n",
        t + 4,
        t + 5
    );
    let before = server.counter("plumbago_points_stored_total");
    send_to(server.listener("telnet    "), lines.as_bytes());
    server.wait_for("plumbago_points_stored_total", before + 2);
    // Another series of the metric, and a metric without tags, which Grafana's tree and the lists of the others must tell apart.
    server.store(&format!(
        "{metric};tenant={TENANT};host=web1;dc=ams 7 {}\n{metric};dc=fra;host=web2;tenant={TENANT} 100 {t}\n{metric}.plain 8 {t}\n",
        t + 6
    ));
    let points: Vec<(f64, u64)> = (0..7).map(|n| (n as f64 + 1.0, t + n)).collect();
    let target = format!("seriesByTag('name={metric}','host=web1')");
    grafana_reads(server, metric, &target, &points);
    kairosdb_reads(server, metric, &points);
    // OpenTSDB's query, in seconds; and as pairs.
    let asked = format!("/api/query?start={}&end={}&m=sum:{metric}%7Bhost=web1%7D", t - 1, t + 6);
    let dps: Vec<(String, f64)> = points.iter().map(|(value, time)| (time.to_string(), *value)).collect();
    let answer = server.json(&asked);
    let found = answer[0]["dps"].as_object().unwrap();
    let found: Vec<(String, f64)> =
        found.iter().map(|(time, value)| (time.clone(), value.as_f64().unwrap())).collect();
    assert_eq!((answer[0]["tags"].clone(), found), (tags, dps));
    let pairs: Vec<Value> = points.iter().map(|(value, time)| json!([time, *value as u64])).collect();
    assert_eq!(server.json(&format!("{asked}&arrays=true"))[0]["dps"], json!(pairs));
    // Ceres' query, which never shows the tag of the tenant.
    let iso = |time: u64| jiff::Timestamp::from_second(time as i64).unwrap().to_string();
    let answer = server.json(&format!(
        "/api/query?tenant={TENANT}&metricName={metric}&tag=host=web1&start={}&end={}",
        iso(t),
        iso(t + 7)
    ));
    let values: serde_json::Map<String, Value> =
        points.iter().map(|(value, time)| (iso(*time), json!(value))).collect();
    let expected = json!([{ "tenant": TENANT, "metricName": metric, "tags": own, "values": values }]);
    assert_eq!(answer, expected);
    (target, points)
}

/// The calls of Grafana's Graphite data source: a render by tags, completion of tags and values, find.
fn grafana_reads(server: &Server, metric: &str, target: &str, points: &[(f64, u64)]) {
    let (first, last) = (points[0].1, points[points.len() - 1].1);
    let name = format!("{metric};dc=ams;host=web1;tenant={TENANT}");
    assert_eq!(server.render(target, first - 1, last), [(name.clone(), points.to_vec())]);
    let both = format!("sumSeries(seriesByTag('name={metric}'))");
    assert_eq!(server.points(&both, first - 1, first), [(101.0, first)]);
    let completed = |what: &str| server.json(&format!("/tags/autoComplete/{what}&expr=name={metric}"));
    assert_eq!(completed("tags?tagPrefix="), json!(["dc", "host", "tenant"]));
    assert_eq!(completed("values?tag=host&valuePrefix=w"), json!(["web1", "web2"]));
    assert_eq!(completed("values?tag=host&expr=dc=fra"), json!(["web2"]));
    let series = server.json(&format!("/tags/findSeries?expr=name={metric}&expr=host=web1"));
    assert_eq!(series, json!([name]));
    let found = server.json(&format!("/metrics/find?query={metric}.*"));
    assert_eq!((found.as_array().unwrap().len(), &found[0]["text"]), (1, &json!("plain")));
}

/// The calls of KairosDB's clients and of its data source for Grafana: names, tags, points, the catalogue.
fn kairosdb_reads(server: &Server, metric: &str, points: &[(f64, u64)]) {
    let (first, last) = (points[0].1, points[points.len() - 1].1);
    let listed = server.json(&format!("/api/v1/metricnames?prefix={metric}"));
    assert_eq!(
        listed,
        json!({ "results": [metric, format!("{metric}.plain"), format!("{metric}_max"), format!("{metric}_min")] })
    );
    let ask = |path: &str, query: Value| {
        let answer = server.post_json(path, &query);
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str::<Value>(&answer.body).unwrap()["queries"][0].take()
    };
    let query = json!({
        "start_absolute": first * 1000,
        "end_absolute": last * 1000,
        "metrics": [{ "name": metric, "tags": { "dc": ["ams"] }, "group_by": [{ "name": "tag", "tags": ["host"] }] }],
    });
    let answer = ask("/api/v1/datapoints/query", query);
    let values: Vec<Value> = points.iter().map(|(value, time)| json!([time * 1000, *value as u64])).collect();
    let expected = json!({
        "name": metric,
        "group_by": [{ "name": "type", "type": "number" }, { "name": "tag", "tags": ["host"], "group": { "host": "web1" } }],
        "tags": { "dc": ["ams"], "host": ["web1"], "tenant": [TENANT] },
        "values": values,
    });
    assert_eq!(answer, json!({ "sample_size": points.len(), "results": [expected] }));
    let tags = ask(
        "/api/v1/datapoints/query/tags",
        json!({ "start_absolute": 0, "cache_time": 0, "metrics": [{ "name": metric, "tags": {} }] }),
    );
    let expected = json!({ "dc": ["ams", "fra"], "host": ["web1", "web2"], "tenant": [TENANT] });
    assert_eq!(tags["results"][0]["tags"], expected);
    let hosts = server.json(&format!("/api/v1/catalog/tags?metric={metric}&tag=host"));
    let hosts: Vec<&Value> =
        hosts["values"].as_array().unwrap().iter().map(|value| &value["value"]).collect();
    assert_eq!(hosts, ["web1", "web2"]);
}

/// What one client deletes is gone for all of them.
pub(crate) fn a_deletion_is_seen_through_every_door(server: &Server, metric: &str, target: &str) {
    for metric in [metric.to_owned(), format!("{metric}_min"), format!("{metric}_max")] {
        assert_eq!(server.delete(&format!("/api/v1/metric/{metric}")).status, 204);
    }
    let t = now();
    assert_eq!(server.render(target, t - 1000, t), []);
    assert_eq!(server.json(&format!("/tags/findSeries?expr=name={metric}")), json!([]));
    let plain = json!({ "results": [format!("{metric}.plain")] });
    assert_eq!(server.json(&format!("/api/v1/metricnames?prefix={metric}")), plain);
    assert_eq!(server.json(&format!("/api/suggest?type=metrics&q={metric}")), plain["results"]);
    assert_eq!(server.json(&format!("/api/query?start=1h-ago&m=sum:{metric}")), json!([]));
    let names = server.json(&format!("/api/metadata/metricNames?tenant={TENANT}"));
    assert!(!names.as_array().unwrap().contains(&json!(metric)), "{names}");
}

/// Texts are kept under a service, a service key and a key, and come back as they were sent.
pub(crate) fn metadata_comes_and_goes(server: &Server) {
    let service = format!("Metric%20Service-{}", std::process::id());
    let at = |rest: &str| format!("/api/v1/metadata/{service}{rest}");
    let lists = |rest: &str, names: Value| {
        assert_eq!(server.json(&at(rest)), json!({ "results": names }), "{rest}");
    };
    lists("", json!([]));
    lists("/disk.available", json!([]));
    for (place, text) in [
        ("/disk.available/owner", "OPs team"),
        ("/disk.available/unit", "MB"),
        ("/foo.throughput/unit", "{\"name\": \"Bytes\"}\n"),
        ("/foo.throughput/%C3%BC%2Fx", "größe"),
        ("/foo.throughput/empty", ""),
    ] {
        let answer = server.post_text(&at(place), text);
        assert_eq!((answer.status, &*answer.body), (204, ""), "{place}");
        let answer = server.get(&at(place));
        assert_eq!((answer.status, &*answer.body), (200, text), "{place}");
        assert_eq!(answer.content_type, "text/plain; charset=UTF-8");
    }
    lists("", json!(["disk.available", "foo.throughput"]));
    lists("?startsWith=foo", json!(["foo.throughput"]));
    lists("/disk.available", json!(["owner", "unit"]));
    lists("/disk.available?startsWith=o", json!(["owner"]));
    lists("/foo.throughput", json!(["empty", "unit", "ü/x"]));
    assert_eq!(server.post_json(&at("/disk.available/unit"), &json!("GB")).status, 204);
    assert_eq!(server.get(&at("/disk.available/unit")).body, "\"GB\"");
    for _ in 0..2 {
        assert_eq!(server.delete(&at("/disk.available/owner")).status, 204);
        let answer = server.get(&at("/disk.available/owner"));
        assert_eq!((answer.status, &*answer.body), (404, r#"{"errors":["Key not found"]}"#));
    }
    lists("/disk.available", json!(["unit"]));
}
