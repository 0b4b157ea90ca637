//! Servers on clusters whose tables are missing, or are not what the server would write to.

use plumbago::store::cassandra::schema::{Indexes, Item, Replication, Schema, create_keyspace};
use plumbago::store::cassandra::{Cluster, Purpose, Settings};
use plumbago_model::Retention;
use serde_json::json;

use crate::harness::{now, send_to};
use crate::node;
use crate::servers::{setup, until};

/// Keyspaces of one test, with the tables it makes.
struct Keyspaces {
    cluster: Cluster,
    settings: Settings,
    schema: Schema,
}

impl Keyspaces {
    /// Without keyspaces; `None` after a loud skip.
    fn absent(test: &str) -> Option<Self> {
        let settings = node::shared(test)?;
        let retention: Retention = "7200*1s:2160*10s:2880*60s".parse().unwrap();
        let schema = Schema::new(&settings, [&retention], Indexes::Sasi);
        Some(Self { cluster: Cluster::connect(settings.clone()).unwrap(), settings, schema })
    }

    /// Empty ones.
    fn empty(test: &str) -> Option<Self> {
        let keyspaces = Self::absent(test)?;
        for keyspace in keyspaces.schema.keyspaces() {
            keyspaces.run(&create_keyspace(keyspace, &Replication::everywhere(1)));
        }
        Some(keyspaces)
    }

    fn run(&self, text: &str) {
        self.cluster.block_on(self.cluster.run_once(Purpose::Background, text, ())).unwrap();
    }

    /// Makes some of the tables. Indexes take long, and servers with all names in memory do without them.
    fn make(&self, wanted: impl Fn(&Item) -> bool) {
        for item in self.schema.items().iter().filter(|item| item.index.is_none() && wanted(item)) {
            self.run(&item.cql);
        }
    }
}

impl Drop for Keyspaces {
    fn drop(&mut self) {
        node::drop_keyspaces(&self.cluster, &[&self.settings]);
    }
}

fn is_ours(item: &Item) -> bool {
    item.table.starts_with("plumbago_")
}

#[test]
fn a_server_waits_for_missing_tables_and_goes_on_by_itself() {
    let Some(keyspaces) = Keyspaces::empty("a_server_waits_for_missing_tables_and_goes_on_by_itself") else {
        return;
    };
    // As BigGraphite leaves its keyspaces.
    keyspaces.make(|item| !is_ours(item));
    let server = setup(&keyspaces.settings, "memory").start();
    let ready = || {
        let answer = server.get("/health/ready");
        (answer.status, answer.body)
    };
    let (status, said) = ready();
    assert_eq!(status, 503, "before a single point came: {said}");
    for text in ["plumbago_writers", "plumbago_created", "plumbago_events", "plumbago schema apply"] {
        assert!(said.contains(text), "{text}: {said}");
    }
    let log = server.errors();
    let says = |line: &str| {
        line.contains("nothing is sent to the cluster") && line.contains("plumbago schema apply")
    };
    assert!(log.lines().any(says), "{log}");
    let time = now() - 60;
    server.store(&format!("waits.a 1 {time}\nwaits.b 2 {time}\n"));
    let flushed = server.post("/internal/flush?settle=1", &[]);
    assert!(flushed.status >= 500 && flushed.body.contains("schema"), "{}: {}", flushed.status, flushed.body);
    assert_eq!(server.counter("plumbago_spool_points"), 2);
    assert_eq!(server.counter("plumbago_points_delivered_total"), 0);
    until("the gauge", || server.counter("plumbago_cluster_trouble") == 1);

    keyspaces.make(is_ours);
    until("delivery", || server.counter("plumbago_spool_points") == 0);
    until("readiness", || ready().0 == 200);
    until("the end of the trouble", || server.counter("plumbago_cluster_trouble") == 0);
    let other = setup(&keyspaces.settings, "memory").start();
    until("the names on another server", || other.points("waits.a", time - 1, time) == [(1.0, time)]);
}

#[test]
fn a_server_on_an_empty_cluster_names_the_keyspaces() {
    let Some(keyspaces) = Keyspaces::absent("a_server_on_an_empty_cluster_names_the_keyspaces") else {
        return;
    };
    let answer = setup(&keyspaces.settings, "memory").start().get("/health/ready");
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert!(answer.body.contains(&format!("keyspace {}", keyspaces.settings.keyspace)), "{}", answer.body);
    assert!(answer.body.contains("plumbago schema apply --create-keyspaces"), "{}", answer.body);
}

