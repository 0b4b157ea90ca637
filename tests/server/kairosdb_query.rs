//! KairosDB's and OpenTSDB's queries: what carbon sent is read, grouped, aggregated and deleted by metric and tags.

use serde_json::{Value, json};

use super::harness::{Server, Setup, now};

const PASSES: &str = "plumbago_labelled_index_passes_total";

/// The answer of a query of one metric in `from..=until`.
fn query(server: &Server, metric: Value, range: (u64, u64)) -> Value {
    let query =
        json!({ "start_absolute": range.0 * 1000, "end_absolute": range.1 * 1000, "metrics": [metric] });
    let answer = server.post_json("/api/v1/datapoints/query", &query);
    assert_eq!((answer.status, &*answer.content_type), (200, "application/json"), "{}", answer.body);
    serde_json::from_str::<Value>(&answer.body).unwrap()["queries"][0].take()
}

/// Times in seconds from `t` on, and values.
fn points(result: &Value, t: u64) -> Vec<(i64, f64)> {
    let point = |point: &Value| (point[0].as_i64().unwrap() / 1000 - t as i64, point[1].as_f64().unwrap());
    result["values"].as_array().unwrap().iter().map(point).collect()
}

/// A server that keeps seconds for an hour and minutes for a day, with the start of an hour and a half ago.
fn server() -> (Server, u64) {
    let setup = Setup::new().set("retention.default", "1s:1h,1m:1d");
    (setup.start(), now() / 60 * 60)
}

#[test]
fn series_are_read_by_metric_and_tags_merged_grouped_and_aggregated() {
    let (server, now) = server();
    let t = now - 600;
    let mut lines = String::new();
    for second in 0..60 {
        for (host, factor) in [("a", 1), ("b", 10), ("c", 100)] {
            lines += &format!("cpu;dc=ams;host={host} {} {}\n", second * factor, t + second);
        }
    }
    lines += &format!("cpu.other;host=a 1 {t}\nplain 7 {t}\n");
    server.store(&lines);

    // All series of the metric are one stream.
    let all = query(&server, json!({ "name": "cpu" }), (t, t + 59));
    assert_eq!((&all["sample_size"], all["results"].as_array().unwrap().len()), (&json!(180), 1));
    let result = &all["results"][0];
    assert_eq!(result["tags"], json!({ "dc": ["ams"], "host": ["a", "b", "c"] }));
    assert_eq!(result["group_by"], json!([{ "name": "type", "type": "number" }]));
    assert_eq!(points(result, t)[..4], [(0, 0.0), (0, 0.0), (0, 0.0), (1, 1.0)]);

    // Values of a tag, each a group, in minutes: one pass over the index.
    let before = server.counter(PASSES);
    let metric = json!({
        "name": "cpu",
        "tags": { "host": ["a", "c", "none"], "dc": "ams" },
        "group_by": [{ "name": "tag", "tags": ["host"] }],
        "aggregators": [{ "name": "avg", "sampling": { "value": 30, "unit": "seconds" }, "align_start_time": true }],
    });
    let groups = query(&server, metric, (t, t + 59));
    assert_eq!(server.counter(PASSES) - before, 1);
    assert_eq!(groups["sample_size"], 120);
    assert_eq!(points(&groups["results"][0], t), [(0, 14.5), (30, 44.5)]);
    assert_eq!(points(&groups["results"][1], t), [(0, 1450.0), (30, 4450.0)]);
    assert_eq!(groups["results"][1]["group_by"][1]["group"], json!({ "host": "c" }));

    // The edges belong to the range, and one without tags is a metric like others.
    let edge = query(&server, json!({ "name": "cpu", "tags": { "host": "a" } }), (t + 5, t + 6));
    assert_eq!(points(&edge["results"][0], t), [(5, 5.0), (6, 6.0)]);
    let plain = query(&server, json!({ "name": "plain" }), (t, t));
    assert_eq!((points(&plain["results"][0], t), &plain["results"][0]["tags"]), (vec![(0, 7.0)], &json!({})));

    // What is not there.
    let nothing = json!({ "sample_size": 0, "results": [{ "name": "no", "tags": {}, "values": [] }] });
    assert_eq!(query(&server, json!({ "name": "no" }), (t, t)), nothing);
    assert_eq!(query(&server, json!({ "name": "cpu", "tags": { "host": "d" } }), (t, t))["sample_size"], 0);

    // The phases are counted.
    for phase in ["windows", "series", "points"] {
        assert!(
            server.counter(&format!("plumbago_labelled_phase_seconds_count{{phase=\"{phase}\"}}")) >= 4,
            "{phase}"
        );
    }
    assert_eq!(server.counter("plumbago_labelled_phase_found_total{phase=\"points\"}"), 180 + 120 + 2 + 1);
}

