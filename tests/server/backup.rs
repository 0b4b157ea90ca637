//! Backups of a running server, and restores into another directory.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;

use super::disk_full::SmallDisk;
use super::harness::{Server, Setup, now, wait_until};
use super::skip::skip;

const METRICS: u64 = 50;
/// Points of one metric that a sender sends at most: one in every second.
const SLOTS: u64 = 7000;

fn setup() -> Setup {
    // Frequent cuts and merges, so that files come and go during a backup.
    Setup::new().set("retention.default", "1s:3h,1m:2d").set("store.cut_interval", "100ms")
}

/// Point `seq` of a load: each has a slot of its own.
fn line(seq: u64, base: u64) -> String {
    format!("load.m{} {seq} {}\n", seq % METRICS, base + seq / METRICS)
}

/// Sends numbered points until it is told to end.
fn send(carbon: SocketAddr, base: u64, sent: &AtomicU64, end: &AtomicBool) {
    let mut stream = TcpStream::connect(carbon).unwrap();
    let mut seq = 0;
    while !end.load(Ordering::SeqCst) && seq < METRICS * SLOTS {
        let next = seq + METRICS;
        sent.store(next, Ordering::SeqCst);
        let lines: String = (seq..next).map(|seq| line(seq, base)).collect();
        // A server that was killed takes nothing more.
        if stream.write_all(lines.as_bytes()).is_err() {
            return;
        }
        seq = next;
        std::thread::sleep(std::time::Duration::from_micros(500));
    }
}

/// Runs `body` under load. Gives what it gave, and how many points were sent.
fn under_load<T>(server: &Server, base: u64, body: impl FnOnce() -> T) -> (T, u64) {
    let (sent, end) = (AtomicU64::new(0), AtomicBool::new(false));
    let carbon = server.carbon;
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| send(carbon, base, &sent, &end));
        server.wait_for("plumbago_points_stored_total", 20_000);
        let result = body();
        end.store(true, Ordering::SeqCst);
        sender.join().unwrap();
        (result, sent.load(Ordering::SeqCst))
    })
}

/// Every value by metric and time.
fn read(server: &Server, base: u64) -> BTreeMap<(u64, u64), f64> {
    let mut found = BTreeMap::new();
    for metric in 0..METRICS {
        for (value, time) in server.points(&format!("load.m{metric}"), base - 1, base + SLOTS) {
            found.insert((metric, time), value);
        }
    }
    found
}

/// All of the first `stored` points are there, and nothing that is not among the first `sent`.
fn check(server: &Server, base: u64, stored: u64, sent: u64) {
    let found = read(server, base);
    let place = |seq: u64| (seq % METRICS, base + seq / METRICS);
    for seq in 0..stored {
        assert_eq!(found.get(&place(seq)), Some(&(seq as f64)), "point {seq} of {stored} stored");
    }
    for (at, value) in found {
        let seq = value as u64;
        assert!(seq < sent && place(seq) == at, "{value} at {at:?} was never sent there; {sent} were sent");
    }
}

fn back_up(server: &Server, dir: &Path) -> Value {
    let answer = server.post("/internal/backup", &[("dir", dir.to_str().unwrap())]);
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

/// Runs `restore` on settings with an empty data directory. Gives its exit code and what it said.
fn restore(setup: &Setup, arguments: &[&str]) -> (Option<i32>, String) {
    let output = setup.run(&[&["restore"], arguments].concat());
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code(), text.concat())
}

fn restored(dir: &Path) -> Server {
    let target = setup();
    let (code, said) = restore(&target, &[dir.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("{METRICS} metrics in ")), "{said}");
    target.start()
}

fn base() -> u64 {
    now() / 60 * 60 - SLOTS - 600
}

