//! The doors of KairosDB, OpenTSDB and Ceres in front of a cluster.

use plumbago::store::cassandra::Settings;
use serde_json::{Value, json};

use crate::harness::Setup;
use crate::meeting;
use crate::servers::{schema, settle, setup, until};

/// A server that keeps what comes through these doors in tables that are there.
fn with_doors(settings: &Settings) -> Setup {
    setup(settings, "memory").set("kairosdb.retention", crate::servers::RETENTIONS)
}

#[test]
fn metadata_is_shared_by_the_servers_of_a_cluster() {
    let Some(settings) = schema("metadata_is_shared_by_the_servers_of_a_cluster") else { return };
    let (one, two) = (with_doors(settings).start(), with_doors(settings).start());
    meeting::metadata_comes_and_goes(&one);
    let name = crate::servers::fresh("service");
    let at = |rest: &str| format!("/api/v1/metadata/{name}/{rest}");
    assert_eq!(one.post_text(&at("disk/unit"), "MB").status, 204);
    assert_eq!(two.get(&at("disk/unit")).body, "MB");
    assert_eq!(two.delete(&at("disk/unit")).status, 204);
    assert_eq!(one.get(&at("disk/unit")).status, 404);
}

#[test]
fn clients_of_every_door_meet_on_one_series_of_a_cluster() {
    let Some(settings) = schema("clients_of_every_door_meet_on_one_series_of_a_cluster") else { return };
    let one = with_doors(settings).set("listen.kairosdb_telnet", "127.0.0.1:0").start();
    let metric = crate::servers::fresh("met");
    until("the names", || one.get("/tags/findSeries?expr=name=nothing").status == 200);
    let (target, points) = meeting::clients_of_all_doors_meet_on_one_series(&one, &metric);
    settle(&one);
    // Another server, whose directory knows nothing, reads the same from the cluster.
    let two = with_doors(settings).start();
    let t = points[0].1;
    let known = format!("/tags/findSeries?expr=name={metric}&expr=host=web1");
    until("the other server's names", || two.get(&known).body.contains(&metric));
    until("the other server's points", || two.points(&target, t - 1, t + 10) == points);
    let query =
        json!({ "start_absolute": t * 1000, "metrics": [{ "name": metric, "tags": { "host": "web1" } }] });
    let answer = two.post_json("/api/v1/datapoints/query", &query);
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(answer["queries"][0]["sample_size"], points.len());
    meeting::a_deletion_is_seen_through_every_door(&one, &metric, &target);
    until("the deletion", || two.render(&target, t - 1, t + 10).is_empty());
}
