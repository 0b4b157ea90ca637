//! `/render` and `/functions`, row by row.

use std::time::Duration;

use super::Server;
use crate::config;
use serde_json::{Value, json};

/// Points of the first series, or of several.
fn points(server: &Server, query: &str) -> Value {
    let answer = server.json(&format!("/render?format=json&{query}"));
    match answer.as_array().unwrap().as_slice() {
        [one] => one["datapoints"].clone(),
        many => many.iter().map(|series| series["datapoints"].clone()).collect(),
    }
}

/// Captured.
#[test]
fn json_has_target_tags_and_points() {
    let server = Server::start();
    let expected = json!([{
        "target": "d.step10", "tags": {"name": "d.step10"},
        "datapoints": [[0.25, 1010], [0.5, 1020], [0.75, 1030], [1.0, 1040], [1.25, 1050], [1.5, 1060]],
    }]);
    let query = "target=d.step10&from=1000&until=1060&format=json";
    assert_eq!(server.json(&format!("/render?{query}")), expected);
    assert_eq!(server.json(&format!("/render/?{query}")), expected);
    let posted = server.post("/render", query);
    assert_eq!(serde_json::from_str::<Value>(&posted.body).unwrap(), expected);
    assert_eq!(posted.header("content-type"), Some("application/json"));
    assert_eq!(posted.body.find(' '), None, "the body is compact: {}", posted.body);
}

#[test]
fn a_broken_target_is_named_and_the_others_are_drawn() {
    let server = Server::start();
    let range = "from=1000&until=1060&format=json";
    for broken in ["alias(d.step10,'x'))", "scale(d.step10", "d.step10,%0d%0aX-Evil:1"] {
        let reply = server.get(&format!("/render?target={broken}&target=d.step10&{range}"));
        assert_eq!(reply.status, 200, "{broken}");
        assert_eq!(reply.body.matches("\"target\":\"d.step10\"").count(), 1, "{broken}");
        let named = reply.header("x-plumbago-broken-target").unwrap_or_default();
        let start = &broken[..8];
        assert!(named.starts_with(start) && named.contains("cannot read the target at character"), "{named}");
        assert_eq!(reply.header("x-evil"), None);
        assert_eq!(server.get(&format!("/render?target={broken}&{range}")).status, 400, "{broken} alone");
    }
    let whole = server.get(&format!("/render?target=d.step10&{range}"));
    assert_eq!(whole.header("x-plumbago-broken-target"), None);
    let picture = server.get("/render?target=d.step10&target=scale(&from=1000&until=1060&format=svg");
    assert!(picture.header("x-plumbago-broken-target").is_some());
}

