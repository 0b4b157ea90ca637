//! Commands that ask a running server: by the configuration, or by `--url` from a place that has no store.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::harness::{Server, Setup, now, plumbago, run_to_end};

/// Runs a command in an empty directory with `--url`: it can know nothing but what the server says.
fn afar(url: &str, arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let mut command = plumbago();
    command.current_dir(directory.path()).args(arguments).args(["--url", url]);
    let output = run_to_end(command);
    assert_eq!(directory.path().read_dir().unwrap().count(), 0, "{arguments:?} made files");
    output
}

/// What a command printed, which must have succeeded.
#[track_caller]
fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn url_of(server: &Server) -> String {
    format!("http://{}", server.http)
}

fn lines(time: u64) -> String {
    let names = ["servers.web1.cpu", "servers.web1.mem", "disk.used;host=web1"];
    names.iter().enumerate().map(|(n, name)| format!("{name} {n}.5 {time}\n")).collect()
}

#[test]
fn a_server_that_is_named_answers_as_the_store_does() {
    let time = now() / 60 * 60 - 3600;
    let server = Server::start();
    server.store(&lines(time));
    let url = url_of(&server);
    printed(&afar(&url, &["write", "servers.web2.cpu", "7", &time.to_string()]));
    let until = (time + 60).to_string();
    let from = (time - 60).to_string();
    let questions: [&[&str]; 7] = [
        &["find", "servers.*"],
        &["find", "servers.**", "--output", "json"],
        &["read", "servers.web*.cpu", "--from", &from, "--until", &until],
        &["read", "sumSeries(servers.*.cpu)", "--from", &from, "--until", &until, "--output", "json"],
        &["cardinality", "--output", "json"],
        &["info", "servers.web2.cpu"],
        &["copy", "--dry-run", "--recursive", "servers", "hosts"],
    ];
    let answers: Vec<String> = questions.iter().map(|question| printed(&afar(&url, question))).collect();
    assert_eq!(answers[0], "servers.web1.\nservers.web2.\n");
    assert!(answers[2].contains("servers.web2.cpu") && answers[2].contains(",7"), "{}", answers[2]);
    let (_, setup) = server.stop("TERM");
    for (question, answer) in questions.iter().zip(answers) {
        // Points in memory take up no bytes of blocks yet, and the catalogue has the first point to the hour.
        let lasting = |text: &str| -> Vec<String> {
            let changes = |line: &&str| line.starts_with("in blocks") || line.starts_with("data since");
            text.lines().filter(|line| !changes(line)).map(str::to_owned).collect()
        };
        assert_eq!(lasting(&answer), lasting(&printed(&setup.run(question))), "{question:?} differs");
    }
}

#[test]
fn a_running_server_copies_metrics_to_other_names() {
    let time = now() / 60 * 60 - 7200;
    let server = Setup::new().set("store.cut_interval", "1h").start();
    let points: String = (0..60).map(|n| format!("old.a {n} {}\nold.b.c 1 {0}\n", time + n * 60)).collect();
    server.store(&points);
    let url = url_of(&server);
    let copied = afar(&url, &["copy", "--recursive", "old", "new"]);
    assert_eq!(printed(&copied), "old.a -> new.a\nold.b.c -> new.b.c\n");
    assert!(String::from_utf8_lossy(&copied.stderr).contains("2 metrics with 120 points"), "{copied:?}");
    let read = |server: &Server, name: &str| server.points(name, time - 1, time + 3600);
    assert_eq!(read(&server, "new.a").len(), 60);
    assert_eq!(read(&server, "new.a"), read(&server, "old.a"));
    // By its configuration too, and a part of the time.
    let until = (time + 600).to_string();
    let http = format!("listen.http={}", server.http);
    let part = server.setup().run(&["--set", &http, "copy", "old.a", "part.a", "--until", &until]);
    assert_eq!(printed(&part), "old.a -> part.a\n");
    assert_eq!(read(&server, "part.a").len(), 10);
    // What the answer says is copied survives a kill.
    let server = server.kill().start();
    assert_eq!(read(&server, "new.a"), read(&server, "old.a"));
    assert_eq!(read(&server, "part.a").len(), 10);
}

