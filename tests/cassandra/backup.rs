//! Backs up both keyspaces with Cassandra's snapshots, drops them, creates them again and restores them, by the steps of
//! docs/OPERATIONS.md.

use std::path::{Path, PathBuf};

use plumbago::store::cassandra::schema::{Indexes, Replication, Schema, apply};
use plumbago::store::cassandra::{Cluster, Settings};
use plumbago_model::Retention;
use serde_json::Value;

use crate::harness::{Server, now};
use crate::node;
use crate::servers::{settle, setup, until};
use crate::skip::skip;

const TAG: &str = "nightly";

fn make_tables(cluster: &Cluster, settings: &Settings) {
    let retention: Retention = "7200*1s:2160*10s:2880*60s".parse().unwrap();
    let schema = Schema::new(settings, [&retention], Indexes::Sasi);
    apply(cluster, &schema, Some(&Replication::everywhere(1)), &mut |_| {}).unwrap();
}

/// Where the node keeps the tables of both keyspaces; none if it is not the node of `scripts/cassandra`.
fn table_directories(settings: &Settings) -> Vec<PathBuf> {
    let told = node::nodetool(&["datapaths"]).unwrap_or_default();
    let directories = told.lines().map(|line| PathBuf::from(line.trim()));
    directories.filter(|path| path.is_absolute() && is_ours(path, settings)).collect()
}

fn is_ours(table: &Path, settings: &Settings) -> bool {
    let keyspace = table.parent().and_then(Path::file_name);
    [&settings.keyspace, &settings.keyspace_metadata].iter().any(|name| keyspace == Some(name.as_ref()))
}

/// Copies what a snapshot has of each table to `KEYSPACE/TABLE` below `to`. Gives keyspaces, tables and copies.
fn copy_snapshots(tables: &[PathBuf], to: &Path) -> Vec<(String, String, PathBuf)> {
    let mut copies = Vec::new();
    for directory in tables {
        let snapshot = directory.join("snapshots").join(TAG);
        let keyspace = directory.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let (table, _) = directory.file_name().unwrap().to_str().unwrap().rsplit_once('-').unwrap();
        let copy = to.join(keyspace).join(table);
        std::fs::create_dir_all(&copy).unwrap();
        for file in std::fs::read_dir(&snapshot).into_iter().flatten() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), copy.join(file.file_name())).unwrap();
            }
        }
        copies.push((keyspace.to_owned(), table.to_owned(), copy));
    }
    copies
}

fn found(server: &Server, pattern: &str) -> Vec<(String, bool)> {
    let nodes = server.json(&format!("/metrics/find?format=json&query={pattern}"));
    let node = |node: &Value| (node["path"].as_str().unwrap().to_owned(), node["is_leaf"].as_bool().unwrap());
    nodes.as_array().unwrap().iter().map(node).collect()
}

/// What a server answers: names by globs that need every kind of index, points of two stages.
#[derive(Debug, PartialEq)]
struct Answers {
    names: Vec<Vec<(String, bool)>>,
    fine: Vec<(String, Vec<(f64, u64)>)>,
    coarse: Vec<(String, Vec<(f64, u64)>)>,
}

fn answers(server: &Server, base: u64) -> Answers {
    let patterns = ["*", "kept.*", "kept.web*.cpu", "kept.*.c*", "kept.**", "kept.%7Bweb1,db%7D.cpu"];
    let mut coarse = server.render("kept.*.cpu", now() - 3 * 3600, now());
    for (_, points) in &mut coarse {
        points.retain(|&(_, time)| (base..base + 600).contains(&time));
    }
    Answers {
        names: patterns.iter().map(|pattern| found(server, pattern)).collect(),
        fine: server.render("kept.*.cpu", base - 1, base + 600),
        coarse,
    }
}

#[test]
fn what_a_snapshot_holds_comes_back() {
    let test = "what_a_snapshot_holds_comes_back";
    let Some(settings) = node::shared(test) else { return };
    let cluster = Cluster::connect(settings.clone()).unwrap();
    make_tables(&cluster, &settings);
    let tables = table_directories(&settings);
    if tables.is_empty() {
        node::drop_keyspaces(&cluster, &[&settings]);
        return skip(test, "the node is not that of scripts/cassandra, so its files are out of reach");
    }

    // A server writes, and the snapshot is taken while it runs.
    let writer = setup(&settings, "memory").set("store.cassandra.reload_interval", "1s").start();
    let base = (now() - 5400) / 60 * 60;
    let mut lines = String::new();
    for host in ["web1", "web2", "db"] {
        for second in 0..600 {
            lines.push_str(&format!("kept.{host}.cpu {} {}\n", second % 7, base + second));
        }
    }
    writer.store(&lines);
    settle(&writer);
    let before = answers(&writer, base);
    assert_eq!(
        (before.names[1].len(), before.fine.len(), before.coarse[0].1.len()),
        (3, 3, 60),
        "{before:?}"
    );
    node::nodetool(&["snapshot", "-t", TAG, &settings.keyspace, &settings.keyspace_metadata]).unwrap();
    let backup = tempfile::tempdir().unwrap();
    let copies = copy_snapshots(&tables, backup.path());
    assert_eq!(copies.len(), 3 + 8);
    node::nodetool(&["clearsnapshot", "-t", TAG, "--", &settings.keyspace, &settings.keyspace_metadata])
        .unwrap();

    // What comes later is not in it.
    writer.store(&format!("late.a 1 {}\nkept.db.cpu 50 {}\n", now(), base + 700));
    settle(&writer);
    let (status, writer) = writer.stop("TERM");
    assert!(status.success());

    node::drop_keyspaces(&cluster, &[&settings]);
    make_tables(&cluster, &settings);
    for (keyspace, table, copy) in &copies {
        let copy = copy.to_str().unwrap();
        node::nodetool(&["import", "--copy-data", keyspace, table, copy]).unwrap();
    }

    // Servers that know nothing but the cluster.
    let fresh = setup(&settings, "memory").start();
    until("the names", || found(&fresh, "*").len() == before.names[0].len());
    assert_eq!(answers(&fresh, base), before);
    assert_eq!(fresh.points("kept.db.cpu", base + 600, base + 800), []);
    let sasi = setup(&settings, "sasi").start();
    assert_eq!(answers(&sasi, base), before);

    // The old server makes what it still writes to again, and finds its number.
    let writer = writer.start();
    writer.store(&format!("late.a 2 {}\n", now()));
    until("the metric that the snapshot did not have", || found(&sasi, "late.*").len() == 1);
    settle(&writer);
    until("its points", || sasi.points("late.a", now() - 600, now()).len() == 1);
    drop((fresh, sasi, writer));
    node::drop_keyspaces(&cluster, &[&settings]);
}
