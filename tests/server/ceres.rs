//! Ceres' clients: each request of its README, word for word, and its answer; aggregates; and the other doors to the same series.

use serde_json::{Value, json};

use super::harness::{Server, Setup, now};

/// A body as curl sends it.
fn post(server: &Server, body: &Value) -> (u16, Value) {
    let answer = server.post_json("/api/write/single", body);
    (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
}

fn item(host: &str, ts: u64, value: f64) -> Value {
    json!({
        "tenant": "t-1",
        "metricName": "cpu_idle",
        "tags": { "os": "linux", "host": host, "deployment": "prod" },
        "ts": ts,
        "value": value
    })
}

fn iso(seconds: u64) -> String {
    jiff::Timestamp::from_second(seconds as i64).unwrap().to_string()
}

fn query(rest: &str, start: u64, end: u64) -> String {
    let (start, end) = (iso(start), iso(end));
    format!("/api/query?tenant=t-1&metricName=cpu_idle&tag=os=linux&start={start}&end={end}{rest}")
}

#[test]
fn each_request_of_the_readme_has_the_answer_that_it_shows() {
    for enabled in ["false", "true"] {
        let server = Setup::new().set("tenants.enabled", enabled).start();
        let t = now() - 100;
        assert_eq!(post(&server, &item("h-1", t, 491.0)), (200, Value::Null));
        assert_eq!(post(&server, &item("h-1", t + 4, 792.0)).0, 200);
        assert_eq!(post(&server, &json!([item("h-3", t + 1, 84.0), item("h-3", t + 2, 498.0)])).0, 200);
        let mut other = item("h-9", t, 1.0);
        other["tenant"] = json!("t-2");
        assert_eq!(post(&server, &other).0, 200);

        assert_eq!(server.json("/api/metadata/metricNames?tenant=t-1"), json!(["cpu_idle"]));
        let keys = server.json("/api/metadata/tagKeys?tenant=t-1&metricName=cpu_idle");
        assert_eq!(keys, json!(["deployment", "host", "os"]));
        let values = "/api/metadata/tagValues?tenant=t-1&metricName=cpu_idle&tagKey=";
        assert_eq!(server.json(&format!("{values}os")), json!(["linux"]));
        assert_eq!(server.json(&format!("{values}host")), json!(["h-1", "h-3"]));
        let series = |host: &str, values: Value| {
            json!({
                "tenant": "t-1",
                "metricName": "cpu_idle",
                "tags": { "deployment": "prod", "host": host, "os": "linux" },
                "values": values
            })
        };
        let h1 = series("h-1", json!({ iso(t): 491.0, iso(t + 4): 792.0 }));
        let h3 = series("h-3", json!({ iso(t + 1): 84.0, iso(t + 2): 498.0 }));
        assert_eq!(server.json(&query("", t, t + 60)), json!([h1, h3]));
        // The start is inside, and the end is not. A series without points is left out.
        let h1 = series("h-1", json!({ iso(t): 491.0 }));
        assert_eq!(server.json(&query("", t, t + 1)), json!([h1]));
        assert_eq!(server.json(&query("&tag=host=h-9", t, t + 60)), json!([]));
        assert!(server.get(&query("", t, t + 60)).body.contains("\":491.0"), "a number is a double");
    }
}

#[test]
fn sixty_points_of_a_minute_come_back_and_are_aggregated_five_ways() {
    let server = Setup::new().start();
    let t = (now() - 600) / 60 * 60;
    let points: Vec<Value> = (0..60).map(|second| item("h-1", t + second, second as f64)).collect();
    assert_eq!(post(&server, &json!(points)).0, 200);
    let raw = server.json(&query("", t, t + 60));
    assert_eq!(raw[0]["values"].as_object().unwrap().len(), 60);
    for (aggregator, value) in [("min", 0.0), ("max", 59.0), ("sum", 1770.0), ("count", 60.0), ("avg", 29.5)]
    {
        let path = query(&format!("&aggregator={aggregator}&granularity=PT1M"), t, t + 60);
        assert_eq!(server.json(&path)[0]["values"], json!({ iso(t): value }), "{aggregator}");
    }
    // A point that comes late is in the aggregate.
    assert_eq!(post(&server, &item("h-1", t + 59, 100.0)).0, 200);
    let path = query("&aggregator=max&granularity=PT1M", t, t + 60);
    assert_eq!(server.json(&path)[0]["values"], json!({ iso(t): 100.0 }));
    // No five copies: one series beside the metric for each extreme.
    let stored = server.json("/tags/findSeries?expr=tenant=t-1");
    assert_eq!(stored.as_array().unwrap().len(), 3, "{stored}");
}

#[test]
fn where_only_aggregates_are_kept_they_say_the_same() {
    let server = Setup::new().set("kairosdb.retention", "1s:2m,1m:1d").start();
    let t = (now() - 3600) / 60 * 60;
    // Too old for the seconds, these go straight into the minutes.
    let values = [3.0, 1.0, 2.0];
    for (nth, value) in (0..).zip(values) {
        assert_eq!(post(&server, &item("h-1", t + nth, value)).0, 200);
    }
    for (aggregator, value) in [("min", 1.0), ("max", 3.0), ("sum", 6.0), ("count", 3.0), ("avg", 2.0)] {
        let path = query(&format!("&aggregator={aggregator}&granularity=PT1M"), t, t + 60);
        assert_eq!(server.json(&path)[0]["values"], json!({ iso(t): value }), "{aggregator}");
    }
}

#[test]
fn slots_that_are_not_settled_are_not_answered() {
    let setup = Setup::new().set("ceres.settle", "1h").set("ceres.slot_width", "1h");
    let server = setup.start();
    let t = now();
    let old = (t - 3 * 3600) / 60 * 60;
    assert_eq!(post(&server, &json!([item("h-1", old, 1.0), item("h-1", t, 2.0)])).0, 200);
    let path = query("&aggregator=sum&granularity=PT1M", old, t + 60);
    assert_eq!(server.json(&path)[0]["values"], json!({ iso(old): 1.0 }));
    let wrong = Setup::new().set("ceres.slot_width", "90m").run_to_end();
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        wrong.status.code() == Some(2) && said.contains("ceres.slot_width") && said.contains("3600"),
        "{said}"
    );
}