#[test]
fn a_thousand_values_of_a_tag_take_one_pass_and_a_metric_each_takes_one() {
    let (server, now) = server();
    let hosts: Vec<String> = (0..1000).map(|host| format!("h{host}")).collect();
    let lines: String = hosts.iter().map(|host| format!("m;host={host} 1 {now}\n")).collect();
    server.store(&lines);
    let before = server.counter(PASSES);
    let metric =
        json!({ "name": "m", "tags": { "host": hosts }, "group_by": [{ "name": "tag", "tags": ["host"] }] });
    let found = query(&server, metric, (now - 10, now));
    assert_eq!((found["results"].as_array().unwrap().len(), server.counter(PASSES) - before), (1000, 1));
    let two = json!({ "start_relative": { "value": 1, "unit": "hours" }, "metrics": [{ "name": "m" }, { "name": "n" }] });
    assert_eq!(server.post_json("/api/v1/datapoints/query/tags", &two).status, 200);
    assert_eq!(server.counter(PASSES) - before, 3);
}

#[test]
fn where_the_raw_stage_ends_slots_count_as_their_points() {
    let (server, now) = server();
    // Too old for the seconds: three points of one minute, two of the next. And two young ones.
    let t = now - 7200;
    let mut lines: String = [(0, 1.0), (10, 2.0), (59, 6.0), (60, 10.0), (61, 20.0)]
        .iter()
        .map(|(second, value)| format!("m;host=a {value} {}\n", t + second))
        .collect();
    lines += &format!("m;host=a 100 {}\nm;host=a 200 {}\n", now - 60, now - 59);
    server.store(&lines);
    let range = (t, now);
    let all = query(&server, json!({ "name": "m" }), range);
    assert_eq!(points(&all["results"][0], t), [(0, 3.0), (60, 15.0), (7140, 100.0), (7141, 200.0)]);
    let over_all = |name: &str| {
        let aggregator = json!({ "name": name, "sampling": { "value": 1, "unit": "years" } });
        let result = query(&server, json!({ "name": "m", "aggregators": [aggregator] }), range);
        let values = points(&result["results"][0], t);
        // A new year may begin in these two hours.
        values.iter().map(|(_, value)| value).sum::<f64>()
    };
    assert_eq!((over_all("count"), over_all("sum")), (7.0, 339.0));
}

#[test]
fn tags_of_a_query_are_listed_and_old_series_are_skipped() {
    let (server, now) = server();
    server.store(&format!("m;host=old 1 {}\nm;host=new;rack=1 1 {now}\n", now - 7200));
    let tags = |start: u64| {
        let query = json!({ "start_absolute": start * 1000, "metrics": [{ "name": "m" }] });
        let answer = server.post_json("/api/v1/datapoints/query/tags", &query);
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str::<Value>(&answer.body).unwrap()
    };
    let listed =
        |tags: Value| json!({ "queries": [{ "results": [{ "name": "m", "tags": tags, "values": [] }] }] });
    assert_eq!(tags(now - 8000), listed(json!({ "host": ["new", "old"], "rack": ["1"] })));
    assert_eq!(tags(now - 60), listed(json!({ "host": ["new"], "rack": ["1"] })));
    let found =
        |phase: &str| server.counter(&format!("plumbago_labelled_phase_found_total{{phase=\"{phase}\"}}"));
    let before = found("series");
    query(&server, json!({ "name": "m" }), (now - 60, now));
    assert_eq!(found("series") - before, 1);
}

