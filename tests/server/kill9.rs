//! Kill -9 under load, again and again on one directory: no point that was counted as stored is missing afterwards, and
//! no value appears that was not sent.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::dice::Dice;
use crate::harness::{Server, Setup, now};

/// Kills, unless `TEST_KILLS` says otherwise.
const KILLS: u64 = 20;
/// Most kills of one directory.
const ROUNDS: u64 = 20;
/// What was sent so long before a kill should have been stored.
const OLD: Duration = Duration::from_millis(250);
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

/// What was sent and stored when a server was killed.
struct Load {
    /// Counted as stored.
    stored: u64,
    /// Given to the kernel, at least in part.
    begun: u64,
    /// Of these, so many [`OLD`] before the kill.
    old: u64,
}

/// What was found after all kills.
#[derive(Default)]
struct Tally {
    kills: u64,
    stored: u64,
    sent: u64,
    /// Points that were sent in time, not counted as stored, and are gone.
    old_and_gone: u64,
}

/// Sends the points of a round in order over one connection until it breaks. `begun` counts those that may have left. Gives when.
fn send(carbon: SocketAddr, round: u64, base: u64, begun: &AtomicU64) -> Vec<(Instant, u64)> {
    let mut times = Vec::new();
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
            return times;
        }
        times.push((Instant::now(), end));
        seq = end;
        // Fast, but not so fast that a round is over before the kill.
        std::thread::sleep(Duration::from_micros(400));
    }
    times
}

/// Kills the server after `life` under load.
fn run_and_kill(server: Server, round: u64, base: u64, life: Duration) -> (Load, Setup) {
    let begun = AtomicU64::new(0);
    let carbon = server.carbon;
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| send(carbon, round, base, &begun));
        let die = Instant::now() + life;
        let mut stored = 0;
        while Instant::now() < die {
            stored = server.counter("plumbago_points_stored_total");
        }
        let killed = Instant::now();
        let setup = server.kill();
        let times = sender.join().unwrap();
        let old = times.iter().rev().find(|(when, _)| *when + OLD <= killed).map_or(0, |(_, end)| *end);
        (Load { stored, begun: begun.load(Ordering::SeqCst), old }, setup)
    })
}

/// Compares the slots of a round with what was sent, and remembers them as they are. Gives how many are gone that were sent long before
/// and not counted.
fn check(
    server: &Server,
    round: u64,
    base: u64,
    &Load { stored, begun, old }: &Load,
    kept: &mut HashMap<(u64, u64), f64>,
) -> u64 {
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
    let gone = writes.iter().filter(|(place, seqs)| !found.contains_key(place) && seqs[0] < old).count();
    kept.extend(found);
    gone as u64
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
    let mut dice = Dice::printed("nothing_stored_is_lost");
    let kills = std::env::var("TEST_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let mut tally = Tally::default();
    while tally.kills < kills {
        let rounds = ROUNDS.min(kills - tally.kills);
        kill_again_and_again(rounds, &mut dice, &mut tally);
    }
    println!(
        "{} kills under load: {} points sent, {} counted as stored, 0 of these lost, 0 wrong values; {} others gone that \
         were sent {OLD:?} before",
        tally.kills, tally.sent, tally.stored, tally.old_and_gone
    );
}

/// One directory, killed so many times.
fn kill_again_and_again(rounds: u64, dice: &mut Dice, tally: &mut Tally) {
    // Frequent cuts, so that many of the kills hit one.
    let setup = Setup::new().set("retention.default", "1s:2d,1m:7d").set("store.head_points", "40000");
    let base = now() / 60 * 60 - 130_000;
    let mut setup = Some(setup.set("store.cut_interval", "100ms"));
    let mut kept = HashMap::new();
    for round in 0..rounds {
        let server = setup.take().unwrap().start();
        let life = dice.millis(30..530);
        let (load, killed) = run_and_kill(server, round, base, life);
        let server = killed.start();
        println!("round {round}: killed after {life:?}, {} stored, {} sent", load.stored, load.begun);
        tally.old_and_gone += check(&server, round, base, &load, &mut kept);
        tally.kills += 1;
        tally.stored += load.stored;
        tally.sent += load.begun;
        setup = Some(server.kill());
    }
    assert!(
        kept.len() as u64 > 500 * rounds,
        "the load was too small to mean anything: {} points",
        kept.len()
    );
    let server = setup.take().unwrap().start();
    let all = read(&server, base, 0..rounds * SLOTS);
    assert!(all == kept, "what was read after one restart is not there after the others");
    check_rollups(&server, base, &kept);
}
