//! Writer numbers: each server has one, keeps it, and shares it with nobody.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use plumbago::store::StoreError;
use plumbago::store::cassandra::schema::{Replication, create_keyspace};
use plumbago::store::cassandra::{Cluster, ClusterError, Fault, Lease, Purpose, Settings};

use crate::node;

/// After so long an owner is dead.
const MINUTES: Duration = Duration::from_secs(600);

/// Only the one table: the indexes of a whole schema take half a minute.
fn with_table(settings: &Settings) -> Cluster {
    let cluster = Cluster::connect(settings.clone()).unwrap();
    let keyspace = &settings.keyspace_metadata;
    let table = include_str!("../../schema/plumbago_writers.cql");
    let table = table.replace("{keyspace}", keyspace).replace("{id}", &uuid::Uuid::new_v4().to_string());
    for text in [create_keyspace(keyspace, &Replication::everywhere(1)), table] {
        cluster.block_on(cluster.run_once(Purpose::Background, &text, ())).unwrap();
    }
    cluster
}

fn take(cluster: &Cluster, wanted: Option<u16>, file: &Path) -> Result<Lease, StoreError> {
    Lease::take(cluster, 0, wanted, file, "test", MINUTES)
}

fn is_taken(error: &StoreError) -> bool {
    let StoreError::Remote { cause, .. } = error else { return false };
    cause.downcast_ref::<ClusterError>().is_some_and(|error| error.fault == Fault::Taken)
}

#[test]
fn servers_that_start_at_once_get_different_numbers() {
    let Some(settings) = node::shared("servers_that_start_at_once_get_different_numbers") else { return };
    let cluster = with_table(&settings);
    let dir = tempfile::tempdir().unwrap();
    let numbers: Vec<u16> = std::thread::scope(|scope| {
        let start = |server: usize| {
            let file = dir.path().join(format!("{server}.json"));
            let cluster = &cluster;
            scope.spawn(move || take(cluster, None, &file).unwrap().writer())
        };
        let servers: Vec<_> = (0..8).map(start).collect();
        servers.into_iter().map(|server| server.join().unwrap()).collect()
    });
    assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), 8, "{numbers:?}");
    node::drop_keyspaces(&cluster, &[&settings]);
}

#[test]
fn a_number_is_kept_over_restarts() {
    let Some(settings) = node::shared("a_number_is_kept_over_restarts") else { return };
    let cluster = with_table(&settings);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("writer.json");
    let first = take(&cluster, None, &file).unwrap();
    first.renew(&cluster).unwrap();
    let number = first.writer();
    drop(first);
    assert_eq!(take(&cluster, None, &file).unwrap().writer(), number);
    // Another replica has numbers of its own.
    let other =
        Lease::take(&cluster, 1, Some(number), &dir.path().join("other.json"), "test", MINUTES).unwrap();
    assert_eq!(other.writer(), number);
    node::drop_keyspaces(&cluster, &[&settings]);
}

#[test]
fn a_fixed_number_is_refused_while_its_owner_lives() {
    let Some(settings) = node::shared("a_fixed_number_is_refused_while_its_owner_lives") else { return };
    let cluster = with_table(&settings);
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one.json"), dir.path().join("two.json"));
    let lease = take(&cluster, Some(7), &one).unwrap();
    assert_eq!((lease.writer(), lease.shard()), (7, 7));
    let error = take(&cluster, Some(7), &two).unwrap_err();
    assert!(is_taken(&error), "{error}");
    let text = error.to_string();
    assert!(text.contains("writer number 7 of replica 0") && text.contains("`test "), "{text}");
    assert!(text.contains("store.cassandra.writer"), "{text}");

    // Once it said that it is gone another may be given its number, and then it is the one that is refused.
    lease.release(&cluster).unwrap();
    let second = take(&cluster, Some(7), &two).unwrap();
    assert_eq!(second.writer(), 7);
    assert!(is_taken(&lease.renew(&cluster).unwrap_err()));
    second.renew(&cluster).unwrap();
    node::drop_keyspaces(&cluster, &[&settings]);
}

/// The row says when its owner was last seen by the owner's clock, which may be wrong by any time in either direction.
#[test]
fn clocks_that_are_ten_minutes_apart_give_nobody_the_number_of_a_server_that_lives() {
    let test = "clocks_that_are_ten_minutes_apart_give_nobody_the_number_of_a_server_that_lives";
    let Some(settings) = node::shared(test) else { return };
    let cluster = with_table(&settings);
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one.json"), dir.path().join("two.json"));
    let lease = take(&cluster, Some(7), &one).unwrap();
    let keyspace = &settings.keyspace_metadata;
    for apart_ms in [-1_200_000_i64, -601_000, 601_000, 1_200_000] {
        let seen = i64::try_from(crate::harness::now()).unwrap() * 1000 + apart_ms;
        let text = format!(
            "UPDATE {keyspace}.plumbago_writers SET seen = {seen} WHERE replica = 0 AND writer = 7 IF EXISTS"
        );
        cluster.block_on(cluster.run_once(Purpose::Naming, &text, ())).unwrap();
        let error = take(&cluster, Some(7), &two).unwrap_err();
        assert!(is_taken(&error), "{apart_ms} ms: {error}");
    }
    lease.renew(&cluster).unwrap();
    // One that is dead: the cluster's clock says so, whatever its own said.
    for seen in [1, i64::MAX / 2] {
        let written_us = (crate::harness::now() - 601) * 1_000_000;
        let writer = 8 + seen % 2;
        let text = format!(
            "INSERT INTO {keyspace}.plumbago_writers (replica, writer, owner, seen) VALUES (0, {writer}, 'gone', {seen}) \
             USING TIMESTAMP {written_us}"
        );
        cluster.block_on(cluster.run_once(Purpose::Naming, &text, ())).unwrap();
        let file = dir.path().join(format!("{writer}.json"));
        let number = u16::try_from(writer).unwrap();
        assert_eq!(take(&cluster, Some(number), &file).unwrap().writer(), number);
    }
    node::drop_keyspaces(&cluster, &[&settings]);
}

#[test]
fn a_missing_table_says_what_to_do() {
    let Some(settings) = node::shared("a_missing_table_says_what_to_do") else { return };
    let cluster = Cluster::connect(settings).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let text = take(&cluster, None, &dir.path().join("writer.json")).unwrap_err().to_string();
    assert!(text.contains("plumbago schema apply"), "{text}");
}
