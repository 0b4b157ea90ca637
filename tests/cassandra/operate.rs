//! Commands on a cluster, while servers run on it.

use std::collections::BTreeSet;
use std::sync::Arc;

use plumbago::store::cassandra::names::{Names, identity};
use plumbago::store::cassandra::schema::{Indexes, table_name};
use plumbago::store::cassandra::{Cluster, Purpose, Settings, erase, held};
use plumbago_model::Stage;
use serde_json::Value;

use crate::harness::{Server, Setup, now};
use crate::servers::{fresh, schema, settle, setup, until};

const STAGES: [&str; 3] = ["7200*1s_0", "2160*10s_aggr", "2880*60s_aggr"];

/// The tables as an operator looks into them.
struct Tables {
    cluster: Arc<Cluster>,
    settings: Settings,
}

impl Tables {
    fn new(settings: &Settings) -> Self {
        Self { cluster: Arc::new(Cluster::connect(settings.clone()).unwrap()), settings: settings.clone() }
    }

    /// Runs a statement; `{}` in it stands for the keyspace of names.
    fn run(&self, text: &str) {
        let text = text.replace("{}", &self.settings.keyspace_metadata);
        self.cluster.block_on(self.cluster.run_once(Purpose::Background, &text, ())).unwrap();
    }

    /// Rows of a metric in each stage.
    fn rows(&self, name: &str) -> Vec<u64> {
        let stages: Vec<Stage> = STAGES.iter().map(|stage| stage.parse().unwrap()).collect();
        let counted = held(&self.cluster, &[(identity::id(name), stages)], now() as u32).unwrap();
        counted[0].iter().map(|held| held.rows).collect()
    }

    /// All values and all counts of a metric in an aggregated stage, added up, and how many shards they stand under.
    fn sums(&self, stage: &str, name: &str) -> (f64, i64, usize) {
        let stage: Stage = stage.parse().unwrap();
        let table = format!("{}.{}", self.settings.keyspace, table_name(stage));
        // Of this metric alone: others write rows with holes into the same tables.
        let text = format!(
            "SELECT shard, value, count FROM {table} WHERE metric = {} ALLOW FILTERING",
            identity::id(name)
        );
        let rows = self.cluster.block_on(self.cluster.run_once(Purpose::Background, &text, ())).unwrap();
        let rows = rows.into_rows_result().unwrap();
        let (mut values, mut counts, mut shards) = (0.0, 0, BTreeSet::new());
        for row in rows.rows::<(i16, f64, i16)>().unwrap() {
            let (shard, value, count) = row.unwrap();
            values += value;
            counts += i64::from(count);
            shards.insert(shard);
        }
        (values, counts, shards.len())
    }

    fn names(&self) -> Names {
        Names::new(Arc::clone(&self.cluster), Indexes::Sasi)
    }

    /// Names of a table that begin with a text.
    fn listed(&self, table: &str, top: &str) -> Vec<String> {
        let text = format!("SELECT name FROM {}.{table}", self.settings.keyspace_metadata);
        let rows = self.cluster.block_on(self.cluster.run_once(Purpose::Background, &text, ())).unwrap();
        let rows = rows.into_rows_result().unwrap();
        let names = rows.rows::<(String,)>().unwrap().map(|row| row.unwrap().0);
        let mut names: Vec<String> = names.filter(|name| name.starts_with(top)).collect();
        names.sort();
        names
    }
}