#[test]
fn a_refused_copy_says_why_and_a_missing_source_too() {
    let rule = "[{ name = 'sum', pattern = 'sum$', retentions = '1s:2h,10s:6h', aggregation = 'sum' }]";
    let server = Setup::new().set("retention.rule", rule).start();
    server.store(&format!("a.sum 1 {0}\na.average 1 {0}\n", now() - 600));
    let url = url_of(&server);
    for (arguments, said) in [
        (["copy", "a.sum", "a.average"], "`a.average` exists and keeps"),
        (["copy", "a.none", "b"], "there is no metric"),
    ] {
        let output = afar(&url, &arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{output:?}");
    }
}

/// All blocks below a data directory.
fn blocks(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in dir.read_dir().unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(blocks(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

#[test]
fn a_check_of_a_running_server_finds_what_one_of_its_files_finds() {
    let server = Server::start();
    server.store(&lines(now() - 3600));
    assert_eq!(server.post("/internal/flush", &[("settle", "1")]).status, 200);
    server.store(&lines(now() - 60));
    let url = url_of(&server);
    let whole = printed(&afar(&url, &["fsck"]));
    assert!(whole.starts_with("3 metrics, ") && whole.ends_with(", 1 log record\n"), "{whole}");

    // A block that nothing lists, and a byte of a page that is not what it was.
    let points = server.setup().directory().join("data/points");
    let block = blocks(&points).into_iter().next().unwrap();
    let stray = block.with_file_name("1-99.blk");
    std::fs::copy(&block, &stray).unwrap();
    let mut bytes = std::fs::read(&block).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 0x55;
    std::fs::write(&block, &bytes).unwrap();

    let found = afar(&url, &["fsck", "--output", "json"]);
    let text = String::from_utf8_lossy(&found.stdout);
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    assert!(text.contains(block.to_str().unwrap()) && text.contains("1-99.blk is not listed"), "{text}");
    assert!(String::from_utf8_lossy(&found.stderr).contains("damaged place"), "{found:?}");
    // It still takes points and answers.
    server.store(&format!("after 1 {}\n", now()));
    let setup = server.kill();
    let stopped = setup.run(&["fsck", "--output", "json"]);
    let report = |output: &Output| -> serde_json::Value {
        let mut report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        // The point that came between the two checks.
        report.as_object_mut().unwrap().remove("log_records");
        report
    };
    assert_eq!(report(&found), report(&stopped));
}

#[test]
fn a_check_beside_writers_finds_nothing_wrong() {
    let server = Setup::new().set("store.cut_interval", "1s").start();
    let url = url_of(&server);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..30u64 {
                let time = now() - 3000 + round;
                let lines: String = (0..200).map(|n| format!("busy.m{n} {round} {time}\n")).collect();
                server.store(&lines);
                assert_eq!(server.post("/internal/flush", &[("settle", "1")]).status, 200);
            }
        });
        while !writer.is_finished() {
            let checked = afar(&url, &["fsck", "--output", "json"]);
            let checked: serde_json::Value = serde_json::from_str(&printed(&checked)).unwrap();
            assert_eq!(checked["problems"].as_array().unwrap().len(), 0, "{checked}");
            assert_eq!(checked["remarks"].as_array().unwrap().len(), 0, "{checked}");
        }
    });
}

/// A web server that knows none of our calls.
fn another_program() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let body = "<html>\n<h1>Not Found</h1>\n</html>";
            let _ = write!(stream, "HTTP/1.0 404 Not Found\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    url
}

#[test]
fn a_server_without_our_calls_is_not_taken_for_a_missing_metric() {
    let url = another_program();
    for arguments in [
        &["info", "a"][..],
        &["fsck"],
        &["copy", "a", "b"],
        &["stats"],
        &["du", "*"],
        &["cardinality"],
        &["top"],
        &["delete", "a"],
        &["write", "a", "1"],
    ] {
        let output = afar(&url, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("answered 404") && said.contains("an older one or another program"), "{said}");
        assert!(!said.contains("<h1>"), "{said}");
    }
}

