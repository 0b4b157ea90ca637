//! Three nodes and two servers: a node is killed under load, then all of them, then a server with a full spool. Nothing
//! is lost, and nothing counts twice.

use std::time::Duration;

use plumbago::store::cassandra::schema::{Indexes, Replication, Schema, apply};
use plumbago::store::cassandra::{Cluster, Purpose, Settings};
use plumbago_model::Retention;

use crate::harness::{Server, now};
use crate::node::OwnCluster;
use crate::servers::{setup, until};
use crate::skip::skip;

const NODES: u32 = 3;

fn ready(settings: &Settings) {
    let cluster = Cluster::connect(settings.clone()).unwrap();
    let retention: Retention = "7200*1s:2160*10s:2880*60s".parse().unwrap();
    let schema = Schema::new(settings, [&retention], Indexes::Sasi);
    apply(&cluster, &schema, Some(&Replication::everywhere(3)), &mut |_| {}).unwrap();
}

/// Sends the points of a phase, half to each server: a value of 1 each second of ten metrics.
fn send(servers: &[Server; 2], base: u64, phase: u64) {
    for second in phase * 60..phase * 60 + 60 {
        let lines: String = (0..10).map(|metric| format!("ring.m{metric} 1 {}\n", base + second)).collect();
        servers[(second % 2) as usize].store(&lines);
        std::thread::sleep(Duration::from_millis(30));
    }
}

#[test]
fn nodes_and_servers_may_die() {
    // All nodes die at once, so what they say they have must be on their disks.
    let ring = match OwnCluster::new(19342, 17500).with("PLUMBAGO_CASSANDRA_SYNC", "1").start(NODES) {
        Ok(ring) => ring,
        Err(why) => return skip("nodes_and_servers_may_die", &why),
    };
    let settings = ring.settings();
    ready(&settings);
    let patient = || {
        setup(&settings, "memory")
            .set("store.cassandra.consistency_write", "LOCAL_QUORUM")
            .set("store.cassandra.consistency_read", "LOCAL_QUORUM")
            .set("store.cassandra.request_timeout", "10s")
    };
    let base = (now() - 5400) / 60 * 60;
    let mut servers = [patient().start(), patient().start()];

    send(&servers, base, 0);
    until("delivery", || servers.iter().all(|s| s.counter("plumbago_spool_points") == 0));
    a_node_that_hangs_is_not_waited_for(&ring, &settings, base);
    ring.signal(3, "KILL");
    send(&servers, base, 1);
    until("delivery without a node", || servers.iter().all(|s| s.counter("plumbago_spool_points") == 0));

    ring.signal(1, "KILL");
    ring.signal(2, "KILL");
    send(&servers, base, 2);
    until("the trouble", || servers.iter().all(|s| s.counter("plumbago_cluster_trouble") == 1));
    queries_say_that_the_cluster_is_away(&servers[0], base);
    assert!(servers.iter().all(|s| s.counter("plumbago_spool_points") >= 300));
    servers = servers.map(|server| server.kill().start());
    send(&servers, base, 3);
    assert!(servers.iter().all(|s| s.counter("plumbago_spool_points") >= 600), "the spool survives a kill");

    for number in 1..=NODES {
        ring.bring_up(number).unwrap();
    }
    until("delivery", || servers.iter().all(|s| s.counter("plumbago_spool_points") == 0));
    for server in &servers {
        for metric in 0..10 {
            check(server, &format!("ring.m{metric}"), base);
        }
    }
}

/// A node that hangs keeps its connections open, and requests to it are answered by nobody. Each read that goes there is sent
/// to another node too. Otherwise some of the thirty here would meet the node, and fail.
fn a_node_that_hangs_is_not_waited_for(ring: &OwnCluster, settings: &Settings, base: u64) {
    // Of a read that another node coordinates. By itself a node learns within minutes how long it should wait.
    let cluster = Cluster::connect(settings.clone()).unwrap();
    let text =
        format!("ALTER TABLE {}.datapoints_7200p_1s_0 WITH speculative_retry = '50ms'", settings.keyspace);
    cluster.block_on(cluster.run_once(Purpose::Background, &text, ())).unwrap();
    let reader = setup(settings, "memory")
        .set("store.cassandra.consistency_read", "LOCAL_QUORUM")
        .set("store.cassandra.speculative_delay", "100ms")
        .set("store.cassandra.request_timeout", "15s")
        // So long that the node is not given up meanwhile.
        .set("store.cassandra.connect_timeout", "30s")
        .start();
    // Names from memory, and all statements prepared: both take every node, or most of them.
    until("the names", || reader.errors().contains("names loaded"));
    let names = "ring.m[0-9]";
    assert_eq!(reader.render(names, base - 1, base + 60).len(), 10);
    ring.signal(2, "STOP");
    // Even if the assertions fail the node must go on, or it cannot be stopped.
    let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..3 {
            let series = reader.render(names, base - 1, base + 60);
            assert_eq!(series.len(), 10);
            assert!(series.iter().all(|(_, points)| points.len() == 60), "{series:?}");
        }
    }));
    ring.signal(2, "CONT");
    read.unwrap();
}

/// Names are in memory; points are not.
fn queries_say_that_the_cluster_is_away(server: &Server, base: u64) {
    assert_eq!(server.json("/metrics/find?format=json&query=ring.*").as_array().unwrap().len(), 10);
    let answer = server.get(&format!("/render?format=json&target=ring.m0&from={base}&until={}", base + 60));
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert!(answer.body.contains("the store is out of reach"), "{}", answer.body);
}

/// All points are there, and each counts once in the second stage: its sums follow from averages and counts of one.
fn check(server: &Server, name: &str, base: u64) {
    let points = server.points(name, base - 1, base + 240);
    assert_eq!(points.len(), 240, "{name}");
    let sum = format!("summarize({name},\"1min\",\"sum\")");
    let minutes = server.points(&sum, base - 1, base + 239);
    assert!(minutes.iter().all(|&(value, _)| value == 60.0), "{name}: {minutes:?}");
    let mut coarse = server.points(name, now() - 3 * 3600, now());
    coarse.retain(|&(_, time)| (base..base + 240).contains(&time));
    assert_eq!(coarse.len(), 24, "{name}: {coarse:?}");
    assert!(coarse.iter().all(|&(value, _)| value == 1.0), "{name}: {coarse:?}");
}
