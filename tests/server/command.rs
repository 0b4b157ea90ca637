//! Commands as a person types them the first time: what they print, what they refuse, and their exit codes.

use std::path::Path;

use crate::harness::{Server, Setup, now, plumbago, run_to_end};

/// What a command did.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    said: String,
}

impl Ran {
    /// Fails the test unless the command failed with exit code 1 and said all of `parts`.
    #[track_caller]
    fn failed(&self, parts: &[&str]) {
        assert_eq!(self.code, Some(1), "{self:?}");
        for part in parts {
            assert!(self.said.contains(part), "`{part}` is not in {self:?}");
        }
    }

    #[track_caller]
    fn printed(&self, out: &str) {
        assert_eq!((self.code, self.out.as_str()), (Some(0), out), "{self:?}");
    }
}

fn ran(output: std::process::Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), said: text(output.stderr) }
}

/// On a store whose server is stopped.
fn run(setup: &Setup, arguments: &[&str]) -> Ran {
    ran(setup.run(arguments))
}

/// Through a server that runs: a command finds it by the configuration, so it is given the port that the server got.
fn ask(server: &Server, arguments: &[&str]) -> Ran {
    let http = format!("listen.http={}", server.http);
    ran(server.setup().run(&[&["--set", http.as_str()], arguments].concat()))
}

/// In a directory without configuration and store.
fn run_in(directory: &Path, arguments: &[&str]) -> Ran {
    let mut command = plumbago();
    command.current_dir(directory).args(arguments);
    ran(run_to_end(command))
}

/// Two directories of two metrics each, and three metrics with tags.
fn some_metrics() -> String {
    let names = [
        "servers.web00.cpu",
        "servers.web00.mem",
        "servers.web01.cpu",
        "servers.web01.mem",
        "disk.used;dc=ams;host=web1.example.com",
        "disk.used;dc=fra;host=web2",
        "disk.free;dc=ams;host=web2",
    ];
    names.map(|name| format!("{name} 1 {}\n", now() - 60)).concat()
}

fn stopped(lines: &str) -> Setup {
    let server = Server::start();
    server.store(lines);
    server.stop("TERM").1
}

#[test]
fn du_counts_what_lies_below_and_what_has_tags() {
    let setup = stopped(&some_metrics());
    let count = |glob: &str| {
        let ran = run(&setup, &["du", "--output", "json", glob]);
        assert_eq!(ran.code, Some(0), "{glob}: {ran:?}");
        let counted: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        (counted["metrics"].as_u64().unwrap(), counted["bytes"].as_u64().unwrap())
    };
    let (all, bytes) = count("*");
    assert_eq!(all, 7);
    let (servers, of_servers) = count("servers");
    assert_eq!(servers, 4);
    assert_eq!(count("servers.*"), (4, of_servers));
    assert_eq!(count("servers.**"), (4, of_servers));
    let (tagged, of_tagged) = count("*;dc=*");
    assert_eq!(tagged, 3);
    assert!(of_servers > 0 && of_tagged > 0);
    assert_eq!(of_servers + of_tagged, bytes);
    for (glob, metrics) in [
        ("servers.web00", 2),
        ("servers.web00.cpu", 1),
        ("disk", 3),
        ("disk.used", 2),
        ("disk.used;dc=ams", 1),
        ("disk;host=web1.*", 1),
    ] {
        assert_eq!(count(glob).0, metrics, "{glob}");
    }
    run(&setup, &["du", "servers.web00.cpu"]).printed(&format!("{} bytes in 1 metric\n", of_servers / 4));
    run(&setup, &["du", "nosuch"]).failed(&["nothing matches `nosuch`"]);
}

#[test]
fn a_write_through_a_server_fails_with_the_reason_when_the_point_is_refused() {
    let server = Server::start();
    ask(&server, &["write", "ux.new", "5"]).printed("");
    assert_eq!(server.points("ux.new", now() - 60, now() + 60).len(), 1);
    ask(&server, &["write", "ux.old", "5", "1"]).failed(&["refused: too_old"]);
    ask(&server, &["write", "x y z", "5"]).failed(&["refused: bad_line", "cannot contain blanks"]);
    ask(&server, &["write", "a 1 1\nb", "5"]).failed(&["refused: control_character"]);
    let later = (now() + 10_000_000).to_string();
    ask(&server, &["write", "ux.new", "5", &later])
        .failed(&["refused: too_far_in_future", "ingest.max_future"]);
    assert_eq!(server.counter("plumbago_points_received_total"), 4);
    assert_eq!(server.counter("plumbago_points_stored_total"), 1);
    for reason in ["too_old", "bad_line", "too_far_in_future"] {
        assert_eq!(server.rejected(reason), 1, "{reason}");
    }
    // Where the server cannot be asked nothing is known of the point, and that is no success.
    ran(server.setup().run(&["--set", "listen.http=off", "write", "ux.new", "5"]))
        .failed(&["listen.http is off"]);
}

