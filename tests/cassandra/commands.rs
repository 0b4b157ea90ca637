//! Commands on a cluster that move metrics in and out, and between stores; what they say of a metric is in `operate.rs`.

use std::process::Output;

use plumbago::whisper;
use plumbago_model::{Point, Policy};
use serde_json::{Value, json};

use crate::harness::{Server, Setup, now};
use crate::names::interop::BigGraphite;
use crate::servers::{RETENTIONS, fresh, schema, settle, setup, until};

#[track_caller]
fn printed(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Runs a command that asks a server, and gives its report.
#[track_caller]
fn report(here: &Setup, arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(&here.run(&[arguments, &["--output", "json"]].concat()))).unwrap()
}

fn url(server: &Server) -> String {
    format!("http://{}", server.http)
}

/// A cluster that BigGraphite wrote moves into an embedded store, which then fills the cluster again, and back under another name.
#[test]
fn what_biggraphite_wrote_moves_to_an_embedded_store_and_back() {
    let test = "what_biggraphite_wrote_moves_to_an_embedded_store_and_back";
    let Some(settings) = schema(test) else { return };
    let Some(mut theirs) = BigGraphite::start(test, settings) else { return };
    let (top, base) = (fresh("theirs"), (now() - 5400) / 60 * 60);
    let (name, back) = (format!("{top}.a"), format!("{top}back.a"));
    let config = json!({"aggregator": "average", "retention": "7200*1s:2160*10s:2880*60s", "carbon_xfilesfactor": "0.000000"});
    theirs.ask("create", json!([[name, config]]));
    let points: Vec<(u64, f64)> = (0..300).map(|i| (base + i, (i % 11) as f64 + 0.25)).collect();
    theirs.ask("write", json!([[name, points]]));
    let expected: Vec<(f64, u64)> = points.iter().map(|&(time, value)| (value, time)).collect();
    let clustered = setup(settings, "memory").start();
    let read = |server: &Server, name: &str| server.points(name, base - 1, base + 300);
    until("BigGraphite's metric", || read(&clustered, &name) == expected);

    let embedded = Setup::new().set("retention.default", RETENTIONS).start();
    let (from, to) = (url(&clustered), url(&embedded));
    let here = Setup::new();
    let told = report(&here, &["copy", "--url", &from, "--to", &to, &name]);
    assert_eq!((&told["verified"], &told["different"]), (&1.into(), &json!([])), "{told}");
    assert_eq!(read(&embedded, &name), expected);
    let minutes = |server: &Server, name: &str| {
        let found = server.points(name, now() - 12 * 3600, now());
        found.into_iter().filter(|(_, time)| (base..base + 300).contains(time)).collect::<Vec<_>>()
    };
    assert_eq!(minutes(&embedded, &name).len(), 5);
    assert_eq!(minutes(&embedded, &name), minutes(&clustered, &name));
    let same = report(&here, &["compare", "--url", &from, "--with", &to, &name]);
    assert_eq!((&same["equal"], &same["different"]), (&1.into(), &0.into()), "{same}");

    // A range goes from the cluster, and is filled again from the embedded store: what is filled is younger than the deletion.
    let (cut, end) = ((base + 60).to_string(), (base + 180).to_string());
    let gone = report(&here, &["delete", "--url", &from, &name, "--from", &cut, "--until", &end]);
    assert_eq!(gone["metrics"][0]["points"], 120, "{gone}");
    assert_eq!(read(&clustered, &name).len(), 180);
    let filled = report(&here, &["fill", "--url", &from, "--from", &to, &name]);
    assert_eq!(filled["points"], 120, "{filled}");
    settle(&clustered);
    assert_eq!(read(&clustered, &name), expected);

    // Under another name, for BigGraphite to read.
    printed(&here.run(&["rename", "--url", &to, &top, &format!("{top}back")]));
    let told = report(&here, &["copy", "--url", &to, "--to", &from, &back]);
    assert_eq!((&told["metrics_created"], &told["verified"]), (&1.into(), &1.into()), "{told}");
    settle(&clustered);
    let mut fetch = |level: u32| -> Vec<(f64, f64)> {
        serde_json::from_value(theirs.ask("read", json!([back, base, base + 300, level]))).unwrap()
    };
    let raw: Vec<(f64, f64)> = points.iter().map(|&(time, value)| (time as f64, value)).collect();
    assert_eq!(fetch(0), raw);
    assert_eq!(fetch(2).len(), 5);
}

