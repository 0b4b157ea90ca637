//! A pair of servers that get the same points: each writes as a replica of its own, and nothing counts twice.

use serde_json::json;

use crate::harness::{Server, now};
use crate::names::interop::BigGraphite;
use crate::servers::{fresh, schema, settle, setup, until};

/// Slots of the second stage since `base`.
fn coarse(server: &Server, name: &str, base: u64) -> Vec<(f64, u64)> {
    let mut points = server.points(name, now() - 3 * 3600, now());
    points.retain(|&(_, time)| (base..base + 600).contains(&time));
    points
}

#[test]
fn of_two_replicas_the_one_that_saw_more_counts() {
    let test = "of_two_replicas_the_one_that_saw_more_counts";
    let Some(settings) = schema(test) else { return };
    let replica = |number: &str| {
        setup(settings, "memory").set("store.cassandra.replica", number).set(
            "retention.rule",
            "[{ name = 'sum', pattern = 'sum$', retentions = '1s:2h,10s:6h,60s:2d', aggregation = 'sum' }]",
        )
    };
    let (one, two) = (replica("0").start(), replica("1").start());
    let (name, base) = (format!("{}.sum", fresh("pair")), (now() - 5400) / 60 * 60);
    // Both get everything, except that each misses ten seconds of its own.
    let lines = |missing: std::ops::Range<u64>| -> String {
        (0..600)
            .filter(|second| !missing.contains(second))
            .map(|second| format!("{name} 1 {}\n", base + second))
            .collect()
    };
    one.store(&lines(100..110));
    two.store(&lines(205..215));
    settle(&one);
    settle(&two);

    // Ten in each slot: not twenty, as two writers of one replica would give, and not five where one of them has less. In
    // the slot that the first replica misses the second has all of it.
    let expected: Vec<(f64, u64)> = (0..60).map(|slot| (10.0, base + slot * 10)).collect();
    let reader = setup(settings, "sasi").start();
    for (which, server) in [("replica 0", &one), ("replica 1", &two), ("neither", &reader)] {
        until("the points of both", || coarse(server, &name, base) == expected);
        assert_eq!(server.points(&name, base - 1, base + 600).len(), 600, "{which}: stage 0");
    }
    // A restart finds its replica and writer number again, and a late point counts once.
    let (_, setup) = two.stop("TERM");
    let two = setup.start();
    two.store(&format!("{name} 1 {}\n", base + 205));
    settle(&two);
    for server in [&one, &two, &reader] {
        assert_eq!(coarse(server, &name, base), expected);
    }
    let Some(mut theirs) = BigGraphite::start(test, settings) else { return };
    let found = theirs.ask("read", json!([name, base, base + 600, 1]));
    let found: Vec<(u64, f64)> = serde_json::from_value::<Vec<(f64, f64)>>(found)
        .unwrap()
        .into_iter()
        .map(|(time, value)| (time as u64, value))
        .collect();
    assert_eq!(found, expected.iter().map(|&(value, time)| (time, value)).collect::<Vec<_>>());
}
