//! Layers, precedence, and every way a configuration can be wrong.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::config::CassandraIndex;

/// A directory with a configuration in it.
struct Setup {
    dir: tempfile::TempDir,
    sources: Sources,
}

impl Setup {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // The default rule files are looked for in the working directory when there is no file: none for the tests.
        let flags = vec!["retention.schemas=".to_owned(), "retention.aggregation=".to_owned()];
        Self { dir, sources: Sources { flags, ..Sources::default() } }
    }

    /// With a `plumbago.toml`, and its directory as the place of rule files.
    fn file(text: &str) -> Self {
        let mut setup = Self::new();
        setup.sources.flags.clear();
        setup.write("plumbago.toml", text);
        setup.sources.file = Some(setup.dir.path().join("plumbago.toml"));
        setup
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.dir.path().join(name), text).unwrap();
    }

    fn with(self, name: &str, text: &str) -> Self {
        self.write(name, text);
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.sources.environment.push((OsString::from(name), OsString::from(value)));
        self
    }

    fn set(mut self, flag: &str) -> Self {
        self.sources.flags.push(flag.to_owned());
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn load(&self) -> Loaded {
        Loaded::new(&self.sources).unwrap()
    }

    /// The error text, with the directory taken off.
    fn error(&self) -> String {
        let text = Loaded::new(&self.sources).unwrap_err().to_string();
        text.replace(&format!("{}/", self.dir.path().display()), "")
    }
}

#[test]
fn nothing_set_is_the_default_config() {
    let loaded = Setup::new().load();
    assert_eq!(format!("{:?}", loaded.config), format!("{:?}", Config::default()));
    assert!(loaded.warnings.is_empty());
}

#[test]
fn flags_win_over_environment_over_file_over_default() {
    let file = "[query]\nmax_series = 1\nmax_points = 1\nmax_find_hits = 1\n";
    let loaded = Setup::file(file)
        .env("PLUMBAGO_QUERY__MAX_POINTS", "2")
        .env("PLUMBAGO_QUERY__MAX_FIND_HITS", "2")
        .set("query.max_find_hits=3")
        .set("query.max_find_hits=4")
        .load();
    let query = &loaded.config.query;
    assert_eq!(
        (query.max_series, query.max_points, query.max_find_hits, query.max_concurrent),
        (1, 2, 4, 64)
    );
    let origin = |key| loaded.settings.origin(key);
    assert!(origin("query.max_series").to_string().ends_with("plumbago.toml:2"));
    assert_eq!(origin("query.max_points"), Origin::Env("PLUMBAGO_QUERY__MAX_POINTS".to_owned()));
    assert_eq!(origin("query.max_find_hits"), Origin::Flag);
    assert_eq!(origin("query.max_concurrent"), Origin::Default);
}

#[test]
fn every_section_reaches_the_config() {
    let file = r#"
        [listen]
        http = "off"
        carbon = "0.0.0.0:2103"
        pickle = ""
        [store]
        sync_interval = 0
        reserve_bytes = "2GiB"
        [store.cassandra]
        nodes = ["a:9042", "b:9042"]
        writer = 7
        index = "sai"
        tls = { enabled = true, ca_file = "ca.pem" }
        [ingest]
        udp = false
        idle_timeout = "90s"
        [query]
        timezone = "Europe/Amsterdam"
        [retention]
        default = "60:1440"
    "#;
    let setup = Setup::file(file);
    let config = setup.load().config;
    assert_eq!(config.listen.http, None);
    assert_eq!(config.listen.carbon, Some(([0, 0, 0, 0], 2103).into()));
    assert_eq!(config.listen.pickle, None);
    assert_eq!((config.store.sync_interval, config.store.reserve_bytes), (Duration::ZERO, 2 << 30));
    assert_eq!(config.cassandra.nodes, ["a:9042", "b:9042"]);
    assert_eq!((config.cassandra.writer, config.cassandra.index), (Some(7), CassandraIndex::Sai));
    assert_eq!(config.cassandra.tls.ca_file, Some(setup.path("ca.pem")));
    assert_eq!((config.ingest.udp, config.ingest.idle_timeout), (false, Duration::from_secs(90)));
    assert_eq!(config.query.timezone, "Europe/Amsterdam");
    assert_eq!(config.retention.default_retention.to_string(), "1440*60s");
}

