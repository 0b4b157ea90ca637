//! BigGraphite's accessor and ours on the same tables.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use plumbago::store::cassandra::Settings;
use plumbago::store::cassandra::names::{
    Change, Cursor, LookupLimits, Names, Outcome, decode_config, encode_config, identity,
};
use plumbago::store::cassandra::schema::Indexes;
use plumbago_model::glob::Glob;
use plumbago_model::{Aggregator, Cancel, Policy};
use serde_json::{Value, json};

use super::{Fixture, create, loaded, policy};
use crate::node;

/// BigGraphite in a process of its own.
pub(crate) struct BigGraphite {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl BigGraphite {
    pub(crate) fn start(test: &str, settings: &Settings) -> Option<Self> {
        let environment = node::biggraphite(test)?;
        let (host, port) = settings.nodes[0].rsplit_once(':').unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cassandra/names/peer.py");
        let mut child = Command::new(environment.join("bin/python"))
            .args([script, host, port, &settings.keyspace])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Some(Self { child, input, output: BufReader::new(output) })
    }

    pub(crate) fn ask(&mut self, command: &str, arguments: Value) -> Value {
        writeln!(self.input, "{}", json!([command, arguments])).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{command}: {error}: `{line}`"))
    }

    fn globs(&mut self, patterns: &[&str]) -> Vec<(Vec<String>, Vec<String>)> {
        serde_json::from_value(self.ask("glob", json!(patterns))).unwrap()
    }
}

impl Drop for BigGraphite {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Names that BigGraphite creates, with configs as it spells them.
const THEIRS: [(&str, &str, &str); 6] = [
    ("bg.par.host1.cpu", "average", "11520*60s:720*3600s:730*86400s"),
    ("bg.par.host1.cpu.idle", "total", "60*1s"),
    ("bg.ams.host2.cpu", "minimum", "60*60s:48*3600s"),
    ("bg..ams.host3.mem.", "maximum", "60*60s"),
    ("bg.été.☃", "last", "60*60s"),
    ("alone", "average", "60*60s"),
];

/// Those we create.
const OURS: [&str; 9] = [
    "pl.par.host1.cpu",
    "pl.par.host1.cpu.idle",
    "pl.ams.host2.cpu",
    "pl.ams.host12.mem",
    "pl.été.☃",
    "bg.par.host9.cpu",
    "single",
    "pl.x_y.a-b",
    "pl.50%.used",
];

/// Patterns that mean the same to both.
const PATTERNS: [&str; 27] = [
    "*",
    "bg.*",
    "pl.*",
    "bg.par.*",
    "*.*",
    "*.par.*",
    "*.par.*.cpu",
    "*.*.host?.cpu",
    "pl.ams.host[12].*",
    "pl.ams.host1*.*",
    "*.{par,ams}.host1.cpu",
    "{pl,bg}.*.{host1,host2}.c*",
    "pl.par.host1.cpu",
    "alone",
    "nothing.*",
    "pl.par.host1.cpu.*",
    "pl.**",
    "bg.**",
    "**",
    "pl.**.cpu",
    "*.é*.*",
    "*.été.☃",
    "pl.x?y.*",
    "pl.50%.*",
    "p*.*.h*.*",
    "*l.par.*",
    "pl.p[a-c]r.host[!2-9].cpu",
];

const LIMITS: LookupLimits = LookupLimits { max_hits: 1000, max_rows: 10_000 };

fn config(aggregator: &str, retention: &str) -> Value {
    json!({"aggregator": aggregator, "retention": retention, "carbon_xfilesfactor": "0.250000"})
}

fn canonical(name: &str) -> String {
    identity::canonical(name).unwrap().into_owned()
}

/// They create; we load, follow and create again.
fn what_they_create_we_see(biggraphite: &mut BigGraphite, names: &Names) {
    let default = policy("1*1s|last|1");
    let mut cursor = Cursor::now();
    let metrics: Vec<Value> =
        THEIRS.iter().map(|(name, method, retention)| json!([name, config(method, retention)])).collect();
    biggraphite.ask("create", json!(metrics));
    let expected: BTreeMap<String, Policy> = THEIRS
        .iter()
        .map(|(name, method, retention)| {
            let text = format!("{retention}|{method}|0.25");
            (canonical(name), text.parse().unwrap())
        })
        .collect();
    let found = loaded(names, &default);
    let found: BTreeMap<String, Policy> =
        found.into_iter().map(|listed| (listed.name, (*listed.policy).clone())).collect();
    assert_eq!(found, expected);
    let changes = names.changes(&mut cursor, &default, &|name| name == "alone").unwrap();
    let told: BTreeMap<String, Policy> = changes
        .into_iter()
        .map(|change| match change {
            Change::Created { name, policy } => (name, (*policy).clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    let unknown = expected.iter().filter(|(name, _)| *name != "alone");
    assert_eq!(told, unknown.map(|(name, policy)| (name.clone(), policy.clone())).collect());
    let outcomes = create(names, &expected.keys().collect::<Vec<_>>(), &default);
    for (outcome, policy) in outcomes.iter().zip(expected.values()) {
        assert!(matches!(outcome, Outcome::Existed(kept) if **kept == *policy), "{outcome:?}");
    }
}

/// We create; they get it with the same id and config.
fn what_we_create_they_see(biggraphite: &mut BigGraphite, names: &Names) {
    let ours = policy("11520*60s:720*3600s|sum|0.25");
    create(names, &OURS, &ours);
    let odd = |method: Aggregator| format!("odd.{method}");
    for method in Aggregator::ALL {
        create(names, &[odd(method)], &policy(&format!("60*60s:48*3600s|{method}|0.75")));
    }
    let got = biggraphite.ask("get", json!(OURS));
    for (name, got) in OURS.iter().zip(got.as_array().unwrap()) {
        let expected = json!([name, identity::id(name).to_string(), encode_config(&ours)]);
        assert_eq!(got, &expected, "{name}");
    }
    let all: Vec<String> = Aggregator::ALL.map(odd).into();
    let got = biggraphite.ask("get", json!(all));
    let spelled: Vec<&str> =
        got.as_array().unwrap().iter().map(|got| got[2]["aggregator"].as_str().unwrap()).collect();
    assert_eq!(spelled, ["average", "total", "last", "maximum", "minimum", "average", "maximum", "minimum"]);
    assert!(got.as_array().unwrap().iter().all(|got| got[2]["carbon_xfilesfactor"] == "0.750000"));
    assert_eq!(biggraphite.ask("has", json!(["pl.par.host1.cpu", "pl.par"])), json!([true, false]));
    // What comes back from them is what we would have written.
    let pairs: BTreeMap<String, String> = serde_json::from_value(got[0][2].clone()).unwrap();
    let pairs = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    assert_eq!(decode_config(pairs, &ours).to_string(), "60*60s:48*3600s|average|0.75");
}

fn globs_agree(biggraphite: &mut BigGraphite, names: &Names) {
    let mut found = 0;
    for (pattern, (metrics, directories)) in PATTERNS.iter().zip(biggraphite.globs(&PATTERNS)) {
        let hits = names.find(&Glob::parse(pattern).unwrap(), LIMITS, &Cancel::never()).unwrap();
        let of = |leaf: bool| -> BTreeSet<&str> {
            hits.iter()
                .filter(|hit| if leaf { hit.leaf } else { hit.directory })
                .map(|hit| hit.path.as_str())
                .collect()
        };
        assert_eq!(of(true), metrics.iter().map(String::as_str).collect(), "metrics of {pattern}");
        assert_eq!(of(false), directories.iter().map(String::as_str).collect(), "directories of {pattern}");
        found += hits.len();
    }
    assert!(found > 100, "{found}");
}

#[test]
fn names_are_shared_with_biggraphite() {
    let test = "names_are_shared_with_biggraphite";
    let Some(fixture) = Fixture::whole(test, Indexes::Sasi) else { return };
    let Some(mut biggraphite) = BigGraphite::start(test, &fixture.settings) else { return };
    what_they_create_we_see(&mut biggraphite, &fixture.names);
    what_we_create_they_see(&mut biggraphite, &fixture.names);
    globs_agree(&mut biggraphite, &fixture.names);
    // What we delete is gone for them.
    fixture.names.delete(&["bg.ams.host2.cpu".to_owned(), "bg.ams.host3.mem".to_owned()], 8).unwrap();
    assert_eq!(biggraphite.ask("get", json!(["bg.ams.host2.cpu"])), json!([null]));
    assert_eq!(biggraphite.globs(&["bg.*"]), [(vec![], vec!["bg.par".to_owned(), "bg.été".to_owned()])]);
    globs_agree(&mut biggraphite, &fixture.names);
}
