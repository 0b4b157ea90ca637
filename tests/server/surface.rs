//! Anything can be asked, and is answered: random requests to every endpoint that reads. None gets a 5xx, none takes for ever, and
//! together they leave no more memory behind than queries may have.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use graphite_render::functions::registry;

use super::harness::{Server, Setup, now};

/// Requests. Each takes some milliseconds.
const REQUESTS: u32 = 1200;

const MIB: u64 = 1 << 20;

const ENDPOINTS: [&str; 22] = [
    "/metrics/find",
    "/metrics",
    "/metrics/expand",
    "/metrics/index.json",
    "/info",
    "/events/get_data",
    "/events/1",
    "/functions",
    "/functions/sumSeries",
    "/tags",
    "/tags/name",
    "/tags/findSeries",
    "/tags/autoComplete/tags",
    "/tags/autoComplete/values",
    "/internal/browser/tree",
    "/internal/browser/search",
    "/internal/browser/metric",
    "/internal/cardinality",
    "/internal/names",
    "/internal/usage",
    "/internal/queries",
    "/not/there",
];

const NAMES: [&str; 26] = [
    "target",
    "query",
    "expr",
    "tag",
    "tagPrefix",
    "valuePrefix",
    "filter",
    "limit",
    "from",
    "until",
    "now",
    "tz",
    "format",
    "jsonp",
    "pretty",
    "maxDataPoints",
    "noNullPoints",
    "leavesOnly",
    "groupByExpr",
    "wildcards",
    "position",
    "path",
    "depth",
    "below",
    "name",
    "tags",
];

const VALUES: [&str; 38] = [
    "",
    "*",
    "**",
    "load.*",
    "load.m1",
    "load.{m1,m2}",
    "load.m[",
    "a..b",
    ".",
    "é",
    "\u{0}",
    "name=load",
    "name=~.*",
    "name!=",
    "x=~((",
    "~",
    "-1d",
    "now",
    "0",
    "-1",
    "1",
    "99999999999999999999",
    "9223372036854775807",
    "-9223372036854775808",
    "1e400",
    "nan",
    "12:00 20260101",
    "UTC",
    "Mars/Base",
    "json",
    "msgpack",
    "pickle",
    "nodelist",
    "completer",
    "treejson",
    "f",
    "f;alert(1)",
    "seriesByTag('name=load')",
];

const ARGUMENTS: [&str; 30] = [
    "load.*",
    "load.m1",
    "load.{m1,m2}",
    "0",
    "1",
    "2",
    "-1",
    "10",
    "0.5",
    "1e308",
    "-1e308",
    "9223372036854775807",
    "4294967296",
    "true",
    "false",
    "None",
    "''",
    "'1min'",
    "'-1d'",
    "'99999999999y'",
    "'1s'",
    "'sum'",
    "'median'",
    "'last'",
    "'^(.*)$'",
    "'(('",
    "'#ff0000'",
    "'name'",
    "'*'",
    "seriesByTag('name=load')",
];

const FORMATS: [&str; 9] = ["json", "csv", "raw", "dygraph", "rickshaw", "pickle", "msgpack", "png", "svg"];

const WINDOWS: [&str; 8] = ["-10min", "-1h", "-1d", "-30d", "-1y", "0", "now+1d", "99999999999"];

/// A path with its query string.
fn request() -> impl Strategy<Value = String> {
    prop_oneof![2 => render(), 1 => other()]
}

fn other() -> impl Strategy<Value = String> {
    let parameter = (prop::sample::select(&NAMES[..]), prop::sample::select(&VALUES[..]));
    let parameters = prop::collection::vec(parameter, 0..5);
    (prop::sample::select(&ENDPOINTS[..]), parameters)
        .prop_map(|(endpoint, parameters)| path(endpoint, &parameters))
}

fn render() -> impl Strategy<Value = String> {
    let parameter = (prop::sample::select(&NAMES[8..]), prop::sample::select(&VALUES[..]));
    let chosen = (prop::sample::select(&FORMATS[..]), prop::sample::select(&WINDOWS[..]));
    let targets = prop::collection::vec(call(), 1..4);
    (targets, chosen, prop::collection::vec(parameter, 0..2)).prop_map(|(targets, (format, from), more)| {
        let mut parameters = vec![("format", format), ("from", from)];
        parameters.extend(targets.iter().map(|target| ("target", target.as_str())));
        parameters.extend(more);
        path("/render", &parameters)
    })
}

/// A call of any function with any arguments, some of which are calls.
fn call() -> impl Strategy<Value = String> {
    let argument = prop::sample::select(&ARGUMENTS[..]).prop_map(str::to_owned);
    argument.prop_recursive(3, 12, 3, |inner| {
        (0..registry::registry().len(), prop::collection::vec(inner, 0..4)).prop_map(|(row, arguments)| {
            format!("{}({})", registry::registry()[row].name, arguments.join(","))
        })
    })
}

fn path(endpoint: &str, parameters: &[(&str, &str)]) -> String {
    let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let pairs = parameters.iter().map(|(name, value)| format!("{name}={}", escaped(value)));
    format!("{endpoint}?{}", pairs.collect::<Vec<_>>().join("&"))
}

fn filled() -> Server {
    let setup = Setup::new().environment("MIMALLOC_PURGE_DELAY", "0");
    let setup = setup.set("query.memory", "48MiB").set("query.memory_each", "16MiB");
    let (server, end) = (setup.start(), now() / 10 * 10);
    let mut lines = String::new();
    for slot in 0..360 {
        for metric in 0..20 {
            lines.push_str(&format!("load.m{metric} {} {}\n", metric * slot % 17, end - slot * 10));
        }
        lines.push_str(&format!("load;host=a;dc=b{} {slot} {}\n", slot % 5, end - slot * 10));
    }
    server.store(&lines);
    server
}

#[test]
fn any_request_is_answered_or_refused_in_time_and_within_the_memory() {
    let server = filled();
    let before = server.peak_rss();
    let mut runner =
        TestRunner::new(Config { cases: REQUESTS, failure_persistence: None, ..Config::default() });
    let ran = runner.run(&request(), |path| {
        // One that hangs fails here.
        let status = server.status_of(&path);
        if status >= 500 {
            let errors = server.errors();
            let last = errors.lines().last().unwrap_or_default();
            return Err(TestCaseError::fail(format!("{status} for {path}; the log ends with {last}")));
        }
        Ok(())
    });
    ran.unwrap();
    let grown = server.peak_rss() - before;
    assert!(grown < 148 * MIB, "it took {} MiB more", grown / MIB);
    assert_eq!(server.get("/health/ready").status, 200);
}
