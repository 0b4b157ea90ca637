//! Quotas of servers that share a cluster: what each refuses, and what each counts.

use std::net::UdpSocket;

use crate::harness::{Server, Setup, now};
use crate::servers::{fresh, schema, settle, setup, until};
use plumbago::store::cassandra::Settings;

fn with(settings: &Settings, index: &str, quotas: &str) -> Setup {
    setup(settings, index).set("quota", quotas).set("store.cassandra.reload_interval", "1s")
}

/// A point for each name below a directory.
fn lines(top: &str, names: &[&str]) -> String {
    names.iter().map(|name| format!("{top}.{name} 1 {}\n", now())).collect()
}

/// Sends them over HTTP; gives how many were stored and how many were over a quota.
fn write(server: &Server, lines: &str) -> (u64, u64) {
    let answer = server.post_text("/internal/write", lines);
    let json: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    (json["stored"].as_u64().unwrap(), json["refused"]["quota"].as_u64().unwrap_or(0))
}

fn used(server: &Server, quota: &str) -> u64 {
    server.counter(&format!("plumbago_quota_used{{quota=\"{quota}\",limit=\"metrics\"}}"))
}

#[test]
fn a_quota_counts_the_metrics_of_all_servers() {
    let Some(settings) = schema("a_quota_counts_the_metrics_of_all_servers") else { return };
    for index in ["memory", "sasi"] {
        let top = fresh("counted");
        let quota = format!("[{{name=\"q\", match=\"{top}\", metrics=3}}]");
        let one = with(settings, index, &quota).start();
        assert_eq!(write(&one, &lines(&top, &["a", "b"])), (2, 0), "{index}");
        settle(&one);
        // A server that starts later finds them in the cluster, and counts them where it has all names.
        let two = with(settings, "memory", &quota).start();
        until("the first server's metrics", || used(&two, "q") == 2);
        assert_eq!(write(&two, &lines(&top, &["c", "d", "a"])), (2, 1), "{index}");
        settle(&two);
        if index == "sasi" {
            // Without all names, a server knows what was sent to it.
            assert_eq!(used(&one, "q"), 2);
            continue;
        }
        until("the second server's metric", || used(&one, "q") == 3);
        assert_eq!(write(&one, &lines(&top, &["e", "a", "b", "c"])), (3, 1));
        // What one deletes makes room for the other.
        assert_eq!(one.post("/internal/delete", &[("query", &format!("{top}.a"))]).status, 200);
        until("the deletion", || used(&two, "q") == 2);
        assert_eq!(write(&two, &lines(&top, &["e", "f"])), (1, 1));
    }
}

#[test]
fn a_restart_keeps_the_counts_of_a_cluster() {
    let Some(settings) = schema("a_restart_keeps_the_counts_of_a_cluster") else { return };
    let top = fresh("kept");
    let quotas = format!(
        "[{{name=\"far\", match=\"{top}\", from=\"127.0.0.2\", metrics=2}}, {{name=\"q\", match=\"{top}\", metrics=4}}]"
    );
    let one = with(settings, "memory", &quotas).start();
    let two = with(settings, "memory", &quotas).start();
    let far = UdpSocket::bind("127.0.0.2:0").unwrap();
    let send = |names: &[&str]| _ = far.send_to(lines(&top, names).as_bytes(), one.carbon).unwrap();
    send(&["x", "y", "z"]);
    until("the refusal", || one.rejected("quota") == 1);
    assert_eq!(write(&one, &lines(&top, &["a", "b"])), (2, 0));
    settle(&one);
    assert_eq!((used(&one, "far"), used(&one, "q")), (2, 2));
    // Another server knows names, not who created them.
    until("the first server's metrics", || used(&two, "q") == 4);
    assert_eq!(used(&two, "far"), 0);
    assert_eq!(write(&two, &lines(&top, &["c"])), (0, 1));
    let one = one.kill().start();
    until("the metrics of the log", || (used(&one, "far"), used(&one, "q")) == (2, 2));
    let (_, setup) = one.stop("TERM");
    let one = setup.start();
    until("the metrics of the catalogue", || (used(&one, "far"), used(&one, "q")) == (2, 2));
    assert_eq!(write(&one, &lines(&top, &["c", "d", "e", "a"])), (3, 1));
    settle(&one);
    // It is over its limit there, and what exists is taken all the same.
    until("all metrics", || used(&two, "q") == 6);
    assert_eq!(write(&two, &lines(&top, &["a", "d", "x", "new"])), (3, 1));
}
