//! The programs people have: relays in front of it, and Grafana's questions behind it.

use std::collections::HashSet;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::harness::{Server, Setup, find_program, now, send_to, wait_until};
use super::skip::skip;

const POINTS: u64 = 20_000;

/// Points that a relay can hold while it cannot deliver: more than any test sends.
const QUEUE: u32 = 100_000;

/// A relay that is killed in the end.
pub(crate) struct Relay {
    child: Child,
    /// Where it takes lines.
    pub(crate) address: SocketAddr,
    /// Its configuration and what it says.
    directory: TempDir,
}

impl Relay {
    /// carbon-c-relay, sending to `destination`. Skips `test` loudly if it is not installed.
    pub(crate) fn carbon_c_relay(test: &str, destination: SocketAddr) -> Option<Self> {
        Self::carbon_c_relay_by(test, &destination.to_string(), &[])
    }

    /// The same, with more about the destination and with other arguments.
    pub(crate) fn carbon_c_relay_by(test: &str, destination: &str, arguments: &[&str]) -> Option<Self> {
        let Some(program) = find_program("carbon-c-relay") else {
            skip(test, "carbon-c-relay is not installed");
            return None;
        };
        let (address, directory) = (free_address(), tempfile::tempdir().unwrap());
        let config = directory.path().join("relay.conf");
        let text = format!(
            "listen type linemode 127.0.0.1:{} proto tcp ;\ncluster us forward {destination} ;\n\
             match * send to us stop ;\n",
            address.port(),
        );
        fs::write(&config, text).unwrap();
        let mut command = Command::new(program);
        // Without numbers of its own, which would come in between.
        command.arg("-s").arg("-q").arg(QUEUE.to_string()).args(arguments).arg("-f").arg(&config);
        Some(Self::start(&mut command, address, directory))
    }

    /// Carbon's own relay, sending to `destination` by `pickle` or `line`. Skips `test` loudly if it is not installed.
    pub(crate) fn carbon_relay(test: &str, protocol: &str, destination: SocketAddr) -> Option<Self> {
        let Some(environment) = environment("TEST_CARBON") else {
            skip(test, "TEST_CARBON names no environment with carbon");
            return None;
        };
        let (address, directory) = (free_address(), tempfile::tempdir().unwrap());
        let root = directory.path();
        fs::create_dir_all(root.join("conf")).unwrap();
        fs::create_dir_all(root.join("storage/log")).unwrap();
        // It insists on one, relay or not.
        fs::write(root.join("conf/storage-schemas.conf"), "[all]\npattern = .*\nretentions = 60s:1d\n")
            .unwrap();
        fs::write(root.join("conf/carbon.conf"), carbon_conf(root, address, protocol, destination)).unwrap();
        let mut command = Command::new(environment.join("bin/python"));
        command
            .arg(environment.join("bin/carbon-relay.py"))
            .args(["--nodaemon", "--config"])
            .arg(root.join("conf/carbon.conf"))
            .arg("start")
            .env("GRAPHITE_ROOT", root);
        Some(Self::start(&mut command, address, directory))
    }

    /// Starts it with its output in its directory.
    fn start(command: &mut Command, address: SocketAddr, directory: TempDir) -> Self {
        let log = directory.path().join("relay.log");
        let out = fs::File::create(&log).unwrap();
        let child =
            command.stdin(Stdio::null()).stderr(out.try_clone().unwrap()).stdout(out).spawn().unwrap();
        let mut relay = Self { child, address, directory };
        wait_until("the relay", || {
            if let Some(status) = relay.child.try_wait().unwrap() {
                panic!("the relay ended with {status}: {}", relay.said());
            }
            TcpStream::connect(address).is_ok()
        });
        relay
    }

    /// What it printed so far.
    fn said(&self) -> String {
        fs::read_to_string(self.directory.path().join("relay.log")).unwrap_or_default()
    }

    /// Sends points through the relay and checks that the server has every one of them.
    pub(crate) fn check(&self, server: &Server) {
        let points = Numbered::new();
        send_to(self.address, points.lines(0..POINTS).as_bytes());
        points.arrive(server, POINTS);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the relay said:\n{}", self.said());
        }
    }
}

/// Points by number: each has a slot of its own, and its number for a value.
pub(crate) struct Numbered {
    start: u64,
}

impl Numbered {
    const METRICS: u64 = 50;
    const STEP: u64 = 6;

    /// Long enough ago for half a million of them.
    pub(crate) fn new() -> Self {
        Self { start: now() / 60 * 60 - 60_000 }
    }

    /// The lines that bring these points.
    pub(crate) fn lines(&self, numbers: Range<u64>) -> String {
        numbers.map(|i| format!("numbered.m{} {i} {}\n", i % Self::METRICS, self.time(i))).collect()
    }

    /// Waits until the server has the first `count` points, and nothing else.
    pub(crate) fn arrive(&self, server: &Server, count: u64) {
        let mut missing = self.missing(server, count);
        let give_up = Instant::now() + Duration::from_secs(30);
        while !missing.is_empty() && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(50));
            missing = self.missing(server, count);
        }
        let some: Vec<_> = missing.iter().take(20).collect();
        assert!(missing.is_empty(), "{} of {count} points are missing: {some:?} ...", missing.len());
    }

    fn missing(&self, server: &Server, count: u64) -> Vec<u64> {
        let series = server.render("numbered.*", self.start - Self::STEP, self.time(count));
        let mut found = HashSet::new();
        for (name, points) in series {
            for (value, time) in points {
                let number = value as u64;
                let sent = (format!("numbered.m{}", number % Self::METRICS), self.time(number));
                assert_eq!((&name, time), (&sent.0, sent.1), "nobody sent {value} here");
                found.insert(number);
            }
        }
        (0..count).filter(|number| !found.contains(number)).collect()
    }

    /// The time of a point.
    pub(crate) fn time(&self, number: u64) -> u64 {
        self.start + number / Self::METRICS * Self::STEP
    }
}