/// Captured, all of them.
#[test]
fn max_data_points_consolidates_as_graphite_web_does() {
    let server = Server::start();
    for (query, expected) in [
        ("target=d.step10&from=1000&until=1300&maxDataPoints=1", json!([[3.875, 1010]])),
        (
            "target=d.step10&from=1000&until=1300&maxDataPoints=5",
            json!([[0.875, 1020], [2.375, 1080], [3.875, 1140], [5.375, 1200], [6.875, 1260]]),
        ),
        (
            "target=d.step10&from=1000&until=1300&maxDataPoints=7",
            json!([[1.5, 1050], [2.75, 1100], [4.0, 1150], [5.25, 1200], [6.5, 1250], [7.375, 1300]]),
        ),
        (
            "target=d.gaps&from=1003&until=1300&maxDataPoints=7",
            json!([[1.5, 1050], [2.5, 1100], [4.125, 1150], [5.625, 1200], [6.125, 1250], [7.375, 1300]]),
        ),
        (
            "target=d.gaps&from=1003&until=1300&maxDataPoints=7&xFilesFactor=0.8",
            json!([[null, 1050], [null, 1100], [4.125, 1150], [null, 1200], [null, 1250], [null, 1300]]),
        ),
        (
            "target=d.gaps&from=1003&until=1300&maxDataPoints=7&noNullPoints=1",
            json!([[1.5, 1050], [2.5, 1100], [4.125, 1150], [5.625, 1200], [6.125, 1250], [7.375, 1300]]),
        ),
        (
            "target=d.gaps&target=d.step60&from=1003&until=1300&maxDataPoints=4",
            json!([
                [[1.7, 1040], [3.85, 1120], [5.875, 1200], [7.375, 1280]],
                [[1.25, 1080], [4.25, 1200], [6.5, 1320]]
            ]),
        ),
        (
            "target=consolidateBy(d.gaps,'sum')&from=1003&until=1300&maxDataPoints=4",
            json!([[8.5, 1040], [19.25, 1120], [23.5, 1200], [14.75, 1280]]),
        ),
        (
            "target=consolidateBy(d.gaps,'max')&from=1000&until=1303&maxDataPoints=2",
            json!([[4.5, 1050], [7.5, 1200]]),
        ),
        ("target=constantLine(5)&from=1000&until=1301&maxDataPoints=2", json!([[5.0, 1300]])),
        ("target=constantLine(5)&from=1000&until=1301", json!([[5.0, 1000], [5.0, 1150], [5.0, 1300]])),
    ] {
        assert_eq!(points(&server, query), expected, "{query}");
    }
    // The number of points is judged over both series: 31 of them are too many for 30.
    let both = points(&server, "target=d.gaps&target=d.step60&from=1003&until=1300&maxDataPoints=30");
    assert_eq!(both[0][1], json!([0.875, 1040]));
    assert_eq!(both[1], json!([[0.5, 1020], [2.0, 1080], [3.5, 1140], [5.0, 1200], [6.5, 1260]]));
}

#[test]
fn max_data_points_that_is_no_number_is_ignored() {
    let server = Server::start();
    for max in ["30", "x", "-5", "+5", "0", "1.5", "", "99999999999999999999999"] {
        let all = points(&server, &format!("target=d.step10&from=1000&until=1300&maxDataPoints={max}"));
        assert_eq!(all.as_array().unwrap().len(), 30, "{max}");
    }
}

/// Captured.
#[test]
fn no_null_points_drops_points_and_then_series() {
    let server = Server::start();
    assert_eq!(
        points(&server, "target=d.gaps&from=1000&until=1060&noNullPoints=true"),
        json!([[0.25, 1010], [0.5, 1020], [0.75, 1030], [1.0, 1040]])
    );
    assert_eq!(server.json("/render?format=json&target=d.gaps&from=1049&until=1060&noNullPoints"), json!([]));
}

/// Captured.
#[test]
fn csv_and_raw() {
    let server = Server::start();
    let csv = server.get("/render?target=d.gaps&from=1000&until=1060&format=csv&tz=America/New_York");
    assert_eq!(csv.header("content-type"), Some("text/csv"));
    assert_eq!(
        csv.body,
        "d.gaps,1969-12-31 19:16:50,0.25\r\nd.gaps,1969-12-31 19:17:00,0.5\r\nd.gaps,1969-12-31 19:17:10,0.75\r\n\
         d.gaps,1969-12-31 19:17:20,1.0\r\nd.gaps,1969-12-31 19:17:30,\r\nd.gaps,1969-12-31 19:17:40,\r\n"
    );
    for format in ["format=raw", "rawData=1", "format=raw&rawData=true"] {
        let raw = server.get(&format!("/render?target=d.gaps&from=1000&until=1060&{format}"));
        assert_eq!(raw.header("content-type"), Some("text/plain"));
        assert_eq!(raw.body, "d.gaps,1010,1070,10|0.25,0.5,0.75,1.0,None,None\n", "{format}");
    }
}

