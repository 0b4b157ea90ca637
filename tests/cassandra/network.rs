//! A bad network between a server and its cluster: what was stored arrives, once; no writer number is shared; a full spool holds senders
//! back and nothing else.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plumbago::store::cassandra::Settings;

use crate::clock;
use crate::dice::Dice;
use crate::harness::{Server, Setup, now, send_to, wait_until};
use crate::proxy::{Framing, Proxy, Trouble};
use crate::servers::{fresh, schema, settle, setup, until};
use crate::skip::skip;

/// Sums, so that what counts twice shows.
const SUMS: &str =
    "[{ name = 'sum', pattern = 'sum$', retentions = '1s:2h,10s:6h,60s:2d', aggregation = 'sum' }]";

/// All but repeated frames: an answer that comes twice is taken for that of the next request of the same number, so a write would count as
/// done that never was. TCP does not repeat bytes, and nobody between a driver and a node repeats frames.
fn troubles() -> Vec<Trouble> {
    Trouble::ALL.into_iter().filter(|trouble| *trouble != Trouble::Duplicate).collect()
}

/// A proxy in front of the node, and the settings that lead through it.
fn proxied(settings: &Settings, dice: &mut Dice) -> (Proxy, Settings) {
    let node: SocketAddr = settings.nodes[0].parse().unwrap();
    let proxy = Proxy::start(node, Framing::Cassandra, dice.split());
    let through = Settings { nodes: vec![proxy.address.to_string()], ..settings.clone() };
    (proxy, through)
}

fn summing(settings: &Settings) -> Setup {
    setup(settings, "memory")
        .set("retention.rule", SUMS)
        .set("store.cassandra.connect_timeout", "2s")
        .set("store.cassandra.request_timeout", "5s")
}

/// A value of 1 for each of these seconds.
fn lines(name: &str, seconds: impl Iterator<Item = u64>) -> String {
    seconds.map(|second| format!("{name} 1 {second}\n")).collect()
}

/// The slots of the second stage from `base` on, for ten minutes.
fn coarse(server: &Server, name: &str, base: u64) -> Vec<(f64, u64)> {
    let mut points = server.points(name, now() - 3 * 3600, now());
    points.retain(|&(_, time)| (base..base + 600).contains(&time));
    points
}

/// A server that has seen nothing of it finds each of the ten minutes' points, and counts each once.
fn check(settings: &Settings, name: &str, base: u64) {
    let reader = setup(settings, "sasi").set("retention.rule", SUMS).start();
    let expected: Vec<(f64, u64)> = (0..60).map(|slot| (10.0, base + slot * 10)).collect();
    until("all points", || reader.points(name, base - 1, base + 600).len() == 600);
    until("the second stage", || coarse(&reader, name, base).len() == 60);
    assert_eq!(coarse(&reader, name, base), expected);
}

/// Waits until everything is in the cluster again, which takes until the driver has noticed.
fn arrive(server: &Server) {
    until("delivery", || server.post("/internal/flush?settle=1", &[]).status == 200);
    assert_eq!(server.counter("plumbago_spool_points"), 0);
}

/// The writer number that a server said it has.
fn writer(server: &Server) -> Option<String> {
    let said = server.errors();
    let (_, after) = said.split_once("writer=")?;
    Some(after.chars().take_while(char::is_ascii_digit).collect())
}

#[test]
fn points_reach_the_cluster_once_through_a_bad_network() {
    let test = "points_reach_the_cluster_once_through_a_bad_network";
    let Some(settings) = schema(test) else { return };
    let mut dice = Dice::printed(test);
    let (proxy, through) = proxied(settings, &mut dice);
    let (name, base) = (format!("{}.sum", fresh("stormy")), (now() - 5400) / 60 * 60);
    let server = summing(&through).start();
    server.store(&lines(&name, base..base + 1));
    settle(&server);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut second = 1;
            while second < 600 && !is_over.load(Ordering::SeqCst) {
                server.store(&lines(&name, base + second..base + second + 5));
                second += 5;
                std::thread::sleep(Duration::from_millis(100));
            }
            second
        });
        for trouble in troubles() {
            proxy.storm(&mut dice, &[trouble], 1);
        }
        proxy.storm(&mut dice, &troubles(), 6);
        is_over.store(true, Ordering::SeqCst);
        let sent = sender.join().unwrap();
        server.store(&lines(&name, base + sent..base + 600));
    });
    assert!(proxy.harm() > 0, "the network did no harm");
    arrive(&server);
    check(settings, &name, base);
}

