//! Renaming metrics and whole directories, while the server runs and when it is stopped.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;

use super::harness::{Server, Setup, now, wait_until};

fn setup() -> Setup {
    let rule = "[{ name = 'sum', pattern = '.*', retentions = '1s:2h,10s:6h', aggregation = 'sum', x_files_factor = 0.0 }]";
    Setup::new().set("retention.rule", rule)
}

fn rename(server: &Server, old: &str, new: &str) -> Value {
    let answer = server.post("/internal/rename", &[("from", old), ("to", new)]);
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

fn found(server: &Server, query: &str) -> Vec<String> {
    let paths = server.json(&format!("/metrics/expand?query={query}&leavesOnly=1"));
    paths["results"].as_array().unwrap().iter().map(|path| path.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_directory_moves_with_its_history_and_stays_moved() {
    let server = setup().start();
    let base = now() / 10 * 10 - 600;
    server.store(&format!("old.a 1 {base}\nold.deep.b 2 {base}\nold 3 {base}\nolder.c 4 {base}\n"));
    server.post("/internal/flush", &[]);
    server.store(&format!("old.a 5 {}\n", base + 1));
    let out = server.setup().run(&[
        "rename",
        "--dry-run",
        "old",
        "new",
        "--url",
        &format!("http://{}", server.http),
    ]);
    assert_eq!(
        String::from_utf8_lossy(&out.stdout),
        "old -> new\nold.a -> new.a\nold.deep.b -> new.deep.b\n"
    );
    assert_eq!(found(&server, "new.**"), [""; 0], "a trial changes nothing");
    let url = format!("http://{}", server.http);
    let out = server.setup().run(&["rename", "old", "new", "--url", &url]);
    assert!(out.status.success());
    assert_eq!(String::from_utf8_lossy(&out.stderr), "3 metrics renamed\n");
    let mut server = server;
    for round in ["at once", "after kill -9", "after a stop"] {
        assert_eq!(found(&server, "*"), ["new"], "{round}");
        assert_eq!(found(&server, "*.**"), ["new.a", "new.deep.b", "older.c"], "{round}");
        assert_eq!(server.points("new.a", base - 1, base + 1), [(1.0, base), (5.0, base + 1)], "{round}");
        assert_eq!(server.points("new", base - 1, base), [(3.0, base)], "{round}");
        assert_eq!(server.counter("plumbago_metrics"), 4, "{round}");
        server = match round {
            "at once" => server.kill().start(),
            _ => server.stop("TERM").1.start(),
        };
    }
    // The old name is free for another metric.
    server.store(&format!("old.a 9 {base}\n"));
    assert_eq!(server.points("old.a", base - 1, base), [(9.0, base)]);
    assert_eq!(server.points("new.a", base - 1, base), [(1.0, base)]);
}

#[test]
fn tags_go_along_and_what_cannot_be_meant_is_refused() {
    let server = setup().start();
    let base = now() - 60;
    server.store(&format!("disk;host=a 1 {base}\ncpu.a 1 {base}\n"));
    rename(&server, "disk;host=a", "disk;host=b");
    let series = |expr: &str| server.json(&format!("/tags/findSeries?expr={expr}"));
    assert_eq!(series("host=b"), serde_json::json!(["disk;host=b"]));
    assert_eq!(series("host=a"), serde_json::json!([]));
    for (old, new, wrong) in [
        ("cpu.*", "x", "`cpu.*` is a glob"),
        ("cpu", "cpu.b", "into itself"),
        ("cpu.a", "cpu.a", "into itself"),
    ] {
        let answer = server.post("/internal/rename", &[("from", old), ("to", new)]);
        assert_eq!(answer.status, 400, "{old} {new}");
        assert!(answer.body.contains(wrong), "{}", answer.body);
    }
    let url = format!("http://{}", server.http);
    let out = server.setup().run(&["rename", "no.such", "x", "--url", &url]);
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("there is no metric `no.such`"));
}

#[test]
fn histories_are_merged_where_the_new_name_exists() {
    let server = setup().start();
    let base = now() / 10 * 10 - 600;
    let points = |name: &str, slots: std::ops::Range<u64>, value: u64| -> String {
        slots.map(|slot| format!("{name} {value} {}\n", base + slot)).collect()
    };
    // The names changed in the middle of a slot of 10 s, and overlap by two seconds.
    server.store(&(points("old.a", 0..35, 1) + &points("new.a", 33..60, 2) + &points("old.b", 0..10, 3)));
    server.post("/internal/flush", &[]);
    let answer = rename(&server, "old", "new");
    assert_eq!(answer["merged"], 1, "{answer}");
    let expected: Vec<(f64, u64)> =
        (0..60).map(|slot| (if slot < 33 { 1.0 } else { 2.0 }, base + slot)).collect();
    assert_eq!(server.points("new.a", base - 1, base + 59), expected);
    assert_eq!(found(&server, "*.**"), ["new.a", "new.b"]);
    let setup = server.stop("TERM").1;
    // A stopped store can do it, too.
    let out = setup.run(&["rename", "new", "newer"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let server = setup.start();
    assert_eq!(server.points("newer.a", base - 1, base + 59), expected);
    let coarse: f64 = server.points("newer.a", now() - 3 * 3600, now()).iter().map(|(value, _)| value).sum();
    assert_eq!(coarse, 33.0 + 27.0 * 2.0, "the coarse stage counts every slot once");
}

/// Ends a sender, even if the test fails: a scope waits for its threads.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn no_point_is_lost_while_senders_use_either_name() {
    let server = setup().start();
    let (base, sent, over) = (now() - 3000, AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                // One sender uses the old name, another one already the new name, each with its own seconds.
                let at = base + 2 * sent.load(Ordering::Acquire);
                server.store(&format!("old.a 1 {at}\nnew.a 1 {}\n", at + 1));
                sent.fetch_add(1, Ordering::AcqRel);
            }
        });
        let _over = Over(&over);
        for _ in 0..6 {
            let until = sent.load(Ordering::Acquire) + 15;
            wait_until("more points", || sent.load(Ordering::Acquire) >= until);
            rename(&server, "old", "new");
        }
    });
    if !found(&server, "old.*").is_empty() {
        rename(&server, "old", "new");
    }
    let sent = sent.load(Ordering::Acquire);
    let expected: Vec<(f64, u64)> = (base..base + 2 * sent).map(|time| (1.0, time)).collect();
    let points = server.points("new.a", base - 1, base + 2 * sent - 1);
    assert_eq!(points.len(), expected.len());
    assert_eq!(points, expected);
}

#[test]
fn a_metric_that_never_falls_silent_is_merged_too() {
    const SLOTS: u64 = 500;
    let server = setup().start();
    let (base, over) = (now() - 3000, AtomicBool::new(false));
    server.store(&format!("new.a 1 {base}\nold.a 1 {base}\n"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut connection = TcpStream::connect(server.carbon).unwrap();
            for nth in (0..SLOTS).cycle() {
                if over.load(Ordering::Acquire) && nth == 0 {
                    break;
                }
                connection.write_all(format!("old.a 1 {}\n", base + nth).as_bytes()).unwrap();
            }
        });
        let _over = Over(&over);
        for _ in 0..5 {
            wait_until("a point with the old name", || !found(&server, "old.*").is_empty());
            rename(&server, "old", "new");
        }
    });
    let received = server.counter("plumbago_points_received_total");
    server.wait_for("plumbago_points_stored_total", received);
    if !found(&server, "old.*").is_empty() {
        rename(&server, "old", "new");
    }
    let expected: Vec<(f64, u64)> = (base..base + SLOTS).map(|time| (1.0, time)).collect();
    assert_eq!(server.points("new.a", base - 1, base + SLOTS - 1), expected);
}
