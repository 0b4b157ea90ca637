//! What readers get: formats, find, and the promise that a point counted as stored is in every answer at once.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::harness::{Server, Setup, now, wait_until};

/// A full hour that is over.
fn hour() -> u64 {
    now() / 3600 * 3600 - 3600
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

#[test]
fn what_was_stored_is_in_the_next_answer() {
    let server = Setup::new().set("retention.default", "1s:1d").start();
    let t = now() - 1000;
    for i in 0..100 {
        server.store(&format!("own.writes {i} {}\n", t + i));
        assert_eq!(server.points("own.writes", t + i - 1, t + i), [(i as f64, t + i)]);
    }
}

#[test]
fn an_escaped_wildcard_is_a_plain_character() {
    let (server, t) = (Server::start(), now() / 60 * 60 - 600);
    let names = [r"disk.{cu}.x", r"back\slash", "a.x[1]", "a.b*", "disk.cu.x", "a.x1", "a.bc"];
    let lines: Vec<String> = (1..).zip(names).map(|(value, name)| format!("{name} {value} {t}\n")).collect();
    server.store(&lines.concat());
    for (target, value) in [
        (r"disk.\{cu\}.x", 1.0),
        (r"back\\slash", 2.0),
        (r"sumSeries(a.x\[1\])", 3.0),
        (r"a.b\*|scale(2)", 8.0),
        ("disk.{cu}.x", 5.0),
    ] {
        assert_eq!(server.points(target, t - 10, t), [(value, t)], "{target}");
    }
}

#[test]
fn a_pattern_that_ends_in_a_dot_finds_nothing() {
    let server = Server::start();
    server.store(&format!("dotted.name 1 {}\n", now()));
    assert_eq!(server.json("/metrics/find?query=dotted").as_array().unwrap().len(), 1);
    assert_eq!(server.json("/metrics/find?query=dotted."), json!([]));
    assert_eq!(server.json("/metrics/find?query=dotted.&format=json"), json!([]));
    assert_eq!(server.json("/metrics/expand?query=dotted."), json!({"results": []}));
}

#[test]
fn render_answers_json_csv_and_raw() {
    let (server, t) = (Server::start(), now() / 60 * 60 - 600);
    server.store(&format!("fmt.a 1.5 {t}\nfmt.a 3 {}\n", t + 20));
    let ask =
        |rest: &str| server.get(&format!("/render?target=fmt.a&from={}&until={}&{rest}", t - 10, t + 20));

    let answer = ask("format=json");
    assert!(answer.content_type.starts_with("application/json"), "{}", answer.content_type);
    let series: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(series[0]["target"], "fmt.a");
    assert_eq!(series[0]["datapoints"], json!([[1.5, t], [null, t + 10], [3.0, t + 20]]));

    let answer = ask("format=csv");
    assert!(answer.content_type.starts_with("text/csv"), "{}", answer.content_type);
    let rows: Vec<&str> = answer.body.lines().map(str::trim).collect();
    assert_eq!(rows.len(), 3, "{}", answer.body);
    assert!(rows[0].starts_with("fmt.a,") && rows[0].ends_with(",1.5"), "{}", rows[0]);
    assert!(rows[1].ends_with(","), "{}", rows[1]);

    let answer = ask("format=raw");
    assert!(answer.content_type.starts_with("text/plain"), "{}", answer.content_type);
    assert_eq!(answer.body.trim(), format!("fmt.a,{t},{},10|1.5,None,3.0", t + 30));

    let answer = ask("format=json&noNullPoints=true");
    let series: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(series[0]["datapoints"], json!([[1.5, t], [3.0, t + 20]]));

    let answer = ask("format=json&jsonp=show");
    assert!(answer.body.starts_with("show(") && answer.body.trim_end().ends_with(')'), "{}", answer.body);
}

#[test]
fn render_takes_forms_globs_and_functions() {
    let (server, t) = (Server::start(), now() / 60 * 60 - 600);
    server.store(&format!("web.h1.cpu 1 {t}\nweb.h2.cpu 2 {t}\nweb.h2.mem 9 {t}\n"));
    let (from, until) = ((t - 10).to_string(), t.to_string());
    let form = [
        ("target", "web.*.cpu"),
        ("target", "alias(sumSeries(web.{h1,h2}.cpu),'both')"),
        ("from", &from),
        ("until", &until),
        ("format", "json"),
    ];
    let answer = server.post("/render", &form);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let series: Value = serde_json::from_str(&answer.body).unwrap();
    let got: Vec<_> =
        series.as_array().unwrap().iter().map(|s| (s["target"].as_str(), &s["datapoints"])).collect();
    assert_eq!(
        got,
        [
            (Some("web.h1.cpu"), &json!([[1.0, t]])),
            (Some("web.h2.cpu"), &json!([[2.0, t]])),
            (Some("both"), &json!([[3.0, t]])),
        ]
    );
}

#[test]
fn a_target_that_makes_no_sense_is_refused() {
    let server = Server::start();
    for target in ["sumSeries(", "noSuchFunction(a.b)", "alias(a.b"] {
        let answer = server.get(&format!("/render?target={target}&format=json"));
        assert_eq!(answer.status, 400, "{target}: {}", answer.body);
        assert!(!answer.body.is_empty(), "{target}");
    }
    assert_eq!(server.json("/render?target=no.such.metric&format=json"), json!([]));
}

#[test]
fn max_data_points_consolidates() {
    let server = Setup::new().set("retention.default", "10s:1d").start();
    let t = hour();
    let lines: String = (0..60).map(|i| format!("many.points {i} {}\n", t + i * 10)).collect();
    server.store(&lines);
    let path =
        format!("/render?target=many.points&from={}&until={}&format=json&maxDataPoints=10", t - 10, t + 590);
    let answer = server.json(&path);
    let points = answer[0]["datapoints"].as_array().unwrap();
    assert!(points.len() <= 10, "{points:?}");
    // As graphite-web: the first five are left out so that groups begin at whole minutes whatever `from` was.
    assert_eq!(points[0][0], 7.5);
}

#[test]
fn find_knows_its_formats() {
    let (server, t) = (Server::start(), now() / 60 * 60 - 600);
    server.store(&format!("tree.leaf 1 {t}\ntree.dir.below 1 {t}\ntree.both 1 {t}\ntree.both.below 1 {t}\n"));
    let find =
        |format: &str, query: &str| server.json(&format!("/metrics/find?format={format}&query={query}"));

    let nodes = find("treejson", "tree.*");
    let mut seen: Vec<_> = nodes
        .as_array()
        .unwrap()
        .iter()
        .map(|n| (n["id"].as_str().unwrap(), n["leaf"].as_u64().unwrap(), n["expandable"].as_u64().unwrap()))
        .collect();
    seen.sort_unstable();
    // A name that is both comes once, as a directory: graphite-web shows each name once, too.
    assert_eq!(seen, [("tree.both", 0, 1), ("tree.dir", 0, 1), ("tree.leaf", 1, 0)]);
    assert_eq!(
        nodes[0]["text"].as_str().unwrap(),
        nodes[0]["id"].as_str().unwrap().trim_start_matches("tree.")
    );

    let completer = find("completer", "tree.d*");
    assert_eq!(completer["metrics"][0]["path"], "tree.dir.");
    assert_eq!(find("nodelist", "tree.*")["nodes"], json!(["both", "dir", "leaf"]));
    assert_eq!(find("treejson", "tree.{leaf,dir}").as_array().unwrap().len(), 2);
    assert_eq!(find("treejson", "tree.l[a-f]af").as_array().unwrap().len(), 1);
    assert_eq!(find("treejson", "no.such.*"), json!([]));
    assert_eq!(server.post("/metrics/find", &[("query", "tree.leaf")]).status, 200);
    assert_eq!(server.get("/metrics/find").status, 400, "no query");
}

#[test]
fn find_leaves_out_metrics_without_data_in_the_window() {
    let server = Setup::new().set("retention.default", "10s:30d").start();
    let t = now() / 60 * 60;
    server.store(&format!("span.old 1 {}\nspan.new 1 {t}\n", t - 10 * 86_400));
    let names = |from: u64, until: u64| {
        let found = server.json(&format!("/metrics/find?query=span.*&from={from}&until={until}"));
        let ids = found.as_array().unwrap().iter().map(|n| n["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(names(t - 3600, t + 60), ["span.new"]);
    assert_eq!(names(t - 11 * 86_400, t - 9 * 86_400), ["span.old"]);
}

#[test]
fn expand_and_index_list_names() {
    let (server, t) = (Server::start(), now() / 60 * 60 - 600);
    server.store(&format!("b.x 1 {t}\na.y 1 {t}\na.z.deep 1 {t}\n"));
    let expanded = server.json("/metrics/expand?query=a.*&query=b.*");
    assert_eq!(strings(&expanded["results"]), ["a.y", "a.z", "b.x"]);
    let leaves = server.json("/metrics/expand?query=a.*&leavesOnly=1");
    assert_eq!(strings(&leaves["results"]), ["a.y"]);
    assert_eq!(strings(&server.json("/metrics/index.json")), ["a.y", "a.z.deep", "b.x"]);
}

#[test]
fn the_server_says_what_it_is_and_how_it_is() {
    let server = Server::start();
    assert_eq!(server.get("/health/live").status, 200);
    assert_eq!(server.get("/health/ready").status, 200);
    let version = server.get("/version");
    assert_eq!(version.status, 200);
    assert!(version.body.contains('.'), "{}", version.body);
    // Graphite writes infinity as 1e9999, which serde does not read.
    let functions = server.get("/functions").body.replace("1e9999", "1e300");
    assert!(serde_json::from_str::<Value>(&functions).unwrap()["sumSeries"]["params"].is_array());
    let build = format!("plumbago_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(server.counter(&build), 1);
    assert_eq!(server.get("/no/such/page").status, 404);
    let banner = server.banner.join("\n");
    assert!(
        banner.contains(&server.http.to_string()) && banner.contains(&server.carbon.to_string()),
        "{banner}"
    );
}

#[test]
fn a_flush_makes_everything_durable() {
    let (server, t) = (Server::start(), now() / 60 * 60 - 600);
    server.store(&format!("flush.me 1 {t}\n"));
    assert_eq!(server.post("/internal/flush", &[]).status, 200);
    assert_eq!(server.points("flush.me", t - 60, t), [(1.0, t)]);
    assert_eq!(server.get("/internal/flush").status, 405, "a flush is no question");
    let server = server.kill().start();
    assert_eq!(server.points("flush.me", t - 60, t), [(1.0, t)]);
}

/// Reads the stage of ten seconds: the window begins where the stage of one second has nothing any more.
fn coarse(server: &Server, target: &str, t: u64) -> Vec<(f64, u64)> {
    let points = server.points(target, now() - 2 * 3600, now());
    points.into_iter().filter(|(_, time)| (t..t + 60).contains(time)).collect()
}

fn two_stages() -> Setup {
    Setup::new().set("retention.default", "1s:1h,10s:1d")
}

#[test]
fn coarse_stages_are_exact_at_once() {
    let (server, t) = (two_stages().start(), now() / 60 * 60 - 600);
    let lines: String = (0..10).map(|i| format!("roll.up {} {}\n", i + 1, t + i)).collect();
    server.store(&lines);
    assert_eq!(coarse(&server, "roll.up", t), [(5.5, t)]);
    // Overwriting a slot: last write wins, in the coarse stage too.
    server.store(&format!("roll.up 104 {}\n", t + 3));
    assert_eq!(server.points("roll.up", t + 2, t + 3), [(104.0, t + 3)]);
    assert_eq!(coarse(&server, "roll.up", t), [(15.5, t)]);
    // The same once everything was written out and points come late.
    server.post("/internal/flush?settle=1", &[]);
    server.store(&format!("roll.up 4 {}\n", t + 3));
    assert_eq!(coarse(&server, "roll.up", t), [(5.5, t)]);
    let server = server.kill().start();
    assert_eq!(coarse(&server, "roll.up", t), [(5.5, t)]);
    server.store(&format!("roll.up 14 {}\n", t + 3));
    assert_eq!(coarse(&server, "roll.up", t), [(6.5, t)]);
}

#[test]
fn points_may_come_in_any_order() {
    let (server, t) = (two_stages().start(), now() / 60 * 60 - 600);
    let lines: String = [7, 2, 9, 0, 4, 1, 8, 3, 6, 5].map(|i| format!("any.order {i} {}\n", t + i)).concat();
    server.store(&lines);
    assert_eq!(coarse(&server, "any.order", t), [(4.5, t)]);
    let points = server.points("any.order", t - 1, t + 9);
    assert_eq!(points, (0..10).map(|i| (i as f64, t + i)).collect::<Vec<_>>());
}

#[test]
fn a_point_older_than_the_first_stage_is_kept_in_the_next() {
    let (server, t) = (two_stages().start(), now() / 60 * 60 - 5 * 3600);
    let lines: String = (0..10).map(|i| format!("very.late {i} {}\n", t + i)).collect();
    server.store(&lines);
    assert_eq!(server.points("very.late", t - 10, t + 60), [(4.5, t)]);
}

#[test]
fn too_few_points_leave_a_coarse_slot_empty() {
    let (server, t) = (two_stages().start(), now() / 60 * 60 - 600);
    server.store(&(0..4).map(|i| format!("few.points 1 {}\n", t + i)).collect::<String>());
    assert_eq!(coarse(&server, "few.points", t), []);
    server.store(&format!("few.points 1 {}\n", t + 4));
    assert_eq!(coarse(&server, "few.points", t), [(1.0, t)], "half of them is enough");
}

#[test]
fn each_name_is_rolled_up_by_its_own_method() {
    let setup = two_stages();
    let rules = setup.directory().join("aggregation.conf");
    let section = |m: &str| format!("[{m}]\npattern = \\.{m}$\nxFilesFactor = 0\naggregationMethod = {m}\n");
    let methods = [
        ("sum", 3.0),
        ("last", 4.0),
        ("max", 4.0),
        ("min", -6.0),
        ("average", 0.75),
        ("absmax", -6.0),
        ("absmin", 1.0),
    ];
    std::fs::write(&rules, methods.map(|(m, _)| section(m)).concat()).unwrap();
    let server = setup.set("retention.aggregation", &rules.display().to_string()).start();
    let t = now() / 60 * 60 - 600;
    for (method, _) in methods {
        let point = |(value, i): (i32, u64)| format!("by.{method} {value} {}\n", t + i);
        server.store(&[(1, 0), (-6, 1), (4, 3), (4, 2)].map(point).concat());
    }
    for (method, expected) in methods {
        assert_eq!(coarse(&server, &format!("by.{method}"), t), [(expected, t)], "{method}");
    }
}

#[test]
fn cuts_do_not_change_answers() {
    let server = two_stages().start();
    let t = now() / 60 * 60 - 1200;
    for i in 0..200_u64 {
        server.store(&format!("cut.me {i} {}\n", t + i));
        // Every seventh comes twice, the second time much later and with another value.
        if i % 7 == 0 && i >= 70 {
            server.store(&format!("cut.me {} {}\n", i + 1000, t + i - 70));
        }
        if i % 30 == 29 {
            assert_eq!(server.post("/internal/flush?settle=1", &[]).status, 200);
        }
    }
    server.post("/internal/flush?settle=1", &[]);
    wait_until("an empty log", || server.counter("plumbago_spool_points") == 0);
    let expected: Vec<(f64, u64)> = (0..200_u64)
        .map(|i| (if i % 7 == 0 && i + 70 < 200 { i + 1070 } else { i }, t + i))
        .map(|(value, time)| (value as f64, time))
        .collect();
    assert_eq!(server.points("cut.me", t - 1, t + 199), expected);
    let setup = server.kill();
    assert_eq!(setup.start().points("cut.me", t - 1, t + 199), expected);
}

/// As `curl` sends it, which encodes nothing; twice on one connection.
#[test]
fn addresses_may_be_typed_as_they_are_meant() {
    let server = Server::start();
    let time = now() - 60;
    server.store(&format!("typed.a 7 {time}\ntyped.b 8 {time}\n"));
    let mut stream = TcpStream::connect(server.http).unwrap();
    let mut answers = String::new();
    for (target, end) in [("alias(typed.{a,x},\"<ü>\")", "keep-alive"), ("alias(typed.b,\"|\")", "close")] {
        let head = format!(
            "GET /render?format=json&from=-5min&noNullPoints=1&target={target} HTTP/1.1\r\nhost: plumbago\r\n\
             connection: {end}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
    }
    stream.read_to_string(&mut answers).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 2, "{answers}");
    for name in ["\"target\":\"<ü>\"", "\"target\":\"|\""] {
        assert!(answers.contains(name), "{answers}");
    }
}
