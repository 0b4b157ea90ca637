//! Counters, the pages about them and the dashboards that use them agree: what is named exists, and what exists is explained.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use plumbago::telemetry::Telemetry;
use regex::Regex;

/// Where people and dashboards name counters.
const PLACES: &[&str] = &[
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs",
    "docker",
    "examples",
    "benches",
    "src/cli",
    "src/http/browser/page",
    "graphite-web-plugin/README.md",
];

/// Names that begin like a counter's and are something else: tables in Cassandra, a crate, a Python package.
const NO_COUNTERS: &[&str] = &[
    "plumbago_created",
    "plumbago_events",
    "plumbago_settings",
    "plumbago_graphite",
    "plumbago_memos",
    "plumbago_model",
    "plumbago_writers",
];

/// What a histogram is called in queries.
const HISTOGRAM_ENDINGS: &[&str] = &["_bucket", "_sum", "_count"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Kind and name of everything that the server counts, as it says itself.
fn counted() -> Vec<(String, String)> {
    let text = Telemetry::default().prometheus();
    let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    kinds.map(|(name, kind)| (kind.to_owned(), name.to_owned())).collect()
}

/// Every name by which Prometheus can ask for something.
fn names() -> BTreeSet<String> {
    let endings = |kind: &str| if kind == "histogram" { HISTOGRAM_ENDINGS } else { &[] };
    let of = |(kind, name): (String, String)| {
        let with_endings: Vec<String> =
            endings(&kind).iter().map(|ending| format!("{name}{ending}")).collect();
        with_endings.into_iter().chain([name])
    };
    counted().into_iter().flat_map(of).collect()
}

/// The text files at or below a path.
fn texts(path: &Path) -> Vec<(PathBuf, String)> {
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        return entries.flat_map(|path| texts(&path)).collect();
    }
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8(text).into_iter().map(|text| (path.to_owned(), text)).collect()
}

/// The rows of docs/OPERATIONS.md that explain a counter: its name, what it counts, when to worry.
fn rows() -> Vec<[String; 3]> {
    let page = fs::read_to_string(root().join("docs/OPERATIONS.md")).unwrap();
    let row = Regex::new(r"(?m)^\| `((?:plumbago|process)_\w+)(?:\{[\w,]+\})?` \| (.*) \| (.*)\|$").unwrap();
    row.captures_iter(&page).map(|found| [1, 2, 3].map(|at| found[at].trim().to_owned())).collect()
}

#[test]
fn every_counter_is_explained() {
    let rows = rows();
    let unexplained: Vec<String> = counted()
        .into_iter()
        .map(|(_, name)| name)
        .filter(|name| !rows.iter().any(|[explained, ..]| explained == name))
        .collect();
    assert_eq!(unexplained, [""; 0], "no row in docs/OPERATIONS.md");
    let silent: Vec<&[String; 3]> =
        rows.iter().filter(|[_, what, worry]| what.is_empty() || worry.is_empty()).collect();
    assert!(silent.is_empty(), "rows that do not say what is counted, or when to worry: {silent:?}");
}

#[test]
fn every_counter_that_is_named_exists() {
    let known = names();
    let named =
        Regex::new(r"\b(?:plumbago_[a-z_]+|process_[a-z]+_[a-z_]*(?:bytes|seconds|total)|process_\w*fds)\b")
            .unwrap();
    let mut unknown = BTreeSet::new();
    let mut found = BTreeSet::new();
    for (path, text) in PLACES.iter().flat_map(|place| texts(&root().join(place))) {
        for name in named.find_iter(&text).map(|name| name.as_str()) {
            if known.contains(name) {
                found.insert(name.to_owned());
            } else if !NO_COUNTERS.contains(&name) {
                unknown.insert(format!("{}: {name}", path.display()));
            }
        }
    }
    assert_eq!(unknown, BTreeSet::new());
    // Those that everybody's dashboards have.
    for name in ["plumbago_points_stored_total", "plumbago_points_rejected_total", "process_open_fds"] {
        assert!(found.contains(name), "{name} is not among {found:?}: is anything read at all?");
    }
}

#[derive(serde::Deserialize)]
struct Alerts {
    groups: Vec<Group>,
}

#[derive(serde::Deserialize)]
struct Group {
    rules: Vec<Rule>,
}

#[derive(serde::Deserialize)]
struct Rule {
    alert: String,
    expr: String,
    annotations: BTreeMap<String, String>,
}

#[test]
fn every_alert_watches_what_is_counted() {
    let text = fs::read_to_string(root().join("docs/alerts.yml")).unwrap();
    let alerts: Alerts = serde_saphyr::from_str(&text).unwrap();
    let rules: Vec<Rule> = alerts.groups.into_iter().flat_map(|group| group.rules).collect();
    let (known, sample) = (names(), Telemetry::default().prometheus());
    let series = Regex::new(r"\b(?:plumbago|process)_\w+").unwrap();
    let label = Regex::new(r#"reason=~"([^"]+)""#).unwrap();
    let mut seen = BTreeSet::new();
    for Rule { alert, expr, annotations } in &rules {
        assert!(seen.insert(alert), "{alert} is there twice");
        assert!(annotations.contains_key("summary"), "{alert} does not say what is wrong");
        let watched: Vec<&str> = series.find_iter(expr).map(|name| name.as_str()).collect();
        assert!(!watched.is_empty() || expr.starts_with("up{"), "{alert} watches nothing: {expr}");
        for name in watched {
            assert!(known.contains(name), "{alert} watches {name}, which does not exist");
        }
        for reason in label.captures_iter(expr).flat_map(|found| found.extract::<1>().1[0].split('|')) {
            assert!(sample.contains(&format!("reason=\"{reason}\"")), "{alert}: there is no reason {reason}");
        }
    }
    assert!(rules.len() > 10, "{seen:?}");
}

#[derive(serde::Deserialize)]
struct Prometheus {
    scrape_configs: Vec<Scrape>,
}

#[derive(serde::Deserialize)]
struct Scrape {
    job_name: String,
    metrics_path: String,
}

#[test]
fn prometheus_scrapes_what_the_alerts_ask_for() {
    let page = fs::read_to_string(root().join("docs/OPERATIONS.md")).unwrap();
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let prometheus: Prometheus = serde_saphyr::from_str(rest.split_once("```").unwrap().0).unwrap();
    let [Scrape { job_name, metrics_path }] = &prometheus.scrape_configs[..] else { panic!("one job") };
    let calls = fs::read_to_string(root().join("docs/HTTP.md")).unwrap();
    assert!(calls.contains(&format!("| `GET {metrics_path}` |")), "{metrics_path}");
    let alerts = fs::read_to_string(root().join("docs/alerts.yml")).unwrap();
    let jobs = Regex::new(r#"job="([^"]*)""#).unwrap();
    let asked: BTreeSet<&str> = jobs.captures_iter(&alerts).map(|found| found.extract::<1>().1[0]).collect();
    assert_eq!(asked, BTreeSet::from([job_name.as_str()]));
}
