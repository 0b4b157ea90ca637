//! Whatever is asked through whatever door, an answer holds nothing that is outside the scope of who asks.
//!
//! Names, directories and tags of a random tree are words of their own, so that one that does not belong into an answer is found in it
//! whatever its format: text, JSON, pickle, msgpack, protobuf, pictures, bundles, the output of commands. Values are powers of two, so
//! that a sum says what went into it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::Value;

use plumbago_model::Scope;

use super::auth::{House, with_files};
use super::harness::{Setup, now, plumbago, run_to_end};
use super::protobuf::{message, text, varint};

/// Trees, users with scopes, and questions to each tree.
const TREES: usize = 3;
const USERS: usize = 6;
const QUESTIONS: u32 = 700;

/// A tree: names with one value each.
#[derive(Clone, Debug)]
struct Tree {
    names: Vec<String>,
    directories: Vec<String>,
}

/// Directories and metrics below any of those before, and series with tags.
fn tree() -> impl Strategy<Value = Tree> {
    let parents = prop::collection::vec(any::<prop::sample::Index>(), 8..14);
    let homes = prop::collection::vec(any::<prop::sample::Index>(), 16..28);
    let tags = prop::collection::vec((0..3_u8, 0..3_u8, 0..4_u8, any::<bool>()), 4..12);
    (parents, homes, tags).prop_map(|(parents, homes, tags)| {
        let mut directories = vec![String::new()];
        for (nth, parent) in parents.iter().enumerate() {
            let parent = parent.get(&directories);
            let dot = if parent.is_empty() { "" } else { "." };
            directories.push(format!("{parent}{dot}d{nth}y"));
        }
        let mut names = BTreeSet::new();
        for (nth, home) in homes.iter().enumerate() {
            let home = home.get(&directories);
            let dot = if home.is_empty() { "" } else { "." };
            names.insert(format!("{home}{dot}n{nth}y"));
        }
        // Ceres' calls see those of a tenant.
        let tagged = |(name, dc, host, is_ceres): &(u8, u8, u8, bool)| {
            let tenant = if *is_ceres { ";tenant=acme" } else { "" };
            format!("t{name}y;dc=v{dc}y;host=h{host}y{tenant}")
        };
        names.extend(tags.iter().map(tagged));
        // Ceres' calls name a value of `dc`, and each has to show something to somebody.
        names.extend((0..3).map(|dc| tagged(&(0, dc, 0, true))));
        Tree { names: names.into_iter().collect(), directories: directories.split_off(1) }
    })
}

/// The scopes of a user: subtrees, single metrics, globs and tags.
fn scopes(tree: &Tree) -> impl Strategy<Value = Vec<String>> + use<> {
    let plain = tree.names.iter().filter(|name| !name.contains(';')).cloned();
    let globs = ["*.*", "**.n1*", "**.*3y", "*;dc=v1y", "t0y;dc=*", "t1y;host=h[01]y", "d{0,2,4}y"];
    let all: Vec<String> =
        plain.chain(tree.directories.iter().cloned()).chain(globs.map(str::to_owned)).collect();
    prop_oneof![subsequence(all.clone(), 1..2), subsequence(all, 2..5)]
}

/// The words of a text that can only come from the tree.
fn words(bytes: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, first) in bytes.iter().enumerate() {
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if b"dnvht".contains(first) && digits > 0 && bytes.get(at + 1 + digits) == Some(&b'y') {
            found.insert(String::from_utf8_lossy(&bytes[at..at + 2 + digits]).into_owned());
        }
    }
    found
}