#[test]
fn the_points_of_a_stretch_of_time_go_and_the_metric_stays() {
    let base = now() / 3600 * 3600 - 7200;
    let server = Server::start();
    let lines = |range: std::ops::Range<u64>, value: u64| -> String {
        range.map(|n| format!("range.a {value} {0}\nrange.b 1 {0}\n", base + n * 60)).collect()
    };
    // Half of the points are in blocks, the others in memory.
    server.store(&lines(0..15, 1));
    assert_eq!(server.post("/internal/flush", &[("settle", "1")]).status, 200);
    server.store(&lines(15..30, 1));
    let url = url_of(&server);
    let (from, until) = ((base + 600).to_string(), (base + 1200).to_string());
    let delete = |glob: &str, more: &[&str]| {
        let command = [&["delete", glob, "--from", from.as_str(), "--until", until.as_str()], more].concat();
        afar(&url, &command)
    };
    let read = |server: &Server, name: &str| server.points(name, base - 1, base + 1799).len();

    let trial = delete("range.a", &["--dry-run"]);
    assert_eq!(printed(&trial), "range.a\n");
    assert!(String::from_utf8_lossy(&trial.stderr).starts_with("10 points and "), "{trial:?}");
    assert_eq!(read(&server, "range.a"), 30);
    let deleted: serde_json::Value =
        serde_json::from_str(&printed(&delete("range.a", &["--output", "json"]))).unwrap();
    assert_eq!((&deleted["deleted"], &deleted["metrics"][0]["points"]), (&true.into(), &10.into()));
    assert_eq!((read(&server, "range.a"), read(&server, "range.b")), (20, 30));
    assert!(server.counter("plumbago_slots_deleted_total") >= 10);
    assert_eq!(printed(&delete("range.a", &[])), "", "there is nothing left");
    assert_eq!(printed(&afar(&url, &["find", "range.*"])), "range.a\nrange.b\n");

    // It is final when the command has answered, and what is sent later is stored.
    let server = server.kill().start();
    assert_eq!((read(&server, "range.a"), read(&server, "range.b")), (20, 30));
    server.store(&format!("range.a 5 {}\n", base + 660));
    assert_eq!(server.points("range.a", base + 659, base + 660), [(5.0, base + 660)]);
    assert_eq!(server.post("/internal/flush", &[("settle", "1")]).status, 200);
    assert_eq!((read(&server, "range.a"), read(&server, "range.b")), (21, 30));

    // On a store without a server too.
    let setup = server.stop("TERM").1;
    let rest = ["delete", "range.*", "--from", &base.to_string(), "--until", &(base + 1800).to_string()];
    assert_eq!(printed(&setup.run(&rest)), "range.a\nrange.b\n");
    let server = setup.start();
    assert_eq!((read(&server, "range.a"), read(&server, "range.b")), (0, 0));
}

#[test]
fn a_range_that_cannot_be_meant_is_refused() {
    let server = Server::start();
    server.store(&lines(now() - 60));
    let url = url_of(&server);
    for (arguments, code, said) in [
        (&["delete", "servers.**", "--from", "now", "--until", "-1h"][..], 2, "nothing lies between"),
        (&["delete", "servers.**", "--from", "-1h"], 2, "--until"),
        (&["delete", "servers.web1", "--from", "-1h", "--until", "now"], 1, "is a directory"),
    ] {
        let output = afar(&url, arguments);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{output:?}");
    }
    for form in [&[("query", "**")][..], &[("query", "**"), ("from", "9"), ("until", "9")]] {
        assert_eq!(server.post("/internal/delete-range", form).status, 400);
    }
    assert_eq!(server.json("/internal/names?query=**").as_array().unwrap().len(), 3);
}
