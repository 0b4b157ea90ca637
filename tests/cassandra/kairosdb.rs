//! `import kairosdb` from keyspaces of all generations, which a Python program writes byte by byte, into both stores.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use plumbago::store::cassandra::{Cluster, Settings};
use serde_json::{Value, json};

use crate::harness::{Setup, now, wait_until};
use crate::node;
use crate::servers::{schema, setup, until};

/// Three weeks: how long a row is.
const WIDTH_MS: u64 = 1_814_400_000;
/// Every point of the tests is kept as it is.
const RETENTION: &str = "1s:60d,1m:90d";

/// A keyspace of KairosDB, gone with the test.
struct Keyspace {
    settings: Settings,
}

impl Keyspace {
    /// `None` after a loud skip.
    fn write(test: &str, description: &Value) -> Option<Self> {
        let shared = node::shared(test)?;
        let python = node::biggraphite(test)?.join("bin/python");
        let (host, port) = shared.nodes[0].rsplit_once(':').unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cassandra/kairosdb_writer.py");
        let mut writer = Command::new(python)
            .args([script, host, port, &shared.keyspace])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        writer.stdin.take().unwrap().write_all(description.to_string().as_bytes()).unwrap();
        let done = writer.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Some(Self { settings: shared })
    }

    /// The command that imports it, without what the test adds.
    fn arguments(&self) -> Vec<String> {
        let given = ["import", "kairosdb", "--nodes", &self.settings.nodes[0], "--keyspace"];
        given.iter().map(|&part| part.to_owned()).chain([self.settings.keyspace.clone()]).collect()
    }

    fn import(&self, into: &Setup, more: &[&str]) -> Output {
        let mut arguments = self.arguments();
        arguments.extend(more.iter().map(|&part| part.to_owned()));
        into.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The report of an import, which must succeed.
    #[track_caller]
    fn report(&self, into: &Setup, more: &[&str]) -> Value {
        let done = self.import(into, &[more, &["--output", "json"]].concat());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    }
}

impl Drop for Keyspace {
    fn drop(&mut self) {
        if let Ok(cluster) = Cluster::connect(self.settings.clone()) {
            node::drop_keyspaces(&cluster, &[&self.settings]);
        }
    }
}

fn embedded() -> Setup {
    Setup::new().set("kairosdb.retention", RETENTION)
}

/// Series that every generation can hold, and what must come out: name, points by second.
struct Sample {
    series: Vec<Value>,
    expected: Vec<(String, Vec<(f64, u64)>)>,
}

/// When KairosDB itself says that a point was: where it counts in seconds, they begin with the row, which may begin within one.
fn seen(ms: u64, unit: &str) -> u64 {
    let row = ms / (WIDTH_MS / 1000) * (WIDTH_MS / 1000);
    if unit == "SECONDS" { (row + (ms - row) / 1000 * 1000) / 1000 } else { ms / 1000 }
}

impl Sample {
    fn new(index: &str, unit: &str) -> Self {
        // In one row, also where rows are half an hour long.
        let base = ((now() - 3600) * 1000 / (WIDTH_MS / 1000) * (WIDTH_MS / 1000)).div_ceil(1000) + 10;
        let edge = now() * 1000 / WIDTH_MS * WIDTH_MS;
        let longs: Vec<(f64, u64)> = (0..120).map(|i| (i as f64 - 60.0, base + i)).collect();
        let doubles: Vec<(f64, u64)> = (200..260).map(|i| (i as f64 / 8.0 - 30.0, base + i)).collect();
        let ms = |points: &[(f64, u64)], long: bool| -> Value {
            let value = |value: f64| if long { json!(value as i64) } else { json!(value) };
            points.iter().map(|&(v, t)| json!([t * 1000 + 37, value(v)])).collect()
        };
        let around = json!([[edge - 1000, -1.5], [edge, 2.5], [edge + 1000, 3.5]]);
        let at = |points: &[(f64, u64)]| -> Vec<(f64, u64)> {
            points.iter().map(|&(value, time)| (value, seen(time * 1000 + 37, unit))).collect()
        };
        let series = vec![
            json!({"metric": "Temperature", "tags": {"city": "Antalya"}, "type": "kairos_long", "index": index,
                "points": ms(&longs, true)}),
            json!({"metric": "Temperature", "tags": {"city": "Antalya"}, "type": "kairos_double", "index": index,
                "ttl": 100_000, "points": ms(&doubles, false)}),
            json!({"metric": "disk:free", "tags": {"path": "C:=\\a;b", "host": "é web"}, "type": "kairos_double",
                "index": index, "points": around}),
        ];
        let expected = vec![
            ("Temperature;city=Antalya".to_owned(), at(&[longs, doubles].concat())),
            (
                "disk:free;host=é web;path=C:=\\a%3Bb".to_owned(),
                vec![
                    (-1.5, seen(edge - 1000, unit)),
                    (2.5, seen(edge, unit)),
                    (3.5, seen(edge + 1000, unit)),
                ],
            ),
        ];
        Self { series, expected }
    }

