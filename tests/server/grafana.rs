//! What Grafana's Graphite data source asks, call by call, as its browser and its backend write them, and what each needs from
//! the answer.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use super::harness::{Server, Setup, now};

fn server() -> (Server, u64) {
    let server = Server::start();
    let minute = now() / 60 * 60 - 120;
    server.store(&format!(
        "servers.web1.cpu 1 {minute}\nservers.web2.cpu 2 {minute}\nservers.web1.mem.free 3 {minute}\n\
         disk;host=web1;dc=ams 4 {minute}\ndisk;host=web2;dc=ams 5 {minute}\n"
    ));
    (server, minute)
}

/// POSTs bytes as they are: Grafana's browser does not escape a query in a body.
fn post_raw(server: &Server, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.http).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn series(answer: &Value) -> Vec<(&str, Vec<(f64, u64)>)> {
    let point = |point: &Value| Some((point[0].as_f64()?, point[1].as_u64().unwrap()));
    let one = |series: &'_ Value| -> Vec<(f64, u64)> {
        series["datapoints"].as_array().unwrap().iter().filter_map(point).collect()
    };
    answer.as_array().unwrap().iter().map(|s| (s["target"].as_str().unwrap(), one(s))).collect()
}

/// "query (browser/proxy mode)": several targets in one POST, each wrapped in `aliasSub` with the letter of its query.
#[test]
fn query_in_browser_mode() {
    let (server, minute) = server();
    let wrapped = |target: &str, letter: &str| format!("aliasSub({target}, \"(^.*$)\", \"\\1 {letter}\")");
    let (a, b) = (wrapped("servers.web1.cpu", "A"), wrapped("alias(servers.web2.cpu, 'two words')", "B"));
    let answer = server.post(
        "/render",
        &[
            ("target", &a),
            ("target", &b),
            ("from", "-10min"),
            ("until", "now"),
            ("format", "json"),
            ("maxDataPoints", "700"),
            ("cacheTimeout", "60"),
        ],
    );
    assert_eq!((answer.status, answer.content_type.as_str()), (200, "application/json"));
    let answer = parsed(&answer.body);
    assert_eq!(
        series(&answer),
        [("servers.web1.cpu A", vec![(1.0, minute)]), ("two words B", vec![(2.0, minute)])]
    );
    assert!(answer[0]["tags"].is_object());
}

/// "query (backend mode, alerting)": epoch seconds, one target.
#[test]
fn query_in_backend_mode() {
    let (server, minute) = server();
    let (from, until) = ((minute - 300).to_string(), (minute + 60).to_string());
    let answer = server.post(
        "/render",
        &[
            ("from", &from),
            ("until", &until),
            ("format", "json"),
            ("maxDataPoints", "100"),
            ("target", "sumSeries(servers.*.cpu)"),
        ],
    );
    let answer = parsed(&answer.body);
    assert_eq!(series(&answer), [("sumSeries(servers.*.cpu)", vec![(3.0, minute)])]);
    let tags = answer[0]["tags"].as_object().unwrap();
    assert!(tags.values().all(|value| value.is_string() || value.is_number()), "{tags:?}");
    let points = answer[0]["datapoints"].as_array().unwrap();
    assert!(points.iter().all(|p| p[1].is_number() && (p[0].is_null() || p[0].is_number())));
}

/// "health check": a constant line over the last hour.
#[test]
fn health_check() {
    let (server, _) = server();
    for points in ["100", "300"] {
        let form = [
            ("target", "constantLine(100)"),
            ("from", "-1h"),
            ("until", "now"),
            ("format", "json"),
            ("maxDataPoints", points),
        ];
        let answer = server.post("/render", &form);
        assert_eq!(answer.status, 200);
        assert_eq!(series(&parsed(&answer.body))[0].1[0].0, 100.0);
    }
}