#[test]
fn formats_that_are_not_there_are_named() {
    let server = Server::start();
    for (query, text) in [
        (
            "format=pdf",
            "`pdf` is not available; use json, csv, raw, dygraph, rickshaw, pickle, msgpack, png or svg",
        ),
        ("format=JSON", "`JSON` is not available"),
        ("graphType=donut", "`donut` does not exist; use line or pie"),
        ("format=json&graphType=donut", "`donut` does not exist"),
        ("width=0", "`width` must be between 1 and 8000"),
        ("bgcolor=reddish", "`reddish` is no colour"),
    ] {
        let reply = server.get(&format!("/render?target=d.step10&{query}"));
        assert_eq!(reply.status, 400, "{query}");
        assert!(reply.body.contains(text), "{query}: {}", reply.body);
    }
}

#[test]
fn each_format_says_what_it_is() {
    let server = Server::start();
    for (query, content_type, start) in [
        ("", "image/png", "\u{fffd}PNG"),
        ("format=png", "image/png", "\u{fffd}PNG"),
        ("format=svg", "image/svg+xml", "<?xml"),
        ("format=pickle", "application/pickle", "\u{fffd}\u{2}"),
        ("pickle=true", "application/pickle", "\u{fffd}\u{2}"),
        ("format=msgpack", "application/x-msgpack", "\u{fffd}"),
        ("format=dygraph", "application/json", "{\"labels\":[\"Time\""),
        ("format=rickshaw", "application/json", "[{\"target\""),
        ("format=dygraph&jsonp=f", "text/javascript", "f({"),
    ] {
        let reply = server.get(&format!("/render?target=d.step10&from=1000&until=1060&{query}"));
        assert_eq!(reply.status, 200, "{query}: {}", reply.body);
        assert!(reply.header("content-type").unwrap().starts_with(content_type), "{query}");
        assert!(
            reply.body.starts_with(start),
            "{query}: {:?}",
            reply.body.chars().take(20).collect::<String>()
        );
    }
}

