//! Carbon's rule files in front of a real server.

use std::fs;

use super::harness::{Server, Setup, now, wait_until};

/// A server with these rule files.
fn with_files(files: &[(&str, &str)]) -> Setup {
    let mut setup = Setup::new().set("retention.default", "1s:1h");
    for (key, text) in files {
        let path = setup.directory().join(format!("{key}.conf"));
        fs::write(&path, text).unwrap();
        setup = setup.set(&format!("rules.{key}"), &path.display().to_string());
    }
    setup
}

/// Sends lines and waits until something became of each of them.
fn send(server: &Server, lines: &str) {
    let handled = || -> u64 {
        let text = server.get("/internal/metrics").body;
        let counted = [
            "plumbago_points_stored_total ",
            "plumbago_points_rejected_total{",
            "plumbago_points_gathered_total ",
        ];
        let is_counted = |line: &&str| counted.iter().any(|name| line.starts_with(name));
        text.lines()
            .filter(is_counted)
            .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
            .sum()
    };
    let before = handled();
    server.send(lines);
    wait_until("the points", || handled() >= before + lines.lines().count() as u64);
}

fn names(server: &Server) -> Vec<String> {
    let mut names: Vec<String> = server
        .json("/metrics/index.json")
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn lists_refuse_and_rewriting_renames() {
    let server = with_files(&[
        ("blacklist", "# not these\n\\.tmp\\.\n"),
        ("whitelist", "^web\n^db\n"),
        ("rewrite", "[pre]\n^web(\\d+) = servers.web.\\1\n[post]\n_ms$ = .milliseconds\n"),
    ])
    .start();
    let time = now() - 60;
    send(
        &server,
        &format!("web1.load 1 {time}\nweb2.tmp.x 2 {time}\nmail.load 3 {time}\ndb.wait_ms 4 {time}\n"),
    );
    assert_eq!(names(&server), ["db.wait.milliseconds", "servers.web.1.load"]);
    assert_eq!(server.points("servers.web.1.load", time - 1, time), [(1.0, time)]);
    for reason in ["blacklisted", "not_whitelisted"] {
        assert_eq!(
            server.counter(&format!("plumbago_points_rejected_total{{reason=\"{reason}\"}}")),
            1,
            "{reason}"
        );
    }
}

#[test]
fn points_are_gathered_into_new_metrics_and_late_ones_count() {
    let server = with_files(&[
        ("aggregation", "all.<what> (1) = sum web.*.<what>\ntop.<what> (1) = max web.*.<what>\n"),
        ("rewrite", "[post]\n^all\\. = total.\n"),
    ])
    .start();
    let time = now();
    send(&server, &format!("web.a.hits 3 {time}\nweb.b.hits 4 {time}\n"));
    wait_until("the sum", || server.points("total.hits", time - 1, time) == [(7.0, time)]);
    assert_eq!(server.points("top.hits", time - 1, time), [(4.0, time)]);
    assert_eq!(names(&server), ["top.hits", "total.hits", "web.a.hits", "web.b.hits"]);
    send(&server, &format!("web.c.hits 5 {time}\n"));
    wait_until("the late point", || server.points("total.hits", time - 1, time) == [(12.0, time)]);
}

#[test]
fn a_stop_writes_what_was_gathered() {
    let server = with_files(&[("aggregation", "all (3600) = sum web.*\n")])
        .set("rules.keep_originals", "false")
        .start();
    let time = now();
    send(&server, &format!("web.a 3 {time}\nweb.b 4 {time}\n"));
    assert_eq!(names(&server), [""; 0]);
    let server = server.stop("TERM").1.start();
    let hour = time - time % 3600;
    assert_eq!(server.points("all", hour - 1, hour), [(7.0, hour)]);
}

#[test]
fn changed_files_are_read_and_bad_ones_leave_the_old_rules() {
    let setup = with_files(&[("blacklist", "^a\n")]);
    let file = setup.directory().join("blacklist.conf");
    let server = setup.start();
    let time = now() - 60;
    let is_taken = |name: &str| {
        send(&server, &format!("{name} 1 {time}\n"));
        names(&server).iter().any(|known| known == name)
    };
    assert!(!is_taken("a.x") && is_taken("b.x"));
    fs::write(&file, "^b\n(\n").unwrap();
    wait_until("the complaint", || server.counter("plumbago_rules_trouble") == 1);
    assert!(server.errors().contains("blacklist.conf:2: pattern `(`: unclosed group"), "{}", server.errors());
    assert!(!is_taken("a.y") && is_taken("b.y"));
    fs::write(&file, "^b\n# mended\n").unwrap();
    wait_until("the new rules", || server.counter("plumbago_rules_trouble") == 0);
    assert!(is_taken("a.z") && !is_taken("b.z"));
}

#[test]
fn a_server_does_not_start_with_rules_it_cannot_use() {
    let ended = with_files(&[("aggregation", "# fine\nall (60) = median web.*\n")]).run_to_end();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success());
    assert!(said.contains("aggregation.conf:2: method `median` is not known"), "{said}");
}