#[test]
fn a_write_without_a_server_keeps_the_same_rules() {
    let setup = stopped(&some_metrics());
    run(&setup, &["write", "x y", "5"]).failed(&["refused: bad_line"]);
    run(&setup, &["write", "ux.old", "5", "1"]).failed(&["refused: too_old"]);
    run(&setup, &["write", "ux.new", "5"]).printed("");
    run(&setup, &["find", "*"]).printed("servers.\nux.\n");
}

#[test]
fn a_post_of_lines_says_what_became_of_each() {
    let server = Setup::new().set("ingest.max_metrics", "2").start();
    let lines = format!("a 1 {0}\nb 2 {0}\nc 3 {0}\n\nx y 4 {0}\na nan {0}\na 5 -1\n", now());
    let answer = server.post_text("/internal/write", &lines);
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (200, "{\"stored\":3,\"refused\":{\"bad_line\":1,\"metric_limit\":1,\"nan_value\":1}}\n")
    );
    assert_eq!(server.counter("plumbago_points_received_total"), 6);
    // It survives what would lose anything that is not in the log.
    let server = server.kill().start();
    assert_eq!(server.points("b", now() - 60, now() + 60).len(), 1);
}

#[test]
fn no_command_makes_a_store_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [
        &["write", "a.b", "1"][..],
        &["find", "*"],
        &["read", "a"],
        &["delete", "a"],
        &["copy", "a", "b"],
        &["du", "*"],
        &["cardinality"],
        &["top"],
        &["stats"],
        &["info", "a"],
        &["fsck"],
    ] {
        let ran = run_in(directory.path(), arguments);
        ran.failed(&["there is no store at ", "/plumbago-data;", "--set store.path=DIR"]);
        assert_eq!(directory.path().read_dir().unwrap().count(), 0, "{arguments:?}");
    }
    run_in(directory.path(), &["write", "--create", "a.b", "1"]).printed("");
    run_in(directory.path(), &["find", "a.*"]).printed("a.b\n");
    run_in(directory.path(), &["write", "a.c", "1"]).printed("");
}

#[test]
fn the_columns_of_cardinality_are_aligned() {
    let expected = "7 metrics, 3 of them tagged\n\n\
        values  metrics  tag\n     2        3  dc\n     2        3  host\n     2        3  name\n\n\
        metrics  prefix\n      4  servers\n";
    let server = Server::start();
    server.store(&some_metrics());
    ask(&server, &["cardinality"]).printed(expected);
    let (_, setup) = server.stop("TERM");
    run(&setup, &["cardinality"]).printed(expected);
}

#[test]
fn a_search_without_a_result_fails_and_names_a_lone_bracket() {
    let server = Server::start();
    server.store(&some_metrics());
    let expect = |ask: &dyn Fn(&[&str]) -> Ran| {
        for command in ["find", "read"] {
            ask(&[command, "nosuch.*"]).failed(&["nothing matches `nosuch.*`\n"]);
            ask(&[command, "hello.[wo"]).failed(&["nothing matches `hello.[wo`", "`[` at character 7"]);
        }
        let json = ask(&["read", "nosuch", "--output", "json"]);
        assert_eq!((json.code, json.out.trim()), (Some(1), "[]"), "{json:?}");
        ask(&["find", "servers.web0[0]"]).printed("servers.web00.\n");
        assert_eq!(ask(&["read", "servers.web00.cpu"]).code, Some(0));
    };
    expect(&|arguments| ask(&server, arguments));
    let (_, setup) = server.stop("TERM");
    expect(&|arguments| run(&setup, arguments));
}

#[test]
fn deleting_a_directory_hints_at_what_is_below_it() {
    let setup = stopped(&some_metrics());
    for arguments in [&["delete", "servers.web00"][..], &["delete", "--dry-run", "servers.web00."]] {
        run(&setup, arguments)
            .failed(&["is a directory, not a metric", "plumbago delete 'servers.web00.**'"]);
    }
    run(&setup, &["delete", "nosuch"]).printed("");
    run(&setup, &["delete", "servers.web00.**"]).printed("servers.web00.cpu\nservers.web00.mem\n");
    run(&setup, &["find", "servers.*"]).printed("servers.web01.\n");
}