#[test]
fn paths_are_relative_to_where_they_are_written() {
    let in_file = Setup::file("[store]\npath = 'data'\n");
    assert_eq!(in_file.load().config.store.path, in_file.path("data"));
    let absolute = Setup::file("[store]\npath = '/srv/data'\n");
    assert_eq!(absolute.load().config.store.path, PathBuf::from("/srv/data"));
    let over = Setup::file("[store]\npath = 'data'\n").set("store.path=elsewhere");
    assert_eq!(over.load().config.store.path, PathBuf::from("elsewhere"));
    assert_eq!(Setup::file("").load().config.store.path, PathBuf::from("plumbago-data"));
}

#[test]
fn values_of_flags_are_toml_or_bare_text() {
    let load = |flag: &str| Setup::new().set(flag).load().config;
    assert_eq!(load("store.path=a b").store.path, PathBuf::from("a b"));
    assert_eq!(load("store.path='a b'").store.path, PathBuf::from("a b"));
    assert_eq!(load("store.path=2026").store.path, PathBuf::from("2026"));
    assert_eq!(load("listen.pickle=").listen.pickle, None);
    assert_eq!(load("listen.http=[::1]:80").listen.http, Some("[::1]:80".parse().unwrap()));
    assert_eq!(load("listen.http=localhost:80").listen.http, Some(([127, 0, 0, 1], 80).into()));
    assert_eq!(load("listen.http=:80").listen.http, Some(([0, 0, 0, 0], 80).into()));
    assert_eq!(load("ingest.max_metrics=1_000").ingest.max_metrics, 1000);
    assert_eq!(load("ingest.drain_timeout=2m").ingest.drain_timeout, Duration::from_secs(120));
    assert_eq!(load("retention.default=10s:1h").retention.default_retention.to_string(), "360*10s");
    let rules = load("retention.rule=[{ pattern = 'x', aggregation = 'max' }]").retention;
    assert_eq!(rules.aggregation[0].origin, "--set");
}

#[test]
fn a_higher_layer_replaces_the_rules_of_a_lower_one() {
    let file = "[[retention.rule]]\npattern = 'a'\nretentions = '1m:1h'\n";
    let loaded = Setup::file(file).env("PLUMBAGO_RETENTION__RULE", "[]").load();
    assert!(loaded.config.retention.schemas.is_empty());
}

#[test]
fn variables_that_are_not_keys_are_left_alone() {
    let loaded = Setup::new().env("PLUMBAGO_PORT_2003_TCP", "tcp://10.0.0.1").env("OTHER__KEY", "1").load();
    assert!(loaded.settings.iter().all(|s| !matches!(s.origin, Origin::Env(_))));
}

#[test]
fn inline_rules_come_before_those_of_the_files() {
    let file = r#"
[[retention.rule]]
name = "mine"
pattern = '^a\.'
retentions = "1s:1h"

[[retention.rule]]
pattern = '\.max$'
aggregation = "max"
x_files_factor = 0
"#;
    let setup = Setup::file(file)
        .with("storage-schemas.conf", "[theirs]\npattern = .\nretentions = 60s:1d\n")
        .with("storage-aggregation.conf", "[all]\npattern = .\naggregationMethod = sum\n[skipped]\n");
    let loaded = setup.load();
    let rules = &loaded.config.retention;

    let matched = rules.policy_for("a.b.max");
    let (retention, aggregation) = (matched.retention_rule.unwrap(), matched.aggregation_rule.unwrap());
    assert_eq!((retention.name.as_str(), aggregation.name.as_str()), ("mine", "rule 2"));
    assert!(retention.origin.ends_with("plumbago.toml:2"), "{}", retention.origin);
    assert!(aggregation.origin.ends_with("plumbago.toml:7"), "{}", aggregation.origin);
    assert_eq!((matched.policy.aggregator.name(), matched.policy.x_files_factor), ("max", 0.0));

    let matched = rules.policy_for("b");
    assert_eq!(matched.retention_rule.unwrap().name, "theirs");
    assert_eq!(matched.policy.aggregator.name(), "sum");
    assert_eq!(loaded.warnings.len(), 1);
    assert!(loaded.warnings[0].contains("storage-aggregation.conf:4: section [skipped]"));
}