#[test]
fn servers_on_both_sides_of_a_partition_share_no_number_and_count_nothing_twice() {
    let test = "servers_on_both_sides_of_a_partition_share_no_number_and_count_nothing_twice";
    let Some(settings) = schema(test) else { return };
    let mut dice = Dice::printed(test);
    let (proxy, through) = proxied(settings, &mut dice);
    let (name, base) = (format!("{}.sum", fresh("parted")), (now() - 5400) / 60 * 60);
    let every_third = |of: u64| lines(&name, (0..600).filter(move |i| i % 3 == of).map(|i| base + i));
    let (here, there) = (summing(settings).start(), summing(&through).start());
    here.store(&every_third(0));
    there.store(&every_third(1));
    settle(&here);
    settle(&there);
    let mine = writer(&there).unwrap();

    proxy.set(Trouble::HalfOpen);
    // Killed on the other side of the partition, it starts without the cluster; meanwhile somebody new asks for a number.
    let there = there.kill().start();
    let third = summing(settings).start();
    third.store(&every_third(2));
    settle(&third);
    // Late points of slots that it had delivered, and that wait on its side.
    there.store(&every_third(1));
    assert!(there.counter("plumbago_spool_points") > 0);
    proxy.set(Trouble::None);
    arrive(&there);
    let numbers: HashSet<String> = [&here, &there, &third].map(|server| writer(server).unwrap()).into();
    assert_eq!(numbers.len(), 3, "{numbers:?}");
    assert!(numbers.contains(&mine), "it has its own again");
    check(settings, &name, base);
}

/// A number that a configuration names can be taken over from a server that does not renew it. If that server only stood still, it must
/// not write under the number when it goes on.
#[test]
fn a_server_that_stood_still_for_longer_than_its_lease_writes_nothing_under_a_number_that_is_gone() {
    let test =
        "a_server_that_stood_still_for_longer_than_its_lease_writes_nothing_under_a_number_that_is_gone";
    let Some(settings) = schema(test) else { return };
    let (name, base) = (format!("{}.sum", fresh("still")), (now() - 5400) / 60 * 60);
    let number = Dice::printed(test).within(12_000..16_000).to_string();
    let with_number = || {
        summing(settings).set("store.cassandra.writer", &number).set("store.cassandra.renew_interval", "1s")
    };
    let one = with_number().start();
    one.store(&lines(&name, base..base + 300));
    settle(&one);
    one.signal("STOP");
    let two = with_number().start();
    two.store(&lines(&name, base + 300..base + 600));
    until("the refusal", || two.errors().contains("holds it and is alive"));
    assert!(two.counter("plumbago_spool_points") > 0, "it has no number, and delivers nothing");
    until("the other server to take over", || two.counter("plumbago_spool_points") == 0);
    one.signal("CONT");
    // Of slots that the other one wrote under the number.
    one.store(&lines(&name, (base + 300..base + 600).step_by(10)));
    until("the refusal", || one.errors().contains("holds it and is alive"));
    assert_eq!(one.counter("plumbago_cluster_trouble"), 1);
    assert!(one.counter("plumbago_spool_points") >= 30, "what it cannot deliver waits");
    settle(&two);
    check(settings, &name, base);
}

#[test]
fn servers_whose_clocks_are_ten_minutes_apart_share_no_number_and_count_nothing_twice() {
    let test = "servers_whose_clocks_are_ten_minutes_apart_share_no_number_and_count_nothing_twice";
    let Some(settings) = schema(test) else { return };
    let Some(library) = clock::library() else { return skip(test, "libfaketime is not installed") };
    let (name, base) = (format!("{}.sum", fresh("clocks")), (now() - 5400) / 60 * 60);
    let at = |off: &str| {
        let environment = clock::environment(&library).into_iter();
        let setup = environment.fold(summing(settings), |setup, (name, text)| setup.environment(name, &text));
        setup.environment("FAKETIME", off).start()
    };
    let (slow, fast) = (at("-300s"), at("+300s"));
    let every_second = |of: u64| lines(&name, (0..600).filter(move |i| i % 2 == of).map(|i| base + i));
    for _ in 0..2 {
        slow.store(&every_second(0));
        fast.store(&every_second(1));
        settle(&slow);
        settle(&fast);
    }
    assert_ne!(writer(&slow).unwrap(), writer(&fast).unwrap());
    check(settings, &name, base);
    // Each sees what the other has written, and adds it up as the rest does.
    let expected: Vec<(f64, u64)> = (0..60).map(|slot| (10.0, base + slot * 10)).collect();
    for server in [&slow, &fast] {
        until("the other's points", || coarse(server, &name, base) == expected);
    }
}

