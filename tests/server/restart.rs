//! Starting and stopping: what is kept, and what a person is told when it cannot start.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Output;

use super::harness::{Server, Setup, now, plumbago, run_to_end, wait_until};

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_stop_drains_and_keeps_everything() {
    let (server, t) = (Setup::new().set("ingest.drain_timeout", "2s").start(), now() / 60 * 60 - 600);
    let mut stream = TcpStream::connect(server.carbon).unwrap();
    let lines: String = (0..5000).map(|i| format!("drain.m{i} {i} {t}\n")).collect();
    stream.write_all(lines.as_bytes()).unwrap();
    // It was told to stop with points still in the socket, and its half is closed to say so.
    server.signal("TERM");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    drop(stream);
    let (status, setup) = server.stop("TERM");
    assert_eq!(status.code(), Some(0));
    let server = setup.start();
    assert_eq!(server.counter("plumbago_metrics"), 5000);
    assert_eq!(server.points("sumSeries(drain.*)", t - 10, t), [(f64::from(5000 * 4999 / 2), t)]);
}

#[test]
fn an_interrupt_stops_it_too() {
    let (status, _) = Server::start().stop("INT");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_second_server_on_the_same_directory_is_refused() {
    let first = Server::start();
    let data =
        first.banner.iter().find(|line| line.starts_with("data")).unwrap().split_whitespace().nth(1).unwrap();
    let second = Setup::new().data(data.as_ref()).run_to_end();
    assert_eq!(second.status.code(), Some(1), "{}", told(&second));
    assert!(told(&second).contains("in use by another process"), "{}", told(&second));
    assert!(told(&second).contains(data), "{}", told(&second));
    assert_eq!(first.get("/health/ready").status, 200);
}

#[test]
fn a_port_in_use_is_named() {
    for key in ["listen.http", "listen.carbon", "listen.pickle"] {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let output = Setup::new().set(key, &address).run_to_end();
        assert_eq!(output.status.code(), Some(1), "{}", told(&output));
        assert!(told(&output).contains(&address) && told(&output).contains(key), "{key}: {}", told(&output));
    }
}

#[test]
fn an_unknown_key_is_named_with_file_and_line() {
    let setup = Setup::new();
    let file = setup.directory().join("plumbago.toml");
    fs::write(&file, "[listen]\nhttp = \"127.0.0.1:0\"\nhtpp = \"127.0.0.1:0\"\n").unwrap();
    let mut command = plumbago();
    command.current_dir(setup.directory()).arg("--config").arg(&file).arg("serve");
    let output = run_to_end(command);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("plumbago.toml:3"), "{}", told(&output));
    assert!(told(&output).contains("listen.htpp"), "{}", told(&output));
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let unknown_flag_key = Setup::new().set("no.such", "1").run_to_end();
    assert_eq!(unknown_flag_key.status.code(), Some(2), "{}", told(&unknown_flag_key));
    let mut unknown_command = plumbago();
    unknown_command.arg("no-such-command");
    assert_eq!(run_to_end(unknown_command).status.code(), Some(2));
    let mut no_file = plumbago();
    no_file.args(["--config", "/no/such/file.toml", "serve"]);
    let output = run_to_end(no_file);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("/no/such/file.toml"), "{}", told(&output));
}

#[test]
fn an_aggregation_that_partials_cannot_carry_is_refused() {
    let setup = Setup::new();
    let rules = setup.directory().join("aggregation.conf");
    fs::write(&rules, "[p]\npattern = .*\naggregationMethod = median\n").unwrap();
    let output = setup.set("retention.aggregation", &rules.display().to_string()).run_to_end();
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(
        told(&output).contains("median") && told(&output).contains("aggregation.conf"),
        "{}",
        told(&output)
    );
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    // A file in the place of a directory stops root as well.
    let setup = Setup::new();
    let file = setup.directory().join("file");
    fs::write(&file, "").unwrap();
    let data = file.join("data");
    let output = setup.data(&data).run_to_end();
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains(&file.display().to_string()), "{}", told(&output));
}

#[test]
fn a_new_retention_keeps_old_data_readable() {
    let setup = Setup::new().set("retention.default", "10s:1d,1m:7d");
    let server = setup.start();
    let t = now() / 3600 * 3600 - 7200;
    server.store(&(0..30).map(|i| format!("rule.change {i} {}\n", t + i * 10)).collect::<String>());
    let (_, setup) = server.stop("TERM");
    let server = setup.set("retention.default", "1m:7d,1h:1y").start();
    // Old points by the step they have now, as soon as the metrics were put under the new rule.
    let averages: Vec<(f64, u64)> = (0..5).map(|i| (i as f64 * 6.0 + 2.5, t + i * 60)).collect();
    wait_until("the new rule", || server.points("rule.change", t - 60, t + 240) == averages);
    server.store(&format!("rule.change 7 {}\n", t + 600));
    assert_eq!(server.points("rule.change", t + 540, t + 600), [(7.0, t + 600)]);
    let (_, setup) = server.stop("TERM");
    // And back again: nothing was thrown away.
    let server = setup.set("retention.default", "10s:1d,1m:7d").start();
    let old: Vec<(f64, u64)> = (0..30).map(|i| (i as f64, t + i * 10)).collect();
    wait_until("the old rule", || server.points("rule.change", t - 10, t + 290) == old);
}

#[test]
fn what_the_banner_says_to_paste_works() {
    let server = Server::start();
    let banner = server.banner.join("\n");
    assert!(banner.contains("/render?"), "{banner}");
    assert!(banner.lines().any(|line| line.starts_with("data")), "{banner}");
}
