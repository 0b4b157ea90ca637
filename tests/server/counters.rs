//! `/internal/metrics` on the real server: its form, and the gauges that are read from the system.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use super::harness::{Server, Setup, now, wait_until};

/// A server with points in blocks and in the log.
fn filled() -> Server {
    let (server, time) = (Server::start(), now() / 60 * 60 - 600);
    server.store(&(0..100).map(|i| format!("gauge.m{i} {i} {time}\n")).collect::<String>());
    assert_eq!(server.post("/internal/flush", &[("settle", "1")]).status, 200);
    server.store(&format!("gauge.late 1 {time}\n"));
    server
}

/// Prometheus refuses a whole page for one line that it cannot read.
#[test]
fn the_text_is_one_that_prometheus_reads() {
    let server = filled();
    server.get("/render?target=gauge.*&format=json");
    server.get("/no/such/page");
    let text = server.get("/internal/metrics").body;
    let sample =
        Regex::new(r#"^([a-z_]+)(\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? (\d+(?:\.\d+)?(?:e-?\d+)?)$"#)
            .unwrap();
    let (mut family, mut families, mut all) = (String::new(), BTreeSet::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("# HELP ") {
            family = head.split(' ').next().unwrap().to_owned();
            assert!(families.insert(family.clone()), "a second family {family}");
        } else if let Some(head) = line.strip_prefix("# TYPE ") {
            let kind =
                head.strip_prefix(&format!("{family} ")).unwrap_or_else(|| panic!("{line} after {family}"));
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
        } else {
            let parts = sample.captures(line).unwrap_or_else(|| panic!("not a sample: {line}"));
            let suffix = parts[1].strip_prefix(&family).unwrap_or_else(|| panic!("{line} below {family}"));
            assert!(["", "_bucket", "_sum", "_count"].contains(&suffix), "{line} below {family}");
            assert!(all.insert(line.rsplit_once(' ').unwrap().0), "twice: {line}");
        }
    }
    let bucket = "plumbago_http_request_seconds_bucket{endpoint=\"/render\",le=\"+Inf\"} 1\n";
    assert!(text.contains(bucket), "{text}");
}

#[test]
fn the_disk_gauges_are_the_sizes_of_the_files() {
    let server = filled();
    let data = server.setup().directory().join("data");
    let gauge = |part: &str| server.counter(&format!("plumbago_disk_part_bytes{{part=\"{part}\"}}"));
    // Blocks may be merged and the log synced at any moment.
    wait_until("the bytes of blocks", || gauge("blocks") == bytes(&data.join("points")));
    let of_catalogue = || bytes(&data.join("catalogue.redb")) + bytes(&data.join("catalogue.transcript"));
    wait_until("the bytes of the catalogue", || gauge("catalogue") == of_catalogue());
    wait_until("the bytes of the log", || gauge("log") == bytes(&data.join("log")));
    assert!(["blocks", "catalogue", "log"].iter().all(|part| gauge(part) > 0));
    let sum = gauge("blocks") + gauge("catalogue") + gauge("log");
    assert_eq!(server.counter("plumbago_disk_used_bytes"), sum);
    assert_eq!(server.counter("plumbago_disk_spool_bytes"), 0, "there is no cluster");
    assert!(server.counter("plumbago_disk_free_bytes") > 0);
    let text = server.get("/internal/metrics").body;
    let stages = Regex::new(r#"plumbago_disk_stage_bytes\{stage="([^"]+)"\} (\d+)"#).unwrap();
    let mut in_stages = 0;
    for stage in stages.captures_iter(&text) {
        assert!(data.join("points").join(&stage[1]).is_dir(), "{}", &stage[0]);
        in_stages += stage[2].parse::<u64>().unwrap();
    }
    assert_eq!(in_stages, gauge("blocks"));
}

#[test]
fn the_process_gauges_are_those_of_the_server() {
    let server = filled();
    for name in ["process_resident_memory_bytes", "process_virtual_memory_bytes"] {
        assert!(server.counter(name) > 1_000_000, "{name}");
    }
    assert!(server.counter("process_threads") > 2);
    assert!(server.counter("process_max_fds") >= server.counter("process_open_fds"));
    let started = server.counter("process_start_time_seconds");
    assert!((now() - 3600..=now() + 2).contains(&started), "{started}");
    server.counter("process_cpu_seconds_total");
    // A connection is an open file.
    let before = server.counter("process_open_fds");
    let held: Vec<std::net::TcpStream> =
        (0..20).map(|_| std::net::TcpStream::connect(server.carbon).unwrap()).collect();
    wait_until("the connections among the files", || server.counter("process_open_fds") >= before + 20);
    drop(held);
}

#[test]
fn its_own_metrics_are_those_that_the_manual_lists() {
    let server = Setup::new()
        .set("telemetry.carbon_interval", "1s")
        .set("telemetry.carbon_prefix", "carbon.agents.here")
        .start();
    let listed = listed_own_metrics();
    let stored = || -> BTreeSet<String> {
        let names = server.json("/metrics/index.json");
        let names = names.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        names.filter_map(|name| name.strip_prefix("carbon.agents.here.")).map(str::to_owned).collect()
    };
    // An endpoint has a latency only if it was asked in the interval.
    wait_until("own numbers", || {
        assert_eq!(server.get("/metrics/find?query=*").status, 200);
        assert_eq!(server.get("/render?target=a&format=json").status, 200);
        stored().len() >= listed.len()
    });
    assert_eq!(stored(), listed);
}

/// The names in the first column of the table; `.p95` behind `a.b.p50` means `a.b.p95`.
fn listed_own_metrics() -> BTreeSet<String> {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/OPERATIONS.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    let (_, section) = manual.split_once("### Its own numbers as metrics\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let mut listed = BTreeSet::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let mut parent = "";
        for name in line.split('|').nth(1).unwrap().split(',').map(|name| name.trim().trim_matches('`')) {
            let leaf = name.strip_prefix('.');
            let (before, _) = name.rsplit_once('.').unwrap_or_default();
            parent = if leaf.is_some() { parent } else { before };
            listed.insert(leaf.map_or(name.to_owned(), |leaf| format!("{parent}.{leaf}")));
        }
    }
    assert!(listed.len() > 10, "{listed:?}");
    listed
}

/// Bytes of a file, or of all files below a directory.
fn bytes(path: &Path) -> u64 {
    // A file may go between the listing and the look at it.
    let Ok(metadata) = std::fs::metadata(path) else { return 0 };
    if metadata.is_file() {
        return metadata.len();
    }
    std::fs::read_dir(path).unwrap().map(|entry| bytes(&entry.unwrap().path())).sum()
}
