//! Figures at a million names. Run by hand in release: `cargo test --release --lib index::measure -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use super::*;

const SUBSYSTEMS: [&str; 20] = [
    "cpu", "mem", "disk", "net", "nginx", "mysql", "redis", "kafka", "jvm", "gc", "tcp", "udp", "swap", "fs",
    "proc", "users", "ntp", "dns", "http", "app",
];
const METRICS: [&str; 10] =
    ["load1", "load5", "load15", "idle", "user", "system", "iowait", "steal", "count", "errors"];

fn metric_names() -> Vec<String> {
    let mut names = Vec::new();
    for host in 0..5000 {
        for subsystem in SUBSYSTEMS {
            for metric in METRICS {
                names.push(format!("servers.dc{}.host{host}.{subsystem}.{metric}", host % 10));
            }
        }
    }
    names
}

/// A cheap permutation, so that lookups miss the cache as they do in life.
fn shuffled(names: &[String]) -> Vec<&str> {
    (0..names.len()).map(|i| names[i * 7_368_787 % names.len()].as_str()).collect()
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

fn median(runs: usize, mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[runs / 2]
}

fn build(names: &[String]) -> Index {
    let before = resident_bytes();
    let start = Instant::now();
    let mut index = Index::new();
    let mut worst = Duration::ZERO;
    for (id, name) in (0..).zip(names) {
        let one = Instant::now();
        index.insert(MetricId(id), name).unwrap();
        worst = worst.max(one.elapsed());
    }
    let took = start.elapsed();
    println!("insert in order: {:.0} k/s, worst {worst:?}", names.len() as f64 / took.as_secs_f64() / 1e3);
    let bytes = |bytes: usize| bytes as f64 / names.len() as f64;
    let resident = bytes(resident_bytes().saturating_sub(before));
    println!("memory: {:.1} B/metric counted, {resident:.1} resident", bytes(index.memory_bytes()));
    index
}

#[test]
#[ignore = "figures, not a test"]
fn a_million_names() {
    let names = metric_names();
    let index = build(&names);
    let shuffled = shuffled(&names);

    let mut random = Index::new();
    let took = median(1, || {
        for (id, name) in (0..).zip(&shuffled) {
            random.insert(MetricId(id), name).unwrap();
        }
    });
    println!("insert shuffled: {:.0} k/s", names.len() as f64 / took.as_secs_f64() / 1e3);

    let mut out = Vec::with_capacity(names.len());
    for (label, order) in [("shuffled", &shuffled), ("in order", &names.iter().map(String::as_str).collect())]
    {
        let took = median(5, || {
            out.clear();
            for batch in order.chunks(1000) {
                index.lookup_many(batch.iter().copied(), &mut out);
            }
        });
        assert!(out.iter().all(Option::is_some));
        println!("lookup_many {label}: {:.2} M/s", names.len() as f64 / took.as_secs_f64() / 1e6);
    }
    let took = median(5, || assert!(shuffled.iter().all(|name| index.lookup(name.as_bytes()).is_some())));
    println!("lookup shuffled: {:.2} M/s", names.len() as f64 / took.as_secs_f64() / 1e6);

    let limits = FindLimits { max_hits: usize::MAX };
    let shared = SharedIndex::new(index);
    for pattern in [
        "servers.dc1.host1.cpu.load1",
        "servers.*",
        "servers.dc3.*",
        "servers.dc3.*.cpu.load1",
        "servers.*.host1*.{cpu,mem}.load?",
        "servers.*.host*.{cpu,mem}.load1",
        "servers.*.host1?3*.cpu.load[15]",
        "servers.*.*.nginx.steal",
        "*.*.*.*.*",
        "**.steal",
        "**",
    ] {
        let mut hits = 0;
        let took = median(15, || {
            let glob = Glob::parse(pattern).unwrap();
            hits = shared.find(&glob, limits, &|_| true, &Cancel::never()).unwrap().len();
        });
        println!("{pattern:40} {hits:8} hits {took:>12.1?}");
    }
    let took = median(3, || {
        let mut walk = NameWalk::new();
        while !walk.next_chunk(&shared.read(), 1000).is_empty() {}
    });
    println!("all names in chunks of 1000: {took:.1?}");
}
