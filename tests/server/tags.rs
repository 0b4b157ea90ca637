//! Tagged series: found by their tags from the moment they are stored until they are deleted.

use serde_json::{Value, json};

use super::graphite_web::web::Web;
use super::harness::{Server, Setup, now};

fn find(server: &Server, query: &str) -> Value {
    server.json(&format!("/tags/findSeries?{query}"))
}

#[test]
fn series_are_found_by_tag_as_they_come_and_go() {
    let server = Server::start();
    let t = now() / 60 * 60 - 600;
    server.store(&format!(
        "disk;host=b;dc=east 1 {t}\ndisk;dc=east;host=a 2 {t}\ndisk;dc=west 3 {t}\nuntagged 4 {t}\n"
    ));
    assert_eq!(find(&server, "expr=dc=east"), json!(["disk;dc=east;host=a", "disk;dc=east;host=b"]));
    assert_eq!(server.json("/tags/autoComplete/values?tag=host&expr=dc=east"), json!(["a", "b"]));
    let series = server.render("seriesByTag(\"name=disk\", \"host=\")", t - 10, t);
    assert_eq!(series, [("disk;dc=west".to_owned(), vec![(3.0, t)])]);
    // After a kill all of it is made again from the log.
    let server = server.kill().start();
    assert_eq!(find(&server, "expr=dc=~.&expr=host=a"), json!(["disk;dc=east;host=a"]));
    assert_eq!(server.post("/tags/delSeries", &[("path", "disk;host=a;dc=east")]).body, "true");
    assert_eq!(find(&server, "expr=dc=east"), json!(["disk;dc=east;host=b"]));
    let server = server.kill().start();
    assert_eq!(find(&server, "expr=dc=east"), json!(["disk;dc=east;host=b"]));
    // The next point brings it back.
    server.store(&format!("disk;dc=east;host=a 5 {}\n", t + 20));
    assert_eq!(find(&server, "expr=host=a"), json!(["disk;dc=east;host=a"]));
    assert_eq!(server.points("disk;dc=east;host=a", t - 10, t + 20), [(5.0, t + 20)]);
    let untagged = server.post("/tags/delSeries", &[("path", "untagged")]);
    assert_eq!(untagged.status, 400, "{}", untagged.body);
}

#[test]
fn a_series_can_be_tagged_before_it_has_points() {
    let server = Setup::new().set("ingest.max_metrics", "2").start();
    let made = server.post("/tags/tagMultiSeries", &[("path", "a;y=2;x=1"), ("path", "b;x=1")]);
    assert_eq!(made.body, r#"["a;x=1;y=2","b;x=1"]"#);
    assert_eq!(server.post("/tags/tagSeries", &[("path", "a;x=1;y=2")]).body, r#""a;x=1;y=2""#);
    let over = server.post("/tags/tagSeries", &[("path", "c;x=1")]);
    assert_eq!((over.status, over.header("retry-after")), (429, Some("60")), "{}", over.body);
    assert!(over.body.contains("metric_limit"), "{}", over.body);
    let broken = server.post("/tags/tagSeries", &[("path", "c;x")]);
    assert_eq!(broken.status, 400, "{}", broken.body);
    let server = server.kill().start();
    assert_eq!(find(&server, "expr=x=1"), json!(["a;x=1;y=2", "b;x=1"]));
}

/// As graphite-web does it, which is asked the same.
#[test]
fn a_name_without_tags_is_tagged_by_its_name() {
    let ours = Server::start();
    let asked = |path: &str| {
        let made = ours.post("/tags/tagSeries", &[("path", path)]);
        (made.status, made.body)
    };
    assert_eq!(asked("~~plain.name"), (200, r#""plain.name""#.to_owned()));
    let (status, body) = asked("~~~~");
    assert!(status == 400 && body.contains("`~~~~`"), "{status} {body}");
    assert_eq!(find(&ours, "expr=name=plain.name"), json!(["plain.name"]));
    assert_eq!(ours.json("/metrics/find?query=*").as_array().unwrap().len(), 1);
    let ours = ours.kill().start();
    assert_eq!(find(&ours, "expr=name=plain.name"), json!(["plain.name"]));

    let settings = "STORAGE_FINDERS = ['graphite.finders.standard.StandardFinder']";
    let Some(theirs) = Web::start("a_name_without_tags_is_tagged_by_its_name", settings) else { return };
    for path in ["~~plain.name", "plain.name", "other", "~cpu;host=a", "cpu;host=b", "~~~~"] {
        let form = [("path", path)];
        let (ours, theirs) = (ours.post("/tags/tagSeries", &form), theirs.post("/tags/tagSeries", &form));
        match theirs.status {
            200 => assert_eq!((ours.status, &ours.body), (200, &theirs.body), "{path}"),
            status => assert!(status >= 400 && ours.status >= 400, "{path}: {status} and {}", ours.status),
        }
    }
    for question in [
        "findSeries?expr=name=plain.name",
        "findSeries?expr=name=other&expr=host=",
        "findSeries?expr=name=other&expr=host=a",
        "findSeries?expr=name=cpu",
        "autoComplete/tags?expr=name=plain.name",
        "autoComplete/values?tag=name&expr=name=plain.name",
        "autoComplete/values?tag=name&expr=name=cpu",
    ] {
        let path = format!("/tags/{question}");
        assert_eq!(ours.json(&path), theirs.json(&path), "{question}");
    }
}

#[test]
fn the_command_counts_as_the_server_does() {
    let server = Server::start();
    server.store(&format!("a.b.c 1 {0}\na.b.d 1 {0}\nx;host=1 1 {0}\nx;host=2 1 {0}\n", now()));
    let counted = server.json("/internal/cardinality?below=a&depth=1");
    assert_eq!(counted["prefixes"], json!([{"prefix": "a.b", "metrics": 2}]));
    let (status, setup) = server.stop("TERM");
    assert!(status.success());
    let output = setup.run(&["--output", "json", "cardinality", "a"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), counted);
    let output = setup.run(&["cardinality"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("4 metrics, 2 of them tagged"), "{text}");
    assert!(text.contains("host"), "{text}");
}