/// Runs a command that must succeed. Gives what it printed.
fn run(setup: &Setup, arguments: &[&str]) -> String {
    let output = setup.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(setup: &Setup, arguments: &[&str]) -> Value {
    serde_json::from_str(&run(setup, &[&["--output", "json"], arguments].concat())).unwrap()
}

/// How many nodes a server finds.
fn found(server: &Server, pattern: &str) -> usize {
    server.json(&format!("/metrics/find?format=json&query={pattern}")).as_array().unwrap().len()
}

#[test]
fn what_is_undelivered_of_a_deleted_metric_does_not_come_back() {
    let Some(settings) = schema("what_is_undelivered_of_a_deleted_metric_does_not_come_back") else { return };
    let tables = Tables::new(settings);
    let (top, base) = (fresh("undelivered"), now() - 600);
    // Its points wait for an hour unless they are asked for.
    let slow = setup(settings, "memory").set("store.cassandra.flush_interval", "1h").start();
    let asking = setup(settings, "sasi").start();
    let lines = |from: u64| -> String {
        (from..from + 100)
            .map(|i| format!("{top}.gone 1 {}\n{top}.kept 1 {}\n", base + i, base + i))
            .collect()
    };
    slow.store(&lines(0));
    settle(&slow);
    assert_eq!(tables.rows(&format!("{top}.gone"))[0], 100);
    until("the metric on the server that asks", || {
        asking.points(&format!("{top}.gone"), base - 1, base + 100).len() == 100
    });
    slow.store(&lines(100));
    let here = setup(settings, "memory");
    assert_eq!(run(&here, &["delete", &format!("{top}.gone")]), format!("{top}.gone\n"));
    until("the deletion", || {
        found(&slow, &format!("{top}.*")) == 1 && found(&asking, &format!("{top}.*")) == 1
    });
    settle(&slow);
    assert_eq!(tables.rows(&format!("{top}.gone")), [0, 0, 0]);
    assert_eq!(tables.rows(&format!("{top}.kept"))[0], 200);
    assert_eq!(asking.points(&format!("{top}.gone"), base - 1, base + 300), []);
}

#[test]
fn a_deletion_that_was_interrupted_is_completed_by_the_next() {
    let Some(settings) = schema("a_deletion_that_was_interrupted_is_completed_by_the_next") else { return };
    let tables = Tables::new(settings);
    let (top, base) = (fresh("interrupted"), now() - 600);
    let server = setup(settings, "memory").start();
    let metrics = ["a.points", "a.metadata", "b.metric", "c.d.directory"].map(|name| format!("{top}.{name}"));
    let lines: String = metrics.iter().map(|name| format!("{name} 1 {base}\n")).collect();
    server.store(&lines);
    settle(&server);
    // After each of its steps: points, metadata, metric. Then the last directory is left.
    tables.run(&format!("DELETE FROM {{}}.metrics_metadata WHERE name = '{}'", metrics[1]));
    for table in ["metrics_metadata", "metrics"] {
        tables.run(&format!("DELETE FROM {{}}.{table} WHERE name = '{}'", metrics[3]));
    }
    let here = setup(settings, "memory");
    let dry = run(&here, &["delete", "--dry-run", &format!("{top}.**")]);
    assert_eq!(dry, format!("{}\n{}\n{}\n", metrics[1], metrics[0], metrics[2]));
    assert_eq!(tables.listed("metrics", &top).len(), 3);
    run(&here, &["delete", &format!("{top}.**")]);
    for table in ["metrics", "metrics_metadata", "directories"] {
        assert_eq!(tables.listed(table, &top), [""; 0], "{table}");
    }
    assert_eq!(tables.rows(&metrics[0]), [0, 0, 0]);
    assert_eq!(tables.rows(&metrics[2]), [0, 0, 0]);
    assert_eq!(run(&here, &["delete", &format!("{top}.**")]), "");
}

#[test]
fn a_cluster_tells_of_itself_while_a_server_runs() {
    let Some(settings) = schema("a_cluster_tells_of_itself_while_a_server_runs") else { return };
    let tables = Tables::new(settings);
    let (top, base) = (fresh("told"), (now() - 5400) / 60 * 60);
    let server = setup(settings, "memory").start();
    let lines = |name: &str, count: u64| -> String {
        (0..count).map(|i| format!("{top}.{name} 1 {}\n", base + i)).collect()
    };
    server.store(&(lines("a.x", 120) + &lines("a.y", 30)));
    settle(&server);
    tables.names().touch_read(&[format!("{top}.a.x")], 1).unwrap();
    let here = setup(settings, "memory");

    let info = json(&here, &["info", &format!("{top}.a.x")]);
    assert_eq!(info["uuid"], identity::id(&format!("{top}.a.x")).to_string());
    assert_eq!(info["retention"], "1s for 2 hours, 10s for 6 hours, 1m for 2 days");
    assert_eq!((&info["aggregation"], info["x_files_factor"].as_f64()), (&"average".into(), Some(0.5)));
    let time = |secs: u64| jiff::Timestamp::from_second(secs as i64).unwrap().to_string();
    assert_eq!((&info["data_since"], &info["last_point"]), (&time(base).into(), &time(base + 119).into()));
    assert_eq!(info["stages"][0]["rows"], 120);
    assert_eq!(info["stages"][1]["last"], time(base + 110));
    for key in ["created", "updated", "read"] {
        assert!(info[key].as_str().unwrap().starts_with("20"), "{info}");
    }
    assert_eq!(json(&here, &["info", &format!("{top}.a.y")])["read"], "never");
    let text = run(&here, &["info", &format!("{top}.a.x")]);
    assert!(text.contains("stage 1s        120 rows, from "), "{text}");
    let missing = here.run(&["info", &format!("{top}.a.z")]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("there is no metric"));

    let found = json(&here, &["top", "--below", &format!("{top}.a")]);
    assert_eq!((&found["metrics"], &found["received"]), (&2.into(), &Value::Null), "{found}");
    let unread = &found["never_read"];
    assert_eq!((&unread["metrics"], &unread["names"][0]["name"]), (&1.into(), &format!("{top}.a.y").into()));
    let created = found["created"]["newest"][1]["created"].as_u64().unwrap();
    assert!((base..=now()).contains(&created), "{found}");
    let text = run(&here, &["top", "--never-read", "--below", &top]);
    assert!(text.starts_with("1 of 2 metrics never read\n"), "{text}");
    // With the address of its server, which says what it receives, and leaves the rest to the tables.
    let http = format!("listen.http={}", server.http);
    let found = json(&here, &["--set", &http, "top", "--below", &top]);
    assert_eq!((&found["received"]["points"], &found["never_read"]["metrics"]), (&150.into(), &1.into()));
    let url = format!("http://{}", server.http);
    let found = json(&here, &["top", "--below", &top, "--url", &url]);
    assert_eq!((&found["received"]["points"], &found["created"]), (&150.into(), &Value::Null));
    let refused = here.run(&["top", "--never-read", "--url", &url]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("leave --url out"), "{refused:?}");

    let du = json(&here, &["du", &format!("{top}.*.*")]);
    assert_eq!((&du["metrics"], &du["points"]), (&2.into(), &150.into()));
    // Twelve and three slots of ten seconds, two and one of a minute.
    assert_eq!(du["rows_by_stage"], serde_json::json!({ STAGES[0]: 150, STAGES[1]: 15, STAGES[2]: 3 }));
    assert!(du["estimated_bytes"].as_u64().unwrap() > 168 * 16, "{du}");
    assert!(
        run(&here, &["du", &format!("{top}.a.y")]).starts_with("30 points and 4 aggregates in 1 metric\n")
    );

    let stats = json(&here, &["stats"]);
    assert!(stats["metrics"].as_u64() >= Some(2) && stats["directories"].as_u64() >= Some(2), "{stats}");
    assert_eq!(stats["spool_points"], "no data directory here");
    assert!(!stats["writers"].as_array().unwrap().is_empty(), "{stats}");
    assert!(stats["tables"].is_object(), "{stats}");
    run(&here, &["stats"]);
    let (status, stopped) = server.stop("TERM");
    assert!(status.success());
    assert_eq!(json(&stopped, &["stats"])["spool_points"], 0);
}

/// Metrics whose names end in `sum` are added up: an average would not show what is counted twice.
fn summing(settings: &Settings, index: &str) -> Setup {
    let rule =
        "[{ name = 'sum', pattern = 'sum$', retentions = '1s:2h,10s:6h,60s:2d', aggregation = 'sum' }]";
    setup(settings, index).set("retention.rule", rule)
}

/// The points of a metric between two times, as the stage that reaches back so many seconds has them.
fn coarse(server: &Server, name: &str, reach: u64, base: u64) -> Vec<(f64, u64)> {
    let mut points = server.points(name, now() - reach, now());
    points.retain(|&(_, time)| (base..base + 600).contains(&time));
    points
}

#[test]
fn a_metric_renamed_while_it_is_written_has_every_point_once() {
    let Some(settings) = schema("a_metric_renamed_while_it_is_written_has_every_point_once") else { return };
    let tables = Tables::new(settings);
    let (top, base) = (fresh("renamed"), (now() - 5400) / 60 * 60);
    let (old, new) = (format!("{top}.old.sum"), format!("{top}.new.sum"));
    let lines = |name: &str, slots: std::ops::Range<u64>| -> String {
        slots.map(|i| format!("{name} 1 {}\n", base + i)).collect()
    };
    // The name changes in the middle of a slot of both aggregated stages.
    let writer = summing(settings, "memory").start();
    writer.store(&(lines(&old, 0..335) + &lines(&new, 335..600)));
    settle(&writer);
    let here = summing(settings, "memory");
    let dry = json(&here, &["copy", "--dry-run", &old, &new]);
    assert_eq!((&dry["copied"], &dry["metrics"][0]["points"]), (&false.into(), &335.into()));
    assert_eq!(tables.rows(&new)[0], 265);
    let done = json(&here, &["copy", &old, &new]);
    assert_eq!(done["metrics"][0]["points"], 335);
    // Thirty-four slots of ten seconds, six of a minute.
    assert_eq!(done["metrics"][0]["aggregates"], 40);
    let other = summing(settings, "sasi").start();
    let expected = |step: u64| -> Vec<(f64, u64)> {
        (0..600 / step).map(|slot| (step as f64, base + slot * step)).collect()
    };
    let check = || {
        for server in [&writer, &other] {
            assert_eq!(coarse(server, &new, 5500, base), expected(1));
            assert_eq!(coarse(server, &new, 3 * 3600, base), expected(10));
            assert_eq!(coarse(server, &new, 12 * 3600, base), expected(60));
        }
    };
    check();
    let rows = tables.rows(&new);
    // Again, and after the writer has written its part of the slot in the middle again.
    writer.store(&lines(&new, 335..340));
    settle(&writer);
    assert_eq!(run(&here, &["copy", &old, &new]), format!("{old} -> {new}\n"));
    check();
    assert_eq!(tables.rows(&new), rows);
    assert_eq!(coarse(&writer, &old, 5500, base).len(), 335);
}

#[test]
fn aggregates_that_are_not_written_yet_are_made_for_the_copy() {
    let Some(settings) = schema("aggregates_that_are_not_written_yet_are_made_for_the_copy") else { return };
    let tables = Tables::new(settings);
    let (old, new, base) = (fresh("open.old.sum"), fresh("open.new.sum"), now() - 120);
    let (old, new) = (format!("{old}.sum"), format!("{new}.sum"));
    let writer = summing(settings, "memory").start();
    writer.store(&(0..60).map(|i| format!("{old} 1 {}\n", base + i)).collect::<String>());
    settle(&writer);
    let aggregated: Vec<Stage> = STAGES[1..].iter().map(|stage| stage.parse().unwrap()).collect();
    erase(&tables.cluster, &[(identity::id(&old), aggregated)], now() as u32, None).unwrap();
    assert_eq!(tables.rows(&old), [60, 0, 0]);
    run(&summing(settings, "memory"), &["copy", &old, &new]);
    for stage in &STAGES[1..] {
        assert_eq!(tables.sums(stage, &new), (60.0, 60, 1), "{stage}");
    }
}

#[test]
fn a_directory_is_copied_with_all_that_is_below_it() {
    let Some(settings) = schema("a_directory_is_copied_with_all_that_is_below_it") else { return };
    let tables = Tables::new(settings);
    let (top, base) = (fresh("below"), (now() - 5400) / 60 * 60);
    let server = summing(settings, "memory").start();
    let mut lines = String::new();
    for name in ["a", "a.x", "a.b.y", "a.sum", "ab.not"] {
        (0..120).for_each(|i| lines.push_str(&format!("{top}.{name} 1 {}\n", base + i)));
    }
    // It is there already, and its slots mean something else.
    lines.push_str(&format!("{top}.z.b.y 5 {}\n{top}.z.x 7 {}\n", base + 200, base + 300));
    server.store(&lines);
    settle(&server);
    tables.run(&format!(
        "UPDATE {{}}.metrics_metadata SET config['aggregator'] = 'maximum' WHERE name = '{top}.z.b.y'"
    ));
    let here = summing(settings, "memory");
    let (a, z) = (format!("{top}.a"), format!("{top}.z"));
    let half = (base + 60).to_string();
    let arguments = ["copy", "--recursive", &a, &z, "--until", &half];
    let dry = here.run(&[&arguments[..], &["--dry-run"]].concat());
    assert_eq!(dry.status.code(), Some(1));
    assert_eq!(tables.listed("metrics", &z).len(), 2, "a trial makes nothing");
    let done = here.run(&arguments);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("not copied: 1 metric: `{top}.z.b.y` exists and keeps")), "{said}");
    assert!(said.contains("3 metrics with 180 points and"), "{said}");
    let printed: Vec<String> =
        ["", ".sum", ".x"].iter().map(|rest| format!("{a}{rest} -> {z}{rest}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&done.stdout), printed.concat());
    assert_eq!(tables.rows(&format!("{z}.sum")), [60, 6, 1]);
    assert_eq!(tables.rows(&format!("{z}.x"))[0], 61, "what was there stays");
    assert_eq!(tables.rows(&format!("{z}.b.y"))[0], 1);
    until("the copies", || found(&server, &format!("{z}.*")) == 3);
    // A name that was deleted can be copied to again.
    run(&here, &["delete", &format!("{z}.**")]);
    assert_eq!(tables.rows(&format!("{z}.sum")), [0, 0, 0]);
    run(&here, &["copy", "--recursive", &a, &z]);
    assert_eq!(tables.rows(&format!("{z}.sum")), [120, 12, 2]);
    assert_eq!(tables.rows(&format!("{z}.b.y")), [120, 12, 2]);
    assert_eq!(here.run(&["copy", &format!("{top}.none"), &z]).status.code(), Some(1));
    assert_eq!(here.run(&["copy", &format!("{top}.*"), &z]).status.code(), Some(2));
}

#[test]
fn a_directory_gets_another_name_on_the_cluster() {
    let Some(settings) = schema("a_directory_gets_another_name_on_the_cluster") else { return };
    let (top, base) = (fresh("relabel"), (now() - 300) / 60 * 60);
    let (server, here) = (summing(settings, "sasi").start(), summing(settings, "sasi"));
    server.store(&format!("{top}.old.a 1 {base}\n{top}.old.deep.b 2 {base}\n{top}.older 3 {base}\n"));
    settle(&server);
    let (old, new) = (format!("{top}.old"), format!("{top}.new"));
    let printed = run(&here, &["rename", "--dry-run", &old, &new]);
    assert_eq!(printed, format!("{old}.a -> {new}.a\n{old}.deep.b -> {new}.deep.b\n"));
    assert_eq!(found(&server, &format!("{new}.**")), 0, "a trial changes nothing");
    run(&here, &["rename", &old, &new]);
    let tables = Tables::new(settings);
    let left = ["new.a", "new.deep.b", "older"].map(|name| format!("{top}.{name}"));
    assert_eq!(tables.listed("metrics", &top), left);
    assert_eq!(tables.rows(&format!("{old}.a")), [0, 0, 0], "its points are gone, too");
    until("the new name", || server.points(&format!("{new}.a"), base - 1, base) == [(1.0, base)]);
    until("the old name to go", || found(&server, &format!("{old}.**")) == 0);
    let answer = server.post("/internal/rename", &[("from", &*new), ("to", &*old)]);
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("without --url"), "{}", answer.body);
}

