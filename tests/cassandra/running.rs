//! The slots of coarse stages that are not over yet, as BigGraphite's reader sees them.

use std::ops::Range;
use std::sync::LazyLock;

use plumbago::store::cassandra::schema::{Indexes, Schema};
use plumbago::store::cassandra::{Cluster, Purpose, Settings};
use plumbago_model::Retention;
use serde_json::json;

use crate::harness::{Server, Setup, now};
use crate::names::interop::BigGraphite;
use crate::servers::{fresh, schema, settle, setup, until};

/// The slots of the two coarse stages, in seconds: lengths whose present slots neither begin nor end while the tests run.
static SLOTS: LazyLock<[u64; 2]> = LazyLock::new(|| {
    let is_calm = |slot: u64| (120..slot - 1200).contains(&(now() % slot));
    let calm = |from: u64, step: u64| (from..).step_by(step as usize).find(|&slot| is_calm(slot)).unwrap();
    let hour = calm(3600, 100);
    [hour, calm(24 * hour, hour)]
});

/// Sums, so that what counts twice shows; a minute is too little of a day for a stricter xFilesFactor.
fn rule() -> String {
    let [hour, day] = *SLOTS;
    let retentions = format!("1s:2h,{hour}s:{}s,{day}s:{}s", 7 * day, 60 * day);
    format!(
        "[{{ name = 'sum', pattern = 'sum$', retentions = '{retentions}', aggregation = 'sum', x_files_factor = 0 }}]"
    )
}

/// The tables of these stages, which the other tests do not need.
static TABLES: LazyLock<()> = LazyLock::new(|| {
    let settings = schema("running").unwrap();
    let cluster = Cluster::connect(settings.clone()).unwrap();
    let [hour, day] = *SLOTS;
    let retention: Retention = format!("7200*1s:{}*{hour}s:60*{day}s", 7 * day / hour).parse().unwrap();
    for item in Schema::new(settings, [&retention], Indexes::Sasi).items() {
        if item.stage.is_some() {
            cluster.block_on(cluster.run_once(Purpose::Background, &item.cql, ())).unwrap();
        }
    }
});

/// A real node with all tables, and BigGraphite's reader; `None` after a loud skip.
fn begin(test: &str) -> Option<(&'static Settings, BigGraphite)> {
    let settings = schema(test)?;
    let theirs = BigGraphite::start(test, settings)?;
    LazyLock::force(&TABLES);
    Some((settings, theirs))
}

fn summing(settings: &Settings, running_interval: &str) -> Setup {
    setup(settings, "memory")
        .set("retention.rule", &rule())
        .set("store.cassandra.running_interval", running_interval)
}

/// What BigGraphite's reader gives for the slots of both stages since `base`, added up.
fn sums(theirs: &mut BigGraphite, name: &str, base: u64) -> [f64; 2] {
    [1, 2].map(|level| {
        let step = SLOTS[level - 1];
        let (from, until) = (base / step * step, now() / step * step + step);
        let found = theirs.ask("read", json!([name, from, until, level]));
        let slots: Vec<(f64, f64)> = serde_json::from_value(found).unwrap();
        slots.iter().map(|(_, value)| value).sum()
    })
}

/// Sends a point with the value 1 for each second, and waits until they are in the cluster.
fn send(server: &Server, name: &str, seconds: Range<u64>) {
    server.store(&seconds.map(|second| format!("{name} 1 {second}\n")).collect::<String>());
    settle(server);
}

