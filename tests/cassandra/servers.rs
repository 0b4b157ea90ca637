//! Real servers on a real node: what they write, what they read of each other, what survives a kill.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use plumbago::store::cassandra::schema::{Indexes, Replication, Schema, apply};
use plumbago::store::cassandra::{Cluster, Purpose, Settings};
use plumbago_model::Retention;

use crate::harness::{Server, Setup, now};
use crate::names::interop::BigGraphite;
use crate::node;
use serde_json::json;

pub(crate) const RETENTIONS: &str = "1s:2h,10s:6h,60s:2d";

/// Keyspaces with all tables, for all tests here: making the indexes takes longest.
static SCHEMA: LazyLock<Result<Settings, String>> = LazyLock::new(|| {
    let settings = node::reachable()?;
    let cluster = Cluster::connect(settings.clone()).unwrap();
    let retention: Retention = "7200*1s:2160*10s:2880*60s".parse().unwrap();
    let schema = Schema::new(&settings, [&retention], Indexes::Sasi);
    apply(&cluster, &schema, Some(&Replication::everywhere(1)), &mut |_| {}).unwrap();
    Ok(settings)
});

/// Where all tables are; `None` after a loud skip.
pub(crate) fn schema(test: &str) -> Option<&'static Settings> {
    node::or_skip(test, SCHEMA.as_ref())
}

pub(crate) fn setup(settings: &Settings, index: &str) -> Setup {
    Setup::new()
        .set("store.kind", "cassandra")
        .set("store.cassandra.nodes", &format!("[\"{}\"]", settings.nodes.join("\",\"")))
        .set("store.cassandra.keyspace", &settings.keyspace)
        .set("store.cassandra.keyspace_metadata", &settings.keyspace_metadata)
        .set("store.cassandra.request_timeout", "30s")
        .set("store.cassandra.flush_interval", "1s")
        .set("store.cassandra.index", index)
        .set("retention.default", RETENTIONS)
}

/// A name no other test has.
pub(crate) fn fresh(name: &str) -> String {
    format!("{name}{}", uuid::Uuid::new_v4().simple())
}

pub(crate) fn settle(server: &Server) {
    let answer = server.post("/internal/flush?settle=1", &[]);
    assert_eq!(answer.status, 200, "{}", answer.body);
}

pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(120);
    while !done() {
        assert!(Instant::now() < give_up, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn points_are_read_back_before_and_after_they_arrive() {
    let Some(settings) = schema("points_are_read_back_before_and_after_they_arrive") else { return };
    let server = setup(settings, "memory").start();
    let (name, base) = (fresh("arrive"), now() - 600);
    let sent: Vec<(f64, u64)> = (0..50).map(|i| (i as f64 + 0.5, base + i)).collect();
    let lines: String = sent.iter().map(|(value, time)| format!("{name} {value} {time}\n")).collect();
    server.store(&lines);
    assert_eq!(server.points(&name, base - 1, base + 60), sent, "at once");
    settle(&server);
    assert_eq!(server.counter("plumbago_spool_points"), 0);
    assert!(server.counter("plumbago_points_delivered_total") >= 50);
    assert_eq!(server.points(&name, base - 1, base + 60), sent, "from the cluster");
    // Another server, whose directory knows nothing.
    let other = setup(settings, "memory").start();
    until("the other server's names", || other.points(&name, base - 1, base + 60) == sent);
}

#[test]
fn two_writers_of_one_metric_add_up() {
    let Some(settings) = schema("two_writers_of_one_metric_add_up") else { return };
    let (one, two) = (setup(settings, "memory").start(), setup(settings, "memory").start());
    let name = fresh("both");
    // Two hours and more: read from the second stage. Long enough ago for its slots to be settled.
    let base = (now() - 5400) / 60 * 60;
    let (mut ones, mut twos) = (String::new(), String::new());
    // One point comes late.
    let late = 5;
    for i in (0..600).filter(|&i| i != late) {
        let line = format!("{name} {} {}\n", value(i), base + i);
        if i % 3 == 0 { ones.push_str(&line) } else { twos.push_str(&line) }
    }
    one.store(&ones);
    two.store(&twos);
    settle(&one);
    settle(&two);
    let mean = |slot: u64, without: Option<u64>| {
        let there: Vec<u64> = (slot * 10..slot * 10 + 10).filter(|i| Some(*i) != without).collect();
        there.iter().map(|&i| value(i)).sum::<f64>() / there.len() as f64
    };
    let read = |server: &Server| {
        // From so long ago that the second stage answers.
        let mut points = server.points(&name, now() - 3 * 3600, now());
        points.retain(|&(_, time)| (base..base + 600).contains(&time));
        points
    };
    let check = |server: &Server, without: Option<u64>| {
        for (slot, (found, time)) in (0..).zip(read(server)) {
            assert_eq!(time, base + slot * 10);
            let wanted = mean(slot, without);
            assert!((found - wanted).abs() < 1e-9, "{found} instead of {wanted} in slot {slot}");
        }
    };
    for server in [&one, &two] {
        until("both writers' points", || read(server).len() == 60);
        check(server, Some(late));
    }
    // The late point makes its slot exact for everybody.
    one.store(&format!("{name} {} {}\n", value(late), base + late));
    settle(&one);
    check(&one, None);
    check(&two, None);
}

fn value(i: u64) -> f64 {
    (i % 7) as f64
}

#[test]
fn all_three_ways_to_look_globs_up_agree() {
    let Some(settings) = schema("all_three_ways_to_look_globs_up_agree") else { return };
    let writer = setup(settings, "memory").start();
    let (top, time) = (fresh("globs"), now());
    let mut lines = String::new();
    for host in ["web1", "web2", "db1"] {
        for metric in ["cpu.load", "cpu.idle", "mem"] {
            lines.push_str(&format!("{top}.{host}.{metric} 1 {time}\n"));
        }
    }
    lines.push_str(&format!("{top}.web1.cpu 1 {time}\n"));
    writer.store(&lines);
    settle(&writer);
    let sasi = setup(settings, "sasi").start();
    let find = |server: &Server, pattern: &str| {
        server.json(&format!("/metrics/find?format=json&query={top}.{pattern}"))
    };
    for pattern in
        ["*", "web*.cpu.*", "%7Bweb1,db1%7D.*", "*.cpu", "web%5B12%5D.mem", "**", "nothing.*", "web1"]
    {
        let names = |server| -> Vec<(String, bool)> {
            let nodes = find(server, pattern);
            let node = |n: &serde_json::Value| {
                (n["path"].as_str().unwrap().to_owned(), n["is_leaf"].as_bool().unwrap())
            };
            nodes.as_array().unwrap().iter().map(node).collect()
        };
        assert_eq!(names(&sasi), names(&writer), "{pattern}");
    }
    let rendered = sasi.render(&format!("{top}.web*.cpu.load"), time - 10, time + 10);
    assert_eq!(rendered.len(), 2, "{rendered:?}");
}

#[test]
fn a_kill_loses_nothing_and_counts_nothing_twice() {
    let Some(settings) = schema("a_kill_loses_nothing_and_counts_nothing_twice") else { return };
    let (name, base) = (fresh("killed"), (now() - 5400) / 60 * 60);
    let mut setup = setup(settings, "memory").set("store.cassandra.flush_interval", "1s");
    for round in 0..4_u64 {
        let server = setup.start();
        let lines: String = (0..150).map(|i| format!("{name} 1 {}\n", base + round * 150 + i)).collect();
        server.store(&lines);
        // At one time before, at another during or after the delivery.
        std::thread::sleep(Duration::from_millis(400 * round));
        setup = server.kill();
    }
    let server = setup.start();
    until("delivery", || server.counter("plumbago_spool_points") == 0);
    let points = server.points(&name, base - 1, base + 600);
    assert_eq!(points.len(), 600);
    // What other readers see in the second stage.
    let other = crate::servers::setup(settings, "sasi").start();
    let coarse = || {
        let mut points = other.points(&name, now() - 3 * 3600, now());
        points.retain(|&(_, time)| (base..base + 600).contains(&time));
        points
    };
    until("the second stage", || coarse().len() == 60);
    assert!(coarse().iter().all(|&(value, _)| value == 1.0), "{:?}", coarse());
}

#[test]
fn a_server_starts_and_takes_points_without_the_cluster() {
    let settings = Settings { nodes: vec!["127.0.0.1:1".to_owned()], ..Settings::default() };
    let server = setup(&settings, "memory").set("store.cassandra.connect_timeout", "1s").start();
    let time = now();
    server.store(&format!("alone.a 1 {time}\n"));
    until("the trouble", || server.counter("plumbago_cluster_trouble") == 1);
    assert!(server.errors().contains("store.cassandra.nodes"), "{}", server.errors());
    assert_eq!(server.counter("plumbago_spool_points"), 1);
    // It has never seen the names of the others.
    for path in ["/render?format=json&target=alone.a", "/metrics/find?format=json&query=alone.*"] {
        let answer = server.get(path);
        assert_eq!(answer.status, 503, "{path}: {}", answer.body);
        assert!(answer.body.contains("store.cassandra.nodes"), "{path}: {}", answer.body);
    }
    let answer = server.post("/internal/flush", &[]);
    assert_eq!(answer.status, 200, "what is on disk is safe: {}", answer.body);
    let (status, setup) = server.stop("TERM");
    assert!(status.success());
    let server = setup.start();
    until("the spool", || server.counter("plumbago_spool_points") == 1);
}

/// What BigGraphite wrote is served, and what we wrote is what BigGraphite reads, in every stage.
#[test]
fn biggraphite_and_we_read_each_other() {
    let test = "biggraphite_and_we_read_each_other";
    let Some(settings) = schema(test) else { return };
    let Some(mut theirs) = BigGraphite::start(test, settings) else { return };
    let (they, we, base) = (fresh("they.wrote"), fresh("we.wrote"), (now() - 5400) / 60 * 60);
    let config = json!({"aggregator": "average", "retention": "7200*1s:2160*10s:2880*60s", "carbon_xfilesfactor": "0.000000"});
    theirs.ask("create", json!([[they, config]]));
    let points: Vec<(u64, f64)> = (0..300).map(|i| (base + i, (i % 11) as f64 + 0.25)).collect();
    theirs.ask("write", json!([[they, points]]));

    let server = setup(settings, "memory").start();
    let read = |name: &str| -> Vec<(u64, f64)> {
        server.points(name, base - 1, base + 300).into_iter().map(|(value, time)| (time, value)).collect()
    };
    until("BigGraphite's metric", || read(&they).len() == points.len());
    assert_eq!(read(&they), points);

    let lines: String = points.iter().map(|(time, value)| format!("{we} {value} {time}\n")).collect();
    server.store(&lines);
    settle(&server);
    let mut fetch = |level: u32| -> Vec<(f64, f64)> {
        let found = theirs.ask("read", json!([we, base, base + 300, level]));
        serde_json::from_value(found).unwrap()
    };
    let raw: Vec<(f64, f64)> = points.iter().map(|&(time, value)| (time as f64, value)).collect();
    assert_eq!(fetch(0), raw);
    for (level, step) in [(1, 10), (2, 60)] {
        let mean = |slot: &[(u64, f64)]| slot.iter().map(|(_, value)| value).sum::<f64>() / slot.len() as f64;
        let expected: Vec<(f64, f64)> =
            points.chunks(step).map(|slot| (slot[0].0 as f64, mean(slot))).collect();
        let found = fetch(level);
        assert_eq!(found.len(), expected.len(), "stage {level}: {found:?}");
        for ((time, value), (at, wanted)) in found.iter().zip(&expected) {
            assert_eq!(time, at);
            assert!((value - wanted).abs() < 1e-9, "stage {level}: {value} instead of {wanted} at {time}");
        }
    }
}

#[test]
fn what_one_deletes_is_gone_for_all() {
    let Some(settings) = schema("what_one_deletes_is_gone_for_all") else { return };
    let (top, time) = (fresh("deleted"), now());
    let (one, two) = (setup(settings, "memory").start(), setup(settings, "memory").start());
    one.store(&format!("{top}.a.x 1 {time}\n{top}.b.x 1 {time}\n"));
    settle(&one);
    let found = |server: &Server| {
        let nodes = server.json(&format!("/metrics/find?format=json&query={top}.*.*"));
        nodes.as_array().unwrap().len()
    };
    until("both metrics", || found(&two) == 2);
    assert_eq!(two.points(&format!("{top}.a.x"), time - 10, time).len(), 1);

    // While both run, and from another machine.
    let setup = crate::servers::setup(settings, "memory");
    let run = |arguments: &[&str]| {
        let output = setup.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run(&["delete", "--dry-run", &format!("{top}.a.*")]), format!("{top}.a.x\n"));
    run(&["delete", &format!("{top}.a.*")]);
    until("the deletion", || found(&one) == 1 && found(&two) == 1);
    // The same name again begins empty: its points went with it.
    two.store(&format!("{top}.a.x 2 {}\n", time + 1));
    assert_eq!(two.points(&format!("{top}.a.x"), time - 10, time + 1), [(2.0, time + 1)]);

    assert!(!run(&["clean", "--dry-run", "--unwritten-for", "1d"]).contains(&top));
    run(&["repair", "--dry-run"]);
}

/// BigGraphite's tools remove rows and tell nobody.
#[test]
fn what_vanished_from_the_tables_is_forgotten() {
    let Some(settings) = schema("what_vanished_from_the_tables_is_forgotten") else { return };
    let (top, old) = (fresh("vanished"), now() - 7000);
    let memory = setup(settings, "memory").set("store.cassandra.reload_interval", "1s").start();
    let sasi = setup(settings, "sasi").start();
    let names = |server: &Server| -> Vec<String> {
        let nodes = server.json(&format!("/metrics/find?format=json&query={top}.*"));
        nodes
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["path"].as_str().unwrap().rsplit('.').next().unwrap().to_owned())
            .collect()
    };
    memory.store(&format!("{top}.stays 1 {old}\n{top}.goes 1 {old}\n{top}.lives 1 {}\n", now()));
    settle(&memory);
    until("all metrics", || names(&sasi) == ["goes", "lives", "stays"]);
    assert_eq!(sasi.points(&format!("{top}.goes"), old - 10, old), [(1.0, old)]);

    let cluster = Cluster::connect(settings.clone()).unwrap();
    for (name, table) in
        ["goes", "lives"].iter().flat_map(|n| ["metrics_metadata", "metrics"].map(|t| (n, t)))
    {
        let keyspace = &settings.keyspace_metadata;
        let text = format!("DELETE FROM {keyspace}.{table} WHERE name = '{top}.{name}'");
        cluster.block_on(cluster.run_once(Purpose::Background, &text, ())).unwrap();
    }
    // The one that is written to is made again; until then the others lack it.
    until("the loss", || names(&memory) == ["lives", "stays"]);
    until("the metric that lives", || names(&sasi) == ["lives", "stays"]);
    assert_eq!(memory.points(&format!("{top}.goes"), old - 10, old), []);
    until("the loss", || sasi.points(&format!("{top}.goes"), old - 10, old).is_empty());
}

#[test]
fn an_event_is_everybodys_when_it_is_answered() {
    let Some(settings) = schema("an_event_is_everybodys_when_it_is_answered") else { return };
    let (one, two) = (setup(settings, "memory").start(), setup(settings, "memory").start());
    let (tag, t) = (fresh("deploy"), now() - 100);
    for (server, what) in [(&one, "first"), (&two, "second")] {
        let answer = server.post_json("/events/", &json!({"what": what, "tags": [tag], "when": t}));
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    let list = one.json(&format!("/events/get_data?tags={tag}&from={t}"));
    assert_eq!(two.json(&format!("/events/get_data?tags={tag}&from={t}")), list);
    assert_eq!(list.as_array().unwrap().len(), 2);
    assert_eq!(two.points(&format!("events(\"{tag}\")"), t - 5, t + 5), [(2.0, t)]);
    let id = &list[0]["id"];
    assert_eq!(two.json(&format!("/events/{id}"))["what"], list[0]["what"]);
}

#[test]
fn tags_are_shared_with_all_names_in_memory_and_refused_without() {
    let Some(settings) = schema("tags_are_shared_with_all_names_in_memory_and_refused_without") else {
        return;
    };
    let (one, two) = (setup(settings, "memory").start(), setup(settings, "memory").start());
    let (name, t) = (fresh("tagged"), now() - 60);
    let find = |server: &Server, expressions: &str| {
        server.get(&format!("/tags/findSeries?expr=name={name}{expressions}")).body
    };
    let (east, west) = (format!("{name};dc=east"), format!("{name};dc=west"));
    one.store(&format!("{east} 1 {t}\n{west} 2 {t}\n"));
    settle(&one);
    let (both, only_east, only_west) = (json!([east, west]), json!([east]), json!([west]));
    until("the other server's tags", || find(&two, "") == both.to_string().as_str());
    assert_eq!(find(&two, "&expr=dc!=west"), only_east.to_string());
    assert_eq!(two.post("/tags/delSeries", &[("path", &east)]).body, "true");
    until("the deletion", || find(&one, "") == only_west.to_string().as_str());
    let asking = setup(settings, "sasi").start();
    let answer = asking.get("/tags/findSeries?expr=name=x");
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert!(answer.body.contains("store.cassandra.index"), "{}", answer.body);
}
