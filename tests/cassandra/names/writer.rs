//! Creating, loading and deleting metrics.

use std::time::{Duration, Instant};

use plumbago::store::cassandra::names::{Creation, Outcome, StrayWalk, identity};
use plumbago::store::cassandra::schema::Indexes;

use super::{Fixture, create, loaded, new_metrics, policy};

#[test]
fn what_is_created_is_loaded_with_its_policy() {
    let Some(fixture) = Fixture::plain("what_is_created_is_loaded_with_its_policy", Indexes::Sasi) else {
        return;
    };
    let (first, second) = (policy("60*60s:720*3600s|absmax|0"), policy("10*1s|sum|0.5"));
    let outcomes = create(&fixture.names, &["a.b.c", "a..d.", "top", "a.b.c.d", "t.g;k=v"], &first);
    assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Created), "{outcomes:?}");
    // Again, by another server with other rules: what is there stays.
    let other = fixture.other(Indexes::Sasi);
    let outcomes = create(&other, &["a.b.c", "new.x"], &second);
    assert_eq!(outcomes, [Outcome::Existed(first.clone()), Outcome::Created]);
    let found = loaded(&other, &policy("1*1s|last|1"));
    let found: Vec<(&str, String)> =
        found.iter().map(|listed| (listed.name.as_str(), listed.policy.to_string())).collect();
    let (first, second) = (first.to_string(), second.to_string());
    let expected = [
        ("a.b.c", &first),
        ("a.b.c.d", &first),
        ("a.d", &first),
        ("new.x", &second),
        ("t.g;k=v", &first),
        ("top", &first),
    ];
    assert_eq!(found, expected.map(|(name, policy)| (name, policy.clone())));
    assert_eq!(fixture.directories(), ["a", "a.b", "a.b.c", "new"]);
    let id = identity::id("a.b.c").to_string();
    assert_eq!(fixture.column(&format!("SELECT name FROM {{}}.metrics_metadata WHERE id = {id}")), ["a.b.c"]);
    let error = fixture.names.create(&new_metrics(&["..."], &policy("1*1s|sum|0")), Creation::default());
    assert!(error.unwrap_err().to_string().contains("has no component"));
}

#[test]
fn rows_in_one_table_only_are_tolerated() {
    let Some(fixture) = Fixture::plain("rows_in_one_table_only_are_tolerated", Indexes::Sasi) else { return };
    fixture.run("INSERT INTO {}.metrics (name) VALUES ('metric.only')");
    fixture.run(
        "INSERT INTO {}.metrics_metadata (name, id, config) VALUES ('metadata.only', uuid(), \
         {'retention': '5*5s', 'aggregator': 'of the future', 'new': 'x'})",
    );
    for late in ["ghost", "metric.only"] {
        fixture.run(&format!("UPDATE {{}}.metrics_metadata SET updated_on = now() WHERE name = '{late}'"));
    }
    let found = loaded(&fixture.names, &policy("1*1s|last|1"));
    let found: Vec<(&str, String)> =
        found.iter().map(|listed| (listed.name.as_str(), listed.policy.to_string())).collect();
    assert_eq!(found, [("metadata.only", "5*5s|last|1".to_owned())]);
    let default = policy("1*1s|last|1");
    let strays = |known: &str| {
        let (mut walk, mut found) = (StrayWalk::new(), Vec::new());
        while !walk.is_over() {
            found.extend(fixture.names.strays(&mut walk, &default, |name| name == known).unwrap());
        }
        found
    };
    create(&fixture.names, &["whole"], &default);
    assert_eq!(strays(""), ["metric.only"]);
    assert_eq!(strays("metric.only"), [""; 0]);
}

#[test]
fn deleting_removes_rows_and_directories_that_are_empty() {
    let test = "deleting_removes_rows_and_directories_that_are_empty";
    let Some(fixture) = Fixture::plain(test, Indexes::Sasi) else { return };
    let policy = policy("60*60s|average|0.5");
    create(&fixture.names, &["a.b.c.d", "a.b.x", "a.b", "q.w.e.r", "t;k=v"], &policy);
    let delete = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut removed = fixture.names.delete(&names, 8).unwrap();
        removed.sort();
        removed
    };
    assert_eq!(delete(&["a.b"]), [""; 0]);
    assert_eq!(delete(&["a.b.c.d", "t;k=v", "never.was"]), ["a.b.c"]);
    assert_eq!(delete(&["q.w.e.r"]), ["q", "q.w", "q.w.e"]);
    assert_eq!(fixture.directories(), ["a", "a.b"]);
    assert_eq!(fixture.column("SELECT name FROM {}.metrics"), ["a.b.x"]);
    assert_eq!(fixture.column("SELECT name FROM {}.metrics_metadata"), ["a.b.x"]);
    // They are made again, though this server knew them.
    create(&fixture.names, &["q.w.e.r"], &policy);
    assert_eq!(fixture.directories(), ["a", "a.b", "q", "q.w", "q.w.e"]);
}

/// One server creates and deletes in a directory that another one empties all the time.
#[test]
fn no_metric_loses_its_directory_to_a_deletion() {
    let test = "no_metric_loses_its_directory_to_a_deletion";
    let Some(fixture) = Fixture::plain(test, Indexes::Sasi) else { return };
    let policy = policy("60*60s|average|0.5");
    let servers = [fixture.names.clone(), fixture.other(Indexes::Sasi), fixture.other(Indexes::Sasi)];
    std::thread::scope(|scope| {
        for (server, names) in servers.iter().enumerate() {
            let policy = &policy;
            scope.spawn(move || {
                for round in 0..60 {
                    let name = format!("race.deep.er.m{server}_{round}");
                    create(names, &[&name], policy);
                    if round != 59 {
                        names.delete(&[name], 8).unwrap();
                    }
                }
            });
        }
    });
    let left = ["race.deep.er.m0_59", "race.deep.er.m1_59", "race.deep.er.m2_59"];
    assert_eq!(fixture.column("SELECT name FROM {}.metrics"), left);
    assert_eq!(fixture.directories(), ["race", "race.deep", "race.deep.er"]);
}

#[test]
fn creation_keeps_to_its_rate() {
    let Some(fixture) = Fixture::plain("creation_keeps_to_its_rate", Indexes::Sasi) else { return };
    let metrics: Vec<String> = (0..150).map(|n| format!("rate.m{n}")).collect();
    let metrics = new_metrics(&metrics, &policy("60*60s|average|0.5"));
    let begun = Instant::now();
    let creation = Creation { per_second: Some(100), ..Creation::default() };
    fixture.names.create(&metrics, creation).unwrap();
    // Fifteen tenths of a second's worth, of which the first is free.
    assert!(begun.elapsed() >= Duration::from_millis(1390), "{:?}", begun.elapsed());
}

#[test]
fn a_touch_does_not_bring_back_what_was_deleted() {
    let test = "a_touch_does_not_bring_back_what_was_deleted";
    let Some(fixture) = Fixture::plain(test, Indexes::Sasi) else { return };
    create(&fixture.names, &["a.b"], &policy("60*60s|average|0.5"));
    let both = ["a.b".to_owned(), "gone".to_owned()];
    fixture.names.touch_updated(&both, 8).unwrap();
    fixture.names.touch_read(&both, 8).unwrap();
    assert_eq!(fixture.column("SELECT name FROM {}.metrics_metadata"), ["a.b"]);
    assert_eq!(fixture.column("SELECT CAST(toTimestamp(read_on) AS text) FROM {}.metrics_metadata").len(), 1);
}
