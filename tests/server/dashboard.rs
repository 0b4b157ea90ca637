//! The dashboard of `docker/grafana`: every variable, target and annotation in it is put to the real server as Grafana's backend
//! does, and none of them stays empty. What is sent to the server before is what `docs/grafana.md` tells people to send.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::Value;

use super::harness::{Server, Setup, find_program, now, wait_until};
use super::skip::skip;

const DASHBOARD: &str = "docker/grafana/dashboards/plumbago.json";
const PROVIDER: &str = "docker/grafana/dashboards/plumbago.yaml";
const SOURCE: &str = "docker/grafana/datasources/plumbago.yaml";

/// What somebody chose for a variable.
enum Choice {
    /// *All*, which stands for this text.
    All(String),
    /// These values.
    Values(Vec<String>),
}

/// A way to choose: what to take of all values that a variable has.
type Choosing = fn(&Value, &[String]) -> Choice;

const WAYS: [(&str, Choosing); 3] = [
    ("all", |variable, _| Choice::All(text(&variable["allValue"]).to_owned())),
    ("the first value", |_, values| Choice::Values(values[..1].to_vec())),
    ("every value", |_, values| Choice::Values(values.to_vec())),
];

#[test]
fn every_question_of_the_dashboard_has_an_answer() {
    if find_program("curl").is_none() {
        return skip("every_question_of_the_dashboard_has_an_answer", "curl is not installed");
    }
    let (server, dashboard) = (demonstration(), json(DASHBOARD));
    for (way, choose) in WAYS {
        let mut choices = BTreeMap::new();
        for variable in list(&dashboard["templating"]["list"]) {
            let query = interpolated(text(&variable["query"]["target"]), &choices);
            let values = values(&server, &query);
            assert!(!values.is_empty(), "variable {} finds nothing by {query}", variable["name"]);
            choices.insert(text(&variable["name"]).to_owned(), choose(variable, &values));
        }
        let asked = panels(&dashboard).into_iter().flat_map(|panel| targets(panel, &choices));
        let asked: Vec<String> = asked.collect();
        for target in &asked {
            let series = rendered(&server, target);
            let filled = series.iter().all(|(_, values)| *values > 0);
            assert!(filled && !series.is_empty(), "with {way} chosen {target} gives {series:?}");
        }
        // What the dashboard is there to show.
        for example in ["carbon.agents.", "servers.", "seriesByTag("] {
            assert!(asked.iter().any(|target| target.contains(example)), "no {example} in {asked:?}");
        }
    }
    for annotation in annotations(&dashboard) {
        let tags: Vec<&str> = list(&annotation["target"]["tags"]).iter().map(text).collect();
        assert!(!tags.is_empty(), "{annotation}");
        let (from, until) = window();
        let path = format!("/events/get_data?from={from}&until={until}&tags={}", tags.join("%20"));
        assert!(!list(&server.json(&path)).is_empty(), "annotation {} is empty", annotation["name"]);
    }
}