    /// The points of a store are those that were sent, all of them.
    fn check(&self, store: Setup, generation: &str) {
        let server = store.start();
        for (name, points) in &self.expected {
            let metric = name.split_once(';').unwrap().0;
            let target = format!("seriesByTag('name={metric}')");
            let found = server.render(&target, points[0].1 - 1, points[points.len() - 1].1);
            assert_eq!(found, [(name.clone(), points.clone())], "{generation}: {target}");
        }
    }
}

fn generations_come_in(test: &str, generations: &[(&str, Value, &str)]) {
    for (generation, description, index) in generations {
        let mut description = description.clone();
        let unit = description["spec"]["row_time_unit"].as_str().unwrap_or_default().to_owned();
        let sample = Sample::new(index, &unit);
        description["series"] = sample.series.clone().into();
        let Some(keyspace) = Keyspace::write(test, &description) else { return };
        let store = embedded();
        let report = keyspace.report(&store, &[]);
        assert_eq!(report["points_read"], 183, "{generation}: {report}");
        let imported = &report["imported"];
        assert_eq!((&imported["verified"], &imported["metrics_created"]), (&2.into(), &2.into()), "{report}");
        assert_eq!(
            (&imported["different"], &report["unreadable_points"]),
            (&json!([]), &0.into()),
            "{report}"
        );
        // Again: nothing changes.
        let again = keyspace.report(&store, &[]);
        assert_eq!(
            (&again["imported"]["merged"], &again["imported"]["points"]),
            (&2.into(), &0.into()),
            "{again}"
        );
        sample.check(store, generation);
    }
}

#[test]
fn keyspaces_of_kairosdb_1_1_and_1_2_come_in() {
    let test = "keyspaces_of_kairosdb_1_1_and_1_2_come_in";
    generations_come_in(
        test,
        &[
            ("1.1", json!({"tables": ["row_key_index"]}), "old"),
            ("1.2", json!({"tables": ["row_key_index", "row_keys"]}), "new"),
            ("1.2 beta", json!({"tables": ["row_keys", "blob_names"]}), "new"),
            ("upgraded", json!({"tables": ["row_key_index", "row_keys"]}), "both"),
        ],
    );
}

#[test]
fn keyspaces_of_kairosdb_1_3_come_in_in_every_unit() {
    let test = "keyspaces_of_kairosdb_1_3_come_in_in_every_unit";
    let of = |unit: &str, width: &str| {
        json!({"tables": ["row_key_index", "row_keys", "spec"],
            "spec": {"row_time_unit": unit, "row_width": width}})
    };
    generations_come_in(
        test,
        &[
            ("1.3 in milliseconds", of("MILLISECONDS", "1814400000"), "new"),
            ("1.3 in seconds", of("SECONDS", "1814400"), "new"),
            ("1.3 after an upgrade", of("LEGACY", "1814400000"), "both"),
        ],
    );
}

#[test]
fn odd_values_are_kept_or_counted() {
    let test = "odd_values_are_kept_or_counted";
    let base = now() - 3600;
    let at = |second: u64| (base + second) * 1000;
    // One bin with two values, and minimum, maximum, mean, sum.
    let histogram = ["00000001", "3ff0000000000000", "00000002", "3ff0000000000000", "4000000000000000"]
        .concat()
        + "3ff80000000000004008000000000000";
    let one = |metric: &str, data_type: &str, points: Value| json!({"metric": metric, "tags": {"host": "a"}, "type": data_type, "points": points});
    let description = json!({
        "tables": ["row_key_index", "row_keys"],
        "series": [
            {"metric": "untyped", "tags": {"host": "a"}, "index": "old", "points":
                [[at(0), 0], [at(1), -7], [at(2), 1.5], [at(3), 0.1], [at(4), 300]]},
            {"metric": "moved", "tags": {"host": "a"}, "index": "old", "type": "kairos_long", "points": [[at(0), 1]]},
            one("moved", "kairos_long", json!([[at(0), 1]])),
            one("texts", "kairos_string", json!([[at(0), "000161"], [at(1), "000162"]])),
            one("waves", "kairos_complex", json!([[at(0), "00"]])),
            one("big", "kairos_long", json!([[at(0), 9_007_199_254_740_993_i64], [at(1), "ffff"]])),
            one("ancient", "kairos_long", json!([[1_000_000_000_000_u64, 1]])),
            one("sizes", "kairos_histogram_v1", json!([[at(0), histogram], [at(0), histogram]])),
        ],
        "broken_keys": [{"metric": "untyped", "key": "6f6c64"}],
    });
    let Some(keyspace) = Keyspace::write(test, &description) else { return };
    let store = embedded();
    let trial = keyspace.import(&store, &["--dry-run"]);
    let said = String::from_utf8_lossy(&trial.stdout).into_owned();
    assert!(said.contains("skipped: 2 points of type kairos_string in 1 series"), "{said}");
    assert!(said.contains("1 points older than the retention"), "{said}");
    let done = keyspace.import(&store, &["--histograms", "--output", "json"]);
    // A key that cannot be read is left out, and the command says so.
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(report["skipped_types"]["kairos_complex"]["points"], 1, "{report}");
    assert_eq!((&report["beyond_2_53"], &report["unreadable_points"]), (&1.into(), &1.into()), "{report}");
    assert_eq!(report["unreadable_keys"]["items"][0]["what"], "6f6c64", "{report}");
    let server = store.start();
    let read = |metric: &str| server.points(&format!("seriesByTag('name={metric}')"), base - 1, base + 10);
    let untyped = [0.0, -7.0, 1.5, 0.1, 300.0];
    let expected: Vec<(f64, u64)> = untyped.iter().zip(base..).map(|(&value, time)| (value, time)).collect();
    assert_eq!(read("untyped"), expected);
    assert_eq!(read("moved"), [(1.0, base)]);
    assert_eq!(read("big"), [(9_007_199_254_740_992.0, base)]);
    for (child, value) in [("count", 2.0), ("sum", 3.0), ("min", 1.0), ("max", 2.0)] {
        assert_eq!(read(&format!("sizes.{child}")), [(value, base)], "{child}");
    }
}

#[test]
fn a_part_of_a_keyspace_goes_into_a_running_server_on_a_cluster() {
    let test = "a_part_of_a_keyspace_goes_into_a_running_server_on_a_cluster";
    let base = now() - 3600;
    let series = |metric: &str| {
        let points: Vec<_> = (0..60).map(|i| json!([(base + i) * 1000, i])).collect();
        json!({"metric": metric, "tags": {"host": "a"}, "type": "kairos_long", "points": points})
    };
    let name = crate::servers::fresh("moved");
    let description =
        json!({"tables": ["row_keys"], "series": [series(&format!("{name}.a")), series("other")]});
    let Some(keyspace) = Keyspace::write(test, &description) else { return };
    let Some(settings) = schema(test) else { return };
    let server = setup(settings, "memory").set("kairosdb.retention", "1s:2h,10s:6h,60s:2d").start();
    let here = Setup::new().set("kairosdb.retention", "1s:2h,10s:6h,60s:2d");
    let url = format!("http://{}", server.http);
    let (from, pattern) = ((base + 30).to_string(), format!("{name}.*"));
    let report = keyspace.report(&here, &["--url", &url, "--metric", &pattern, "--from", &from]);
    assert_eq!((&report["metrics"], &report["points_read"]), (&1.into(), &30.into()), "{report}");
    let expected: Vec<(f64, u64)> = (30..60).map(|i| (i as f64, base + i)).collect();
    let target = format!("{name}.a;host=a");
    until("the points", || server.points(&target, base - 1, base + 60) == expected);
    let missing = keyspace.import(&here, &["--metric", "no.such"]);
    assert!(
        String::from_utf8_lossy(&missing.stderr).contains("no metric that matches `no.such`"),
        "{missing:?}"
    );
}

/// The names in a journal.
fn listed(journal: &Path) -> usize {
    std::fs::read_to_string(journal).map_or(0, |text| text.lines().count().saturating_sub(1))
}

#[test]
fn an_import_of_kairosdb_that_is_killed_goes_on_where_it_was() {
    const SERIES: usize = 400;
    let test = "an_import_of_kairosdb_that_is_killed_goes_on_where_it_was";
    let base = now() - 3600;
    let one = |nth: usize| {
        let points: Vec<_> = (0..5).map(|i| json!([(base + i) * 1000, nth as u64 + i])).collect();
        json!({"metric": "many", "tags": {"host": format!("h{nth}")}, "type": "kairos_long", "points": points})
    };
    let series: Vec<Value> = (0..SERIES).map(one).collect();
    let Some(keyspace) = Keyspace::write(test, &json!({"tables": ["row_keys"], "series": series})) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let store = embedded().data(&place.path().join("data"));
    let journal = place.path().join("journal");
    let more = ["--batch", "5", "--jobs", "1", "--journal", journal.to_str().unwrap()];
    let mut import = crate::harness::plumbago();
    import.current_dir(store.directory()).arg("--set").arg(format!("kairosdb.retention={RETENTION}"));
    import.arg("--set").arg(format!("store.path={}", place.path().join("data").display()));
    import.args(keyspace.arguments()).args(more).stdout(Stdio::null()).stderr(Stdio::null());
    let mut import = import.spawn().unwrap();
    wait_until("the first series in the journal", || listed(&journal) > 0);
    import.kill().unwrap();
    import.wait().unwrap();
    let done = listed(&journal);
    assert!(done > 0 && done < SERIES, "{done} series were done when it was killed");
    let report = keyspace.report(&store, &more);
    let count = |what: &str| report["imported"][what].as_u64().unwrap() as usize;
    assert_eq!(count("imported_earlier"), done, "{report}");
    assert_eq!(count("verified") + count("merged") + done, SERIES, "{report}");
    assert!(!journal.exists(), "all is done");
    let server = store.start();
    let found = server.render("seriesByTag('name=many')", base - 1, base + 10);
    assert_eq!(found.len(), SERIES);
    for (name, points) in found {
        let nth: u64 = name.rsplit_once("=h").unwrap().1.parse().unwrap();
        let expected: Vec<(f64, u64)> = (0..5).map(|i| ((nth + i) as f64, base + i)).collect();
        assert_eq!(points, expected, "{name}");
    }
}
