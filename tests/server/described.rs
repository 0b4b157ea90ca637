//! What the documents of the systems that Plumbago takes over describe as a request is sent here, and answered as they show.
//!
//! | document | request | test |
//! |---|---|---|
//! | kairosdb-rs, its tables | windows of `cpu.usage`; its series in a window; metrics of `2024-01` to `2024-03`; values of `host`; keys of tags; sizes of partitions; windows and cardinality by metric | `the_questions_to_kairosdb_rs_tables_have_answers` |
//! | KairosDB, its tables | none: it shows the bytes of keys and columns, which `src/kairosdb/row` reads | – |
//! | the article on KairosDB in Cassandra | 33 degrees in Antalya, written and read | `the_temperature_of_antalya_is_written_and_read` |
//! | | cities as groups of one query | `the_query_of_the_article_reads_many_values_of_a_tag_at_once` |
//! | | three metrics deleted for one city, and for two | `the_deletions_of_the_article_look_each_metric_up_once` |
//! | | bytes in hexadecimal, for a person | the tests of `dump kairosdb-key` |
//! | Ceres, its README | `write/single`, `metricNames`, `tagKeys`, `tagValues`, `query` | `each_request_of_ceres_readme_has_the_answer_that_it_shows` |
//! | | two tags, and the aggregates by their names | `the_design_of_ceres_holds_for_tags_and_aggregates` |
//! | BigGraphite, its design | `a.b.c`; `a.*.c` and `a.x*z.c` | `the_globs_of_biggraphites_design_find_what_they_say` |
//! | | 60 points of a minute, then 24 of an hour | `a_policy_of_biggraphites_design_has_a_table_for_each_stage` |
//!
//! Statements in CQL are not sent: these tables are not there. The call that answers the same question is.

use serde_json::{Value, json};

use super::harness::{Server, Setup, now};

/// Points of the documents' times are kept second by second.
const LONG: &str = "1s:15y,5m:30y";

/// Counts passes over the index.
const PASSES: &str = "plumbago_labelled_index_passes_total";

/// How many milliseconds a window of kairosdb-rs has.
const WINDOW: u64 = 1_814_400_000;

fn long() -> Server {
    Setup::new().set("kairosdb.retention", LONG).start()
}

fn seconds(instant: &str) -> u64 {
    instant.parse::<jiff::Timestamp>().unwrap().as_second() as u64
}

fn post(server: &Server, path: &str, text: &str) -> (u16, String) {
    let answer = server.post_text(path, text);
    (answer.status, answer.body)
}

