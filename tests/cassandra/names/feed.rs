//! Following what other servers do.

use std::collections::BTreeSet;

use plumbago::store::cassandra::names::{Change, Cursor, Names};
use plumbago::store::cassandra::schema::Indexes;

use super::{Fixture, create, policy};

/// A server that follows: what it knows, and where it is.
struct Follower {
    names: Names,
    cursor: Cursor,
    known: BTreeSet<String>,
}

impl Follower {
    fn new(names: Names) -> Self {
        Self { names, cursor: Cursor::now(), known: BTreeSet::new() }
    }

    /// What the feed tells it, as text.
    fn told(&mut self) -> Vec<String> {
        let default = policy("1*1s|last|1");
        let known = &self.known;
        let changes = self.names.changes(&mut self.cursor, &default, &|name| known.contains(name)).unwrap();
        let mut told = Vec::new();
        for change in changes {
            match change {
                Change::Created { name, policy } => {
                    told.push(format!("+{name} {policy}"));
                    self.known.insert(name);
                }
                Change::Deleted { name } => {
                    told.push(format!("-{name}"));
                    self.known.remove(&name);
                }
                Change::Erased { name, stretch, .. } => {
                    told.push(format!("/{name} {} {}", stretch.from, stretch.until));
                }
            }
        }
        told.sort();
        told
    }
}

fn others_are_followed(test: &str, indexes: Indexes) {
    let Some(fixture) = Fixture::plain(test, indexes) else { return };
    let policy = policy("60*60s:720*3600s|absmax|0.25");
    let mut follower = Follower::new(fixture.other(indexes));
    assert_eq!(follower.told(), [""; 0]);
    create(&fixture.names, &["a.b", "a.c", "t;k=v"], &policy);
    let line = |name: &str| format!("+{name} {policy}");
    assert_eq!(follower.told(), [line("a.b"), line("a.c"), line("t;k=v")]);
    assert_eq!(follower.told(), [""; 0]);
    // Deleted, and deleted and created again, between two looks.
    fixture.names.delete(&["a.b".to_owned(), "a.c".to_owned()], 8).unwrap();
    create(&fixture.names, &["a.c"], &policy);
    assert_eq!(follower.told(), [line("a.c"), "-a.b".to_owned()]);
    assert_eq!(follower.told(), [""; 0]);
    // What it does itself is no news.
    create(&follower.names, &["own.x"], &policy);
    assert_eq!(follower.told(), [""; 0]);
    // A writer that does not know the feed.
    fixture.run(
        "INSERT INTO {}.metrics_metadata (name, id, created_on, updated_on, config) \
         VALUES ('foreign.x', uuid(), now(), now(), {'retention': '5*5s', 'aggregator': 'total'})",
    );
    assert_eq!(follower.told(), [""; 0]);
    follower.known.insert("own.x".to_owned());
    follower.cursor.hurry();
    assert_eq!(follower.told(), ["+foreign.x 5*5s|sum|1"]);
    follower.cursor.hurry();
    assert_eq!(follower.told(), [""; 0]);
    // One that comes later begins where a copy was made.
    let mut late = Follower { cursor: Cursor::since(follower.cursor.until_ms() - 120_000), ..follower };
    late.known.clear();
    assert!(!late.cursor.is_outdated());
    let told = late.told();
    assert!(told.contains(&line("a.c")) && told.contains(&"-a.b".to_owned()), "{told:?}");
    assert!(Cursor::since(0).is_outdated());
}

#[test]
fn others_are_followed_with_sasi() {
    others_are_followed("others_are_followed_with_sasi", Indexes::Sasi);
}

#[test]
fn others_are_followed_with_sai() {
    others_are_followed("others_are_followed_with_sai", Indexes::Sai);
}

#[test]
fn an_entry_of_a_skewed_clock_is_seen() {
    let Some(fixture) = Fixture::plain("an_entry_of_a_skewed_clock_is_seen", Indexes::Sasi) else { return };
    let mut follower = Follower::new(fixture.other(Indexes::Sasi));
    let policy = policy("60*60s|average|0.5");
    create(&fixture.names, &["late.x", "early.x", "absent.x"], &policy);
    follower.told();
    // Stamps of clocks that are ten seconds behind and ahead, written now.
    let now = follower.cursor.until_ms();
    let entry = |name: &str, ms: i64| {
        let minute = ms - ms.rem_euclid(60_000);
        fixture.run(&format!(
            "INSERT INTO {{}}.plumbago_created (minute, at, name, kind) \
             VALUES ({minute}, minTimeuuid({ms}), '{name}', 'created')"
        ));
    };
    entry("late.x", now - 10_000);
    entry("early.x", now + 10_000);
    // Told before it can be seen: it is looked for again.
    fixture.run("DELETE FROM {}.metrics_metadata WHERE name = 'absent.x'");
    entry("absent.x", now);
    let line = |name: &str| format!("+{name} {policy}");
    assert_eq!(follower.told(), [line("early.x"), line("late.x")]);
    create(&fixture.names, &["absent.x"], &policy);
    assert_eq!(follower.told(), [line("absent.x")]);
    assert_eq!(follower.told(), [""; 0]);
}

/// A server writes the rows of a metric and then tells the others. If it is killed in between, they learn of it from the next one that
/// sends the metric, which is the same server after its start.
#[test]
fn a_metric_whose_creator_died_before_it_told_the_others_is_told_of_by_the_next() {
    let test = "a_metric_whose_creator_died_before_it_told_the_others_is_told_of_by_the_next";
    let Some(fixture) = Fixture::plain(test, Indexes::None) else { return };
    let policy = policy("60*60s:720*3600s|absmax|0.25");
    let mut follower = Follower::new(fixture.other(Indexes::None));
    create(&fixture.names, &["a.b"], &policy);
    fixture.run("TRUNCATE {}.plumbago_created");
    assert_eq!(follower.told(), [""; 0]);
    let restarted = fixture.other(Indexes::None);
    create(&restarted, &["a.b"], &policy);
    assert_eq!(follower.told(), [format!("+a.b {policy}")]);
}
