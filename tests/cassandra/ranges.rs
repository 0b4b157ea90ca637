//! Deleting a range of time on a cluster, while servers run on it.

use std::sync::Arc;

use plumbago::store::cassandra::names::identity;
use plumbago::store::cassandra::schema::table_name;
use plumbago::store::cassandra::{Cluster, Purpose, Settings};
use plumbago_model::Stage;
use serde_json::Value;

use crate::harness::{Server, Setup, now};
use crate::servers::{fresh, schema, settle, setup, until};

/// Sums, so that what is counted twice or forgotten shows.
fn summing(settings: &Settings, index: &str) -> Setup {
    let rule = "[{ name = 'sum', pattern = 'sum$', retentions = '1s:2h,10s:6h,60s:2d', aggregation = 'sum', \
                x_files_factor = 0.0 }]";
    setup(settings, index).set("retention.rule", rule)
}

/// A row of an aggregated stage: slot, value, count.
type Row = (u64, f64, i64);

/// The tables as somebody sees them who knows nothing of servers.
struct Tables {
    cluster: Arc<Cluster>,
    keyspace: String,
}

impl Tables {
    fn new(settings: &Settings) -> Self {
        let cluster = Arc::new(Cluster::connect(settings.clone()).unwrap());
        Self { cluster, keyspace: settings.keyspace.clone() }
    }

    /// The slots of stage 0 that have a row.
    fn points(&self, name: &str) -> Vec<u64> {
        let text = self.select("time_start_ms, offset", "7200*1s_0", name);
        let rows = self.cluster.block_on(self.cluster.run_once(Purpose::Background, &text, ())).unwrap();
        let rows = rows.into_rows_result().unwrap();
        let slot =
            |(start, offset): (i64, i16)| start.unsigned_abs() / 1000 + u64::from(offset.unsigned_abs());
        let mut slots: Vec<u64> = rows.rows::<(i64, i16)>().unwrap().map(|row| slot(row.unwrap())).collect();
        slots.sort_unstable();
        slots
    }

    /// The rows of an aggregated stage.
    fn aggregates(&self, stage: &str, name: &str) -> Vec<Row> {
        let step = stage.parse::<Stage>().unwrap().step_secs;
        let text = self.select("time_start_ms, offset, value, count", stage, name);
        let rows = self.cluster.block_on(self.cluster.run_once(Purpose::Background, &text, ())).unwrap();
        let rows = rows.into_rows_result().unwrap();
        let row = |(start, offset, value, count): (i64, i16, f64, i16)| {
            (
                start.unsigned_abs() / 1000 + u64::from(offset.unsigned_abs()) * u64::from(step),
                value,
                count.into(),
            )
        };
        let mut found: Vec<Row> =
            rows.rows::<(i64, i16, f64, i16)>().unwrap().map(|found| row(found.unwrap())).collect();
        found.sort_by_key(|row| row.0);
        found
    }

    fn select(&self, columns: &str, stage: &str, name: &str) -> String {
        let table = table_name(stage.parse().unwrap());
        let (keyspace, id) = (&self.keyspace, identity::id(name));
        format!("SELECT {columns} FROM {keyspace}.{table} WHERE metric = {id} ALLOW FILTERING")
    }
}

/// A line for each second of a range.
fn seconds(name: &str, range: std::ops::Range<u64>) -> String {
    range.map(|second| format!("{name} 1 {second}\n")).collect()
}