#[test]
fn names_without_data_stop_being_found_and_come_back_with_a_point() {
    let Some(settings) = schema("names_without_data_stop_being_found_and_come_back_with_a_point") else {
        return;
    };
    let tables = Tables::new(settings);
    let (top, time) = (fresh("expired"), now());
    let (old, then) = (format!("{top}.old"), "minTimeuuid(1000000000000)");
    let writer = setup(settings, "memory").start();
    writer.store(&format!("{top}.new 1 {time}\n{top}.gone 1 {time}\n"));
    settle(&writer);
    // It would make again what it has a young point of.
    drop(writer);
    // A metric that BigGraphite created long ago. Servers follow recent creations, and take those whatever their timestamps say.
    tables.run(&format!("INSERT INTO {{}}.metrics (name, parent) VALUES ('{old}', '{top}.')"));
    tables.run(&format!(
        "INSERT INTO {{}}.metrics_metadata (name, id, created_on, updated_on, config) VALUES ('{old}', {}, {then}, now(), \
         {{'aggregator': 'average', 'retention': '7200*1s:2160*10s:2880*60s', 'carbon_xfilesfactor': '0.5'}})",
        identity::id(&old)
    ));
    let watching = setup(settings, "memory").set("store.cassandra.reload_interval", "1s").start();
    watching.store(&format!("{top}.own 1 {time}\n"));
    settle(&watching);
    // What is in a server's memory: until all names are there it asks the cluster.
    let knows = |server: &Server, name: &str| {
        server.get("/metrics/index.json").body.contains(&format!("\"{top}.{name}\""))
    };
    until("all names", || ["old", "new", "gone"].iter().all(|name| knows(&watching, name)));
    for name in ["old", "own"] {
        tables.run(&format!(
            "UPDATE {{}}.metrics_metadata SET created_on = {then}, updated_on = {then} WHERE name = '{top}.{name}'"
        ));
    }
    // As BigGraphite deletes: nobody is told.
    for table in ["metrics_metadata", "metrics"] {
        tables.run(&format!("DELETE FROM {{}}.{table} WHERE name = '{top}.gone'"));
    }
    until("the end of both", || !knows(&watching, "old") && !knows(&watching, "gone"));
    assert!(knows(&watching, "own"), "it was written to here a moment ago");
    let late = setup(settings, "memory").start();
    until("a new server's names", || knows(&late, "new") && found(&late, &old) == 0);
    let showing = setup(settings, "memory").set("store.cassandra.hide_expired", "false").start();
    until("a server that hides nothing", || knows(&showing, "old"));
    watching.store(&format!("{old} 2 {}\n", time + 1));
    settle(&watching);
    until("the name on the other server", || found(&late, &old) == 1);
    assert!(knows(&watching, "old"));
}
