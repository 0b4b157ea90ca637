//! Kill -9 under load, again and again on one directory: no point that was counted as stored is missing afterwards, and
//! no value appears that was not sent.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::harness::{Server, Setup, now};

const ROUNDS: u64 = 20;
const METRICS: u64 = 100;
/// Most points of one round; a round owns this many slots of each metric.
const POINTS: u64 = 300_000;
const SLOTS: u64 = POINTS / METRICS;
/// Every so many points one goes to a slot that was written a while before.
const REWRITE_EVERY: u64 = 10;
const REWRITE_BACK: u64 = 4_000;

/// What was sent as number `seq` of a round: metric, slot, value. The value says which point it is.
fn point(round: u64, seq: u64) -> (u64, u64, f64) {
    let rewrites = seq % REWRITE_EVERY == REWRITE_EVERY - 1 && seq >= REWRITE_BACK;
    let place = if rewrites { seq - REWRITE_BACK } else { seq };
    (place % METRICS, round * SLOTS + place / METRICS, (round * POINTS + seq) as f64)
}

/// Sends the points of a round in order over one connection until it breaks. `begun` counts those that may have left.
fn send(carbon: SocketAddr, round: u64, base: u64, begun: &AtomicU64) {
    let mut stream = TcpStream::connect(carbon).unwrap();
    let mut seq = 0;
    while seq < POINTS {
        let mut lines = String::new();
        let end = (seq + 200).min(POINTS);
        for (metric, slot, value) in (seq..end).map(|seq| point(round, seq)) {
            lines.push_str(&format!("kill.m{metric} {value} {}\n", base + slot));
        }
        begun.store(end, Ordering::SeqCst);
        if stream.write_all(lines.as_bytes()).is_err() {
            return;
        }
        seq = end;
        // Fast, but not so fast that a round is over before the kill.
        std::thread::sleep(Duration::from_micros(400));
    }
}

/// Kills the server after `life` under load. Gives how many points it had counted as stored, and how many had been sent.
fn run_and_kill(server: Server, round: u64, base: u64, life: Duration) -> (u64, u64, Setup) {
    let begun = AtomicU64::new(0);
    let carbon = server.carbon;
    std::thread::scope(|scope| {
        scope.spawn(|| send(carbon, round, base, &begun));
        let die = Instant::now() + life;
        let mut stored = 0;
        while Instant::now() < die {
            stored = server.counter("plumbago_points_stored_total");
        }
        let setup = server.kill();
        (stored, begun.load(Ordering::SeqCst), setup)
    })
}

/// Compares the slots of a round with what was sent, and remembers them as they are.
fn check(
    server: &Server,
    round: u64,
    base: u64,
    (stored, begun): (u64, u64),
    kept: &mut HashMap<(u64, u64), f64>,
) {
    let mut writes: HashMap<(u64, u64), Vec<u64>> = HashMap::new();
    for seq in 0..begun {
        let (metric, slot, _) = point(round, seq);
        writes.entry((metric, slot)).or_default().push(seq);
    }
    let found = read(server, base, round * SLOTS..(round + 1) * SLOTS);
    for (place, value) in &found {
        let seqs =
            writes.get(place).unwrap_or_else(|| panic!("round {round}: {value} at {place:?} was never sent"));
        // The last of those counted as stored, or any that came after the count.
        let last_stored = seqs.iter().rposition(|&seq| seq < stored).unwrap_or(0);
        let allowed = seqs[last_stored..].iter().any(|&seq| point(round, seq).2 == *value);
        assert!(
            allowed,
            "round {round}: {place:?} has {value}, sent were {seqs:?}, {stored} stored of {begun}"
        );
    }
    for (place, seqs) in &writes {
        assert!(
            found.contains_key(place) || seqs[0] >= stored,
            "round {round}: {place:?} is missing; it was sent as {seqs:?}, {stored} were stored"
        );
    }
    kept.extend(found);
}

/// Every value in a range of slots, by metric and slot.
fn read(server: &Server, base: u64, slots: std::ops::Range<u64>) -> HashMap<(u64, u64), f64> {
    let (from, until) = (base + slots.start - 1, base + slots.end - 1);
    let one = |metric: u64| (metric, server.points(&format!("kill.m{metric}"), from, until));
    let flat = |(metric, points): (u64, Vec<(f64, u64)>)| {
        points.into_iter().map(move |(v, t)| ((metric, t - base), v))
    };
    (0..METRICS).map(one).flat_map(flat).collect()
}

/// The stage of a minute is the average of what the stage of a second holds.
fn check_rollups(server: &Server, base: u64, kept: &HashMap<(u64, u64), f64>) {
    let mut minutes: HashMap<(u64, u64), Vec<(u64, f64)>> = HashMap::new();
    for (&(metric, slot), &value) in kept {
        minutes.entry((metric, (base + slot) / 60 * 60)).or_default().push((slot, value));
    }
    let mut compared = 0;
    for (name, points) in server.render("kill.*", now() - 3 * 86_400, now()) {
        let metric = name.trim_start_matches("kill.m").parse::<u64>().unwrap();
        for (value, time) in points {
            let seconds = &minutes[&(metric, time)];
            let average = seconds.iter().map(|(_, value)| value).sum::<f64>() / seconds.len() as f64;
            assert!(
                (value - average).abs() <= 1e-9 * average.abs().max(1.0),
                "{name} at {time}: {value}, not {average}"
            );
            compared += 1;
        }
    }
    let full = minutes.values().filter(|seconds| seconds.len() >= 30).count();
    assert_eq!(compared, full, "slots of a minute that are at least half full");
}

#[test]
fn nothing_stored_is_lost() {
    // Frequent cuts, so that many of the kills hit one.
    let setup = Setup::new().set("retention.default", "1s:2d,1m:7d").set("store.head_points", "40000");
    let base = now() / 60 * 60 - 130_000;
    let mut setup = Some(setup.set("store.cut_interval", "100ms"));
    let mut kept = HashMap::new();
    let mut seed = now() | 1;
    for round in 0..ROUNDS {
        let server = setup.take().unwrap().start();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let life = Duration::from_millis(30 + (seed >> 33) % 500);
        let (stored, begun, killed) = run_and_kill(server, round, base, life);
        let server = killed.start();
        println!("round {round}: killed after {life:?}, {stored} stored, {begun} sent");
        check(&server, round, base, (stored, begun), &mut kept);
        setup = Some(server.kill());
    }
    assert!(kept.len() > 10_000, "the load was too small to mean anything: {} points", kept.len());
    let server = setup.take().unwrap().start();
    let all = read(&server, base, 0..ROUNDS * SLOTS);
    assert!(all == kept, "what was read after one restart is not there after the others");
    check_rollups(&server, base, &kept);
}