/// "variable / editor, node list": the query unescaped in the body, or escaped, or in a GET; whole numbers, never booleans.
#[test]
fn node_list() {
    let (server, minute) = server();
    let until = minute + 120;
    let path = format!("/metrics/find?from={}&until={until}", minute - 60);
    let unescaped = post_raw(&server, &path, "query=servers.{web1,web2}.*");
    assert_eq!(unescaped.0, 200, "{}", unescaped.1);
    let escaped = server.post(&path, &[("query", "servers.{web1,web2}.*")]);
    assert_eq!(parsed(&unescaped.1), parsed(&escaped.body));
    let got = server.json("/metrics/find?query=servers.*");
    for (nodes, texts) in [(&parsed(&unescaped.1), &["mem", "cpu"][..]), (&got, &["web1", "web2"])] {
        let nodes = nodes.as_array().unwrap();
        // As in graphite-web a text is listed once.
        let got: Vec<&str> = nodes.iter().map(|node| node["text"].as_str().unwrap()).collect();
        assert_eq!(got, texts);
        for node in nodes {
            for key in ["allowChildren", "expandable", "leaf"] {
                assert!(node[key].as_u64().is_some_and(|flag| flag <= 1), "{key} in {node}");
            }
            assert!(node["id"].is_string());
        }
    }
}