#[test]
fn targets_are_a_list() {
    let server = Server::start();
    let names = |query: &str| -> Vec<String> {
        let answer = server.json(&format!("/render?format=json&from=1000&until=1060&{query}"));
        answer.as_array().unwrap().iter().map(|s| s["target"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("target=d.step60&target=d.g*"), ["d.step60", "d.gaps"]);
    assert_eq!(names("target[]=d.step60&target[]=top"), ["d.step60", "top"]);
    assert_eq!(names("target=&target=%20&target=top"), ["top"]);
    assert_eq!(names("target=d.nothing"), Vec::<String>::new());
    assert_eq!(names(""), Vec::<String>::new());
    assert_eq!(names("target=template(d.$what)&template[what]=gaps"), ["d.gaps"]);
    // As Grafana's frontend wraps every target; the blank and the backslash must survive.
    assert_eq!(names("target=aliasSub(d.step10%2C%20%22(%5E.*%24)%22%2C%20%22%5C1%20A%22)"), ["d.step10 A"]);
}

#[test]
fn edges_are_checked_and_put_in_order() {
    let server = Server::start();
    // Captured.
    assert_eq!(
        points(&server, "target=d.step10&from=1300&until=1250"),
        json!([[6.5, 1260], [6.75, 1270], [7.0, 1280], [7.25, 1290], [7.5, 1300]])
    );
    assert_eq!(points(&server, "target=d.step60&now=1300&from=-2min"), json!([[5.0, 1200], [6.5, 1260]]));
    let day = points(&server, "target=d.step60&now=1706790896");
    assert_eq!((day.as_array().unwrap().len(), &day[1439][1]), (1440, &json!(1_706_790_840)));
    for (query, text) in [
        ("from=1000&until=1000", "Invalid parameters (empty time range: from and until are both 1000)"),
        ("from=nonsense", "Invalid parameters (`nonsense` is not a time"),
        ("until=-1fortnight", "`fortnight` is not a unit"),
        ("now=yesterjay", "`yesterjay` is not a time"),
        ("xFilesFactor=x", "parameter `xFilesFactor` must be a number such as 0.5, not `x`"),
    ] {
        let reply = server.get(&format!("/render?target=top&format=json&{query}"));
        assert_eq!(reply.status, 400, "{query}");
        assert!(reply.body.contains(text), "{query}: {}", reply.body);
    }
}

#[test]
fn jsonp_and_pretty() {
    let server = Server::start();
    let query = "/render?target=d.step10&from=1000&until=1010&format=json";
    let reply = server.get(&format!("{query}&jsonp=cb"));
    assert_eq!(reply.header("content-type"), Some("text/javascript"));
    assert_eq!(
        reply.body,
        r#"cb([{"target":"d.step10","tags":{"name":"d.step10"},"datapoints":[[0.25,1010]]}])"#
    );
    // Captured.
    assert_eq!(
        server.get(&format!("{query}&pretty=1")).body,
        "[\n  {\n    \"target\": \"d.step10\",\n    \"tags\": {\n      \"name\": \"d.step10\"\n    },\n    \"datapoints\": [\n      [\n        0.25,\n        1010\n      ]\n    ]\n  }\n]"
    );
    assert_eq!(server.get(&format!("{query}&jsonp=a(b")).status, 400);
}

#[test]
fn mistakes_and_failures_have_their_codes() {
    let config = config::Query { render_timeout: Duration::from_millis(30), ..Default::default() };
    let server = Server::with(config);
    for (target, status, text) in [
        // Captured.
        (
            "bogus(a)",
            400,
            "Invalid parameters (Received request for unknown function: bogus); targets: \"bogus(a)\"",
        ),
        ("limit", 422, "more than 5 series (query.max_series)"),
        ("store", 500, "reading the store failed: disk on fire"),
        ("away", 503, "out of reach for now; nothing is wrong with the query: no node answers"),
        ("slow", 504, "query.render_timeout"),
        ("panic", 500, "internal error"),
    ] {
        let reply = server.get(&format!("/render?format=json&target={target}"));
        assert_eq!(reply.status, status, "{target}");
        assert!(reply.body.contains(text), "{target}: {}", reply.body);
        assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
    }
    assert_eq!(server.telemetry.render_limited.get(), 1);
    assert_eq!(server.telemetry.request_errors.get(), 6);
}

#[test]
fn functions_are_listed_by_name_and_group() {
    let server = Server::start();
    let all = server.json("/functions");
    // Captured, but for the description.
    let mut scale = all["scale"].clone();
    assert_ne!(scale.as_object_mut().unwrap().remove("description"), None);
    assert_eq!(
        scale,
        json!({
            "name": "scale", "function": "scale(seriesList, factor)", "module": "graphite.render.functions",
            "group": "Transform",
            "params": [
                {"name": "seriesList", "type": "seriesList", "required": true},
                {"name": "factor", "type": "float", "required": true},
            ],
        })
    );
    assert_eq!(server.json("/functions/scale/"), all["scale"]);
    assert_eq!(server.json("/functions?grouped=1")["Transform"]["scale"], all["scale"]);
    let aliases = server.json("/functions?group=Alias");
    assert!(aliases.get("alias").is_some() && aliases.get("scale").is_none());
    let pie = server.json("/functions?type=pie");
    let names: Vec<&String> = pie.as_object().unwrap().keys().collect();
    assert_eq!(names, ["average", "maximum", "minimum"]);
    let mut average = server.json("/functions/average?type=pie");
    assert_eq!(average, pie["average"]);
    assert_ne!(average.as_object_mut().unwrap().remove("description"), None);
    // Captured, but for the description.
    assert_eq!(
        average,
        json!({
            "name": "average", "function": "average(series)", "module": "graphite.render.functions", "group": "Pie",
            "params": [{"name": "series", "type": "series", "required": true}],
        })
    );
    assert_eq!(server.get("/functions/average").status, 404);
    let reply = server.get("/functions/bogus");
    // Captured.
    assert_eq!((reply.status, reply.body.as_str()), (404, r#"{"error":"Function not found: bogus"}"#));
}

#[test]
fn an_infinite_default_is_a_number() {
    // keepLastValue has one, and JSON has no word for it: Grafana wants it this way.
    let body = Server::start().get("/functions/keepLastValue").body;
    assert!(body.contains(r#""default":1e9999"#), "{body}");
}