fn run(setup: &Setup, arguments: &[&str]) -> Value {
    let output = setup.run(&[&["--output", "json"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What is left after the seconds `cut` are deleted of `all`, in slots of so many seconds: where each begins, and its sum.
fn left(all: std::ops::Range<u64>, cut: std::ops::Range<u64>, step: u64) -> Vec<(u64, f64)> {
    let slots = (all.start / step * step..all.end).step_by(step as usize);
    let sum = |slot: u64| (slot..slot + step).filter(|t| all.contains(t) && !cut.contains(t)).count() as f64;
    slots.map(|slot| (slot, sum(slot))).filter(|(_, sum)| *sum > 0.0).collect()
}

fn shown(server: &Server, name: &str, reach: u64, all: &std::ops::Range<u64>) -> Vec<(u64, f64)> {
    let points = server.points(name, now() - reach, now());
    points.into_iter().filter(|(_, time)| all.contains(time)).map(|(value, time)| (time, value)).collect()
}

/// Two servers write the same metric, one after the other, and one of them has not delivered all of it. Whoever is told to delete a
/// range, it is gone for both, in the tables and in their own blocks.
#[test]
fn a_range_that_one_deletes_is_gone_for_all_and_stays_gone() {
    let Some(settings) = schema("a_range_that_one_deletes_is_gone_for_all_and_stays_gone") else { return };
    let tables = Tables::new(settings);
    let base = (now() - 6600) / 60 * 60;
    let (all, half) = (base..base + 4800, base + 2400);
    let (name, other) = (format!("{}.sum", fresh("range")), format!("{}.sum", fresh("stays")));
    let one = summing(settings, "memory").start();
    // Its points wait for an hour unless they are asked for.
    let two = summing(settings, "memory").set("store.cassandra.flush_interval", "1h").start();
    one.store(&(seconds(&name, base..half) + &seconds(&other, base..base + 60)));
    settle(&one);
    two.store(&seconds(&name, half..all.end - 100));
    settle(&two);
    // These are in the memory of the second server when the range is deleted.
    two.store(&seconds(&name, all.end - 100..all.end));

    // The edges lie in the middle of slots of every aggregated stage, and whole partitions lie between them.
    let cut = base + 95..all.end - 35;
    let (from, until_) = (cut.start.to_string(), cut.end.to_string());
    let delete = |dry: &str| {
        let form = [("query", &*name), ("from", &*from), ("until", &*until_), ("dry_run", dry)];
        let answer = one.post("/internal/delete-range", &form);
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str::<Value>(&answer.body).unwrap()
    };
    let delivered = (all.end - 100 - cut.start).to_string();
    let trial = delete("1");
    assert_eq!(
        (&trial["deleted"], trial["metrics"][0]["points"].to_string()),
        (&Value::from(false), delivered)
    );
    assert_eq!(tables.points(&name).len() as u64, all.end - 100 - base, "a trial deletes nothing");
    let done = delete("0");
    assert_eq!(done["metrics"], trial["metrics"]);
    assert!(done["metrics"][0]["remade"].as_u64() > Some(0), "{done}");
    assert!(one.counter("plumbago_slots_deleted_total") > 4000);
    // Of 4670 seconds one partition of stage 0 may be whole, and two or three are not.
    let tombstones = one.counter("plumbago_tombstones_total");
    assert!((3..12).contains(&tombstones), "{tombstones}");

    until("the range on the other server", || {
        shown(&two, &name, 6 * 3600 - 600, &all) == left(all.clone(), cut.clone(), 10)
    });
    settle(&one);
    settle(&two);
    for server in [&one, &two] {
        assert_eq!(shown(server, &name, 7100, &all), left(all.clone(), cut.clone(), 1));
        assert_eq!(shown(server, &name, 6 * 3600 - 600, &all), left(all.clone(), cut.clone(), 10));
        assert_eq!(shown(server, &name, 12 * 3600, &all), left(all.clone(), cut.clone(), 60));
        assert_eq!(shown(server, &other, 7100, &all).len(), 60, "nothing else goes");
    }
    // The late delivery of the second server brought nothing back, and the rows at the edges are made again.
    let expected: Vec<u64> = (base..cut.start).chain(cut.end..all.end).collect();
    assert_eq!(tables.points(&name), expected);
    for (stage, step) in [("2160*10s_aggr", 10), ("2880*60s_aggr", 60)] {
        let rows = tables.aggregates(stage, &name);
        let sums: Vec<(u64, f64)> = rows.iter().map(|row| (row.0, row.1)).collect();
        assert_eq!(sums, left(all.clone(), cut.clone(), step), "{stage}");
        assert!(rows.iter().all(|row| row.1 == row.2 as f64), "{rows:?}");
    }

    // A later point stays, on whichever server it comes in, and counts in every stage.
    one.store(&format!("{name} 1 {}\n", base + 200));
    two.store(&format!("{name} 1 {}\n", base + 3000));
    settle(&one);
    settle(&two);
    for server in [&one, &two] {
        for time in [base + 200, base + 3000] {
            assert_eq!(server.points(&name, time - 1, time), [(1.0, time)]);
            let minute = shown(server, &name, 12 * 3600, &(time / 60 * 60..time / 60 * 60 + 60));
            assert_eq!(minute, [(time / 60 * 60, 1.0)]);
        }
    }
    // A restart follows nothing twice: the points that came since are there still.
    let (status, two) = two.stop("TERM");
    assert!(status.success());
    let two = two.start();
    two.store(&format!("{name} 1 {}\n", base + 3001));
    settle(&two);
    assert_eq!(two.points(&name, base + 2999, base + 3001).len(), 2);
    assert_eq!(shown(&two, &name, 12 * 3600, &(base + 3000..base + 3060)), [(base + 3000, 2.0)]);
}

/// From a machine that has the configuration and nothing else.
#[test]
fn a_command_deletes_a_range_in_the_cluster_itself() {
    let Some(settings) = schema("a_command_deletes_a_range_in_the_cluster_itself") else { return };
    let tables = Tables::new(settings);
    let base = (now() - 6600) / 60 * 60;
    let all = base..base + 600;
    let top = fresh("command");
    let (name, other) = (format!("{top}.a.sum"), format!("{top}.b.sum"));
    let server = summing(settings, "sasi").start();
    server.store(&(seconds(&name, all.clone()) + &seconds(&other, all.clone())));
    settle(&server);
    let here = summing(settings, "memory");
    let cut = base + 115..base + 305;
    let (from, until_) = (cut.start.to_string(), cut.end.to_string());
    let glob = format!("{top}.a.*");
    let arguments = ["delete", &glob, "--from", &from, "--until", &until_];
    let trial = run(&here, &[&arguments[..], &["--dry-run"]].concat());
    // 190 seconds, 18 slots of ten seconds, and 3 of a minute.
    let metric = &trial["metrics"][0];
    assert_eq!(
        (&metric["name"], &metric["points"], &metric["aggregates"]),
        (&(*name).into(), &190.into(), &21.into())
    );
    assert_eq!(trial["metrics"].as_array().unwrap().len(), 1, "{trial}");
    assert_eq!(tables.points(&name).len(), 600);
    assert_eq!(run(&here, &arguments)["metrics"], trial["metrics"]);
    until("the edges", || shown(&server, &name, 12 * 3600, &all) == left(all.clone(), cut.clone(), 60));
    settle(&server);
    assert_eq!(tables.points(&name).len(), 410);
    let minutes: Vec<(u64, f64)> =
        tables.aggregates("2880*60s_aggr", &name).iter().map(|row| (row.0, row.1)).collect();
    assert_eq!(minutes, left(all.clone(), cut.clone(), 60));
    assert_eq!(tables.points(&other).len(), 600);
    // Again: nothing is left to delete, and that is no error.
    assert_eq!(run(&here, &arguments)["metrics"].as_array().unwrap().len(), 0);
    let nothing = here.run(&["delete", &glob, "--from", &until_, "--until", &from]);
    assert_eq!(nothing.status.code(), Some(2), "{nothing:?}");
}