#[test]
fn only_rule_files_that_are_named_must_exist() {
    let loaded = Setup::file("").load();
    assert!(loaded.config.retention.schemas.is_empty());
    let schemas = loaded.settings.get("retention.schemas").unwrap();
    assert_eq!(schemas.value.as_str(), Some(""));
    assert!(schemas.origin.to_string().starts_with("default; there is no "), "{}", schemas.origin);
    let text = Setup::file("[retention]\nschemas = 'mine.conf'\n").error();
    assert!(text.starts_with("cannot read mine.conf: No such file"), "{text}");
    let text = Setup::file("").set("retention.aggregation=/nonexistent/agg.conf").error();
    assert!(text.starts_with("cannot read /nonexistent/agg.conf: "), "{text}");
}

#[test]
fn a_file_that_is_named_must_exist() {
    let mut setup = Setup::new();
    setup.sources.file = Some(setup.path("none.toml"));
    assert!(setup.error().starts_with("cannot read none.toml: No such file"));
}

#[test]
fn errors_of_the_file_name_line_column_and_key() {
    for (text, error) in [
        ("[listen]\nhtp = ''\n", "plumbago.toml:2:1: unknown key `listen.htp`; did you mean `listen.http`?"),
        ("\n[listne]\n", "plumbago.toml:2:2: unknown key `listne`; did you mean `listen`?"),
        ("carbon = ''\n", "plumbago.toml:1:1: unknown key `carbon`; did you mean `listen.carbon`?"),
        ("[a]\nb = 1\n", "plumbago.toml:1:2: unknown key `a`"),
        (
            "[query]\n  max_line_bytes = 9\n",
            "plumbago.toml:2:3: unknown key `query.max_line_bytes`; did you mean `ingest.max_line_bytes`?",
        ),
        ("listen = 5\n", "plumbago.toml:1:10: listen: expected a section, written [listen], found integer"),
        (
            "[listen]\n\nhttp = 'localhost'\n",
            "plumbago.toml:3:8: listen.http: `localhost` is not an address; write host:port such as \
             \"127.0.0.1:8080\", \"localhost:8080\", \":8080\" or \"[::1]:8080\", or \"off\"",
        ),
        ("[ingest]\nudp = 'no'\n", "plumbago.toml:2:7: ingest.udp: expected true or false, found \"no\""),
        (
            "[query]\nmax_concurrent = 0\n",
            "plumbago.toml:2:18: query.max_concurrent: 0 is too small; give at least 1",
        ),
        (
            "[retention]\ndefault = '10s'\n",
            "plumbago.toml:2:11: retention.default: `10s`: `10s` is not `precision:length`; \
             write something like `10s:1d`",
        ),
        (
            "[listen]\npickle = '127.0.0.1:2003'\n",
            "plumbago.toml:2:10: listen.pickle: 127.0.0.1:2003 is taken by listen.carbon; \
             give each listener an address of its own",
        ),
    ] {
        assert_eq!(Setup::file(text).error(), error, "{text}");
    }
}

#[test]
fn syntax_errors_name_line_and_column() {
    let text = Setup::file("[listen]\nhttp = \n").error();
    assert!(text.starts_with("plumbago.toml:2:"), "{text}");
    assert!(!text.contains('\n'), "{text}");
    let text = Setup::file("[listen]\nhttp = ''\nhttp = ''\n").error();
    assert!(text.starts_with("plumbago.toml:3:1: ") && text.contains("duplicate"), "{text}");
}

