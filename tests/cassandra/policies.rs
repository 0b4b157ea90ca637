//! Changed retention rules on a cluster: the metrics that they mean move, for all servers, and keep what they have.

use std::path::Path;

use plumbago::store::cassandra::{Cluster, Purpose, Settings};
use serde_json::Value;

use crate::harness::{Server, now};
use crate::servers::{RETENTIONS, fresh, schema, settle, setup, until};

/// Writes the rule of the metrics below `top`.
fn rule(file: &Path, top: &str, retentions: &str) {
    std::fs::write(file, format!("[ours]\npattern = ^{top}\\.\nretentions = {retentions}\n")).unwrap();
}

/// The retention in the metadata of a metric.
fn stored(settings: &Settings, name: &str) -> String {
    let cluster = Cluster::connect(settings.clone()).unwrap();
    let keyspace = &settings.keyspace_metadata;
    let text = format!("SELECT config['retention'] FROM {keyspace}.metrics_metadata WHERE name = '{name}'");
    let rows = cluster.block_on(cluster.run_once(Purpose::Background, &text, ())).unwrap();
    rows.into_rows_result().unwrap().single_row::<(String,)>().unwrap().0
}

fn policy(server: &Server, name: &str) -> String {
    server.json(&format!("/internal/info?name={name}"))["policy"].as_str().unwrap().to_owned()
}

#[test]
fn a_reload_moves_metrics_for_all_servers_and_they_keep_what_they_have() {
    let test = "a_reload_moves_metrics_for_all_servers_and_they_keep_what_they_have";
    let Some(settings) = schema(test) else { return };
    let (top, base) = (fresh("moved"), (now() - 3600) / 60 * 60);
    let name = format!("{top}.a");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("storage-schemas.conf");
    rule(&file, &top, RETENTIONS);
    let with_rule = || setup(settings, "memory").set("retention.schemas", file.to_str().unwrap());
    let (one, other) = (with_rule().start(), setup(settings, "memory").start());
    let seconds = |range: std::ops::Range<u64>| range.map(|t| format!("{name} 2 {t}\n")).collect::<String>();
    one.store(&seconds(base..base + 600));
    settle(&one);
    until("the metric on the other server", || other.points(&name, base - 1, base + 600).len() == 600);
    // Both have written a part of it.
    other.store(&seconds(base + 600..base + 620));
    settle(&other);

    // Its new stage 0 has no table yet.
    rule(&file, &top, "5s:4h,60s:2d");
    let refused = one.post("/internal/reload", &[]);
    assert!(refused.status >= 400 && refused.body.contains("datapoints_2880p_5s_0"), "{}", refused.body);
    assert_eq!(policy(&one, &name), "7200*1s:2160*10s:2880*60s|average|0.5");
    let here = with_rule();
    let made = here.run(&["schema", "apply"]);
    assert!(made.status.success(), "{made:?}");

    let plan = one.json("/internal/retention");
    let moves = plan["moves"].as_array().unwrap();
    assert_eq!(
        (moves.len(), &moves[0]["metrics"], &moves[0]["examples"][0]),
        (1, &1.into(), &(*name).into())
    );
    assert_eq!(moves[0]["to"], "2880*5s:2880*60s|average|0.5");
    let reloaded = one.post("/internal/reload", &[]);
    let moved: Value = serde_json::from_str(&reloaded.body).unwrap();
    assert_eq!((reloaded.status, &moved["moved"]), (200, &1.into()), "{}", reloaded.body);
    assert_eq!(stored(settings, &name), "2880*5s:2880*60s");
    let expected = "2880*5s:2880*60s|average|0.5";
    assert_eq!(policy(&one, &name), expected);
    until("the policy on the other server", || policy(&other, &name) == expected);

    // What was stored under the old stages is shown where the new ones have nothing, and new points go to the new ones.
    let old: Vec<(f64, u64)> = (0..124).map(|slot| (2.0, base + slot * 5)).collect();
    let next = base + 700;
    other.store(&format!("{name} 7 {next}\n"));
    settle(&other);
    let all = [old, vec![(7.0, next)]].concat();
    for server in [&one, &other] {
        until("the new point", || server.points(&name, next - 5, next) == [(7.0, next)]);
        assert_eq!(server.points(&name, base - 5, base + 800), all);
        // By the minute, which both policies have, with the parts of both servers.
        let minutes = server.points(&name, now() - 12 * 3600, now());
        assert_eq!(minutes.len(), 11, "{minutes:?}");
        assert!(minutes.iter().all(|(value, _)| *value == 2.0), "{minutes:?}");
    }
    // The same files again move nothing, and neither does a restart of a server with other rules.
    assert_eq!(serde_json::from_str::<Value>(&one.post("/internal/reload", &[]).body).unwrap()["moved"], 0);
    let (status, other) = other.stop("TERM");
    assert!(status.success());
    let other = other.start();
    assert_eq!(
        (policy(&other, &name).as_str(), stored(settings, &name).as_str()),
        (expected, "2880*5s:2880*60s")
    );
    assert_eq!(other.points(&name, base - 5, base + 800), all);
}
