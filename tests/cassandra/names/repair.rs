//! Expired metrics, missing and empty directories, names that lack rows.

use plumbago::store::cassandra::names::{Orphan, Progress};
use plumbago::store::cassandra::schema::Indexes;

use super::{Fixture, create, loaded, policy};

/// An old cluster: what was written last in the year 2001, and what is written today.
fn age(fixture: &Fixture, name: &str) {
    fixture.run(&format!(
        "UPDATE {{}}.metrics_metadata SET updated_on = minTimeuuid(1000000000000) WHERE name = '{name}'"
    ));
}

const CUTOFF_MS: i64 = 1_500_000_000_000;

#[test]
fn what_nobody_writes_any_more_is_cleaned() {
    let Some(fixture) = Fixture::plain("what_nobody_writes_any_more_is_cleaned", Indexes::Sasi) else {
        return;
    };
    create(
        &fixture.names,
        &["old.a.x", "old.a.y", "mixed.old", "mixed.new", "t;k=old"],
        &policy("60*60s|sum|0"),
    );
    for name in ["old.a.x", "old.a.y", "mixed.old", "t;k=old"] {
        age(&fixture, name);
    }
    fixture.run("INSERT INTO {}.directories (name, parent) VALUES ('bare', '.')");
    fixture.run("INSERT INTO {}.directories (name, parent) VALUES ('bare.below', 'bare.')");
    let mut last = None;
    let mut progress = |at: Progress| last = Some(at);
    let trial = fixture.names.clean(CUTOFF_MS, true, &mut progress).unwrap();
    assert_eq!(trial.metrics, ["mixed.old", "old.a.x", "old.a.y", "t;k=old"]);
    assert_eq!(trial.directories, ["bare", "bare.below"]);
    assert!(last.is_some_and(|last| last.done == last.total && last.rows > 0), "{last:?}");
    assert_eq!(fixture.directories(), ["bare", "bare.below", "mixed", "old", "old.a"]);
    // Written again before it is its turn.
    fixture.names.touch_updated(&["mixed.old".to_owned()], 1).unwrap();
    let done = fixture.names.clean(CUTOFF_MS, false, &mut |_| {}).unwrap();
    assert_eq!(done.metrics, ["old.a.x", "old.a.y", "t;k=old"]);
    assert_eq!(done.directories, ["bare", "bare.below", "old", "old.a"]);
    assert_eq!(fixture.directories(), ["mixed"]);
    assert_eq!(fixture.column("SELECT name FROM {}.metrics"), ["mixed.new", "mixed.old"]);
    assert_eq!(fixture.column("SELECT name FROM {}.metrics_metadata"), ["mixed.new", "mixed.old"]);
    let again = fixture.names.clean(CUTOFF_MS, false, &mut |_| {}).unwrap();
    assert_eq!((again.metrics.len(), again.directories.len()), (0, 0));
}

#[test]
fn what_was_left_half_done_is_repaired() {
    let Some(fixture) = Fixture::plain("what_was_left_half_done_is_repaired", Indexes::Sasi) else { return };
    let (theirs, ours) = (policy("60*60s|sum|0"), policy("9*9s|max|0.5"));
    create(&fixture.names, &["a.b.c.d", "a.b.e", "x.y.z", "p.q.r", "t;k=v"], &theirs);
    fixture.run("DELETE FROM {}.directories WHERE name = 'a.b'");
    fixture.run("DELETE FROM {}.directories WHERE name = 'a.b.c'");
    fixture.run("DELETE FROM {}.metrics_metadata WHERE name = 'x.y.z'");
    fixture.run("DELETE FROM {}.metrics WHERE name = 'p.q.r'");
    fixture.run("DELETE FROM {}.directories WHERE name = 'p.q'");
    fixture.run("UPDATE {}.metrics_metadata SET updated_on = now() WHERE name = 'ghost.g'");
    let rules = |_: &str| ours.clone();
    let orphans = [
        ("ghost.g".to_owned(), Orphan::Ghost),
        ("p.q.r".to_owned(), Orphan::NoMetric),
        ("x.y.z".to_owned(), Orphan::NoMetadata),
    ];
    let trial = fixture.names.repair(true, &rules, &mut |_| {}).unwrap();
    assert_eq!(trial.directories, ["a.b", "a.b.c"]);
    assert_eq!(trial.orphans, orphans);
    assert_eq!(fixture.directories(), ["a", "p", "x", "x.y"]);
    let done = fixture.names.repair(false, &rules, &mut |_| {}).unwrap();
    assert_eq!((done.directories, done.orphans), (trial.directories, trial.orphans));
    assert_eq!(fixture.directories(), ["a", "a.b", "a.b.c", "p", "p.q", "x", "x.y"]);
    let found = loaded(&fixture.names, &policy("1*1s|last|1"));
    let found: Vec<String> =
        found.iter().map(|listed| format!("{} {}", listed.name, listed.policy)).collect();
    let expected = ["a.b.c.d", "a.b.e", "p.q.r", "t;k=v", "x.y.z"];
    let expected = expected.map(|name| format!("{name} {}", if name == "x.y.z" { &ours } else { &theirs }));
    assert_eq!(found, expected);
    assert_eq!(fixture.column("SELECT name FROM {}.metrics_metadata").len(), 5);
    let again = fixture.names.repair(false, &rules, &mut |_| {}).unwrap();
    assert_eq!(again, Default::default());
}