#[test]
fn errors_of_rules_name_line_and_rule() {
    let rule = |body: &str| Setup::file(&format!("[[retention.rule]]\nname = 'r'\n{body}\n")).error();
    for (body, error) in [
        ("patern = 'x'", "plumbago.toml:3:1: unknown key `retention.rule.patern`; did you mean `pattern`?"),
        (
            "retentions = '1m:1h'",
            "plumbago.toml:1:1: rule `r`: it has no `pattern`; write a regular expression",
        ),
        (
            "pattern = 'x'",
            "plumbago.toml:1:1: rule `r`: it gives nothing; write `retentions`, `aggregation` or both",
        ),
        (
            "pattern = 'x'\nx_files_factor = 2",
            "plumbago.toml:4:18: rule `r`: xFilesFactor 2 is not a fraction; give a number from 0 to 1",
        ),
        (
            "pattern = 'x'\nretentions = '1m'",
            "plumbago.toml:4:14: rule `r`: `1m` is not `precision:length`; write something like `10s:1d`",
        ),
    ] {
        assert_eq!(rule(body), error, "{body}");
    }
    let text = rule("pattern = '(?!x)'\nretentions = '1m:1h'");
    assert!(
        text.starts_with("plumbago.toml:3:11: rule `r`: pattern `(?!x)`: `(?!` is a look-ahead"),
        "{text}"
    );
    let text = rule("pattern = 'x'\naggregation = 'p95'");
    assert!(
        text.starts_with("plumbago.toml:4:15: rule `r`: aggregation method `p95` needs all points"),
        "{text}"
    );
    let text = rule("pattern = 5\naggregation = 'max'");
    assert!(text.starts_with("plumbago.toml:3:11: rule `rule 1`: invalid type"), "{text}");
    let text = Setup::file("[retention]\nrule = 5\n").error();
    assert_eq!(
        text,
        "plumbago.toml:2:8: retention.rule: expected rules, each written as a [[retention.rule]] table"
    );
}

#[test]
fn errors_of_the_environment_name_the_variable() {
    for (name, value, error) in [
        (
            "PLUMBAGO_LISTEN__HTPT",
            "x",
            "environment variable PLUMBAGO_LISTEN__HTPT: unknown key `listen.htpt`; did you mean `listen.http`?",
        ),
        (
            "PLUMBAGO_INGEST__MAX_METRICS",
            "-1",
            "environment variable PLUMBAGO_INGEST__MAX_METRICS: ingest.max_metrics: \
             expected a whole number, found -1",
        ),
        (
            "PLUMBAGO_STORE__PATH",
            "",
            "environment variable PLUMBAGO_STORE__PATH: store.path: expected a path, found \"\"",
        ),
    ] {
        assert_eq!(Setup::new().env(name, value).error(), error);
    }
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStringExt;
    let mut setup = Setup::new();
    setup.sources.environment.push(("PLUMBAGO_STORE__PATH".into(), OsString::from_vec(vec![0xff])));
    assert_eq!(setup.error(), "environment variable PLUMBAGO_STORE__PATH is not UTF-8");
}

#[test]
fn errors_of_flags_name_the_flag_and_key() {
    assert_eq!(
        Setup::new().set("listen.http").error(),
        "--set listen.http: write it as section.key=value, for example --set listen.http=0.0.0.0:8080"
    );
    assert_eq!(
        Setup::new().set("store.pth=x").error(),
        "--set: unknown key `store.pth`; did you mean `store.path`?"
    );
    assert_eq!(
        Setup::new().set("query.find_timeout=soon").error(),
        "--set: query.find_timeout: expected a duration such as \"200ms\", \"10s\", \"5m\", \
         or a number of seconds, found \"soon\""
    );
    assert!(Setup::new().set("retention.rule=[{").error().starts_with("--set: retention.rule: "));
}