#[test]
fn bad_items_are_named_and_good_ones_are_stored() {
    let server = Setup::new().set("kairosdb.max_body_bytes", "4KiB").start();
    let t = now();
    let mut no_tags = item("h-1", t, 1.0);
    no_tags["tags"] = json!({});
    let (status, said) = post(&server, &json!([item("h-1", t, 1.0), no_tags, 5]));
    assert_eq!((status, &said["stored"], &said["failed"]), (400, &json!(1), &json!(2)), "{said}");
    assert_eq!(said["errors"][0]["item"], json!(1));
    assert!(said["message"].as_str().unwrap().starts_with("item 1: tags"), "{said}");
    assert_eq!(server.json(&query("", t - 5, t + 5)).as_array().unwrap().len(), 1);
    let (status, said) = post(&server, &no_tags);
    assert_eq!((status, &said["status"], &said["error"]), (400, &json!(400), &json!("Bad Request")));
    assert_eq!(said["path"], json!("/api/write/single"));
    let mut odd = item("h-1", t, 1.0);
    odd["tenant"] = json!("a.b");
    assert!(post(&server, &odd).1["message"].as_str().unwrap().contains("`a.b`"));
    odd["tenant"] = Value::Null;
    assert!(post(&server, &odd).1["message"].as_str().unwrap().contains("tenant"));
    assert_eq!(post(&server, &json!({ "tenant": "x".repeat(5000) })).0, 413);
    assert_eq!(server.post_text("/api/write/single", "{").status, 400);
    for path in [
        "/api/query?tenant=t-1&metricName=cpu_idle&start=2020-08-23T17:53:00Z&end=2020-08-23T17:54:40Z",
        "/api/query?tenant=t-1&tag=os=linux&start=2020-08-23T17:53:00Z",
        "/api/query?tenant=t-1&metricName=cpu_idle&tag=os&start=2020-08-23T17:53:00Z",
        "/api/query?tenant=t-1&metricName=cpu_idle&tag=os=linux&start=soon",
        "/api/query?tenant=t-1&metricName=cpu_idle&tag=os=linux&start=2020-08-23T17:53:00Z&aggregator=p99",
        "/api/query?metricName=cpu_idle&tag=os=linux&start=2020-08-23T17:53:00Z",
        "/api/metadata/metricNames",
        "/api/metadata/tagKeys?tenant=t-1",
        "/api/metadata/tagValues?tenant=t-1&metricName=m",
    ] {
        let answer = server.get(path);
        let said: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((answer.status, &said["status"]), (400, &json!(400)), "{path}: {said}");
    }
}

