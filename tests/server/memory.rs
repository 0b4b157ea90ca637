//! Queries stay within the memory that they are given, whatever is asked, and points go on arriving.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use super::harness::{Answer, Server, Setup, now, wait_until};

const MIB: u64 = 1 << 20;

/// What the process may take beyond the memory of queries: threads, buffers of sockets, memory that the allocator keeps.
const BESIDE: u64 = 100 * MIB;

const ALL: &str = "64MiB";
const EACH: &str = "24MiB";

/// A server with a little memory for queries, and 200 metrics that have a value every ten seconds of the last hour.
fn filled() -> Server {
    let setup = Setup::new().set("query.memory", ALL).set("query.memory_each", EACH);
    let (server, end) = (setup.start(), now() / 10 * 10);
    for hundred in 0..2 {
        let mut lines = String::new();
        for metric in hundred * 100..hundred * 100 + 100 {
            for slot in 0..360 {
                writeln!(lines, "load.m{metric} {} {}", metric * slot, end - slot * 10).unwrap();
            }
        }
        server.store(&lines);
    }
    server
}

fn targets(target: impl Fn(usize) -> String, count: usize) -> Vec<(&'static str, String)> {
    (0..count).map(|nth| ("target", target(nth))).collect()
}

fn render(server: &Server, targets: &[(&'static str, String)], from: &str) -> Answer {
    let mut form: Vec<(&str, &str)> = targets.iter().map(|(name, target)| (*name, target.as_str())).collect();
    form.extend([("from", from), ("format", "json")]);
    server.post("/render", &form)
}

fn all_is_given_back(server: &Server) {
    wait_until("the memory of queries", || server.counter("plumbago_query_memory_bytes") == 0);
    assert_eq!(server.json("/internal/queries")["active"], serde_json::json!([]));
}

#[test]
fn thousands_of_targets_are_answered_or_refused_within_the_limit() {
    let server = filled();
    let before = server.peak_rss();
    let many = targets(|nth| format!("scale(load.m{},{nth})", nth % 200), 5000);
    let answer = render(&server, &many, "-5min");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let lines: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(lines.as_array().unwrap().len(), 5000);
    // 43 million points.
    let answer = render(&server, &many, "-1d");
    assert_eq!(answer.status, 422, "{}", answer.body);
    assert!(answer.body.contains("of memory or more; query.memory_each allows 24 MiB"), "{}", answer.body);
    assert!(server.counter("plumbago_queries_refused_total{reason=\"memory\"}") >= 1);
    all_is_given_back(&server);
    let grown = server.peak_rss() - before;
    assert!(grown < 24 * MIB + BESIDE, "it took {} MiB more", grown / MIB);
}

#[test]
fn many_heavy_renders_at_once_stay_within_the_limit_and_points_arrive() {
    let server = filled();
    let (before, resting) = (server.peak_rss(), server.rss());
    let heavy: [(&str, &str); 8] = [
        ("load.*", "json"),
        ("scale(load.*,2)", "json"),
        ("movingAverage(load.*,50)", "json"),
        ("load.*", "pickle"),
        ("load.*", "csv"),
        ("sumSeries(load.*)", "json"),
        ("time('x',1)", "json"),
        ("randomWalk('x',1)", "raw"),
    ];
    let over = AtomicBool::new(false);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let renders: Vec<_> = (0..64)
            .map(|nth| {
                let (target, format) = heavy[nth % heavy.len()];
                let path = format!("/render?target={target}&format={format}&from=-{}h", 1 + nth);
                let server = &server;
                scope.spawn(move || server.status_of(&path))
            })
            .collect();
        let points = scope.spawn(|| {
            let mut batches = 0;
            while !over.load(Ordering::Relaxed) || batches == 0 {
                server.store(&format!("other.m{batches} 1 {}\n", now()));
                batches += 1;
            }
        });
        let statuses = renders.into_iter().map(|render| render.join().unwrap()).collect();
        over.store(true, Ordering::Relaxed);
        points.join().unwrap();
        statuses
    });
    assert!(statuses.iter().all(|status| [200, 422, 503].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&200), "{statuses:?}");
    all_is_given_back(&server);
    let grown = server.peak_rss() - before;
    assert!(grown < 64 * MIB + BESIDE, "it took {} MiB more", grown / MIB);
    wait_until("what they took to go back to the system", || server.rss() < resting + 40 * MIB);
}

#[test]
fn what_makes_much_of_little_is_refused_before_it_is_made() {
    let server = filled();
    let before = server.peak_rss();
    for path in [
        // Points that no store has.
        "/render?target=randomWalk('x',1)&from=-1y&format=json",
        "/render?target=time('x',1)&from=-1y&format=png",
        "/render?target=hitcount(load.m1,'1s')&from=-90d&format=json",
        // Copies of copies.
        "/render?target=scale(group(load.*,load.*,load.*),2)&from=-1d&format=json",
        "/render?target=timeShift(load.*,'1h')&target=timeShift(load.*,'2h')&target=timeShift(load.*,'3h')&from=-1d&format=json",
        // A table of all series, with the rows of one.
        "/render?target=time('x',1)&target=load.*&from=-1d&format=dygraph",
        "/render?target=time('x',1)&from=-12d&format=json&pretty=1",
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 422, "{path}: {:.300}", answer.body);
        assert!(answer.body.contains("query.memory_each"), "{path}: {}", answer.body);
    }
    all_is_given_back(&server);
    let grown = server.peak_rss() - before;
    assert!(grown < 24 * MIB + BESIDE, "it took {} MiB more", grown / MIB);
}