#[test]
fn mistakes_are_answered_as_kairosdb_does() {
    let (server, now) = server();
    for (path, query) in [
        (
            "/api/v1/datapoints/query",
            json!({ "start_absolute": 1, "metrics": [{ "name": "m", "aggregators": [{ "name": "bogus" }] }] }),
        ),
        (
            "/api/v1/datapoints/query/tags",
            json!({ "start_absolute": 1, "metrics": [{ "name": "m", "aggregators": [{ "name": "bogus" }] }] }),
        ),
        (
            "/api/v1/datapoints/delete",
            json!({ "start_absolute": 1, "metrics": [{ "name": "m", "aggregators": [{ "name": "bogus" }] }] }),
        ),
    ] {
        let answer = server.post_json(path, &query);
        let expected = json!({ "errors": ["query.metric[0].aggregators[0].bogus invalid aggregators name"] });
        assert_eq!((answer.status, &*answer.body), (400, &*expected.to_string()), "{path}");
        assert!(answer.content_type.starts_with("application/json"), "{}", answer.content_type);
    }
    for body in ["", "{", "[]", "nonsense", "{\"metrics\": 5}"] {
        let answer = server.post_text("/api/v1/datapoints/query", body);
        assert_eq!(answer.status, 400, "{body}: {}", answer.body);
        let errors: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(errors["errors"].as_array().unwrap().len(), 1);
    }
    assert_eq!(server.get("/api/v1/datapoints/query").status, 400);
    let json = format!("%7B%22start_absolute%22:{},%22metrics%22:[%7B%22name%22:%22no%22%7D]%7D", now * 1000);
    let answer = server.json(&format!("/api/v1/datapoints/query?query={json}"));
    assert_eq!(answer["queries"][0]["results"][0]["name"], "no");

    server.store(&format!("m;a=1 1 {now}\nm;a=2 1 {now}\n"));
    let rate = json!({ "start_absolute": (now - 9) * 1000, "metrics": [{ "name": "m", "aggregators": [{ "name": "rate" }] }] });
    let answer = server.post_json("/api/v1/datapoints/query", &rate);
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert!(answer.body.contains("rate needs samples of different times"), "{}", answer.body);
}

#[test]
fn a_query_stays_within_the_limits_of_queries() {
    let setup = Setup::new()
        .set("retention.default", "1s:1h")
        .set("query.max_points", "50")
        .set("query.max_series", "3");
    let server = setup.start();
    let t = now() - 100;
    let mut lines: String = (0..60).map(|second| format!("long;a=1 1 {}\n", t + second)).collect();
    lines += &(0..4).map(|tag| format!("wide;a={tag} 1 {t}\n")).collect::<String>();
    server.store(&lines);
    for (name, key) in [("long", "query.max_points"), ("wide", "query.max_series")] {
        let query = json!({ "start_absolute": t * 1000, "metrics": [{ "name": name }] });
        let answer = server.post_json("/api/v1/datapoints/query", &query);
        assert_eq!(answer.status, 422, "{}", answer.body);
        assert!(answer.body.contains(key), "{}", answer.body);
    }
    // The register of queries has seen them.
    let queries = server.get("/internal/queries").body;
    assert!(queries.contains("/api/v1/datapoints/query"), "{queries}");
}

#[test]
fn what_is_deleted_is_gone_with_its_name_when_nothing_is_left() {
    let (server, now) = server();
    let t = now - 600;
    let mut lines = String::new();
    for host in ["a", "b", "c"] {
        lines += &(0..10).map(|second| format!("m;host={host} 1 {}\n", t + second)).collect::<String>();
    }
    server.store(&lines);
    let delete = |metric: Value, from: u64, until: u64| {
        let query =
            json!({ "start_absolute": from * 1000, "end_absolute": until * 1000, "metrics": [metric] });
        let answer = server.post_json("/api/v1/datapoints/delete", &query);
        assert_eq!((answer.status, &*answer.body), (204, ""));
    };
    let series = || server.json("/tags/findSeries?expr=name=m");
    let of = |host: &str| {
        points(&query(&server, json!({ "name": "m", "tags": { "host": host } }), (t, now))["results"][0], t)
    };
    // A part of one, all of another.
    delete(json!({ "name": "m", "tags": { "host": "a" } }), t + 2, t + 7);
    assert_eq!(of("a"), [(0, 1.0), (1, 1.0), (8, 1.0), (9, 1.0)]);
    delete(json!({ "name": "m", "tags": { "host": ["b"] } }), t, t + 9);
    assert_eq!(series(), json!(["m;host=a", "m;host=c"]));
    assert_eq!((of("b").len(), of("c").len()), (0, 10));
    // Outside of its time nothing happens.
    delete(json!({ "name": "m" }), t + 20, t + 30);
    assert_eq!((of("a").len(), of("c").len()), (4, 10));
    // A metric, and one that is not there.
    let delete_metric = |name: &str| server.delete(&format!("/api/v1/metric/{name}")).status;
    assert_eq!((delete_metric("m"), delete_metric("unknown")), (204, 204));
    assert_eq!(series(), json!([]));
    let server = server.kill().start();
    assert_eq!(server.json("/tags/findSeries?expr=name=m"), json!([]), "after a kill, too");
}