#[test]
fn a_backup_under_load_has_every_point_that_was_stored_before_it() {
    let base = base();
    let server = setup().start();
    let dir = server.setup().directory().join("backup");
    let (rounds, sent) = under_load(&server, base, || {
        // Merges remove files between the rounds and during them. Each round is restored and compared.
        (0..3)
            .map(|_| {
                let stored = server.counter("plumbago_points_stored_total");
                back_up(&server, &dir);
                (stored, restored(&dir))
            })
            .collect::<Vec<_>>()
    });
    for (stored, copy) in &rounds {
        check(copy, base, *stored, sent);
        assert!(!copy.errors().contains("block skipped"), "{}", copy.errors());
    }
    assert_eq!(server.counter("plumbago_backups_total"), 3);
    assert!(server.counter("plumbago_backup_last_success_timestamp_seconds") >= now() - 60);
    // The restored one is a store like any other.
    rounds[0].1.store(&format!("load.new 1 {}\n", now()));
}

#[test]
fn the_next_backup_adds_only_what_changed() {
    let base = base();
    let server = setup().set("store.cut_interval", "1h").start();
    let dir = server.setup().directory().join("backup");
    server.store(&(0..5000).map(|seq| line(seq, base)).collect::<String>());
    let first = back_up(&server, &dir);
    assert_eq!((&first["number"], &first["kept"]), (&Value::from(1), &Value::from(0)), "{first}");
    let blocks = first["linked"].as_u64().unwrap();
    assert!(blocks > 0 && first["copied"] == 1, "blocks are linked, the catalogue is copied: {first}");
    // Nothing came in between: nothing but the catalogue is new.
    let second = back_up(&server, &dir);
    assert_eq!(second["kept"], blocks, "{second}");
    assert_eq!((&second["linked"], &second["copied"]), (&Value::from(0), &Value::from(1)), "{second}");

    server.store(&(5000..5050).map(|seq| line(seq, base)).collect::<String>());
    let said = server.setup().run(&["backup", "backup", "--url", &format!("http://{}", server.http)]);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.starts_with("backup 3 in "), "{said}");
    assert!(said.contains(&format!("{blocks} kept")), "{said}");
    check(&restored(&dir), base, 5050, 5050);

    // A store that no server has open is backed up by the command itself.
    let (_, setup) = server.stop("TERM");
    let said = setup.run(&["backup", "backup", "--output", "json"]);
    let made: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(made["number"], 4, "{made}");
    check(&restored(&dir), base, 5050, 5050);
}

/// A block of a backup.
fn some_block(dir: &Path) -> PathBuf {
    let inside = |dir: &Path| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).next().unwrap();
    inside(&inside(&inside(&dir.join("points"))))
}

#[test]
fn what_is_damaged_is_named_and_what_is_there_is_never_overwritten() {
    let base = base();
    let server = setup().set("store.cut_interval", "1h").start();
    let dir = server.setup().directory().join("backup");
    server.store(&(0..5000).map(|seq| line(seq, base)).collect::<String>());
    back_up(&server, &dir);
    let dir_text = dir.to_str().unwrap();

    let target = setup();
    let (code, said) = restore(&target, &["--check", dir_text]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("every checksum is right"), "{said}");
    assert!(!target.directory().join("data").exists(), "a check restores nothing");

    // The link is replaced by a copy with one wrong bit: the store must not be damaged by this test.
    let block = some_block(&dir);
    let good = fs::read(&block).unwrap();
    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    fs::remove_file(&block).unwrap();
    fs::write(&block, &bad).unwrap();
    for arguments in [vec!["--check", dir_text], vec![dir_text]] {
        let (code, said) = restore(&target, &arguments);
        assert_eq!(code, Some(1), "{said}");
        let name = block.file_name().unwrap().to_str().unwrap();
        assert!(said.contains(name) && said.contains("checksum does not match"), "{said}");
    }
    assert!(!target.directory().join("data").exists(), "nothing is written before everything is checked");

    fs::write(&block, &good).unwrap();
    let (code, said) = restore(server.setup(), &[dir_text]);
    assert_eq!(code, Some(1));
    assert!(said.contains("is not empty") && said.contains("catalogue.redb"), "{said}");
    check(&server, base, 5000, 5000);
    let answer = server.post("/internal/backup", &[("dir", server.setup().directory().to_str().unwrap())]);
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("name an empty directory"), "{}", answer.body);
    assert_eq!(server.counter("plumbago_backup_failures_total"), 1);
}

