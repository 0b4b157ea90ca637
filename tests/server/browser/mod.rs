//! The metric browser in a real Chromium, on the real binary.
//!
//! Each test starts a server, fills it, and lets one of the scripts in this folder drive the page by Playwright. `scripts/peers
//! browser` installs Playwright's core; the browser is the distribution's. `UPDATE_SCREENSHOTS=1` writes the pictures in `docs/img`.

mod fleet;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::auth::House;
use crate::harness::{Server, Setup, find_program, now, wait_until};
use crate::skip::skip;

/// A rule for some names, as an operator would have one.
const SCHEMAS: &str = "[servers]\npattern = ^servers\\.\nretentions = 10s:6h,1m:7d,10m:1y\n";

/// Names that would set `hurt`, were they taken for HTML or for JavaScript anywhere.
const HOSTILE: &[&str] = &[
    "evil.<img/src=x/onerror=hurt=1>",
    "evil.\"><script>hurt=1</script>",
    "evil.'onmouseover='hurt=1",
    "evil.${hurt=1}",
    "evil;tag=<svg/onload=hurt=1>",
];

#[test]
fn tree_and_search() {
    drive("tree_and_search", "tree.mjs", filled);
}

#[test]
fn graph_and_queries() {
    drive("graph_and_queries", "graph.mjs", filled);
}

#[test]
fn points_and_figures_are_true() {
    drive("points_and_figures_are_true", "points.mjs", varied);
}

#[test]
fn lines_can_be_told_apart() {
    drive("lines_can_be_told_apart", "lines.mjs", varied);
}

#[test]
fn a_graph_is_drawn_in_other_ways() {
    drive("a_graph_is_drawn_in_other_ways", "options.mjs", varied);
}

#[test]
fn graphs_are_saved_and_events_marked() {
    drive("graphs_are_saved_and_events_marked", "saved.mjs", varied);
}

#[test]
fn keyboards_and_screen_readers_are_enough() {
    drive("keyboards_and_screen_readers_are_enough", "access.mjs", varied);
}

#[test]
fn names_never_run_and_nobody_else_is_asked() {
    drive("names_never_run_and_nobody_else_is_asked", "safety.mjs", hostile);
}

#[test]
fn it_looks_right_in_both_themes_and_on_a_phone() {
    drive("it_looks_right_in_both_themes_and_on_a_phone", "looks.mjs", fleet);
}

#[test]
fn a_fresh_server_says_how_to_begin() {
    drive("a_fresh_server_says_how_to_begin", "fresh.mjs", Server::start);
}

#[test]
fn a_server_that_only_knows_itself_is_fresh() {
    drive("a_server_that_only_knows_itself_is_fresh", "fresh.mjs", || {
        let server = Setup::new().set("telemetry.carbon_interval", "1s").start();
        wait_until("metrics of its own", || {
            server.json("/internal/browser/health")["metrics"].as_u64().is_some_and(|metrics| metrics > 0)
        });
        server
    });
}

#[test]
fn operators_have_pages_of_their_own() {
    drive("operators_have_pages_of_their_own", "operate.mjs", operated);
}

#[test]
fn operators_pages_are_for_those_who_may() {
    as_somebody("operators_pages_are_for_those_who_may", "rights.mjs");
}

#[test]
fn logging_in_and_out() {
    as_somebody("logging_in_and_out", "login.mjs");
}

/// Runs a script against a server that asks for logins: one user may read, and a token sees `servers` alone.
fn as_somebody(test: &str, script: &str) {
    let tools = match tools() {
        Ok(tools) => tools,
        Err(missing) => return skip(test, &missing),
    };
    let house = House::start(Setup::new());
    house.store(&format!("servers.web.load 1 {0}\nhidden.load 1 {0}\n", now()));
    let variables =
        [("TEST_USER", "reader"), ("TEST_PASSWORD", "open sesame"), ("TEST_TOKEN", house.token("near"))];
    run(tools, script, &house.server, &variables);
}

/// Runs a script against a server.
fn drive(test: &str, script: &str, start: fn() -> Server) {
    match tools() {
        Ok(tools) => run(tools, script, &start(), &[]),
        Err(missing) => skip(test, &missing),
    }
}

/// Runs a script with these variables; fails with what it said.
fn run(
    (node, chromium, playwright): (PathBuf, PathBuf, PathBuf),
    script: &str,
    server: &Server,
    variables: &[(&str, &str)],
) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(node);
    command.args(["--test-reporter=spec", "--test-timeout=120000", "--test"]);
    command.arg(root.join("tests/server/browser").join(script));
    command.env("TEST_URL", format!("http://{}/", server.http));
    command.env("TEST_CARBON_PORT", server.carbon.port().to_string());
    command.env("TEST_CHROMIUM", chromium).env("TEST_PLAYWRIGHT", playwright);
    command.env("TEST_PICTURES", root.join("docs/img")).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

/// Node, Chromium and Playwright, or what is missing.
fn tools() -> Result<(PathBuf, PathBuf, PathBuf), String> {
    let node = find_program("node").ok_or("node is not installed")?;
    let chromium = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(find_program);
    let chromium = chromium.ok_or("Chromium is not installed")?;
    let playwright = std::env::var_os("TEST_PLAYWRIGHT").map(PathBuf::from);
    let playwright = playwright.filter(|path| path.is_dir());
    Ok((node, chromium, playwright.ok_or("TEST_PLAYWRIGHT does not name what scripts/peers browser prints")?))
}

