//! `top`, and the dates of metrics: on a running server, after a kill, and on a stopped store.

use serde_json::{Value, json};

use crate::harness::{Server, Setup, now};

const DAY: u64 = 86_400;

fn setup() -> Setup {
    Setup::new().set("retention.default", "10s:1h,60s:2d").set("store.cut_interval", "1h")
}

/// One point for each name.
fn store(server: &Server, names: &[&str]) {
    let time = now() / 10 * 10;
    server.store(&names.iter().map(|name| format!("{name} 1 {time}\n")).collect::<String>());
}

fn settle(server: &Server) {
    assert_eq!(server.post("/internal/flush", &[("settle", "1")]).status, 200);
}

fn read(server: &Server, name: &str) {
    assert_eq!(server.points(name, now() - 600, now() + 60).len(), 1, "{name}");
}

fn top(server: &Server) -> Value {
    server.json("/internal/top")
}

fn info(server: &Server, name: &str) -> Value {
    server.json(&format!("/internal/info?name={name}"))
}

/// What a command printed, which must have succeeded.
fn printed(setup: &Setup, arguments: &[&str]) -> String {
    let output = setup.run(arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names of those that were never read, sorted.
fn never_read(top: &Value) -> Vec<String> {
    let names = top["never_read"]["names"].as_array().unwrap();
    let mut names: Vec<String> = names.iter().map(|name| name["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn busy_prefixes_and_new_metrics_come_first() {
    let began = now();
    let server = setup().start();
    for _ in 0..5 {
        store(&server, &["busy.a", "busy.b", "calm.a", "disk.used;host=a"]);
    }
    // Some of the points are in blocks, the others in memory.
    settle(&server);
    store(&server, &["busy.a"]);
    let found = top(&server);
    assert_eq!((&found["metrics"], &found["received"]["points"]), (&json!(4), &json!(21)));
    let since = found["received"]["since"].as_u64().unwrap();
    let until = found["received"]["until"].as_u64().unwrap();
    assert!(began <= since && since <= until && until <= now(), "{found}");
    let rows: Vec<String> = found["received"]["prefixes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{} {} {}", row["prefix"].as_str().unwrap(), row["points"], row["metrics"]))
        .collect();
    assert_eq!(rows, ["busy 11 2", "calm 5 1", "disk 5 1"]);
    let rate = found["received"]["per_second"].as_f64().unwrap();
    assert!((rate - 21.0 / until.saturating_sub(since).max(1) as f64).abs() < 1e-9, "{found}");
    let created: u64 =
        found["created"]["minutes"].as_array().unwrap().iter().map(|m| m["metrics"].as_u64().unwrap()).sum();
    assert_eq!(created, 4);
    let minute = found["created"]["newest"][0]["created"].as_u64().unwrap();
    assert!((began / 60 * 60..=now()).contains(&minute), "{found}");

    let url = format!("http://{}", server.http);
    let text = printed(server.setup(), &["top", "--below", "busy", "--limit", "1", "--url", &url]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("2 metrics; 11 points since 20"), "{text}");
    assert_eq!(lines[2], "points/s  points  metrics  prefix");
    assert!(lines[3].ends_with("       6        1  busy.a"), "{text}");
    assert!(text.contains("\ncreated  minute\n") && text.contains("newest\n"), "{text}");
    assert_eq!(
        text.matches("busy.a").count() + text.matches("busy.b").count(),
        2,
        "one line in each list: {text}"
    );
    let nothing = server.setup().run(&["top", "--below", "nothing", "--url", &url]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("no metric below `nothing`"), "{nothing:?}");
    assert_eq!(server.setup().run(&["top", "--depth", "x", "--url", &url]).status.code(), Some(2));
}

#[test]
fn what_is_never_read_is_listed_by_a_server_and_by_a_stopped_store() {
    let server = setup().start();
    store(&server, &["a.read", "a.unread", "b.unread", "disk.used;host=a"]);
    assert_eq!(never_read(&top(&server)).len(), 4);
    // Finding and describing a metric is not reading it.
    server.json("/metrics/find?query=b.*");
    info(&server, "b.unread");
    read(&server, "a.read");
    read(&server, "disk.used;host=a");
    let unread = ["a.unread", "b.unread"];
    assert_eq!(never_read(&top(&server)), unread);
    let url = format!("http://{}", server.http);
    let asked = printed(server.setup(), &["top", "--never-read", "--url", &url]);
    let (_, setup) = server.stop("TERM");
    let stopped = printed(&setup, &["top", "--never-read"]);
    assert_eq!(asked, stopped);
    let lines: Vec<&str> = asked.lines().collect();
    assert!(lines[0].starts_with("2 of 4 metrics never read since 20"), "{asked}");
    assert_eq!(
        &lines[2..5],
        ["never read  metrics  prefix", "         1        2  a", "         1        1  b"]
    );
    assert!(lines[7].ends_with("  a.unread") && lines[8].ends_with("  b.unread"), "{asked}");

    // A stopped store knows what is new, and nothing of rates.
    let text = printed(&setup, &["top"]);
    assert!(text.starts_with("4 metrics; how many points come in is known while a server runs\n"), "{text}");
    let found: Value = serde_json::from_str(&printed(&setup, &["--output", "json", "top"])).unwrap();
    assert_eq!(
        (&found["received"], &found["created"]["newest"][3]["name"]),
        (&Value::Null, &json!("disk.used;host=a"))
    );
    assert_eq!(never_read(&found), unread);
}

#[test]
fn a_kill_forgets_at_most_the_last_reads() {
    let began = now();
    let server = setup().start();
    store(&server, &["cut.a", "cut.b"]);
    settle(&server);
    read(&server, "cut.a");
    let (_, setup) = server.stop("TERM");
    let server = setup.start();
    store(&server, &["log.a"]);
    read(&server, "cut.b");
    let server = server.kill().start();
    // Creations are in the catalogue and in the log, the read of the first run is in the catalogue.
    let found = top(&server);
    for newest in found["created"]["newest"].as_array().unwrap() {
        let created = newest["created"].as_u64().unwrap();
        assert!((began / 60 * 60..=now()).contains(&created), "{newest}");
    }
    assert_eq!(found["created"]["newest"].as_array().unwrap().len(), 3);
    let unread = never_read(&found);
    assert!(!unread.contains(&"cut.a".to_owned()) && unread.contains(&"log.a".to_owned()), "{unread:?}");
    // What is read after the kill is noted as before.
    read(&server, "log.a");
    read(&server, "cut.b");
    assert_eq!(never_read(&top(&server)), [""; 0]);
}

#[test]
fn dates_follow_a_rename_and_end_with_a_deletion() {
    let server = setup().start();
    store(&server, &["old.a", "gone.a"]);
    settle(&server);
    read(&server, "old.a");
    read(&server, "gone.a");
    let today = now() / DAY * DAY;
    let before = info(&server, "old.a");
    assert!(before["read"].as_u64() >= Some(today) && before["updated"].as_u64() >= Some(today), "{before}");
    assert_eq!(server.post("/internal/rename", &[("from", "old.a"), ("to", "new.a")]).status, 200);
    let after = info(&server, "new.a");
    for key in ["created", "updated", "read", "id"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    // A new metric has the old name, and another the name of a deleted one.
    assert_eq!(server.post("/internal/delete", &[("query", "gone.a")]).status, 200);
    store(&server, &["old.a", "gone.a"]);
    let mut server = server;
    for round in ["at once", "after kill -9", "after a stop"] {
        for name in ["old.a", "gone.a"] {
            let found = info(&server, name);
            assert_eq!(found["read"], Value::Null, "{round}: {found}");
            assert!(found["created"].is_u64() && found["updated"].is_u64(), "{round}: {found}");
        }
        assert_eq!(never_read(&top(&server)), ["gone.a", "old.a"], "{round}");
        // The read of the renamed metric is in the catalogue since the first stop.
        server = match round {
            "at once" => server.stop("TERM").1.start().kill().start(),
            _ => server.stop("TERM").1.start(),
        };
    }
}

#[test]
fn info_shows_the_dates() {
    let server = setup().start();
    store(&server, &["a.b"]);
    let url = format!("http://{}", server.http);
    let shown = |key: &str| {
        let text = printed(server.setup(), &["info", "a.b", "--url", &url]);
        let line = text.lines().find(|line| line.starts_with(key)).map(str::to_owned);
        line.unwrap_or_else(|| panic!("no {key} in {text}")).split_whitespace().nth(1).unwrap().to_owned()
    };
    let day = |text: &str| text.len() == 10 && text.starts_with("20");
    assert!(day(&shown("updated")), "its point is in memory still");
    assert_eq!(shown("read"), "never");
    read(&server, "a.b");
    assert!(day(&shown("read")));
    assert!(shown("created").ends_with(":00Z"), "{}", shown("created"));
}

#[test]
fn a_backup_has_the_dates() {
    let server = setup().start();
    store(&server, &["a.read", "a.unread"]);
    read(&server, "a.read");
    let (_, setup) = server.stop("TERM");
    let server = setup.start();
    let created = info(&server, "a.read")["created"].clone();
    let backup = server.setup().directory().join("backup");
    let answer = server.post("/internal/backup", &[("dir", backup.to_str().unwrap())]);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let other = Setup::new();
    printed(&other, &["restore", backup.to_str().unwrap()]);
    let other = other.start();
    assert_eq!(never_read(&top(&other)), ["a.unread"]);
    assert_eq!(info(&other, "a.read")["created"], created);
}

#[test]
fn a_metric_that_was_forgotten_comes_back_as_a_new_one() {
    let server = setup().set("retention.forget_after", "off").start();
    let old = now() / 60 * 60 - 7200;
    server.store(&format!("quiet.a 1 {old}\n"));
    settle(&server);
    assert_eq!(server.points("quiet.a", old - 60, old + 60).len(), 1);
    assert!(info(&server, "quiet.a")["read"].is_u64());
    let cleaned = server.post("/internal/clean", &[("unwritten_for", "3600")]);
    assert!(cleaned.body.contains("quiet.a"), "{}", cleaned.body);
    store(&server, &["quiet.a"]);
    assert_eq!(never_read(&top(&server)), ["quiet.a"]);
    let server = server.stop("TERM").1.start();
    assert_eq!(never_read(&top(&server)), ["quiet.a"]);
}