#[test]
fn the_questions_to_kairosdb_rs_tables_have_answers() {
    let server = long();
    let (january, february) = (seconds("2024-01-15T00:00:00Z"), seconds("2024-02-10T00:00:00Z"));
    let march = seconds("2024-03-05T00:00:00Z");
    let of = |name: &str, host: &str, times: &[u64]| {
        let points: Vec<Value> = times.iter().map(|time| json!([time * 1000, 1])).collect();
        json!({ "name": name, "tags": { "host": host, "dc": "e" }, "datapoints": points })
    };
    let sent = json!([
        of("cpu.usage", "a", &[january, february]),
        of("cpu.usage", "b", &[february, february + 1]),
        of("mem.usage", "a", &[march]),
        of("later", "a", &[seconds("2025-01-01T00:00:00Z")]),
    ]);
    assert_eq!(server.post_json("/api/v1/datapoints", &sent).status, 204);
    let catalog = |call: &str| server.json(&format!("/api/v1/catalog/{call}"));
    // SELECT time_window FROM metric_time_windows WHERE metric = 'cpu.usage' …
    let windows = catalog("windows?metric=cpu.usage");
    let starts: Vec<u64> = windows["windows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|window| window["start"].as_u64().unwrap())
        .collect();
    let floor = |seconds: u64| seconds * 1000 / WINDOW * WINDOW;
    let expected: Vec<u64> = (floor(january)..=floor(february)).step_by(WINDOW as usize).collect();
    assert_eq!((starts, expected.len()), (expected, 3));
    // SELECT … tags … FROM series_metadata WHERE metric = 'cpu.usage' AND time_window = …
    let within = |from: u64| {
        let query = json!({ "start_absolute": from, "end_absolute": from + WINDOW - 1, "metrics": [{ "name": "cpu.usage" }] });
        let (status, text) = post(&server, "/api/v1/datapoints/query/tags", &query.to_string());
        assert_eq!(status, 200, "{text}");
        serde_json::from_str::<Value>(&text).unwrap()["queries"][0]["results"][0]["tags"].clone()
    };
    assert_eq!(within(floor(january)), json!({ "dc": ["e"], "host": ["a"] }));
    assert_eq!(within(floor(february)), json!({ "dc": ["e"], "host": ["a", "b"] }));
    // SELECT metric_name, data_types, series_count_estimate FROM metric_catalog WHERE time_bucket IN ('2024-01', '2024-02', '2024-03')
    let months = catalog("metrics?from=2024-01&until=2024-03");
    let of_month = |nth: usize| -> Vec<(Value, Value, Value)> {
        let metrics = months["months"][nth]["metrics"].as_array().unwrap();
        let row = |row: &Value| (row["metric"].clone(), row["data_types"].clone(), row["series"].clone());
        metrics.iter().map(row).collect()
    };
    let row = |metric: &str, series: u64| (json!(metric), json!(["double"]), json!(series));
    assert_eq!(of_month(0), [row("cpu.usage", 1)]);
    assert_eq!(of_month(1), [row("cpu.usage", 2)]);
    assert_eq!(of_month(2), [row("mem.usage", 1)]);
    // SELECT tag_value, series_count FROM tag_catalog WHERE metric = 'cpu.usage' AND tag_key = 'host'
    let values = catalog("tags?metric=cpu.usage&tag=host")["values"].clone();
    let value = |nth: usize| (values[nth]["value"].clone(), values[nth]["series"].clone());
    assert_eq!((value(0), value(1)), ((json!("a"), json!(1)), (json!("b"), json!(1))));
    // SELECT DISTINCT tag_key FROM tag_catalog WHERE metric = 'cpu.usage'
    let keys = catalog("tags?metric=cpu.usage")["tags"].clone();
    assert_eq!((&keys[0]["tag"], &keys[1]["tag"]), (&json!("dc"), &json!("host")));
    // Sizes of partitions, windows by metric, and how many values each tag has.
    assert_eq!(catalog("partitions")["partitions"][0]["step_seconds"], 1);
    assert_eq!(catalog("windows?metric=mem.usage")["windows"].as_array().unwrap().len(), 1);
    let rows = catalog("cardinality?prefix=cpu")["cardinality"].clone();
    assert_eq!(rows[0], json!({ "metric": "cpu.usage", "tag": "host", "values": 2, "series": 2 }));
}

#[test]
fn the_temperature_of_antalya_is_written_and_read() {
    let server = long();
    let (time, second) = (1_501_672_887_988_u64, 1_501_672_887_000_u64);
    let sent = format!(
        r#"{{"name":"Temperature","tags":{{"city":"Antalya"}},"timestamp":{time},"value":33,"type":"long"}}"#
    );
    assert_eq!(post(&server, "/api/v1/datapoints", &sent).0, 204);
    let asked = format!(
        r#"{{"start_absolute":{time},"end_absolute":{time},"metrics":[{{"name":"Temperature","tags":{{"city":"Antalya"}}}}]}}"#
    );
    let (status, text) = post(&server, "/api/v1/datapoints/query", &asked);
    assert_eq!(status, 200, "{text}");
    let result = &serde_json::from_str::<Value>(&text).unwrap()["queries"][0]["results"][0];
    // The time is that of its second.
    assert_eq!(
        (&result["values"], &result["tags"]),
        (&json!([[second, 33]]), &json!({ "city": ["Antalya"] }))
    );
    let window = server.json("/api/v1/catalog/windows?metric=Temperature")["windows"][0]["start"].clone();
    assert_eq!(window, 1_500_508_800_000_u64);
}

/// Word for word, but for the times.
#[test]
fn the_query_of_the_article_reads_many_values_of_a_tag_at_once() {
    let (server, now) = (Server::start(), now() / 60 * 60);
    let cities: String = ["Antalya", "Istanbul", "Izmir"]
        .iter()
        .map(|city| format!("Temperature;city={city} 33 {now}\n"))
        .collect();
    server.store(&cities);
    let text = format!(
        r#"{{
    "start_absolute": {},
    "end_absolute": {},
    "metrics": [{{ 
        "name": "Temperature",
        "tags": {{ "city": ["Antalya", "Istanbul"] }}, 
        "group_by": [
            {{
              "name": "tag",
              "tags": [ "city" ]
            }}
        ]
    }}]
}}"#,
        (now - 60) * 1000,
        now * 1000
    );
    let before = server.counter(PASSES);
    let answer = server.post_text("/api/v1/datapoints/query", &text);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let result = |city: &str| {
        json!({
            "name": "Temperature",
            "group_by": [{ "name": "type", "type": "number" }, { "name": "tag", "tags": ["city"], "group": { "city": city } }],
            "tags": { "city": [city] },
            "values": [[now * 1000, 33]],
        })
    };
    let expected =
        json!({ "queries": [{ "sample_size": 2, "results": [result("Antalya"), result("Istanbul")] }] });
    assert_eq!(serde_json::from_str::<Value>(&answer.body).unwrap(), expected);
    assert_eq!(server.counter(PASSES) - before, 1);
}