#[test]
fn what_is_saved_is_a_metric_like_others() {
    let (server, now) = server();
    let t = now - 60;
    server.store(&format!("m;host=a 1 {t}\nm;host=a 3 {}\nm;host=b 5 {t}\n", t + 1));
    let aggregators = json!([
        { "name": "sum", "sampling": { "value": 1, "unit": "days" } },
        { "name": "save_as", "metric_name": "sums", "tags": { "kind": "daily" } },
    ]);
    let metric =
        json!({ "name": "m", "group_by": [{ "name": "tag", "tags": ["host"] }], "aggregators": aggregators });
    query(&server, metric, (t, now));
    let saved = query(
        &server,
        json!({ "name": "sums", "group_by": [{ "name": "tag", "tags": ["host"] }] }),
        (t, now),
    );
    assert_eq!(points(&saved["results"][0], t), [(0, 4.0)]);
    assert_eq!(saved["results"][0]["tags"], json!({ "host": ["a"], "kind": ["daily"], "saved_from": ["m"] }));
    assert_eq!(points(&saved["results"][1], t), [(0, 5.0)]);
}

#[test]
fn opentsdbs_queries_are_answered() {
    let (server, now) = server();
    let t = now - 600;
    let mut lines = String::new();
    for step in 0..4 {
        lines += &format!("sys.cpu;dc=ams;host=a {} {}\n", step * 10, t + step * 10);
        lines += &format!("sys.cpu;dc=ams;host=b {} {}\n", step * 100, t + 5 + step * 10);
    }
    server.store(&lines);
    let get = |m: &str| {
        let m = m.replace('{', "%7B").replace('}', "%7D").replace('|', "%7C");
        server.json(&format!("/api/query?start={t}&end={now}&m={m}"))
    };
    let dps = |result: &Value| -> Vec<(u64, f64)> {
        let dps = result["dps"].as_object().unwrap();
        dps.iter().map(|(at, value)| (at.parse::<u64>().unwrap() - t, value.as_f64().unwrap())).collect()
    };
    // Each value of the tag has a result.
    let both = get("sum:sys.cpu{host=*}");
    assert_eq!(both.as_array().unwrap().len(), 2);
    assert_eq!(both[0]["tags"], json!({ "dc": "ams", "host": "a" }));
    assert_eq!((&both[0]["metric"], &both[0]["aggregatedTags"]), (&json!("sys.cpu"), &json!([])));
    assert_eq!(dps(&both[0]), [(0, 0.0), (10, 10.0), (20, 20.0), (30, 30.0)]);
    // Together, with what lies between the points of each.
    let sum = get("sum:sys.cpu");
    assert_eq!((&sum[0]["tags"], &sum[0]["aggregatedTags"]), (&json!({ "dc": "ams" }), &json!(["host"])));
    assert_eq!(dps(&sum[0])[..4], [(0, 0.0), (5, 5.0), (10, 60.0), (15, 115.0)]);
    assert_eq!(dps(&get("zimsum:sys.cpu")[0])[..4], [(0, 0.0), (5, 0.0), (10, 10.0), (15, 100.0)]);
    // Downsampled, as rates, filtered.
    assert_eq!(dps(&get("sum:20s-avg:sys.cpu{host=a}")[0]), [(0, 5.0), (20, 25.0)]);
    assert_eq!(dps(&get("sum:rate:sys.cpu{host=a}")[0]), [(10, 1.0), (20, 1.0), (30, 1.0)]);
    for (m, results) in [
        ("sum:sys.cpu{host=a|b}", 2),
        ("sum:sys.cpu{}{host=wildcard(a*)}", 1),
        ("sum:sys.cpu{host=regexp([ab])}", 2),
        ("sum:sys.cpu{host=not_literal_or(a)}", 1),
        ("sum:sys.cpu{host=iliteral_or(A)}", 1),
        ("sum:sys.cpu{host=x}", 0),
        ("none:sys.cpu", 2),
        ("sum:explicit_tags:sys.cpu{host=*}", 0),
        ("sum:unknown", 0),
    ] {
        assert_eq!(get(m).as_array().unwrap().len(), results, "{m}");
    }
    // The same as JSON, and in milliseconds.
    let body = json!({
        "start": t * 1000, "end": now, "msResolution": true,
        "queries": [{ "aggregator": "max", "metric": "sys.cpu", "downsample": "1h-max", "filters": [{ "type": "literal_or", "tagk": "host", "filter": "b", "groupBy": false }] }],
    });
    let answer = server.post_json("/api/query", &body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    let points = answer[0]["dps"].as_object().unwrap();
    assert!(
        points.iter().all(|(at, _)| at.len() == 13) && points.values().any(|value| *value == 300),
        "{answer}"
    );
    // Mistakes.
    for path in [
        "/api/query",
        "/api/query?m=sum:m",
        "/api/query?start=1h-ago&m=m",
        "/api/query?start=nonsense&m=sum:m",
        "/api/query?start=5&end=4&m=sum:m",
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 400, "{path}: {}", answer.body);
        assert_eq!(serde_json::from_str::<Value>(&answer.body).unwrap()["error"]["code"], 400);
    }
}

