//! A damaged data directory: looked at without changing anything, served without what is lost, and mended.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use crate::harness::{Server, Setup, now};

/// All files of a directory with what is in them.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

/// The only block of a stage.
fn block(data: &Path, stage: &str) -> PathBuf {
    files(&data.join("points").join(stage)).into_keys().next().unwrap()
}

#[test]
fn a_damaged_store_is_looked_at_served_and_mended() {
    let server = Setup::new().set("retention.default", "60s:2d,1h:30d").start();
    let (data, base) = (server.setup().directory().join("data"), now() / 3600 * 3600 - 7200);
    let lines: String = (0..60).map(|n| format!("some.metric {n} {}\n", base + n * 60)).collect();
    server.store(&lines);
    assert_eq!(server.post("/internal/flush", &[("settle", "1")]).status, 200);
    server.store(&format!("late.metric 1 {base}\n"));
    assert_eq!(server.post("/internal/flush", &[]).status, 200);
    let points = server.points("some.metric", base - 60, base + 3600);
    assert_eq!(points.len(), 60);
    let setup = server.kill();

    // The catalogue, a block's header, and a record of the log.
    let catalogue = data.join("catalogue.redb");
    fs::write(&catalogue, vec![0; 4096]).unwrap();
    let raw = block(&data, "60s-2880-raw");
    flip(&raw, 20);
    // Not the last record: that would look like what a crash leaves.
    let log = files(&data.join("log")).into_keys().next_back().unwrap();
    flip(&log, 30);
    let damaged = files(&data);

    let checked = setup.run(&["fsck"]);
    let out = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(1), "{out}");
    for part in ["catalogue.redb is damaged", "header", "wrong checksum"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(files(&data), damaged, "fsck changes nothing");

    look_at(setup, &points, base, &damaged);
}

/// Queries work, and nothing else; not a byte changes. Then the server runs as usual.
fn look_at(setup: Setup, points: &[(f64, u64)], base: u64, damaged: &BTreeMap<PathBuf, Vec<u8>>) {
    let data = setup.directory().join("data");
    let rescue = setup.set("store.read_only", "true").start();
    assert!(rescue.banner.iter().any(|line| line.contains("read-only")), "{:?}", rescue.banner);
    assert_eq!(rescue.points("some.metric", base - 60, base + 3600), points);
    assert_eq!(rescue.counter("plumbago_damaged_places"), 3);
    for (path, answer) in [
        ("/internal/write", rescue.post_text("/internal/write", "a.b 1 1\n")),
        ("/internal/delete", rescue.post("/internal/delete", &[("query", "some.metric")])),
        ("/health/ready", rescue.get("/health/ready")),
    ] {
        assert_eq!(answer.status, 503, "{path}");
        assert!(answer.body.contains("store.read_only"), "{path}: {}", answer.body);
    }
    let carbon = rescue.banner.iter().any(|line| line.starts_with("carbon"));
    assert!(!carbon, "the port for points is closed: {:?}", rescue.banner);
    // Others may look at the same time, and nobody may write.
    let found = rescue.setup().run(&["find", "some.*"]);
    assert_eq!(String::from_utf8(found.stdout).unwrap(), "some.metric\n");
    let refused = rescue.setup().run(&["delete", "some.metric", "--yes"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let (status, setup) = rescue.stop("TERM");
    assert!(status.success());
    assert_eq!(&files(&data), damaged, "a server that only looks changes nothing");

    let server = setup.set("store.read_only", "false").start();
    assert_eq!(server.points("some.metric", base - 60, base + 3600), points);
    assert_eq!(server.counter("plumbago_damaged_places"), 3);
    assert!(server.errors().contains("catalogue.redb is damaged"), "{}", server.errors());
    for path in ["aside/catalogue.redb", block(&data.join("aside"), "60s-2880-raw").to_str().unwrap()] {
        let kept = fs::read(data.join(path)).unwrap();
        assert!(damaged.values().any(|bytes| *bytes == kept), "{path} is what was damaged");
    }
    mend(server, points, base);
}

/// A page of a block is damaged: its metrics are lost until the block is put back, and nobody complains after a repair.
fn mend(server: Server, points: &[(f64, u64)], base: u64) {
    server.store(&format!("other.metric 1 {base}\n"));
    let (status, setup) = server.stop("TERM");
    assert!(status.success());
    let data = setup.directory().join("data");
    let hours = block(&data, "3600s-720-aggr");
    flip(&hours, 70);
    let repaired = setup.run(&["fsck", "--repair"]);
    let out = String::from_utf8(repaired.stdout).unwrap();
    assert!(out.contains("mended: ") && out.contains("page 0"), "{out}");
    assert_eq!(repaired.status.code(), Some(0), "{out}");
    let checked = setup.run(&["fsck"]);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    let server = setup.start();
    assert_eq!(server.counter("plumbago_damaged_places"), 0);
    assert_eq!(server.points("some.metric", base - 60, base + 3600), points);
    assert_eq!(server.points("other.metric", base - 60, base), [(1.0, base)]);
    // The port for points is open again.
    assert!(TcpStream::connect(server.carbon).is_ok());
}