/// The fleet, with rules for names, a quota, metrics of the server's own, and some that are in the way.
fn operated() -> Server {
    let setup = Setup::new().set("telemetry.carbon_interval", "1h");
    let write = |name: &str, text: &str| std::fs::write(setup.directory().join(name), text).unwrap();
    write("storage-schemas.conf", SCHEMAS);
    write("rewrite-rules.conf", "[pre]\n^old\\. = servers.\n");
    write("blacklist.conf", "^secret\n");
    let rules = "[rules]\nrewrite = \"rewrite-rules.conf\"\nblacklist = \"blacklist.conf\"\n";
    let quota = "[[quota]]\nname = \"fleet\"\nmatch = \"servers\"\nmetrics = 1000\n";
    write("plumbago.toml", &format!("{rules}{quota}"));
    let server = setup.start();
    fleet::fill(&server);
    let time = now() - 60;
    for name in
        ["staging.web1.cpu.load", "staging.web1.cpu.user", "staging.web1.memory.used_bytes", "former.name"]
    {
        server.store(&format!("{name} 1 {time}\n"));
    }
    // What it would have stored in the last hours.
    let own = server.json("/internal/browser/health")["own_name"].as_str().unwrap().to_owned();
    server.store(&fleet::own_history(&own));
    server
}

/// The fleet as the pictures show it.
fn fleet() -> Server {
    let setup = Setup::new();
    std::fs::write(setup.directory().join("storage-schemas.conf"), SCHEMAS).unwrap();
    let server = setup.start();
    fleet::fill(&server);
    server
}

/// A small fleet: a day of values every minute, and every ten seconds in the last six hours, as its rule keeps them.
fn filled() -> Server {
    let setup = Setup::new();
    std::fs::write(setup.directory().join("storage-schemas.conf"), SCHEMAS).unwrap();
    let server = setup.start();
    fill(&server);
    server
}

fn fill(server: &Server) {
    let now = now();
    let times: Vec<u64> =
        (now - 86_400..now - 21_600).step_by(60).chain((now - 21_600..=now).step_by(10)).collect();
    let mut lines = String::new();
    for (series, name) in names().iter().enumerate() {
        for &time in &times {
            let _ = writeln!(lines, "{name} {:.3} {time}", value(series as f64, time as f64));
        }
    }
    server.store(&lines);
    assert_eq!(server.post("/internal/flush", &[("settle", "1")]).status, 200);
}

/// Names that the grammar of targets takes for something else if they are written as they are.
const ODD: &[&str] = &[
    "a,b", "a(b", "a)b", "sum(x)", "a'b", "a\"b", "a\\b", "a[b]", "a{b}", "a{b,c}", "a*b", "a?b", "a|b",
    "a=b", "a#b", "a%b", "5", "none", "(", "\\", "größe",
];

/// Five hours of points every ten seconds with one peak, twenty lines of a minute, and odd names.
fn varied() -> Server {
    let setup = Setup::new();
    std::fs::write(setup.directory().join("storage-schemas.conf"), SCHEMAS).unwrap();
    let server = setup.start();
    let now = now();
    let peak = (now - 9000) / 10 * 10;
    let mut lines = String::new();
    for time in (now - 18_000..=now).step_by(10).map(|time| time / 10 * 10) {
        let value = if time == peak { 5000.0 } else { 10.0 };
        let _ = writeln!(lines, "servers.peak.load {value} {time}\nservers.calm.load 20 {time}");
    }
    for time in (now - 3600..=now).step_by(60) {
        for line in 1..=20 {
            let _ = writeln!(
                lines,
                "many.line{line}.used_bytes {:.3} {time}",
                1e6 * value(f64::from(line), time as f64)
            );
        }
    }
    for name in ODD {
        let _ = writeln!(lines, "odd.{name} 7 {}", now - 60);
    }
    for host in ["alpha", "beta"] {
        let _ = writeln!(lines, "latency;dc=north;host={host};unit=ms 3 {}", now - 60);
    }
    server.store(&lines);
    assert_eq!(server.post("/internal/flush", &[("settle", "1")]).status, 200);
    server
}

fn names() -> Vec<String> {
    let mut names = Vec::new();
    for host in ["db1", "db2", "web1", "web2", "web10"] {
        for leaf in ["cpu.load", "cpu.user", "disk.sda.used", "memory.used", "network.eth0.rx"] {
            names.push(format!("servers.{host}.{leaf}"));
        }
    }
    for path in ["checkout", "search", "login"] {
        names.push(format!("app.requests.{path}"));
        names.push(format!("app.requests.{path}.p99"));
        names.push(format!("requests;handler={path};region=eu"));
    }
    names
}

/// A day's wave with a smaller one on it, different for each series.
fn value(series: f64, time: f64) -> f64 {
    let day = (time / 86_400.0 * std::f64::consts::TAU + series).sin();
    let minutes = (time / 700.0 + series * 2.0).sin() + 0.4 * (time / 97.0 + series).sin();
    50.0 + 6.0 * series + 14.0 * day + 4.0 * minutes
}

fn hostile() -> Server {
    let server = Server::start();
    let time = now() - 60;
    let lines: String = HOSTILE.iter().map(|name| format!("{name} 1 {time}\n")).collect();
    server.store(&format!("{lines}good.one 1 {time}\n"));
    server
}