#[test]
fn the_catalogue_knows_metrics_by_month_tags_and_windows() {
    let (server, now) = server();
    server.store(&format!("cpu;dc=e;host=a 1 {now}\ncpu;dc=e;host=b 1 {}\nmem;host=a 1 {now}\n", now - 600));
    let catalog = |call: &str| server.json(&format!("/api/v1/catalog/{call}"));
    let tags = json!({ "metric": "cpu", "tags": [{ "tag": "dc", "values": 1, "series": 2 }, { "tag": "host", "values": 2, "series": 2 }] });
    assert_eq!(catalog("tags?metric=cpu"), tags);
    let values = catalog("tags?metric=cpu&tag=host&limit=1");
    let seen = now * 1000;
    assert_eq!(
        values["values"],
        json!([{ "value": "a", "series": 1, "first_seen": seen, "last_seen": seen }])
    );
    assert_eq!(values["next"], "a");
    assert_eq!(catalog("tags?metric=cpu&tag=host&after=a")["values"][0]["value"], "b");
    let months = catalog("metrics?from=1990-01&until=1990-02");
    assert_eq!(
        months,
        json!({ "months": [{ "month": "1990-01", "metrics": [] }, { "month": "1990-02", "metrics": [] }], "next": null })
    );
    let this = catalog("metrics?prefix=m");
    let mem = json!({ "metric": "mem", "first_seen": seen, "last_seen": seen, "data_types": ["double"], "series": 1 });
    assert_eq!(this["months"][0]["metrics"], json!([mem]));
    let rows = catalog("cardinality");
    assert_eq!(rows["cardinality"][0], json!({ "metric": "cpu", "tag": "host", "values": 2, "series": 2 }));
    assert_eq!(rows["cardinality"].as_array().unwrap().len(), 3);
    let windows = catalog("windows?metric=mem");
    let window = &windows["windows"][0];
    assert_eq!((windows["windows"].as_array().unwrap().len(), &window["series"]), (1, &json!(1)));
    assert_eq!(window["start"].as_u64().unwrap() % 1_814_400_000, 0);
    let partitions = catalog("partitions");
    let minutes = partitions["partitions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|stage| stage["step_seconds"] == 60)
        .unwrap();
    assert_eq!((&minutes["kept_seconds"], &minutes["slots_per_partition"]), (&json!(86_400), &json!(1440)));
    for bad in ["tags", "windows", "metrics?from=x", "cardinality?limit=0"] {
        let answer = server.get(&format!("/api/v1/catalog/{bad}"));
        assert_eq!(answer.status, 400, "{bad}: {}", answer.body);
        assert!(answer.body.starts_with("{\"errors\":[\""), "{}", answer.body);
    }
}
