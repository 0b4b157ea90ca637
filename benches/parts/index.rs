//! The index at a million names.

use std::time::{Duration, Instant};

use plumbago::index::{FindLimits, Index, NameWalk, SharedIndex};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId};

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

/// A cheap permutation, so that lookups miss the cache as they do in production.
fn shuffled(names: &[String]) -> Vec<&str> {
    (0..names.len()).map(|i| names[i * 7_368_787 % names.len()].as_str()).collect()
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

/// CPU time of this process so far, in steps of a few milliseconds. Other work on the machine does not count.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

/// The fastest of several runs by the clock, and the mean of their CPU time.
struct Took {
    best: Duration,
    cpu: Duration,
}

/// Dropping the result counts as CPU time, but not by the clock.
fn time<T>(runs: u32, mut work: impl FnMut() -> T) -> Took {
    let cpu = cpu_time();
    let mut best = Duration::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        let done = work();
        best = best.min(start.elapsed());
        drop(done);
    }
    Took { best, cpu: (cpu_time() - cpu) / runs }
}

fn rate(what: &str, count: usize, took: Took) {
    let per_second = |took: Duration| count as f64 / took.as_secs_f64() / 1e6;
    println!(
        "{what:36} best {:6.2} M/s, {:6.2} M/s of processor",
        per_second(took.best),
        per_second(took.cpu)
    );
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

/// Prints memory, lookups, finds and walks.
pub(crate) fn run() {
    let names = metric_names();
    let index = build(&names);
    let shuffled = shuffled(&names);

    let count = names.len();
    rate(
        "insert shuffled",
        count,
        time(3, || {
            let mut index = Index::new();
            for (id, name) in (0..).zip(&shuffled) {
                index.insert(MetricId(id), name).unwrap();
            }
            index
        }),
    );
    let mut out = Vec::with_capacity(count);
    for (label, order) in [
        ("lookup_many shuffled", &shuffled),
        ("lookup_many in order", &names.iter().map(String::as_str).collect()),
    ] {
        let took = time(9, || {
            out.clear();
            for batch in order.chunks(1000) {
                index.lookup_many(batch.iter().copied(), &mut out);
            }
        });
        assert!(out.iter().all(Option::is_some));
        rate(label, count, took);
    }
    let one_by_one = || assert!(shuffled.iter().all(|name| index.lookup(name.as_bytes()).is_some()));
    rate("lookup shuffled", count, time(9, one_by_one));

    let shared = SharedIndex::new(index);
    for pattern in [
        "servers.dc1.host1.cpu.load1",
        "servers.*",
        "servers.dc3.*",
        "servers.dc3.*.cpu.load1",
        "servers.*.host1*.{cpu,mem}.load1",
        "servers.*.host1*.{cpu,mem}.load?",
        "servers.*.host*.{cpu,mem}.load1",
        "servers.*.host1?3*.cpu.load[15]",
        "servers.*.*.nginx.steal",
        "*.*.*.*.*",
        "**.steal",
        "**",
    ] {
        find(&shared, pattern);
    }
    let took = time(5, || {
        let mut walk = NameWalk::new();
        while !walk.next_chunk(&shared.read(), 1000).is_empty() {}
    });
    println!("all names in chunks of 1000: best {:.1?}, processor {:.1?}", took.best, took.cpu);
}

fn find(shared: &SharedIndex, pattern: &str) {
    let limits = FindLimits::NONE;
    let mut hits = 0;
    let took = time(25, || {
        let glob = Glob::parse(pattern).unwrap();
        let found = shared.find(&glob, limits, &Cancel::never()).unwrap();
        hits = found.len();
        found
    });
    println!("{pattern:36} {hits:8} hits  best {:>9.1?}  processor {:>9.1?}", took.best, took.cpu);
}