/// A server with its own numbers, once a second, and with what the documentation says should be sent.
fn demonstration() -> Server {
    let server = Setup::new().set("telemetry.carbon_interval", "1s").start();
    let page = std::fs::read_to_string(root().join("docs/grafana.md")).unwrap();
    let mut script = block(&page, "bash").to_owned();
    for (written, here) in [
        ("/dev/tcp/127.0.0.1/2003", format!("/dev/tcp/127.0.0.1/{}", server.carbon.port())),
        ("http://127.0.0.1:8080/", format!("http://{}/", server.http)),
    ] {
        assert!(script.contains(written), "{written} is not in {script}");
        script = script.replace(written, &here);
    }
    let output = Command::new("bash").args(["-euc", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // The disk of the last host is sent behind everything else of its minute.
    let is_there = |target: &str| rendered(&server, target).iter().any(|(_, values)| *values > 0);
    wait_until("what was sent", || is_there("seriesByTag('name=disk.used', 'host=web3')"));
    wait_until("own numbers", || is_there("carbon.agents.*.memUsage"));
    // Only what was asked has a latency.
    values(&server, "servers.*");
    wait_until("a latency", || is_there("carbon.agents.*.http.render.p99"));
    wait_until("a latency", || is_there("carbon.agents.*.http.find.p99"));
    server
}

/// What Grafana offers for a variable.
fn values(server: &Server, query: &str) -> Vec<String> {
    let tag_values = Regex::new(r"^tag_values\(([^,]+)((?:, *[^,]+)*)\)$").unwrap();
    let Some(parts) = tag_values.captures(query) else {
        let (from, until) = window();
        let path = format!("/metrics/find?from={from}&until={until}");
        let answer = server.post(&path, &[("query", query)]);
        assert_eq!(answer.status, 200, "{query}: {}", answer.body);
        let nodes: Value = serde_json::from_str(&answer.body).unwrap();
        return list(&nodes).iter().map(|node| text(&node["text"]).to_owned()).collect();
    };
    let expressions: String = parts[2]
        .split(',')
        .map(str::trim)
        .filter(|expression| !expression.is_empty())
        .map(|expression| format!("&expr={}", expression.replace('=', "%3D")))
        .collect();
    let path = format!("/tags/autoComplete/values?tag={}&limit=10000{expressions}", &parts[1]);
    list(&server.json(&path)).iter().map(|value| text(value).to_owned()).collect()
}

/// A panel's queries as they are sent: variables filled in, `#A` replaced by query A, minutes written as
/// Graphite writes them.
fn targets(panel: &Value, choices: &BTreeMap<String, Choice>) -> Vec<String> {
    let minutes = Regex::new(r"'(\d+)m'").unwrap();
    let reference = Regex::new(r"#([A-Z])").unwrap();
    let written: BTreeMap<String, String> = list(&panel["targets"])
        .iter()
        .map(|query| {
            let target = interpolated(text(&query["target"]), choices);
            (text(&query["refId"]).to_owned(), minutes.replace_all(&target, "'${1}min'").into_owned())
        })
        .collect();
    let inlined = |target: &String| {
        reference.replace_all(target, |found: &regex::Captures| written[&found[1]].clone()).into_owned()
    };
    written.values().map(inlined).collect()
}

/// Fills in `$name`, `${name}` and `${name:regex}`. Several values are a glob unless the variable says `:regex`; the text for *All* is
/// put in as it is.
fn interpolated(written: &str, choices: &BTreeMap<String, Choice>) -> String {
    let variable = Regex::new(r"\$(?:(\w+)|\{(\w+)(?::(\w+))?\})").unwrap();
    let filled = |found: &regex::Captures| {
        let name = found.get(1).or_else(|| found.get(2)).unwrap().as_str();
        let format = found.get(3).map_or("glob", |format| format.as_str());
        match (choices.get(name).unwrap_or_else(|| panic!("no variable ${name}")), format) {
            (Choice::All(all), _) => all.clone(),
            (Choice::Values(values), "glob") if values.len() == 1 => values[0].clone(),
            (Choice::Values(values), "glob") => format!("{{{}}}", values.join(",")),
            (Choice::Values(values), "regex") if values.len() == 1 => regex::escape(&values[0]),
            (Choice::Values(values), "regex") => {
                let escaped: Vec<String> = values.iter().map(|value| regex::escape(value)).collect();
                format!("({})", escaped.join("|"))
            }
            (_, format) => panic!("${{{name}:{format}}}: a format that this test does not know"),
        }
    };
    variable.replace_all(written, filled).into_owned()
}

/// Name and number of values of each series, asked for as Grafana's backend does.
fn rendered(server: &Server, target: &str) -> Vec<(String, usize)> {
    let (from, until) = window();
    let form = [
        ("from", from.to_string()),
        ("until", until.to_string()),
        ("format", "json".to_owned()),
        ("maxDataPoints", "1000".to_owned()),
        ("target", target.to_owned()),
    ];
    let form: Vec<(&str, &str)> = form.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let answer = server.post("/render", &form);
    assert_eq!(answer.status, 200, "{target}: {}", answer.body);
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    let known =
        |series: &Value| list(&series["datapoints"]).iter().filter(|point| !point[0].is_null()).count();
    list(&answer).iter().map(|series| (text(&series["target"]).to_owned(), known(series))).collect()
}

/// What the dashboard is opened with: the last hour.
fn window() -> (u64, u64) {
    (now() - 3600, now())
}

#[test]
fn the_files_belong_together() {
    let (dashboard, source) = (json(DASHBOARD), yaml(SOURCE)["datasources"][0].clone());
    let named = &source["uid"];
    assert_eq!((text(&source["type"]), text(&source["access"])), ("graphite", "proxy"));
    let mut sources = vec![];
    for panel in panels(&dashboard).into_iter().filter(|panel| panel["type"] != "row") {
        sources.push(&panel["datasource"]);
        sources.extend(list(&panel["targets"]).iter().map(|query| &query["datasource"]));
    }
    sources.extend(list(&dashboard["templating"]["list"]).iter().map(|variable| &variable["datasource"]));
    sources.extend(annotations(&dashboard).into_iter().map(|annotation| &annotation["datasource"]));
    for asked in sources {
        assert_eq!((&asked["uid"], text(&asked["type"])), (named, "graphite"));
    }
    let page = std::fs::read_to_string(root().join("docs/grafana.md")).unwrap();
    let told: Value = serde_saphyr::from_str(block(&page, "yaml")).unwrap();
    for key in ["uid", "type", "access", "jsonData"] {
        assert_eq!(told["datasources"][0][key], source[key], "{key} in docs/grafana.md");
    }
}

#[test]
fn the_composition_puts_the_files_where_grafana_looks() {
    let compose = yaml("docker/compose.yaml");
    let volumes = list(&compose["services"]["grafana"]["volumes"]).iter().map(|volume| {
        let parts: Vec<&str> = text(volume).split(':').collect();
        (parts[1], root().join("docker").join(parts[0]))
    });
    let mounted: BTreeMap<&str, PathBuf> = volumes.collect();
    let folder = |path: &str| root().join(path).parent().unwrap().canonicalize().unwrap();
    let lies =
        |at: &str| mounted.get(at).unwrap_or_else(|| panic!("nothing at {at}")).canonicalize().unwrap();
    assert_eq!(lies("/etc/grafana/provisioning/datasources"), folder(SOURCE));
    assert_eq!(lies("/etc/grafana/provisioning/dashboards"), folder(PROVIDER));
    let provider = yaml(PROVIDER)["providers"][0].clone();
    assert_eq!(provider["type"], "file");
    assert_eq!(lies(text(&provider["options"]["path"])), folder(DASHBOARD));
    // The data source names the server as the others of the composition see it.
    let url = text(&yaml(SOURCE)["datasources"][0]["url"]).to_owned();
    let (host, port) = url.strip_prefix("http://").unwrap().split_once(':').unwrap();
    let ports = list(&compose["services"][host]["ports"]);
    assert!(ports.iter().any(|mapped| text(mapped).ends_with(&format!(":{port}"))), "{url}");
}

#[test]
fn the_dashboard_is_one_that_grafana_takes() {
    let dashboard = json(DASHBOARD);
    assert!(!text(&dashboard["uid"]).is_empty() && text(&dashboard["uid"]).len() <= 40);
    // That of Grafana 11.6, which docker/compose.yaml starts; newer ones bring it up to date by themselves.
    assert_eq!(dashboard["schemaVersion"], 41);
    let (mut ids, mut cells) = (BTreeSet::new(), BTreeSet::new());
    for panel in panels(&dashboard) {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "two panels with the id {}", panel["id"]);
        let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        let (columns, lines) = (at("x")..at("x") + at("w"), at("y")..at("y") + at("h"));
        assert!(columns.end <= 24, "{} is out of the page", panel["title"]);
        for cell in columns.flat_map(|x| lines.clone().map(move |y| (x, y))) {
            assert!(cells.insert(cell), "{} lies on another panel at {cell:?}", panel["title"]);
        }
    }
    for variable in list(&dashboard["templating"]["list"]) {
        assert_eq!(variable["definition"], variable["query"]["target"], "variable {}", variable["name"]);
    }
}

/// Without thresholds of its own a stat panel gets Grafana's default, which turns every value from 80 on red.
#[test]
fn a_stat_panel_has_one_colour_at_every_value() {
    let dashboard = json(DASHBOARD);
    let panels = panels(&dashboard);
    let stats: Vec<&&Value> = panels.iter().filter(|panel| panel["type"] == "stat").collect();
    assert!(!stats.is_empty(), "no stat panels");
    for panel in stats {
        let steps = list(&panel["fieldConfig"]["defaults"]["thresholds"]["steps"]);
        assert_eq!(steps.len(), 1, "{}: {steps:?}", panel["title"]);
        assert!(steps[0]["value"].is_null() && steps[0]["color"] != "red", "{}: {steps:?}", panel["title"]);
    }
}

/// All panels, also those in rows that are closed.
fn panels(dashboard: &Value) -> Vec<&Value> {
    let open = list(&dashboard["panels"]).iter();
    open.flat_map(|panel| std::iter::once(panel).chain(list(&panel["panels"]))).collect()
}

/// All annotations but Grafana's own.
fn annotations(dashboard: &Value) -> Vec<&Value> {
    let found = list(&dashboard["annotations"]["list"]).iter().filter(|one| one["builtIn"] != 1);
    let found: Vec<&Value> = found.collect();
    assert!(!found.is_empty(), "no annotations");
    found
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn json(path: &str) -> Value {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn yaml(path: &str) -> Value {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The first block of a page that is marked as `language`.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}