/// "variable `expand(q)`".
#[test]
fn expand() {
    let (server, minute) = server();
    let path = format!("/metrics/expand?query=servers.*.cpu&from={}&until={}", minute - 60, minute + 60);
    assert_eq!(server.json(&path), parsed(r#"{"results":["servers.web1.cpu","servers.web2.cpu"]}"#));
}

/// "variable `tags(e,...)`" and "editor tags".
#[test]
fn tags_of_expressions() {
    let (server, _) = server();
    let all =
        server.json("/tags/autoComplete/tags?expr=name%3Ddisk&expr=dc%3Dams&limit=10000&from=-1h&until=now");
    assert_eq!(all, parsed(r#"["host"]"#));
    assert_eq!(server.json("/tags/autoComplete/tags?tagPrefix=h"), parsed(r#"["host"]"#));
}

/// "variable `tag_values(t,e,...)`" and "editor tags".
#[test]
fn values_of_a_tag() {
    let (server, _) = server();
    let all = server.json("/tags/autoComplete/values?tag=host&expr=dc%3Dams&limit=10000");
    assert_eq!(all, parsed(r#"["web1","web2"]"#));
    assert_eq!(server.json("/tags/autoComplete/values?tag=host&valuePrefix=web2"), parsed(r#"["web2"]"#));
}

/// "value / metric-name variables".
#[test]
fn value_variables() {
    let (server, minute) = server();
    let form =
        [("target", "seriesByTag('name=disk')"), ("from", "-10min"), ("until", "now"), ("format", "json")];
    let answer = parsed(&server.post("/render", &form).body);
    assert_eq!(
        series(&answer),
        [("disk;dc=ams;host=web1", vec![(4.0, minute)]), ("disk;dc=ams;host=web2", vec![(5.0, minute)])]
    );
}

/// "function list": each with what the editor shows; no bare `Infinity`, which is no JSON.
#[test]
fn function_list() {
    let (server, _) = server();
    let answer = server.get("/functions");
    assert!(!answer.body.contains("Infinity"));
    // JSON allows any number of digits; not every reader takes them.
    let list = parsed(&answer.body.replace("1e9999", "1e99"));
    for (name, function) in list.as_object().unwrap() {
        assert_eq!(function["name"].as_str(), Some(name.as_str()));
        for key in ["function", "description", "module", "group"] {
            assert!(function[key].is_string(), "{key} of {name}");
        }
        assert!(function["params"].is_array(), "{name}");
    }
}

/// "version".
#[test]
fn version() {
    let (server, _) = server();
    let text = server.get("/version").body;
    let parts: Vec<u32> = text.trim().split('.').map(|part| part.parse().unwrap()).collect();
    assert_eq!(parts.len(), 3, "{text}");
}

/// "annotations by event": whole seconds, a list of tags, a text.
#[test]
fn annotations_by_event() {
    let (server, minute) = server();
    let event =
        format!(r#"{{"what": "deploy", "tags": ["web", "v2"], "when": {minute}, "data": "by hand"}}"#);
    let (status, _) = post_raw(&server, "/events/", &event);
    assert_eq!(status, 200);
    let found =
        server.json(&format!("/events/get_data?from={}&until={}&tags=web%20v2", minute - 60, minute + 60));
    let event = &found.as_array().unwrap()[0];
    assert_eq!((event["when"].as_u64(), event["what"].as_str()), (Some(minute), Some("deploy")));
    assert_eq!((&event["tags"], event["data"].as_str()), (&parsed(r#"["web","v2"]"#), Some("by hand")));
}

/// "annotations by query".
#[test]
fn annotations_by_query() {
    let (server, minute) = server();
    let form = [
        ("target", "servers.web1.cpu"),
        ("from", "-10min"),
        ("until", "now"),
        ("format", "json"),
        ("maxDataPoints", "100"),
    ];
    assert_eq!(
        series(&parsed(&server.post("/render", &form).body)),
        [("servers.web1.cpu", vec![(1.0, minute)])]
    );
}

/// "old versions": all tags, and the values of one.
#[test]
fn tags_for_old_versions() {
    let (server, _) = server();
    let tags = server.json("/tags");
    let names: Vec<&str> = tags.as_array().unwrap().iter().map(|tag| tag["tag"].as_str().unwrap()).collect();
    assert_eq!(names, ["dc", "host", "name"]);
    let values = server.json("/tags/host");
    let values = values["values"].as_array().unwrap();
    assert_eq!((values[0]["value"].as_str(), values[0]["count"].as_u64()), (Some("web1"), Some(1)));
}

/// Type *Metrictank*: each series says which archive it was read from, and how many points became one.
#[test]
fn metrictank_s_meta_says_which_archive_was_read() {
    let setup = Setup::new();
    let schemas = "[fine]\npattern = ^servers\\.\nretentions = 10s:1h,1m:1d\n";
    std::fs::write(setup.directory().join("storage-schemas.conf"), schemas).unwrap();
    let server = setup.start();
    let minute = now() / 60 * 60 - 120;
    server.store(&format!("servers.web1.cpu 1 {minute}\nservers.web2.cpu 2 {minute}\nother 3 {minute}\n"));
    let meta = |target: &str, from: &str, more: &str| {
        let path = format!("/render?target={target}&from={from}&format=json&meta=true{more}");
        let answer = server.json(&path);
        assert_eq!(answer["version"], "v0.1");
        assert!(answer["meta"]["stats"].is_object());
        let series = answer["series"].as_array().unwrap();
        assert!(series.iter().all(|one| !one["datapoints"].as_array().unwrap().is_empty()));
        series
            .iter()
            .map(|one| (one["target"].as_str().unwrap().to_owned(), one["meta"].clone()))
            .collect::<Vec<_>>()
    };
    let fine = meta("servers.web1.cpu", "-10min", "");
    let expected = serde_json::json!([{
        "schema-name": "fine", "schema-retentions": "10s:3600s,60s:86400s", "archive-read": 0, "archive-interval": 10,
        "aggnum-norm": 1, "consolidator-normfetch": "AverageConsolidator", "aggnum-rc": 0,
        "consolidator-rc": "averageConsolidator", "count": 1,
    }]);
    assert_eq!(fine, [("servers.web1.cpu".to_owned(), expected)]);
    // Behind a function are all metrics that it read; an alias still is its own metric.
    let coarse = meta("sumSeries(servers.*.cpu)", "-3h", "&maxDataPoints=60");
    let [one] = coarse[0].1.as_array().unwrap().as_slice() else { panic!("{coarse:?}") };
    let read =
        ["archive-read", "archive-interval", "aggnum-rc", "count"].map(|key| one[key].as_u64().unwrap());
    assert_eq!(read, [1, 60, 3, 2]);
    let alias = meta("alias(servers.*.cpu,'x')", "-10min", "");
    assert_eq!(
        alias.iter().map(|(name, meta)| (name.as_str(), meta[0]["count"].as_u64())).collect::<Vec<_>>(),
        [("x", Some(1)); 2]
    );
    // Metrics of two rules were read in two ways; one point of all is made of all.
    let two = meta("sumSeries(servers.web1.cpu,other)", "-10min", "&maxDataPoints=1");
    let names: Vec<_> =
        two[0].1.as_array().unwrap().iter().map(|one| one["schema-name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2);
    assert!(names.contains(&"default") && names.contains(&"fine"), "{names:?}");
    assert!(two[0].1[0]["aggnum-rc"].as_u64().unwrap() >= 59, "{two:?}");
    assert_eq!(server.json("/render?target=nothing&format=json&meta=true")["series"], serde_json::json!([]));
    assert!(server.json("/render?target=other&from=-10min&format=json").is_array(), "nobody else gets it");
}