#[test]
fn stats_are_for_people_and_its_json_for_programs() {
    let setup = stopped(&some_metrics());
    let text = run(&setup, &["stats"]).out;
    let field = |title: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(title));
        found.unwrap_or_else(|| panic!("no {title} in {text}")).trim_start().to_owned()
    };
    assert_eq!(
        field("policies"),
        "10s for 1 day, 1m for 30 days, 1h for 2 years; average, xFilesFactor 0.5",
        "{text}"
    );
    assert!(field("index in memory").ends_with(" MiB"), "{text}");
    assert!(field("blocks").ends_with(" bytes"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&run(&setup, &["stats", "--output", "json"]).out).unwrap();
    assert_eq!(json["policies"][0], "8640*10s:43200*60s:17520*3600s|average|0.5");
    assert_eq!(field("blocks"), format!("{} bytes", json["block_bytes"]));
    assert!(json["index_bytes"].as_u64().unwrap() > 1 << 20);
}

#[test]
fn a_dump_of_a_catalogue_in_use_says_who_uses_it() {
    let server = Server::start();
    server.store(&some_metrics());
    let catalogue = server.setup().directory().join("data/catalogue.redb");
    let arguments = ["dump", catalogue.to_str().unwrap()];
    ask(&server, &arguments).failed(&["a running server has", "only one process", "plumbago backup DIR"]);
    let (_, setup) = server.stop("TERM");
    let dumped = run(&setup, &arguments);
    assert!(dumped.code == Some(0) && dumped.out.contains("servers.web00.cpu"), "{dumped:?}");
}

#[test]
fn a_server_listens_on_names_ports_and_addresses_of_ipv6() {
    for address in ["localhost:0", ":0", "[::1]:0"] {
        if address == "[::1]:0" && std::net::TcpListener::bind(address).is_err() {
            crate::skip::note("listening on IPv6", "this machine has no address [::1]");
            continue;
        }
        let server = Setup::new().set("listen.http", address).start();
        assert_eq!(server.get("/health/ready").status, 200, "{address}");
        ask(&server, &["write", "a.b", "1"]).printed("");
    }
}

#[test]
fn a_running_server_is_looked_after_without_a_stop() {
    let server = Server::start();
    server.store(&some_metrics());
    let url = format!("http://{}", server.http);
    let counted = ask(&server, &["du", "*", "--output", "json"]);
    assert!(counted.code == Some(0) && counted.out.contains("\"metrics\":7"), "{counted:?}");
    let stats = ran(server.setup().run(&["stats", "--url", &url, "--output", "json"]));
    assert!(stats.code == Some(0) && stats.out.contains("\"points_in_log\": 7"), "{stats:?}");
    let info = ask(&server, &["info", "servers.web00.cpu"]);
    assert!(info.code == Some(0) && info.out.contains("10s for 1 day"), "{info:?}");
    ask(&server, &["info", "not.there"]).failed(&["there is no metric `not.there`"]);

    ask(&server, &["delete", "--dry-run", "servers.web00.**"])
        .printed("servers.web00.cpu\nservers.web00.mem\n");
    assert_eq!(server.json("/internal/names?query=**").as_array().unwrap().len(), 7);
    ask(&server, &["delete", "servers.web00"]).failed(&["is a directory", "'servers.web00.**'"]);
    ask(&server, &["delete", "servers.web00.**"]).printed("servers.web00.cpu\nservers.web00.mem\n");
    ask(&server, &["delete", "disk.*;host=web2"])
        .printed("disk.used;dc=fra;host=web2\ndisk.free;dc=ams;host=web2\n");
    assert_eq!(server.json("/metrics/find?query=servers.*").as_array().unwrap().len(), 1);
    assert!(server.points("servers.web00.cpu", now() - 3600, now()).is_empty());

    // A new point makes the metric again, without what it had.
    server.store(&format!("servers.web00.cpu 2 {}\n", now()));
    assert_eq!(server.points("servers.web00.cpu", now() - 3600, now() + 10).len(), 1);
    let server = server.kill().start();
    assert_eq!(server.json("/internal/names?query=**").as_array().unwrap().len(), 4);
    assert_eq!(server.points("servers.web00.cpu", now() - 3600, now() + 10).len(), 1);
}

#[test]
fn completions_and_estimates_need_no_store() {
    let directory = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let ran = run_in(directory.path(), &["completions", shell]);
        assert!(ran.code == Some(0) && ran.out.contains("check-config"), "{shell}: {ran:?}");
    }
    let ran = run_in(directory.path(), &["estimate", "1000000", "--retention", "1m:30d"]);
    assert!(ran.code == Some(0) && ran.out.contains("1000000 metrics x the points of all stages"), "{ran:?}");
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}