#[test]
fn a_long_body_is_stored_in_parts_and_keeps_the_places_of_its_items() {
    let server = Setup::new().set("kairosdb.max_errors", "3").start();
    let t = now() - 10_000;
    // Three points of each: more than are stored at once.
    let mut items: Vec<Value> = (0..6000).map(|second| item("h-1", t + second, second as f64)).collect();
    for bad in [10, 5000, 5001, 5999] {
        items[bad]["tags"] = json!({});
    }
    let (status, said) = post(&server, &json!(items));
    assert_eq!((status, &said["stored"], &said["failed"]), (400, &json!(5996), &json!(4)), "{said}");
    let places: Vec<u64> =
        said["errors"].as_array().unwrap().iter().map(|error| error["item"].as_u64().unwrap()).collect();
    assert_eq!(places, [10, 5000, 5001]);
    assert_eq!(server.counter("plumbago_points_stored_total"), 3 * 5996);
    let path = query("&aggregator=count&granularity=PT1H", t - 3600, t + 7200);
    let counted = &server.json(&path)[0]["values"];
    let sum: f64 = counted.as_object().unwrap().values().map(|count| count.as_f64().unwrap()).sum();
    assert_eq!(sum, 5996.0);
}

/// The point is stored, the series beside it are not: the client is told, and may send the same again.
#[test]
fn an_item_whose_extremes_find_no_room_is_named() {
    let server = Setup::new().set("ingest.max_metrics", "2").start();
    let t = now() - 10;
    let (status, said) = post(&server, &json!([item("h-1", t, 1.0)]));
    assert_eq!((status, &said["stored"], &said["failed"]), (400, &json!(0), &json!(1)), "{said}");
    let message = said["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("extremes are not") && message.contains("cpu_idle_max"), "{message}");
    assert_eq!(server.json(&query("", t, t + 1))[0]["values"], json!({ iso(t): 1.0 }));
    // Where the metric itself finds no room, nothing of the item is stored.
    assert_eq!(post(&server, &item("h-2", t, 1.0)).0, 400);
    let names = server.json("/tags/findSeries?expr=host=h-2");
    assert_eq!(names, json!([]));
}

#[test]
fn a_curl_of_ceres_a_carbon_line_and_a_render_meet_on_one_series() {
    let server = Setup::new().start();
    let t = now() - 60;
    assert_eq!(post(&server, &item("h-1", t, 1.0)).0, 200);
    server.store(&format!("cpu_idle;os=linux;host=h-1;deployment=prod;tenant=t-1 2 {}\n", t + 1));
    let rendered = server.points("seriesByTag('name=cpu_idle','tenant=t-1')", t - 1, t + 5);
    assert_eq!(rendered, [(1.0, t), (2.0, t + 1)]);
    let values = &server.json(&query("", t, t + 5))[0]["values"];
    assert_eq!(*values, json!({ iso(t): 1.0, iso(t + 1): 2.0 }));
}