#[test]
fn a_full_spool_holds_senders_back_and_then_goes_on() {
    let test = "a_full_spool_holds_senders_back_and_then_goes_on";
    let Some(settings) = schema(test) else { return };
    let mut dice = Dice::printed(test);
    let (proxy, through) = proxied(settings, &mut dice);
    let (top, base) = (fresh("spooled"), now() - 3600);
    let all = |round: u64| -> String {
        let name = |i: u64| format!("{top}.m{}", i % 100);
        (0..20_000).map(|i| format!("{} {}.{i} {}\n", name(i), round, base + round * 200 + i / 100)).collect()
    };
    let limits = summing(&through).set("store.cassandra.spool_bytes", "100KiB");
    let server = limits.set("store.head_points", "20000").start();
    server.store(&format!("{top}.m0 1 {}\n", base - 1));
    settle(&server);
    // It knows all names now, and needs the cluster for points alone.
    until("all names", || server.counter("plumbago_names_loaded") == 1);
    proxy.set(Trouble::Refuse);
    // The sender is held back, so it has a thread of its own.
    let (carbon, rounds) = (server.carbon, (0..10).map(all).collect::<Vec<String>>());
    let sender =
        std::thread::spawn(move || rounds.iter().for_each(|lines| send_to(carbon, lines.as_bytes())));
    until("the full spool", || server.get("/health/ready").body.contains("store.cassandra.spool_bytes"));
    wait_until("senders to be held back", || {
        send_to(server.carbon, format!("{top}.m0 1 {}\n", now()).as_bytes());
        server.counter("plumbago_backpressure_pauses_total") > 0
    });
    // What is in memory and on disk here answers, and what waits has its bound.
    assert_eq!(
        server.json(&format!("/metrics/find?format=json&query={top}.*")).as_array().unwrap().len(),
        100
    );
    let spooled = server.counter("plumbago_disk_spool_bytes");
    assert!((100 << 10..50 << 20).contains(&spooled), "{spooled} bytes wait");

    proxy.set(Trouble::None);
    sender.join().unwrap();
    server.wait_for("plumbago_points_stored_total", 200_001);
    until("delivery", || server.counter("plumbago_spool_points") == 0);
    let points = server.points(&format!("{top}.m7"), base - 1, base + 2000);
    assert_eq!(points.len(), 2000);
}

/// The cluster's points, the name and what the server holds go one after another, and each of them takes its time here.
#[test]
fn a_deletion_that_a_kill_interrupts_leaves_the_whole_metric_or_nothing() {
    let test = "a_deletion_that_a_kill_interrupts_leaves_the_whole_metric_or_nothing";
    let Some(settings) = schema(test) else { return };
    let mut dice = Dice::printed(test);
    let (proxy, through) = proxied(settings, &mut dice);
    let (top, base) = (fresh("halved"), now() - 600);
    let reader = setup(settings, "sasi").set("retention.rule", SUMS).start();
    let mut server = summing(&through).start();
    for round in 0..3 {
        let name = format!("{top}.m{round}.sum");
        server.store(&lines(&name, base..base + 100));
        arrive(&server);
        // These are in memory, or on their way.
        server.store(&lines(&name, base + 100..base + 200));
        proxy.set(Trouble::Delay);
        std::thread::scope(|scope| {
            // It fails if the server dies first.
            let deletes = scope.spawn(|| server.post("/internal/delete", &[("query", &name)]));
            std::thread::sleep(Duration::from_millis(dice.within(1..300)));
            server.signal("KILL");
            let _ = deletes.join();
        });
        proxy.set(Trouble::None);
        server = server.kill().start();
        let here_and_there = || [&server, &reader].map(|at| at.points(&name, base - 1, base + 300).len());
        until("all of it or nothing", || matches!(here_and_there(), [200, 200] | [0, 0]));
    }
}