#[test]
fn a_kill_during_a_backup_costs_neither_the_store_nor_the_earlier_backup() {
    let base = base();
    let mut server = setup().start();
    let dir = server.setup().directory().join("backup");
    let (stored, sent) = under_load(&server, base, || {
        back_up(&server, &dir);
        let stored = server.counter("plumbago_points_stored_total");
        back_up(&server, &dir);
        stored
    });
    let mut killed_in_one = 0;
    for round in 0..12 {
        let (http, dir_text) = (server.http, dir.to_str().unwrap().to_owned());
        let caller = std::thread::spawn(move || {
            // The answer never comes, or breaks off.
            let url = format!("http://{http}/internal/backup");
            let _ = ureq::post(&url).send_form([("dir", dir_text.as_str())]);
        });
        let running = std::cell::Cell::new(false);
        wait_until("the backup to begin or to be over", || {
            running.set(server.json("/internal/backup")["running"].is_string());
            running.get() || server.counter("plumbago_backups_total") > u64::from(round == 0) * 2
        });
        killed_in_one += u32::from(running.get());
        let setup = server.kill();
        caller.join().unwrap();
        // The earlier backup is whole, whenever the kill came.
        let (code, said) = restore(&setup, &["--check", dir.to_str().unwrap()]);
        assert_eq!(code, Some(0), "round {round}: {said}");
        server = setup.start();
    }
    println!("{killed_in_one} of 12 kills came during a backup");
    server.wait_for("plumbago_metrics", METRICS);
    check(&server, base, stored, sent);
    back_up(&server, &dir);
    check(&restored(&dir), base, stored, sent);
}

#[test]
fn a_full_disk_ends_a_backup_with_a_reason_and_the_next_one_goes_on() {
    let Some(disk) = SmallDisk::mount(64) else {
        return skip(
            "a_full_disk_ends_a_backup_with_a_reason_and_the_next_one_goes_on",
            "mounting a tmpfs needs root",
        );
    };
    let base = base();
    let server = setup().set("store.cut_interval", "1h").start();
    let dir = disk.path().join("backup");
    server.store(&(0..20_000).map(|seq| line(seq, base)).collect::<String>());
    let filler = disk.fill();
    let answer = server.post("/internal/backup", &[("dir", dir.to_str().unwrap())]);
    assert_eq!(answer.status, 500, "{}", answer.body);
    assert!(
        answer.body.contains("No space left on device") && answer.body.contains("goes on"),
        "{}",
        answer.body
    );
    fs::remove_file(filler).unwrap();
    let made = back_up(&server, &dir);
    assert_eq!(made["linked"], 0, "another file system takes copies: {made}");
    assert!(made["copied"].as_u64().unwrap() > 1, "{made}");
    check(&restored(&dir), base, 20_000, 20_000);

    // The way back: a full disk, and then room.
    let target = setup().data(&disk.path().join("data"));
    let filler = disk.fill();
    let (code, said) = restore(&target, &[dir.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    fs::remove_file(filler).unwrap();
    let (code, said) = restore(&target, &[dir.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{said}");
    check(&target.start(), base, 20_000, 20_000);
}

#[test]
fn a_cluster_is_backed_up_where_it_is() {
    let setup = Setup::new().set("store.kind", "cassandra");
    for command in ["backup", "restore"] {
        let output = setup.run(&[command, "somewhere"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("nodetool snapshot") && said.contains("docs/OPERATIONS.md"), "{said}");
    }
    assert!(!setup.directory().join("somewhere").exists());
}