/// "To delete 1 week of data for these 3 metrics on Antalya", and "all of the metrics for 2 different cities".
#[test]
fn the_deletions_of_the_article_look_each_metric_up_once() {
    let server = long();
    let now = now() / 60 * 60;
    let (old, young) = (now - 14 * 86_400, now - 86_400);
    let metrics = ["Temperature", "Humidity", "Wind"];
    let mut sent = Vec::new();
    for metric in metrics {
        for city in ["Antalya", "Istanbul", "Izmir"] {
            let points = json!([[old * 1000, 1], [young * 1000, 2]]);
            sent.push(json!({ "name": metric, "tags": { "city": city }, "datapoints": points }));
        }
    }
    assert_eq!(server.post_json("/api/v1/datapoints", &json!(sent)).status, 204);
    let delete = |from: u64, cities: Value| {
        let asked: Vec<Value> =
            metrics.iter().map(|metric| json!({ "name": metric, "tags": { "city": cities } })).collect();
        let query = json!({ "start_absolute": from * 1000, "end_absolute": now * 1000, "metrics": asked });
        let before = server.counter(PASSES);
        let answer = server.post_json("/api/v1/datapoints/delete", &query);
        assert_eq!((answer.status, &*answer.body), (204, ""));
        assert_eq!(server.counter(PASSES) - before, 3, "one pass for each metric, however many cities");
    };
    let left = |city: &str| {
        let asked = metrics.map(|metric| json!({ "name": metric, "tags": { "city": city } }));
        let query = json!({ "start_absolute": old * 1000, "metrics": asked });
        let (status, text) = post(&server, "/api/v1/datapoints/query", &query.to_string());
        assert_eq!(status, 200, "{text}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        let queries = answer["queries"].as_array().unwrap();
        queries.iter().map(|query| query["sample_size"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(left("Antalya"), 6);
    delete(now - 7 * 86_400, json!("Antalya"));
    assert_eq!((left("Antalya"), left("Istanbul")), (3, 6));
    delete(0, json!(["Antalya", "Istanbul"]));
    assert_eq!((left("Antalya"), left("Istanbul"), left("Izmir")), (0, 0, 6));
    let cities = server.json("/api/v1/tagvalues");
    assert_eq!(cities, json!({ "results": ["Izmir"] }), "the index is clean");
}

/// A series of Ceres' README: host, system, deployment, and values by instants.
type CeresSeries<'a> = (&'a str, &'a str, &'a str, &'a [(&'a str, u32)]);

fn write_ceres(server: &Server, series: &[CeresSeries<'_>]) {
    for (host, os, deployment, values) in series {
        for (ts, value) in *values {
            let item = json!({
                "tenant": "t-1",
                "metricName": "cpu_idle",
                "tags": { "os": os, "host": host, "deployment": deployment },
                "ts": ts,
                "value": value
            });
            assert_eq!(post(server, "/api/write/single", &item.to_string()), (200, String::new()));
        }
    }
}

/// The README lists series in no order.
fn sorted(series: &Value) -> Vec<Value> {
    let mut series = series.as_array().unwrap().clone();
    series.sort_by_key(|series| series["tags"]["host"].as_str().unwrap().to_owned());
    series
}

#[test]
fn each_request_of_ceres_readme_has_the_answer_that_it_shows() {
    let server = long();
    write_ceres(
        &server,
        &[
            (
                "h-1",
                "linux",
                "prod",
                &[
                    ("2020-08-24T00:13:16Z", 491),
                    ("2020-08-24T00:13:20Z", 792),
                    ("2020-08-24T00:13:21Z", 824),
                ],
            ),
            ("h-3", "linux", "dev", &[("2020-08-24T00:15:52Z", 84), ("2020-08-24T00:15:55Z", 498)]),
        ],
    );
    let body = r#"{
  "tenant": "t-1",
  "metricName": "cpu_idle",
  "tags": {
    "os": "linux",
    "host": "h-1",
    "deployment": "prod"
  },
  "ts": {{$timestamp}},
  "value": {{$randomInt}}
}"#;
    let body = body.replace("{{$timestamp}}", &now().to_string()).replace("{{$randomInt}}", "578");
    assert_eq!(post(&server, "/api/write/single", &body), (200, String::new()));
    assert_eq!(server.json("/api/metadata/metricNames?tenant=t-1"), json!(["cpu_idle"]));
    let keys = server.json("/api/metadata/tagKeys?tenant=t-1&metricName=cpu_idle");
    assert_eq!(keys, json!(["deployment", "host", "os"]));
    let values = server.json("/api/metadata/tagValues?tenant=t-1&metricName=cpu_idle&tagKey=os");
    assert_eq!(values, json!(["linux"]));
    // The README's range is not that of the answer that it shows.
    let query = "/api/query?tenant=t-1&metricName=cpu_idle&tag=os=linux";
    let answer = server.json(&format!("{query}&start=2020-08-23T17:53:00Z&end=2020-08-23T17:54:40Z"));
    assert_eq!(answer, json!([]));
    let answer = server.get(&format!("{query}&start=2020-08-24T00:13:00Z&end=2020-08-24T00:16:00Z")).body;
    assert!(answer.contains(r#""2020-08-24T00:13:16Z":491.0,"2020-08-24T00:13:20Z":792.0,"#), "{answer}");
    let shown = r#"[
  {
    "tenant": "t-1",
    "metricName": "cpu_idle",
    "tags": {
      "host": "h-1",
      "os": "linux",
      "deployment": "prod"
    },
    "values": {
      "2020-08-24T00:13:16Z": 491.0,
      "2020-08-24T00:13:20Z": 792.0,
      "2020-08-24T00:13:21Z": 824.0
    }
  },
  {
    "tenant": "t-1",
    "metricName": "cpu_idle",
    "tags": {
      "host": "h-3",
      "os": "linux",
      "deployment": "dev"
    },
    "values": {
      "2020-08-24T00:15:52Z": 84.0,
      "2020-08-24T00:15:55Z": 498.0
    }
  }
]"#;
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(sorted(&parsed(&answer)), sorted(&parsed(shown)));
}

#[test]
fn the_design_of_ceres_holds_for_tags_and_aggregates() {
    let server = long();
    write_ceres(
        &server,
        &[
            ("h-4", "linux", "prod", &[("2020-08-24T16:34:05Z", 477)]),
            (
                "h-1",
                "linux",
                "prod",
                &[
                    ("2020-08-24T15:51:15Z", 186),
                    ("2020-08-24T16:23:54Z", 828),
                    ("2020-08-24T16:23:58Z", 842),
                    ("2020-08-24T16:26:52Z", 832),
                    ("2020-08-24T16:34:05Z", 436),
                ],
            ),
            ("h-3", "linux", "dev", &[("2020-08-24T16:34:05Z", 1)]),
            ("h-2", "windows", "prod", &[("2020-08-24T16:34:05Z", 2)]),
        ],
    );
    let both = "/api/query?tenant=t-1&metricName=cpu_idle&tag=os=linux&tag=deployment=prod";
    let range = "start=2020-08-24T15:00:00Z&end=2020-08-24T17:00:00Z";
    let series = |host: &str, values: Value| {
        let tags = json!({ "host": host, "os": "linux", "deployment": "prod" });
        json!({ "tenant": "t-1", "metricName": "cpu_idle", "tags": tags, "values": values })
    };
    let shown = json!([
        series("h-4", json!({ "2020-08-24T16:34:05Z": 477.0 })),
        series(
            "h-1",
            json!({
                "2020-08-24T15:51:15Z": 186.0,
                "2020-08-24T16:23:54Z": 828.0,
                "2020-08-24T16:23:58Z": 842.0,
                "2020-08-24T16:26:52Z": 832.0,
                "2020-08-24T16:34:05Z": 436.0
            })
        ),
    ]);
    assert_eq!(sorted(&server.json(&format!("{both}&{range}"))), sorted(&shown));
    // Five aggregates of five minutes and of an hour.
    let slot = |rest: &str, slot: &str| {
        let path = format!("{both}&tag=host=h-1&{range}&{rest}");
        server.json(&path)[0]["values"][slot].clone()
    };
    for (aggregator, minutes, hour) in [
        ("min", 828.0, 436.0),
        ("max", 842.0, 842.0),
        ("sum", 2502.0, 2938.0),
        ("count", 3.0, 4.0),
        ("avg", 834.0, 734.5),
    ] {
        let five = format!("aggregator={aggregator}&granularity=PT5M");
        // 16:23 and 16:26 are in different slots of five minutes, and in one of ten.
        let ten = format!("aggregator={aggregator}&granularity=PT10M");
        assert_eq!(slot(&ten, "2020-08-24T16:20:00Z"), minutes, "{aggregator}");
        assert!(slot(&five, "2020-08-24T16:25:00Z").is_number(), "{aggregator}");
        let whole = format!("aggregator={aggregator}&granularity=PT1H");
        assert_eq!(slot(&whole, "2020-08-24T16:00:00Z"), hour, "{aggregator}");
    }
    // "cpu_usage_idle will produce cpu_usage_idle_min, cpu_usage_idle_max": beside the metric, by their names, never listed.
    for suffix in ["_min", "_max"] {
        let named = both.replace("cpu_idle", &format!("cpu_idle{suffix}"));
        let found = server.json(&format!("{named}&tag=host=h-4&{range}"));
        assert_eq!(found[0]["values"]["2020-08-24T16:34:05Z"], 477.0, "{suffix}");
    }
    assert_eq!(server.json("/api/metadata/metricNames?tenant=t-1"), json!(["cpu_idle"]));
}

#[test]
fn the_globs_of_biggraphites_design_find_what_they_say() {
    let server = Server::start();
    let t = now();
    server.store(&format!("a.b.c 1 {t}\na.xyz.c 1 {t}\na.x1z.c 1 {t}\na.xy.c 1 {t}\na.b.d 1 {t}\n"));
    let found = |query: &str| server.json(&format!("/metrics/expand?query={query}"))["results"].clone();
    assert_eq!(found("a.b.c"), json!(["a.b.c"]));
    assert_eq!(found("a.x*z.c"), json!(["a.x1z.c", "a.xyz.c"]));
    assert_eq!(found("a.*.c"), json!(["a.b.c", "a.x1z.c", "a.xy.c", "a.xyz.c"]));
    assert_eq!(found("a.*"), json!(["a.b", "a.x1z", "a.xy", "a.xyz"]), "directories");
}

/// "store 60 points with a resolution of 60 seconds, then 24 points with a resolution of 1 hour"
#[test]
fn a_policy_of_biggraphites_design_has_a_table_for_each_stage() {
    let setup = Setup::new().set("store.kind", "cassandra").set("retention.default", "60*60s:24*3600s");
    let printed = setup.run(&["schema", "print"]);
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    for part in ["datapoints_60p_60s", "datapoints_24p_3600s", "component_63", "directories"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