#[test]
fn a_server_makes_what_is_missing_when_it_is_asked_to() {
    let Some(keyspaces) = Keyspaces::absent("a_server_makes_what_is_missing_when_it_is_asked_to") else {
        return;
    };
    let server = setup(&keyspaces.settings, "sai").set("store.cassandra.apply_schema", "true").start();
    let time = now() - 60;
    server.store(&format!("made.a 1 {time}\n"));
    until("delivery", || server.counter("plumbago_spool_points") == 0);
    until("readiness", || server.get("/health/ready").status == 200);
    assert_eq!(server.points("made.a", time - 1, time), [(1.0, time)]);
    let checked = server.setup().run(&["schema", "check"]);
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{said}");
}

/// A point that is taken before its table is there would hold up everything behind it.
#[test]
fn points_of_kairosdbs_kind_wait_with_their_sender_until_their_tables_are_there() {
    let test = "points_of_kairosdbs_kind_wait_with_their_sender_until_their_tables_are_there";
    let Some(keyspaces) = Keyspaces::empty(test) else { return };
    keyspaces.make(|_| true);
    let server = setup(&keyspaces.settings, "memory")
        .set("kairosdb.retention", "5400*1s")
        .set("listen.kairosdb_telnet", "127.0.0.1:0")
        .start();
    let time = now() - 60;
    let call = json!({"name": "call", "tags": {"a": "b"}, "timestamp": time * 1000, "value": 1});
    let answer = server.post_json("/api/v1/datapoints", &call);
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert!(answer.body.contains("kairosdb.retention"), "{}", answer.body);
    send_to(server.listener("telnet    "), format!("put line {time} 2 a=b\n").as_bytes());
    server.store(&format!("carbon 3 {time}\n"));
    until("delivery of what has a table", || server.counter("plumbago_points_delivered_total") == 1);
    assert_eq!(server.counter("plumbago_points_stored_total"), 1);

    let retention: Retention = "5400*1s".parse().unwrap();
    for item in Schema::new(&keyspaces.settings, [&retention], Indexes::Sasi).items() {
        if item.table.contains("5400") && item.index.is_none() {
            keyspaces.run(&item.cql);
        }
    }
    until("the line", || server.points("line;a=b", time - 1, time) == [(2.0, time)]);
    until("its delivery", || server.counter("plumbago_spool_points") == 0);
    assert_eq!(server.post_json("/api/v1/datapoints", &call).status, 204);
}

#[test]
fn a_stop_does_not_wait_for_tables_that_are_being_made() {
    let Some(keyspaces) = Keyspaces::absent("a_stop_does_not_wait_for_tables_that_are_being_made") else {
        return;
    };
    let server = setup(&keyspaces.settings, "sai").set("store.cassandra.apply_schema", "true").start();
    until("the work", || server.get("/health/ready").body.contains(", index"));
    assert!(server.stop("TERM").0.success());
}

/// Readers find rows by where a partition begins. A server that cuts partitions in another way writes where nobody looks.
#[test]
fn a_server_refuses_tables_that_cut_their_partitions_in_another_way() {
    let test = "a_server_refuses_tables_that_cut_their_partitions_in_another_way";
    let Some(keyspaces) = Keyspaces::empty(test) else { return };
    keyspaces.make(|_| true);
    let (table, coarse) = ("datapoints_7200p_1s_0", "datapoints_2160p_10s_aggr");
    let keyspace = &keyspaces.settings.keyspace;
    let comment = |text: &str| {
        keyspaces.run(&format!("ALTER TABLE {keyspace}.{table} WITH comment = '{text}'"));
    };
    let refused = |words: &[&str]| {
        let ended = setup(&keyspaces.settings, "memory").run_to_end();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
    };
    comment(
        r#"{"created_by": "biggraphite", "stage": "7200*1s_0", "row_size_ms": 3600000, "row_size": 3600}"#,
    );
    refused(&[table, "3600000", "2000000"]);
    // Without a comment that can be read the columns decide.
    comment("ours");
    let server = setup(&keyspaces.settings, "memory").start();
    server.store(&format!("kept.a 1 {}\n", now() - 60));
    until("delivery", || server.counter("plumbago_spool_points") == 0);
    drop(server);
    keyspaces.run(&format!("DROP TABLE {keyspace}.{coarse}"));
    keyspaces.run(&format!(
        "CREATE TABLE {keyspace}.{coarse} (metric uuid, time_start_ms bigint, offset smallint, shard smallint, \
         value double, count smallint, PRIMARY KEY ((metric, time_start_ms), shard, offset))"
    ));
    refused(&[coarse, "offset is clustering 1, expected clustering 0"]);
}
