//! What is wrong with points and queries of KairosDB's, OpenTSDB's and Ceres' clients: each mistake is named by its place, what is good
//! beside it is stored, and nothing takes the server down.

use serde_json::{Value, json};

use super::harness::{Server, Setup, now};

/// A list in a list in a list.
fn deep() -> String {
    format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))
}

/// A client's way to send points.
struct Door {
    path: &'static str,
    /// An item: what names the metric, its tags, its time in seconds, its value; all as JSON.
    item: fn(&str, &str, &str, &str) -> String,
    /// What an error has for the place of an item.
    place: fn(usize) -> String,
}

const DOORS: [Door; 3] = [
    Door {
        path: "/api/v1/datapoints",
        item: |name, tags, seconds, value| {
            let millis = seconds.parse::<u64>().map_or(seconds.to_owned(), |seconds| format!("{seconds}000"));
            format!(r#"{{"name":{name},"tags":{tags},"timestamp":{millis},"value":{value}}}"#)
        },
        place: |number| format!("metric[{number}]"),
    },
    Door {
        path: "/api/put?details",
        item: |name, tags, seconds, value| {
            format!(r#"{{"metric":{name},"tags":{tags},"timestamp":{seconds},"value":{value}}}"#)
        },
        place: |number| format!("[{number}]: "),
    },
    Door {
        path: "/api/write/single",
        item: |name, tags, seconds, value| {
            format!(r#"{{"tenant":"t-1","metricName":{name},"tags":{tags},"ts":{seconds},"value":{value}}}"#)
        },
        place: |number| format!("\"item\":{number},"),
    },
];

const TAGS: &str = r#"{"host":"a"}"#;

/// Items that are no points, whatever the door: name, tags, seconds, value.
fn bad_parts(t: &str) -> Vec<[String; 4]> {
    let part = |text: &str| text.to_owned();
    let good = |at: usize, text: String| {
        let mut parts = [part("\"bad\""), part(TAGS), part(t), part("1")];
        parts[at] = text;
        parts
    };
    vec![
        good(0, part("\"\"")),
        good(0, part("null")),
        good(0, format!("\"{}\"", "x".repeat(10_000_000))),
        good(0, format!("\"{}x\"", "a.".repeat(64))),
        good(1, part("{}")),
        good(1, part("null")),
        good(1, part("[1]")),
        good(1, part("\"host=a\"")),
        good(1, format!("{{\"host\":\"{}\"}}", "v".repeat(10_000_000))),
        good(2, part("null")),
        good(2, part("\"yesterday\"")),
        good(2, part("-5")),
        good(2, part("4000000000")),
        good(3, part("null")),
        good(3, part("\"\"")),
        good(3, part("\"up\"")),
        good(3, part("\"NaN\"")),
        good(3, part("true")),
        good(3, part("{\"a\":1}")),
        good(3, deep()),
    ]
}

#[test]
fn good_items_are_stored_whatever_is_beside_them() {
    for door in &DOORS {
        let server = Setup::new().set("ceres.extremes", "false").start();
        let t = (now() - 100).to_string();
        // Numbers may be texts.
        let good = [
            (door.item)("\"good.first\"", TAGS, &t, "1"),
            (door.item)("\"good.text\"", TAGS, &t, "\"2.5\""),
            (door.item)("\"good.last\"", r#"{"host":7,"up":true}"#, &t, "3e0"),
        ];
        let mut items = vec![good[0].clone()];
        let bad = bad_parts(&t);
        items.extend(bad.iter().map(|[name, tags, seconds, value]| (door.item)(name, tags, seconds, value)));
        items.push(good[1].clone());
        let others = ["5", "null", "\"text\"", "[]", "{}", &deep()];
        items.extend(others.map(str::to_owned));
        items.push(good[2].clone());
        let answer = server.post_text(door.path, &format!("[{}]", items.join(",")));
        assert_eq!(answer.status, 400, "{}: {}", door.path, answer.body);
        let wrong = (0..items.len()).filter(|number| !good.contains(&items[*number]));
        for number in wrong {
            let place = (door.place)(number);
            assert!(answer.body.contains(&place), "{} {place}: {}", door.path, answer.body);
        }
        let said: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(said["errors"].as_array().unwrap().len(), bad.len() + others.len(), "{said}");
        assert!(answer.body.len() < 20_000, "an error shows no name of megabytes: {}", answer.body.len());
        let names = server.json("/api/v1/metricnames");
        assert_eq!(names["results"], json!(["good.first", "good.last", "good.text"]), "{}", door.path);
        assert_eq!(server.counter("plumbago_points_stored_total"), 3, "{}", door.path);
        let at = t.parse::<u64>().unwrap();
        for (name, value) in [("first", 1.0), ("text", 2.5), ("last", 3.0)] {
            let points = server.points(&format!("seriesByTag('name=good.{name}')"), at - 1, at);
            assert_eq!(points, [(value, at)], "{} {name}", door.path);
        }
    }
}

#[test]
fn a_body_that_breaks_off_stores_what_came_before_and_no_half_of_an_item() {
    for door in &DOORS {
        let server = Setup::new().set("ceres.extremes", "false").start();
        let t = (now() - 100).to_string();
        let good = (door.item)("\"good\"", TAGS, &t, "1");
        let half = (door.item)("\"half\"", TAGS, &t, "1");
        let answer = server.post_text(door.path, &format!("[{good},{}", &half[..half.len() - 1]));
        assert!(answer.status == 400 && answer.body.contains("EOF"), "{}: {}", door.path, answer.body);
        assert_eq!(server.json("/api/v1/metricnames")["results"], json!(["good"]), "{}", door.path);
        for body in ["", " ", "{", "]", "nonsense", "[,]", "{\"a\":}"] {
            let answer = server.post_text(door.path, body);
            assert_eq!(answer.status, 400, "{} {body}: {}", door.path, answer.body);
        }
        assert_eq!(server.counter("plumbago_points_stored_total"), 1, "{}", door.path);
    }
}

/// With counts or without, the good point is stored, and the answer says what OpenTSDB's would.
#[test]
fn opentsdb_says_as_much_as_it_is_asked_for() {
    let server = Server::start();
    let good = json!({ "metric": "m", "timestamp": now() - 10, "value": 1, "tags": { "host": "a" } });
    let body = json!([{ "metric": "m" }, good, 5]);
    let put = |query: &str, body: &Value| {
        let answer = server.post_json(&format!("/api/put{query}"), body);
        (answer.status, serde_json::from_str::<Value>(&answer.body).unwrap_or_default())
    };
    let errors = ["[0]: Invalid timestamp", "[2]: must be an object"];
    assert_eq!(put("?details", &body), (400, json!({ "success": 1, "failed": 2, "errors": errors })));
    assert_eq!(put("?summary", &body), (400, json!({ "success": 1, "failed": 2 })));
    assert_eq!(put("?summary&details", &good).1, json!({ "success": 1, "failed": 0, "errors": [] }));
    assert_eq!(put("?summary=true", &good), (200, json!({ "success": 1, "failed": 0 })));
    let (status, said) = put("", &body);
    assert_eq!((status, &said["error"]["code"]), (400, &json!(400)));
    assert_eq!(said["error"]["details"], errors.join("\n"));
    assert_eq!(put("", &good), (204, Value::Null));
    assert_eq!(server.counter("plumbago_points_stored_total"), 6);
}

#[test]
fn queries_that_mean_nothing_are_refused_with_the_reason() {
    let server = Server::start();
    server.store(&format!("m;host=a 1 {}\n", now()));
    let metric = |rest: &str| format!(r#"{{"start_absolute":1,"metrics":[{{"name":"m"{rest}}}]}}"#);
    let long = format!(r#"{{"start_absolute":1,"metrics":[{{"name":"{}"}}]}}"#, "x".repeat(1_000_000));
    let query = "/api/v1/datapoints/query";
    for (path, body, status, part) in [
        (query, metric(r#","aggregators":[{"name":"bogus"}]"#), 400, "aggregators[0].bogus"),
        (query, metric(r#","aggregators":[{}]"#), 400, "must have a name"),
        (query, metric(r#","aggregators":5"#), 400, "must be a list"),
        (query, metric(r#","group_by":[{"name":"bogus"}]"#), 400, "group_by[0].bogus"),
        (query, metric(r#","tags":{"":"a"}"#), 400, "name must not be empty"),
        (query, metric(r#","limit":"many""#), 400, "limit"),
        (query, metric(&format!(r#","tags":{}"#, deep())), 400, "recursion limit"),
        (query, deep(), 400, "recursion limit"),
        (query, "[{".repeat(1000), 400, "not valid JSON"),
        (query, "{\"metrics\":[]}".to_owned(), 400, "size of at least 1"),
        (query, metric("").repeat(2), 400, "not valid JSON"),
        (query, long.clone(), 200, "sample_size"),
        ("/api/v1/datapoints/query/tags", deep(), 400, "recursion limit"),
        ("/api/v1/datapoints/delete", deep(), 400, "recursion limit"),
        ("/api/v1/datapoints/delete", metric(r#","tags":{"host":[]}"#), 400, "host"),
        ("/api/query", deep(), 400, "recursion limit"),
        ("/api/query", "{}".to_owned(), 400, "start"),
        ("/api/query", r#"{"start":"1h-ago","queries":[5]}"#.to_owned(), 400, "must be an object"),
        (
            "/api/query",
            r#"{"start":"1h-ago","queries":[{"metric":"m","aggregator":"bogus"}]}"#.to_owned(),
            400,
            "`bogus`",
        ),
    ] {
        let answer = server.post_text(path, &body);
        assert_eq!(answer.status, status, "{path} {:.80}: {:.300}", body, answer.body);
        assert!(answer.body.contains(part), "{path} {:.80}: {:.300}", body, answer.body);
    }
    // What was asked to be deleted by mistake is still there.
    assert_eq!(server.json("/tags/findSeries?expr=name=m"), json!(["m;host=a"]));
}
