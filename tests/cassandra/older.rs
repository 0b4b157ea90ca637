//! The older Cassandra that is supported: its tables are made, a server writes, another one reads and finds.

use plumbago::store::cassandra::Cluster;
use plumbago::store::cassandra::schema::{Indexes, Replication, Schema, apply, check};
use plumbago_model::Retention;

use crate::harness::{Server, now};
use crate::node::{self, OwnCluster};
use crate::servers::{settle, setup, until};
use crate::skip::skip;

const VERSION: &str = "4.1.10";

#[test]
fn cassandra_4_1_will_do() {
    let node = match OwnCluster::new(19442, 17600).with("PLUMBAGO_CASSANDRA_VERSION", VERSION).start(1) {
        Ok(node) => node,
        Err(why) => return skip("cassandra_4_1_will_do", &why),
    };
    let settings = node.settings();
    let cluster = Cluster::connect(settings.clone()).unwrap();
    assert_eq!(cluster.version().unwrap(), VERSION);
    let retention: Retention = "7200*1s:2160*10s:2880*60s".parse().unwrap();
    let schema = Schema::new(&settings, [&retention], Indexes::Sasi);
    apply(&cluster, &schema, Some(&Replication::everywhere(1)), &mut |_| {}).unwrap();
    assert_eq!(check(&cluster, &schema).unwrap(), []);

    let writer = setup(&settings, "memory").start();
    let base = (now() - 5400) / 60 * 60;
    let sent: Vec<(f64, u64)> = (0..120).map(|i| ((i % 10) as f64, base + i)).collect();
    writer.store(
        &sent.iter().map(|(value, time)| format!("old.web1.cpu {value} {time}\n")).collect::<String>(),
    );
    settle(&writer);
    let sasi = setup(&settings, "sasi").start();
    let found =
        |server: &Server| server.json("/metrics/find?format=json&query=old.w*.c*").as_array().unwrap().len();
    for server in [&writer, &sasi] {
        until("the name", || found(server) == 1);
        assert_eq!(server.points("old.*.cpu", base - 1, base + 120), sent);
        let mut coarse = server.points("old.*.cpu", now() - 3 * 3600, now());
        coarse.retain(|&(_, time)| (base..base + 120).contains(&time));
        assert_eq!(coarse, (0..12).map(|slot| (4.5, base + slot * 10)).collect::<Vec<_>>());
    }

    let other = node::with_own_keyspaces(settings);
    let schema = Schema::new(&other, [&retention], Indexes::Sai);
    let error =
        apply(&cluster, &schema, Some(&Replication::everywhere(1)), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("index metrics_parent_sai") && error.contains("Cassandra 5.0"), "{error}");
    assert!(error.contains("store.cassandra.index"), "{error}");
}

/// As it comes: no SASI, and no SAI in this version.
#[test]
fn cassandra_4_1_with_its_defaults_needs_no_indexes() {
    let own = OwnCluster::new(19443, 17620)
        .with("PLUMBAGO_CASSANDRA_VERSION", VERSION)
        .with("PLUMBAGO_CASSANDRA_SASI", "false");
    let node = match own.start(1) {
        Ok(node) => node,
        Err(why) => return skip("cassandra_4_1_with_its_defaults_needs_no_indexes", &why),
    };
    let settings = node.settings();
    let made = setup(&settings, "memory").run(&["schema", "apply", "--create-keyspaces"]);
    assert!(made.status.success(), "{made:?}");
    let checked = setup(&settings, "memory").run(&["schema", "check"]);
    assert!(checked.status.success(), "{checked:?}");
    let (writer, t) = (setup(&settings, "memory").start(), now() - 60);
    writer.store(&format!("plain.web1.cpu 1.5 {t}\nplain.web2.cpu 2.5 {t}\nplain.mem;dc=east 3.5 {t}\n"));
    settle(&writer);
    // Another server learns the names from the tables and then from the feed; a command reads the tables.
    let other = setup(&settings, "memory").start();
    until("the names", || other.points("plain.web1.cpu", t - 1, t) == [(1.5, t)]);
    writer.store(&format!("plain.web3.cpu 4.5 {t}\n"));
    settle(&writer);
    until("a new name", || other.points("plain.web3.cpu", t - 1, t) == [(4.5, t)]);
    let counted = setup(&settings, "memory").run(&["du", "plain.*.cpu", "--output", "json"]);
    let text = String::from_utf8_lossy(&counted.stdout).into_owned();
    assert!(text.contains("\"metrics\":3"), "{text}");
    let deleted = setup(&settings, "memory").run(&["delete", "plain.web1.**", "--yes"]);
    assert!(deleted.status.success(), "{deleted:?}");
    until("the deletion", || other.points("plain.web1.cpu", t - 1, t).is_empty());
    let refused = setup(&settings, "sasi").run(&["schema", "apply"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("\"memory\""), "{said}");
}