/// An address for a program that cannot choose its own, or must keep it. Not from the range that the system hands out to everybody who asks
/// for any port: the servers of other tests would get it before the relay does.
pub(crate) fn free_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = 20_000 + (std::process::id() % 8_000) as u16;
    loop {
        let address = SocketAddr::from(([127, 0, 0, 1], base + NEXT.fetch_add(1, Ordering::Relaxed)));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

fn server() -> Server {
    Setup::new().set("retention.default", "6s:1d").start()
}

/// A Python environment made by `scripts/peers`, which `scripts/test` names to us.
fn environment(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.join("bin/python").exists())
}

#[test]
fn carbon_c_relay_feeds_it() {
    let server = server();
    let Some(relay) = Relay::carbon_c_relay("carbon_c_relay_feeds_it", server.carbon) else { return };
    relay.check(&server);
}

#[test]
fn carbons_own_relay_feeds_it_by_pickle() {
    let server = server();
    let test = "carbons_own_relay_feeds_it_by_pickle";
    let Some(relay) = Relay::carbon_relay(test, "pickle", server.pickle) else { return };
    relay.check(&server);
}

#[test]
fn carbons_own_relay_feeds_it_by_lines() {
    let server = server();
    let test = "carbons_own_relay_feeds_it_by_lines";
    let Some(relay) = Relay::carbon_relay(test, "line", server.carbon) else { return };
    relay.check(&server);
}

fn carbon_conf(root: &Path, listen: SocketAddr, protocol: &str, destination: SocketAddr) -> String {
    format!(
        "[relay]\nSTORAGE_DIR = {root}/storage\nLOG_DIR = {root}/storage/log\nPID_DIR = {root}/storage\n\
         CONF_DIR = {root}/conf\nUSER =\nRELAY_METHOD = consistent-hashing\n\
         LINE_RECEIVER_INTERFACE = 127.0.0.1\nLINE_RECEIVER_PORT = {port}\n\
         PICKLE_RECEIVER_INTERFACE = 127.0.0.1\nPICKLE_RECEIVER_PORT = 0\n\
         DESTINATIONS = {destination}\nDESTINATION_PROTOCOL = {protocol}\n\
         MAX_QUEUE_SIZE = {QUEUE}\nUSE_FLOW_CONTROL = True\nCARBON_METRIC_INTERVAL = 0\n",
        root = root.display(),
        port = listen.port(),
    )
}

/// The requests that Grafana's Graphite data source makes, in Python, as a script of a user would.
const GRAFANA: &str = r#"
import json, sys, time, requests
base, t = sys.argv[1], int(sys.argv[2])
s = requests.Session()
render = s.post(base + '/render', data={
    'target': ["aliasByNode(grafana.*.cpu, 1)", 'randomWalk'][:1], 'from': t - 60, 'until': t + 60,
    'format': 'json', 'maxDataPoints': 600})
render.raise_for_status()
series = {x['target']: [v for v, _ in x['datapoints'] if v is not None] for x in render.json()}
assert series == {'h1': [1.0], 'h2': [2.0]}, series
find = s.post(base + '/metrics/find', data={'query': 'grafana.*', 'from': t - 60, 'until': t + 60})
find.raise_for_status()
assert sorted((n['text'], n['expandable']) for n in find.json()) == [('h1', 1), ('h2', 1)], find.text
expand = s.get(base + '/metrics/expand', params={'query': 'grafana.h1.*'})
expand.raise_for_status()
assert expand.json()['results'] == ['grafana.h1.cpu'], expand.text
functions = s.get(base + '/functions')
functions.raise_for_status()
assert functions.json()['sumSeries']['params'], 'sumSeries without params'
version = s.get(base + '/version')
version.raise_for_status()
assert version.text.strip().strip('"')[0].isdigit(), version.text
relative = s.post(base + '/render', data={'target': 'grafana.h1.cpu', 'from': '-2h', 'until': 'now', 'format': 'json'})
relative.raise_for_status()
assert [v for v, _ in relative.json()[0]['datapoints'] if v is not None] == [1.0], relative.text
print('ok')
"#;

#[test]
fn python_requests_reads_it_as_grafana_does() {
    let Some(environment) = environment("TEST_CLIENT") else {
        return skip(
            "python_requests_reads_it_as_grafana_does",
            "TEST_CLIENT names no environment with requests",
        );
    };
    let (server, t) = (server(), now() / 60 * 60 - 600);
    server.store(&format!("grafana.h1.cpu 1 {t}\ngrafana.h2.cpu 2 {t}\n"));
    let script = Command::new(environment.join("bin/python"))
        .args(["-c", GRAFANA, &format!("http://{}", server.http), &t.to_string()])
        .output()
        .unwrap();
    assert!(script.status.success(), "{}", String::from_utf8_lossy(&script.stderr));
}