#[test]
fn files_go_into_a_cluster_and_out_of_it() {
    let Some(settings) = schema("files_go_into_a_cluster_and_out_of_it") else { return };
    let (top, base) = (fresh("files"), (now() - 3600) / 60 * 60);
    let server = setup(settings, "memory").start();
    let other = setup(settings, "sasi").start();
    let (name, from) = (format!("{top}.a"), url(&server));
    let here = setup(settings, "memory");
    let files = tempfile::tempdir().unwrap();
    let policy: Policy = "7200*1s:2160*10s:2880*60s|average|0.5".parse().unwrap();
    let points: Vec<Point> =
        (0..120).map(|i| Point { timestamp: (base + i) as u32, value: i as f64 + 0.5 }).collect();
    let path = files.path().join("in").join(&top).join("a.wsp");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    whisper::write(&path, &policy, &[&points, &[], &[]]).unwrap();
    let folder = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
    let told = report(&here, &["import", "whisper", &folder("in"), "--url", &from]);
    assert_eq!((&told["metrics"], &told["points"]), (&1.into(), &120.into()), "{told}");
    settle(&server);
    let expected: Vec<(f64, u64)> = points.iter().map(|p| (p.value, u64::from(p.timestamp))).collect();
    until("the metric on the other server", || other.points(&name, base - 1, base + 120) == expected);

    let told = report(&here, &["export", "whisper", &folder("out"), &format!("{top}.*"), "--url", &from]);
    assert_eq!(told["files"], 1, "{told}");
    let path = files.path().join("out").join(&top).join("a.wsp");
    let series = whisper::Reader::new().read(&path, now() as u32).unwrap();
    assert!(format!("{series:?}").contains("119.5"), "the last point is in the file");
    let (begin, end) = ((base - 1).to_string(), (base + 120).to_string());
    let csv =
        printed(&here.run(&["export", "csv", &name, "--from", &begin, "--until", &end, "--url", &from]));
    assert_eq!(csv.lines().count(), 121);
    assert_eq!(csv.lines().nth(1), Some(&*format!("{name},{base},0.5")));

    // Without a server the names are read from the tables, and a server counts them at once.
    let counted = report(&here, &["cardinality", &top]);
    assert_eq!(counted["prefixes"][0]["metrics"], 1, "{counted}");
    assert_eq!(report(&here, &["cardinality", &top, "--url", &from])["prefixes"], counted["prefixes"]);

    // In the cluster itself: the servers follow.
    let renamed = format!("{top}new.a");
    printed(&here.run(&["rename", &top, &format!("{top}new")]));
    until("the new name", || server.points(&renamed, base - 1, base + 120) == expected);
    until("the end of the old one", || server.points(&name, base - 1, base + 120).is_empty());
    assert_eq!(report(&here, &["du", &format!("{top}new")])["points"], 120);
    assert_eq!(report(&here, &["info", &renamed])["stages"][0]["rows"], 120);

    // What needs another way says which.
    for (arguments, said) in [
        (vec!["rename", "a", "b", "--url", &*from], "without --url"),
        (vec!["clean", "--url", &*from], "without --url"),
        (vec!["repair", "--url", &*from], "without --url"),
        (vec!["backup", &*folder("backup")], "nodetool snapshot"),
    ] {
        let refused = here.run(&arguments);
        assert!(!refused.status.success());
        assert!(String::from_utf8_lossy(&refused.stderr).contains(said), "{arguments:?}: {refused:?}");
    }
}
