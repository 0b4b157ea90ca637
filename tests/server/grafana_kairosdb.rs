//! What Grafana's data source for KairosDB asks, call by call, and what it needs from the answers.
//!
//! It sends all numbers of aggregators and groups as texts, units in capitals, a limit of 0 for none, and times in whole seconds.

use serde_json::{Value, json};

use super::harness::{Server, Setup, now};

fn server() -> (Server, u64) {
    let server = Setup::new().set("retention.default", "1s:1h").start();
    let t = (now() - 300) / 60 * 60;
    let mut lines = String::new();
    for second in 0..60 {
        lines += &format!("cpu.load;dc=ams;host=web1 {second} {}\n", t + second);
        lines += &format!("cpu.load;dc=fra;host=web2 {} {}\n", second * 2, t + second);
    }
    server.store(&lines);
    (server, t)
}

/// A query of a panel, as the data source builds it.
fn panel(server: &Server, t: u64, metric: Value) -> Vec<Value> {
    let mut asked = json!({ "limit": 0, "name": "cpu.load", "tags": {}, "aggregators": [], "group_by": [] });
    for (key, value) in metric.as_object().unwrap() {
        asked[key] = value.clone();
    }
    let query = json!({
        "cache_time": 0,
        "start_absolute": t * 1000,
        "end_absolute": (t + 60) * 1000,
        "metrics": [asked],
    });
    let answer = server.post_json("/api/v1/datapoints/query", &query);
    assert_eq!(answer.status, 200, "{query}: {}", answer.body);
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    answer["queries"][0]["results"].as_array().unwrap().clone()
}

/// The name of a series as a legend shows it, made of `name` and `group_by`.
fn legend(result: &Value) -> String {
    let groups = result["group_by"].as_array().unwrap().iter().filter_map(|group| group["group"].as_object());
    let parts = groups.flatten().map(|(key, value)| format!("{key}={}", value.to_string().replace('"', "")));
    let parts: Vec<String> = parts.collect();
    format!("{} ({})", result["name"].as_str().unwrap(), parts.join(", "))
}

#[test]
fn the_test_button_and_the_lists_of_the_editor() {
    let (server, _) = server();
    assert_eq!(server.get("/api/v1/health/status").status, 200);
    assert_eq!(server.json("/api/v1/metricnames"), json!({ "results": ["cpu.load"] }));
    let tags = |filters: Value| {
        let query = json!({ "cache_time": 0, "metrics": [{ "name": "cpu.load", "tags": filters }], "start_absolute": 0 });
        let answer = server.post_json("/api/v1/datapoints/query/tags", &query);
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str::<Value>(&answer.body).unwrap()["queries"][0]["results"][0]["tags"].clone()
    };
    assert_eq!(tags(json!({})), json!({ "dc": ["ams", "fra"], "host": ["web1", "web2"] }));
    // `tag_values(cpu.load, host, dc=fra)` of a variable.
    assert_eq!(tags(json!({ "dc": ["fra"] })), json!({ "dc": ["fra"], "host": ["web2"] }));
    assert_eq!(tags(json!({ "dc": [] }))["host"], json!(["web1", "web2"]));
}

#[test]
fn a_panel_with_tags_groups_and_an_alias_of_its_own() {
    let (server, t) = server();
    let minutes = json!({ "unit": "MINUTES", "value": "1" });
    let results = panel(
        &server,
        t,
        json!({
            "tags": { "host": ["web1", "web2"] },
            "aggregators": [{ "name": "avg", "sampling": minutes, "align_sampling": true }],
            "group_by": [{ "name": "tag", "tags": ["host"] }],
        }),
    );
    let legends: Vec<String> = results.iter().map(legend).collect();
    assert_eq!(legends, ["cpu.load (host=web1)", "cpu.load (host=web2)"]);
    assert_eq!(results[0]["values"], json!([[t * 1000, 29.5]]));
    assert_eq!(results[1]["values"], json!([[t * 1000, 59]]));
    let halves = json!({ "unit": "SECONDS", "value": "30" });
    let by_time = panel(
        &server,
        t,
        json!({ "group_by": [{ "group_count": "2", "name": "time", "range_size": halves }] }),
    );
    let legends: Vec<String> = by_time.iter().map(legend).collect();
    assert_eq!(legends, ["cpu.load (group_number=0)", "cpu.load (group_number=1)"]);
    let by_value = panel(&server, t, json!({ "group_by": [{ "name": "value", "range_size": "60" }] }));
    let sizes: Vec<usize> = by_value.iter().map(|group| group["values"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [90, 30]);
    let nothing = panel(&server, t, json!({ "name": "none" }));
    assert_eq!(nothing, [json!({ "name": "none", "tags": {}, "values": [] })]);
}

/// Each aggregator of its menu, with the properties that it sends for it.
#[test]
fn each_aggregator_of_the_menu_is_answered() {
    let (server, t) = server();
    let half = json!({ "value": "30", "unit": "SECONDS" });
    let on_buckets =
        ["avg", "dev", "count", "first", "gaps", "last", "least_squares", "max", "min", "merge", "sum"];
    let mut menu: Vec<Value> = Vec::new();
    for name in on_buckets {
        menu.push(json!({ "name": name, "sampling": half }));
        menu.push(json!({ "name": name, "sampling": half, "align_sampling": true }));
        menu.push(json!({ "name": name, "sampling": half, "align_start_time": true }));
    }
    menu.extend([
        json!({ "name": "percentile", "sampling": half, "percentile": "0.75" }),
        json!({ "name": "sma", "size": "10" }),
        json!({ "name": "diff" }),
        json!({ "name": "div", "divisor": "2" }),
        json!({ "name": "rate", "unit": "SECONDS" }),
        json!({ "name": "sampler", "unit": "SECONDS" }),
        json!({ "name": "scale", "factor": "0.5" }),
        json!({ "name": "trim", "trim": "both" }),
        json!({ "name": "filter", "filter_op": "GTE", "threshold": "30" }),
    ]);
    for aggregator in menu {
        let results = panel(&server, t, json!({ "tags": { "host": ["web1"] }, "aggregators": [aggregator] }));
        let values = results[0]["values"].as_array().unwrap();
        assert!(!values.is_empty() && values.iter().all(|point| point[1].is_number()), "{aggregator}");
    }
    // One that only a plug-in of KairosDB has is refused by its name.
    let query = json!({ "start_absolute": t * 1000, "metrics": [{ "name": "cpu.load", "aggregators": [{ "name": "movingWindow", "sampling": half }] }] });
    let answer = server.post_json("/api/v1/datapoints/query", &query);
    let expected =
        json!({ "errors": ["query.metric[0].aggregators[0].movingWindow invalid aggregators name"] });
    assert_eq!((answer.status, serde_json::from_str::<Value>(&answer.body).unwrap()), (400, expected));
}