/// A way to ask.
#[derive(Clone, Debug)]
enum Door {
    /// A path in which `{}` is what is asked for, and `{start}` some minutes ago.
    Path(&'static str),
    /// The same, with something in the body.
    Form(&'static str, &'static str),
    /// JSON in the body, in which `@` is what is asked for.
    Json(&'static str, &'static str),
    /// A message of carbonapi.
    Message(&'static str),
    /// Carbon's cache queries, which know no users: a pickle in which `@` is what is asked for.
    Cached(&'static str),
    /// A line of KairosDB's telnet protocol, which knows no users either.
    Telnet(&'static str),
    /// A command.
    Command(&'static [&'static str]),
}

const DOORS: &[Door] = &[
    // Find, in all formats, as graphite-web's cluster asks, too.
    Door::Path("/metrics/find?query={}"),
    Door::Path("/metrics/find?query={}&format=completer"),
    Door::Path("/metrics/find?query={}&format=json"),
    Door::Path("/metrics/find?query={}&format=nodelist"),
    Door::Path("/metrics/find?query={}&format=pickle&local=1"),
    Door::Path("/metrics/find?query={}&format=msgpack&local=1"),
    Door::Path("/metrics/find?query={}&wildcards=1&leavesOnly=1"),
    Door::Form("/metrics", "query={}"),
    Door::Path("/metrics/expand?query={}"),
    Door::Path("/metrics/expand?query={}&groupByExpr=1&leavesOnly=1"),
    Door::Path("/metrics/index.json"),
    // Render, in all formats, as the cluster asks, too.
    Door::Path("/render?target={}&format=json"),
    Door::Path("/render?target={}&format=csv"),
    Door::Path("/render?target={}&format=raw"),
    Door::Path("/render?target={}&format=dygraph"),
    Door::Path("/render?target={}&format=rickshaw"),
    Door::Path("/render?target={}&format=svg"),
    Door::Path("/render?target={}&format=pickle&local=1&noCache=1"),
    Door::Path("/render?target={}&format=msgpack&local=1&noCache=1"),
    Door::Form("/render", "target={}&format=json"),
    // Functions that fetch again, or make names.
    Door::Path("/render?target=movingAverage({},'1min')&format=json"),
    Door::Path("/render?target=timeShift({},'10s')&format=json"),
    Door::Path("/render?target=timeStack({},'10s',0,2)&format=json"),
    Door::Path("/render?target=holtWintersForecast({},'10min')&format=json"),
    Door::Path("/render?target=smartSummarize({},'1min','sum')&format=json"),
    Door::Path("/render?target=useSeriesAbove({},0,'n','n')&format=json"),
    Door::Path("/render?target=applyByNode({},0,'sumSeries(%25.**)')&format=json"),
    Door::Path("/render?target=applyByNode(**,0,'%25.**')&format=json"),
    Door::Path("/render?target=mapSeries({},0)&format=json"),
    Door::Path("/render?target=aliasByNode({},0,1,2)&format=json"),
    Door::Path("/render?target=groupByNode({},0,'sum')&format=json"),
    Door::Path("/render?target=asPercent({},sumSeries(**))&format=json"),
    Door::Path("/render?target=template({},x='*')&format=json"),
    Door::Path("/render?target=seriesByTag('dc!=')&format=json"),
    Door::Path("/render?target=groupByTags(seriesByTag('name=~t'),'sum','dc')&format=json"),
    Door::Path("/render?target=aliasByTags(seriesByTag('host=~h'),'dc','name')&format=json"),
    // Tags.
    Door::Path("/tags"),
    Door::Path("/tags/dc"),
    Door::Path("/tags/host"),
    Door::Path("/tags/name"),
    Door::Path("/tags/findSeries?expr=name=~."),
    Door::Path("/tags/findSeries?expr=dc=~v"),
    Door::Path("/tags/autoComplete/tags?expr=name=~t"),
    Door::Path("/tags/autoComplete/values?tag=dc"),
    Door::Path("/tags/autoComplete/values?tag=host&expr=dc=~v"),
    Door::Path("/tags/autoComplete/values?tag=name"),
    // Events.
    Door::Path("/events/get_data?from=0"),
    Door::Path("/render?target=events('*')&format=json"),
    // The page.
    Door::Path("/internal/browser/tree?path={}"),
    Door::Path("/internal/browser/tree?tagged=1&path={}"),
    Door::Path("/internal/browser/tree"),
    Door::Path("/internal/browser/search?query={}"),
    Door::Path("/internal/browser/search?query=y"),
    Door::Path("/internal/browser/metric?name={}"),
    // carbonapi.
    Door::Message("/metrics/find/"),
    Door::Message("/render/"),
    Door::Message("/info/"),
    // KairosDB.
    Door::Path("/api/v1/metricnames"),
    Door::Path("/api/v1/metricnames?prefix={}"),
    Door::Path("/api/v1/tagnames"),
    Door::Path("/api/v1/tagvalues"),
    Door::Json(
        "/api/v1/datapoints/query",
        r#"{"start_absolute":1,"metrics":[{"name":"@","group_by":[{"name":"tag","tags":["dc","host"]}]}]}"#,
    ),
    Door::Json(
        "/api/v1/datapoints/query",
        r#"{"start_relative":{"value":1,"unit":"hours"},"metrics":[{"name":"@","tags":{"dc":["v0y","v1y","v2y"]},"aggregators":[{"name":"sum","sampling":{"value":1,"unit":"years"}}]}]}"#,
    ),
    Door::Json("/api/v1/datapoints/query/tags", r#"{"start_absolute":1,"metrics":[{"name":"@"}]}"#),
    Door::Path("/api/v1/catalog/metrics?limit=100"),
    Door::Path("/api/v1/catalog/metrics?prefix=t"),
    Door::Path("/api/v1/catalog/tags?metric={}"),
    Door::Path("/api/v1/catalog/tags?metric={}&tag=dc"),
    Door::Path("/api/v1/catalog/tags?metric={}&tag=host"),
    Door::Path("/api/v1/catalog/cardinality"),
    Door::Path("/api/v1/catalog/windows?metric={}"),
    // OpenTSDB.
    Door::Path("/api/suggest?type=metrics"),
    Door::Path("/api/suggest?type=metrics&q={}"),
    Door::Path("/api/suggest?type=tagk"),
    Door::Path("/api/suggest?type=tagv"),
    Door::Path("/api/query?start=1h-ago&m=sum:{}"),
    Door::Path("/api/query?start=1h-ago&m=sum:{}%7Bhost=*,dc=*%7D"),
    Door::Json(
        "/api/query",
        r#"{"start":"1h-ago","queries":[{"aggregator":"none","metric":"@","tags":{"dc":"*"}}]}"#,
    ),
    Door::Form("/api/suggest", "type=tagv&max=100"),
    // Ceres.
    Door::Path("/api/metadata/metricNames?tenant=acme"),
    Door::Path("/api/metadata/tagKeys?tenant=acme&metricName={}"),
    Door::Path("/api/metadata/tagValues?tenant=acme&metricName={}&tagKey=host"),
    Door::Path("/api/metadata/tagValues?tenant=acme&metricName={}&tagKey=dc"),
    Door::Path("/api/query?tenant=acme&metricName={}&tag=dc=v0y&start={start}"),
    Door::Path(
        "/api/query?tenant=acme&metricName={}&tag=dc=v1y&start={start}&aggregator=sum&granularity=PT1M",
    ),
    Door::Path(
        "/api/query?tenant=acme&metricName={}&tag=dc=v2y&start={start}&aggregator=count&granularity=PT1M",
    ),
    // Those that know no users.
    Door::Cached("(dS'type'\nS'cache-query'\nsS'metric'\nS'@'\ns."),
    Door::Cached("(dS'type'\nS'cache-query-bulk'\nsS'metrics'\n(lS'@'\naS'n0y'\nas."),
    Door::Cached("(dS'type'\nS'get-metadata'\nsS'metric'\nS'@'\nsS'key'\nS'aggregationMethod'\ns."),
    Door::Telnet("@\nput @\nversion\n"),
    // Operators.
    Door::Path("/internal/cardinality?depth=3&limit=100"),
    Door::Path("/internal/cardinality?below={}"),
    Door::Path("/internal/names?query={}"),
    Door::Path("/internal/usage?query={}"),
    Door::Path("/internal/info?name={}"),
    Door::Path("/internal/top?limit=100"),
    Door::Form("/internal/export", "{}"),
    Door::Form("/internal/delete", "query={}&dry_run=1"),
    Door::Form("/internal/rename", "from={}&to=d0y.new&dry_run=1"),
    Door::Form("/internal/delete-range", "query={}&from=0&until=4000000000&dry_run=1"),
    Door::Form("/internal/copy", "source={}&destination=d0y.new&dry_run=1"),
    // Commands.
    Door::Command(&["find", "{}"]),
    Door::Command(&["find", "**", "--output", "json"]),
    Door::Command(&["read", "{}", "--from", "-1h"]),
    Door::Command(&["du", "{}"]),
    Door::Command(&["cardinality"]),
    Door::Command(&["top"]),
    Door::Command(&["info", "{}"]),
    Door::Command(&["export", "csv", "**", "--from", "-1h"]),
    Door::Command(&["export", "csv", "{}", "--from", "-1h"]),
    Door::Command(&["delete", "{}", "--dry-run"]),
];

impl Door {
    /// The bytes of the answer, whatever it is.
    fn ask(&self, house: &House, user: &str, asked: &str) -> Vec<u8> {
        let encoded: String = asked.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let login = format!("Authorization: Bearer {}\r\n", house.token(user));
        match self {
            Self::Path(path) => {
                let start = jiff::Timestamp::from_second(now() as i64 - 600).unwrap().to_string();
                send(house, "GET", &path.replace("{}", &encoded).replace("{start}", &start), &login, b"")
            }
            Self::Form(path, body) => {
                let is_list = *body == "{}";
                let body = body.replace("{}", if is_list { asked } else { &encoded });
                send(house, "POST", path, &login, body.as_bytes())
            }
            Self::Json(path, body) => send(house, "POST", path, &login, body.replace('@', asked).as_bytes()),
            Self::Cached(pickle) => {
                let pickle = pickle.replace('@', asked);
                let mut stream = TcpStream::connect(house.server.listener("queries")).unwrap();
                stream
                    .write_all(&[&(pickle.len() as u32).to_be_bytes(), pickle.as_bytes()].concat())
                    .unwrap();
                let mut length = [0; 4];
                stream.read_exact(&mut length).unwrap();
                let mut answer = vec![0; u32::from_be_bytes(length) as usize];
                stream.read_exact(&mut answer).unwrap();
                answer
            }
            Self::Telnet(lines) => {
                let mut stream = TcpStream::connect(house.server.listener("telnet")).unwrap();
                stream.write_all(lines.replace('@', asked).as_bytes()).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).unwrap();
                answer
            }
            Self::Message(path) => {
                let login = format!("{login}Accept: application/x-carbonapi-v3-pb\r\n");
                let times =
                    [varint(2 << 3), varint(now() - 3600), varint(3 << 3), varint(now() + 60)].concat();
                let body = match *path {
                    "/render/" => message(1, &[text(1, asked), times, text(5, asked)].concat()),
                    _ => text(1, asked),
                };
                send(house, "GET", &format!("{path}?format=carbonapi_v3_pb"), &login, &body)
            }
            Self::Command(arguments) => {
                let arguments = arguments.iter().map(|argument| argument.replace("{}", asked));
                let mut command = plumbago();
                command.current_dir(house.server.setup().directory()).args(arguments);
                command.args(["--url", &format!("http://{}", house.server.http)]);
                command.env("PLUMBAGO_TOKEN", house.token(user));
                let output = run_to_end(command);
                [output.stdout, output.stderr].concat()
            }
        }
    }
}

/// An answer with its head, without checking it.
fn send(house: &House, method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}Content-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(house.server.http).unwrap();
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(!answer.starts_with(b"HTTP/1.1 5"), "{path}: {}", String::from_utf8_lossy(&answer));
    answer
}

/// A server with a tree, and users with the role admin who are confined to some of it.
struct World {
    house: House,
    tree: Tree,
    users: Vec<(String, Scope)>,
}

impl World {
    fn new(runner: &mut TestRunner) -> Self {
        let tree = tree().new_tree(runner).unwrap().current();
        let setup = with_files(Setup::new())
            .set("listen.cache_query", "127.0.0.1:0")
            .set("listen.kairosdb_telnet", "127.0.0.1:0");
        let mut users = Vec::new();
        for nth in 0..USERS {
            let scopes = scopes(&tree).new_tree(runner).unwrap().current();
            users.push((format!("user{nth}"), scopes));
        }
        users.push(("everything".to_owned(), Vec::new()));
        let tokens = users.iter().map(|(name, scopes)| {
            let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
            (name.clone(), super::auth::add_user(&setup, name, "admin", &scopes))
        });
        let tokens = tokens.collect();
        let house = House { server: setup.start(), tokens };
        let time = now() / 60 * 60 - 120;
        let mut lines = String::new();
        for (nth, name) in tree.names.iter().enumerate() {
            writeln!(lines, "{name} {} {time}", 1_u64 << nth).unwrap();
        }
        let stored = send(&house, "POST", "/internal/write", &login(&house, "everything"), lines.as_bytes());
        let stored = String::from_utf8(stored).unwrap();
        assert!(stored.contains(&format!("\"stored\":{}", tree.names.len())), "{stored}");
        // Two events, each about a metric.
        for name in tree.names.iter().filter(|name| !name.contains(';')).take(2) {
            let event = format!(r#"{{"what":"{name}","tags":"{name}"}}"#);
            let answer = send(&house, "POST", "/events/", &login(&house, "everything"), event.as_bytes());
            assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        }
        let scope = |scopes: &Vec<String>| Scope::of(scopes.iter().map(String::as_str)).unwrap();
        let users = users.iter().map(|(name, scopes)| (name.clone(), scope(scopes))).collect();
        Self { house, tree, users }
    }

    /// The words that belong to what a user may see.
    fn visible(&self, scope: &Scope) -> BTreeSet<String> {
        let covered = self.tree.names.iter().filter(|name| scope.covers(name));
        covered.flat_map(|name| words(name.as_bytes())).collect()
    }

    /// What is asked for: globs, names, directories, inside and outside.
    fn asked(&self) -> impl Strategy<Value = String> + use<> {
        let globs =
            ["*", "**", "*.*", "*.*.*", "d*.**", "{d0y,d1y,n*}", "**.n1*", "t*;dc=*", "*y", "t0y", "t1y"];
        let mut all: Vec<String> = globs.iter().map(|&glob| glob.to_owned()).collect();
        all.extend(self.tree.names.iter().cloned());
        all.extend(
            self.tree
                .directories
                .iter()
                .flat_map(|path| [path.clone(), format!("{path}.*"), format!("{path}.**")]),
        );
        select(all)
    }
}

fn login(house: &House, user: &str) -> String {
    format!("Authorization: Bearer {}\r\n", house.token(user))
}

#[test]
fn no_answer_through_any_door_holds_what_is_outside() {
    let mut runner =
        TestRunner::new(Config { cases: QUESTIONS, failure_persistence: None, ..Config::default() });
    // The doors through which somebody without a scope has seen something: others would prove nothing.
    let mut open = BTreeSet::new();
    for _ in 0..TREES {
        let world = World::new(&mut runner);
        let questions = (0..world.users.len(), 0..DOORS.len(), world.asked());
        let seen = std::cell::RefCell::new(BTreeSet::new());
        let ran = runner.run(&questions, |(user, door, asked)| {
            let (name, scope) = &world.users[user];
            let answer = DOORS[door].ask(&world.house, name, &asked);
            let mut found = words(&answer);
            // Errors repeat what was asked and what the caller is confined to, and a rename says where to.
            let said = words(format!("{asked} {scope} d0y {:?}", DOORS[door]).as_bytes());
            found.retain(|word| !said.contains(word));
            if scope.is_everything() && !found.is_empty() {
                seen.borrow_mut().insert(door);
            }
            let visible = world.visible(scope);
            let leaked: Vec<&String> = found.difference(&visible).collect();
            let shown = || String::from_utf8_lossy(&answer).into_owned();
            prop_assert!(
                leaked.is_empty(),
                "{leaked:?} for {name} ({scope}) who asks {:?} for {asked}: {}",
                DOORS[door],
                shown()
            );
            Ok::<(), TestCaseError>(())
        });
        ran.unwrap_or_else(|error| panic!("{error}\n{:?}", world.tree.names));
        sums(&world);
        // Each door once more, for who sees everything.
        for (door, way) in DOORS.iter().enumerate() {
            let asked = ["**", "*.*", "t*;dc=*", "t0y", "t1y"]
                .into_iter()
                .chain(world.tree.names.iter().map(String::as_str));
            for asked in asked.chain(world.tree.directories.iter().map(String::as_str)) {
                if open.contains(&door) || seen.borrow().contains(&door) {
                    break;
                }
                let mut found = words(&way.ask(&world.house, "everything", asked));
                words(asked.as_bytes()).iter().for_each(|word| _ = found.remove(word));
                if !found.is_empty() {
                    seen.borrow_mut().insert(door);
                }
            }
        }
        open.extend(seen.into_inner());
        deletions(&world);
    }
    // These answer in numbers, or for the very name that was asked for.
    let says_no_names = |door: &Door| match door {
        Door::Path(path) => {
            ["/internal/usage", "/internal/info", "/events('*')", "events('*')"]
                .iter()
                .any(|part| path.contains(part))
                || path.contains("/browser/metric")
                || ["/tags", "/api/v1/tagnames", "/api/suggest?type=tagk"].contains(path)
                || ["/catalog/windows?metric={}", "/catalog/tags?metric={}"]
                    .iter()
                    .any(|end| path.ends_with(end))
                || path.contains("/tagKeys")
                // Only what all series of a sum have in common.
                || path.ends_with("m=sum:{}")
                || path.contains("/autoComplete/tags")
        }
        Door::Message(path) => *path == "/info/",
        Door::Cached(_) | Door::Telnet(_) => true,
        Door::Json(..) => false,
        Door::Form(path, _) => ["/internal/copy", "/internal/rename", "/internal/export"].contains(path),
        Door::Command(arguments) => ["du", "info"].contains(&arguments[0]),
    };
    let closed: Vec<&Door> = (0..DOORS.len())
        .filter(|door| !open.contains(door))
        .map(|door| &DOORS[door])
        .filter(|door| !says_no_names(door))
        .collect();
    assert!(closed.is_empty(), "nobody saw anything through {closed:?}");
}

/// A sum is of what is inside alone.
fn sums(world: &World) {
    for (name, scope) in &world.users {
        let names = world.tree.names.iter().enumerate();
        let inside = names.filter(|(_, name)| !name.contains(';') && scope.covers(name));
        let expected: u64 = inside.map(|(nth, _)| 1 << nth).sum();
        let path = "/render?target=sumSeries(**)&format=json&from=-1h&noNullPoints=1";
        let answer = send(&world.house, "GET", path, &login(&world.house, name), b"");
        let text = String::from_utf8(answer).unwrap();
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        let answer: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"));
        let sum = answer.pointer("/0/datapoints/0/0").and_then(Value::as_f64).unwrap_or_default();
        assert_eq!(sum, expected as f64, "{name} ({scope})");
    }
}

/// What somebody deletes through any door is what is inside alone.
fn deletions(world: &World) {
    let mut left: BTreeSet<&str> = world.tree.names.iter().map(String::as_str).collect();
    for (user, scope) in world.users.iter().filter(|(_, scope)| !scope.is_everything()) {
        let own = login(&world.house, user);
        for metric in world.tree.names.iter().map(|name| name.split(';').next().unwrap()) {
            send(&world.house, "DELETE", &format!("/api/v1/metric/{metric}"), &own, b"");
            let query = format!(r#"{{"start_absolute":1,"metrics":[{{"name":"{metric}"}}]}}"#);
            send(&world.house, "POST", "/api/v1/datapoints/delete", &own, query.as_bytes());
        }
        send(&world.house, "POST", "/internal/delete?query=**", &own, b"");
        for name in world.tree.names.iter().filter(|name| name.contains(';')) {
            let name: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
            send(&world.house, "POST", &format!("/tags/delSeries?path={name}"), &own, b"");
        }
        left.retain(|name| !scope.covers(name));
        let all = login(&world.house, "everything");
        let index = send(&world.house, "GET", "/internal/names?query=**", &all, b"");
        let tagged = send(&world.house, "GET", "/tags/findSeries?expr=name=~.", &all, b"");
        let found = [String::from_utf8(index).unwrap(), String::from_utf8(tagged).unwrap()].concat();
        for name in &world.tree.names {
            let is_there = found.contains(&format!("\"{name}\""));
            assert_eq!(is_there, left.contains(name.as_str()), "{name} after {user} ({scope}): {found}");
        }
    }
}