#[test]
fn biggraphite_sees_slots_that_are_not_over() {
    let Some((settings, mut theirs)) = begin("biggraphite_sees_slots_that_are_not_over") else { return };
    let (name, base) = (format!("{}.sum", fresh("today")), now() - 60);
    let server = summing(settings, "1s").start();
    send(&server, &name, base..base + 30);
    until("the running slots", || sums(&mut theirs, &name, base) == [30.0, 30.0]);
    assert!(server.counter("plumbago_running_rows_total") >= 2);
    // What comes later replaces the rows, also what comes late and what comes twice.
    send(&server, &name, base + 25..base + 40);
    send(&server, &name, base - 5..base);
    until("the new value of the slots", || sums(&mut theirs, &name, base - 5) == [45.0, 45.0]);
    // Other servers compute these slots from the points, and do not add the rows.
    let other = summing(settings, "1s").start();
    let days = || -> f64 {
        let days = other.points(&name, now() - 30 * 86_400, now());
        days.iter().map(|(value, _)| value).sum()
    };
    until("another server's view", || days() == 45.0);
}

#[test]
fn biggraphite_sees_what_a_server_had_when_it_stopped() {
    let test = "biggraphite_sees_what_a_server_had_when_it_stopped";
    let Some((settings, mut theirs)) = begin(test) else { return };
    let (name, base) = (format!("{}.sum", fresh("stopped")), now() - 60);
    let server = summing(settings, "1h").start();
    send(&server, &name, base..base + 30);
    // These reach the blocks with the stop, and the cluster with the next start.
    server.store(&format!("{name} 1 {}\n", base + 30));
    let (status, setup) = server.stop("TERM");
    assert!(status.success());
    assert_eq!(sums(&mut theirs, &name, base), [31.0, 31.0]);
    // The same directory goes on under the same shard.
    let server = setup.start();
    send(&server, &name, base + 31..base + 40);
    server.stop("TERM");
    assert_eq!(sums(&mut theirs, &name, base), [40.0, 40.0]);
    let silent = summing(settings, "0s").start();
    let name = format!("{}.sum", fresh("silent"));
    send(&silent, &name, base..base + 30);
    silent.stop("TERM");
    assert_eq!(sums(&mut theirs, &name, base), [0.0, 0.0], "nobody asked for running slots");
}

#[test]
fn a_crash_loses_no_running_slot_and_counts_none_twice() {
    let test = "a_crash_loses_no_running_slot_and_counts_none_twice";
    let Some((settings, mut theirs)) = begin(test) else { return };
    let (name, base) = (format!("{}.sum", fresh("crashed")), now() - 60);
    // No round before the crash.
    let server = summing(settings, "1h").start();
    send(&server, &name, base..base + 30);
    let setup = server.kill();
    assert_eq!(sums(&mut theirs, &name, base), [0.0, 0.0]);
    let server = setup.set("store.cassandra.running_interval", "1s").start();
    until("the running slots", || sums(&mut theirs, &name, base) == [30.0, 30.0]);
    let server = server.kill().start();
    send(&server, &name, base + 30..base + 40);
    until("what came after the second crash", || sums(&mut theirs, &name, base) == [40.0, 40.0]);
}

#[test]
fn a_running_slot_does_not_bring_a_deleted_metric_back() {
    let test = "a_running_slot_does_not_bring_a_deleted_metric_back";
    let Some((settings, mut theirs)) = begin(test) else { return };
    let top = fresh("undeleted");
    let (name, other, base) = (format!("{top}.a.sum"), format!("{top}.b.sum"), now() - 60);
    let server = summing(settings, "1s").start();
    send(&server, &name, base..base + 30);
    until("the running slots", || sums(&mut theirs, &name, base) == [30.0, 30.0]);
    // The server is away while somebody deletes the metric, and does not know which of its running slots have arrived.
    let mine = server.kill();
    let deleted = summing(settings, "1s").run(&["delete", &name]);
    assert!(deleted.status.success(), "{}", String::from_utf8_lossy(&deleted.stderr));
    let server = mine.start();
    send(&server, &other, base..base + 1);
    until("a round", || sums(&mut theirs, &other, base) == [1.0, 1.0]);
    // The same name begins again, on another server.
    let again = summing(settings, "1s").start();
    send(&again, &name, base + 40..base + 42);
    until("the new metric", || sums(&mut theirs, &name, base) == [2.0, 2.0]);
}
