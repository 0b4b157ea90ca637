//! Metrics without new points leave by themselves, or when somebody asks for it.

use crate::harness::{Server, Setup, now, wait_until};

/// Points older than an hour make a metric leave. Spans are kept by the hour, so old ones are two hours older.
fn setup() -> Setup {
    Setup::new().set("retention.default", "10s:1h,60s:2d").set("retention.forget_after", "1h")
}

/// Runs a command that must succeed. Gives what it printed, and what it said.
fn run(setup: &Setup, arguments: &[&str]) -> (String, String) {
    let output = setup.run(arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, said) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{arguments:?}: {said}");
    (out, said)
}

fn found(server: &Server) -> Vec<String> {
    let found = server.json("/metrics/expand?query=**&query=*&leavesOnly=1");
    let found = found["results"].as_array().unwrap();
    found.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

fn store_some(server: &Server) {
    let old = now() - 3 * 3600;
    server.store(&format!("gone.a 1 {old}\ngone.b;dc=x 1 {old}\nkept.a 1 {}\n", now() - 30));
}

#[test]
fn a_running_server_forgets_what_is_over_and_a_restart_does_not_bring_it_back() {
    let server = setup().set("retention.forget_interval", "50ms").start();
    store_some(&server);
    server.wait_for("plumbago_metrics_forgotten_total", 2);
    assert_eq!(server.counter("plumbago_metrics"), 1);
    assert_eq!(found(&server), ["kept.a"]);
    assert_eq!(server.json("/tags"), serde_json::json!([]));
    let server = server.kill().start();
    assert_eq!(found(&server), ["kept.a"], "after a crash");
    let server = server.stop("TERM").1.start();
    assert_eq!(found(&server), ["kept.a"], "after a stop");
    // It comes back with its next point, and with that one only: the old one would be shown in the second stage.
    let time = now() / 10 * 10 - 20;
    server.store(&format!("gone.a 7 {time}\n"));
    assert_eq!(found(&server), ["gone.a", "kept.a"]);
    assert_eq!(server.points("gone.a", now() - 3000, now()), [(7.0, time)]);
    let old = server.points("gone.a", now() - 86_400, now());
    assert!(old.iter().all(|&(_, at)| at > now() - 3600), "{old:?}");
}

#[test]
fn the_time_can_be_changed_by_a_reload_and_off_keeps_everything() {
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("plumbago.toml");
    let write = |after: &str| {
        let text = format!(
            "[retention]\ndefault = '10s:1h,60s:2d'\nforget_after = '{after}'\nforget_interval = '50ms'\n"
        );
        std::fs::write(&file, text).unwrap();
    };
    write("off");
    let server = Setup::new().environment("PLUMBAGO_CONFIG", file.to_str().unwrap()).start();
    store_some(&server);
    assert_eq!(server.counter("plumbago_metrics"), 3);
    write("1h");
    assert_eq!(server.post("/internal/reload", &[]).status, 200);
    server.wait_for("plumbago_metrics_forgotten_total", 2);
    assert_eq!(found(&server), ["kept.a"]);
}

#[test]
fn clean_lists_exactly_what_goes_and_asks_a_running_server() {
    let server = setup().start();
    store_some(&server);
    let url = format!("http://{}", server.http);
    let listed = run(server.setup(), &["clean", "--dry-run", "--url", &url]);
    assert_eq!(listed.0, "gone.a\ngone.b;dc=x\n");
    assert!(listed.1.contains("2 metrics would be deleted"), "{}", listed.1);
    assert_eq!(server.counter("plumbago_metrics"), 3, "a trial deletes nothing");
    let long = run(server.setup(), &["clean", "--dry-run", "--unwritten-for", "1d", "--url", &url]);
    assert_eq!(long.0, "");
    let (json, _) = run(server.setup(), &["clean", "--output", "json", "--url", &url]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json, serde_json::json!({ "done": true, "found": { "metrics": ["gone.a", "gone.b;dc=x"] } }));
    assert_eq!(found(&server), ["kept.a"]);
    assert_eq!(server.counter("plumbago_metrics_forgotten_total"), 2);
    let (_, setup) = server.stop("TERM");
    assert_eq!(run(&setup, &["find", "*.*"]).0, "kept.a\n");
}

#[test]
fn clean_works_on_a_store_whose_server_is_stopped() {
    let server = setup().set("retention.forget_after", "off").start();
    store_some(&server);
    let (_, setup) = server.stop("TERM");
    // Nothing is older than the retention, which counts where `forget_after` is off.
    assert_eq!(run(&setup, &["clean", "--dry-run"]).0, "");
    assert_eq!(run(&setup, &["clean", "--unwritten-for", "90min", "--dry-run"]).0, "gone.a\ngone.b;dc=x\n");
    assert_eq!(run(&setup, &["clean", "--unwritten-for", "90min"]).0, "gone.a\ngone.b;dc=x\n");
    assert_eq!(run(&setup, &["clean", "--unwritten-for", "90min"]).0, "");
    let server = setup.start();
    wait_until("the metric that is left", || found(&server) == ["kept.a"]);
}
