//! The programs people have: relays in front of it, and Grafana's questions behind it.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use super::harness::{Server, find_program, now, send_to, wait_until};
use super::skip::skip;

const POINTS: u64 = 20_000;

/// A relay that is killed in the end.
struct Relay {
    child: Child,
    address: SocketAddr,
}

impl Relay {
    /// Starts it with its output in `directory`.
    fn start(command: &mut Command, address: SocketAddr, directory: &Path) -> Self {
        let log = directory.join("relay.log");
        let out = fs::File::create(&log).unwrap();
        let child =
            command.stdin(Stdio::null()).stderr(out.try_clone().unwrap()).stdout(out).spawn().unwrap();
        let mut relay = Self { child, address };
        wait_until("the relay", || {
            if let Some(status) = relay.child.try_wait().unwrap() {
                panic!("the relay ended with {status}: {}", fs::read_to_string(&log).unwrap());
            }
            TcpStream::connect(address).is_ok()
        });
        relay
    }

    /// Sends points through the relay and checks that the server has every one of them.
    fn check(&self, server: &Server) {
        let t = now() / 60 * 60 - 3600;
        let line = |i: u64| format!("relayed.m{} {i} {}\n", i % 50, t + i / 50 * 6);
        send_to(self.address, (0..POINTS).map(line).collect::<String>().as_bytes());
        let stored = || server.points("sumSeries(relayed.*)", t - 6, t + 2400).len();
        wait_until("all points", || stored() == 400);
        for m in [0, 17, 49] {
            let points = server.points(&format!("relayed.m{m}"), t - 6, t + 2400);
            let expected: Vec<_> = (0..400).map(|slot| ((slot * 50 + m) as f64, t + slot * 6)).collect();
            assert_eq!(points, expected, "relayed.m{m}");
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address for a relay that cannot choose its own. Not from the range that the system hands out to everybody who asks
/// for any port: the servers of other tests would get it before the relay does.
fn free_address() -> SocketAddr {
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
    super::harness::Setup::new().set("retention.default", "6s:1d").start()
}

/// A Python environment made by `scripts/peers`, which `scripts/test` names to us.
fn environment(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.join("bin/python").exists())
}

#[test]
fn carbon_c_relay_feeds_it() {
    let Some(program) = find_program("carbon-c-relay") else {
        return skip("carbon_c_relay_feeds_it", "carbon-c-relay is not installed");
    };
    let (server, address, directory) = (server(), free_address(), tempfile::tempdir().unwrap());
    let config = directory.path().join("relay.conf");
    let text = format!(
        "listen type linemode 127.0.0.1:{} proto tcp ;\ncluster us forward {} ;\nmatch * send to us stop ;\n",
        address.port(),
        server.carbon
    );
    fs::write(&config, text).unwrap();
    Relay::start(Command::new(program).arg("-f").arg(&config), address, directory.path()).check(&server);
}

#[test]
fn carbons_own_relay_feeds_it_by_pickle() {
    carbon_relay("pickle", |server| server.pickle);
}

#[test]
fn carbons_own_relay_feeds_it_by_lines() {
    carbon_relay("line", |server| server.carbon);
}

fn carbon_relay(protocol: &str, destination: impl Fn(&Server) -> SocketAddr) {
    let Some(environment) = environment("TEST_CARBON") else {
        return skip(
            &format!("carbons_own_relay_feeds_it, {protocol}"),
            "TEST_CARBON names no environment with carbon",
        );
    };
    let (server, address, directory) = (server(), free_address(), tempfile::tempdir().unwrap());
    let root = directory.path();
    fs::create_dir_all(root.join("conf")).unwrap();
    fs::create_dir_all(root.join("storage/log")).unwrap();
    // It insists on one, relay or not.
    fs::write(root.join("conf/storage-schemas.conf"), "[all]\npattern = .*\nretentions = 60s:1d\n").unwrap();
    fs::write(root.join("conf/carbon.conf"), carbon_conf(root, address, protocol, destination(&server)))
        .unwrap();
    let mut command = Command::new(environment.join("bin/python"));
    command
        .arg(environment.join("bin/carbon-relay.py"))
        .args(["--nodaemon", "--config"])
        .arg(root.join("conf/carbon.conf"))
        .arg("start")
        .env("GRAPHITE_ROOT", root);
    Relay::start(&mut command, address, root).check(&server);
}

fn carbon_conf(root: &Path, listen: SocketAddr, protocol: &str, destination: SocketAddr) -> String {
    format!(
        "[relay]\nSTORAGE_DIR = {root}/storage\nLOG_DIR = {root}/storage/log\nPID_DIR = {root}/storage\n\
         CONF_DIR = {root}/conf\nUSER =\nRELAY_METHOD = consistent-hashing\n\
         LINE_RECEIVER_INTERFACE = 127.0.0.1\nLINE_RECEIVER_PORT = {port}\n\
         PICKLE_RECEIVER_INTERFACE = 127.0.0.1\nPICKLE_RECEIVER_PORT = 0\n\
         DESTINATIONS = {destination}\nDESTINATION_PROTOCOL = {protocol}\n\
         MAX_QUEUE_SIZE = 100000\nUSE_FLOW_CONTROL = True\nCARBON_METRIC_INTERVAL = 0\n",
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
