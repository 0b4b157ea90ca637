//! Commands on a terminal: colours, tables that fit, a summary, and a graph that goes on by itself. `script` gives them the terminal.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::harness::{Server, collect, find_program, now, plumbago, run_to_end, wait_for_end, wait_until};
use crate::skip::skip;

/// What a shell line prints on a terminal of 60 by 16.
fn on_terminal(server: &Server, line: &str) -> Command {
    let mut command = Command::new("script");
    for (name, _) in plumbago().get_envs() {
        command.env_remove(name);
    }
    let program = env!("CARGO_BIN_EXE_plumbago");
    let line = line.replace("plumbago", &format!("{program} --set listen.http={}", server.http));
    let line = format!("stty cols 60 rows 16; {line}");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    let data = server.setup().directory().join("data");
    command.env("PLUMBAGO_STORE__PATH", data).env("TERM", "xterm").env_remove("NO_COLOR");
    command.current_dir(server.setup().directory());
    command
}

fn printed(server: &Server, line: &str) -> String {
    let output = run_to_end(on_terminal(server, line));
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}

fn has_terminal(test: &str) -> bool {
    let found = find_program("script").is_some();
    if !found {
        skip(test, "there is no `script` here, which gives a program a terminal");
    }
    found
}

fn server() -> Server {
    let server = Server::start();
    let start = now() - 300;
    let line = |at: u64| {
        format!(
            "servers.a-name-that-is-longer-than-the-terminal-is-wide.{0}.cpu {at} {1}\n",
            "x".repeat(20),
            start + at * 10
        )
    };
    server.store(&(0..30).map(line).collect::<String>());
    server.store(&format!("servers.web1.cpu 7 {}\n", now() - 60));
    server
}

#[test]
fn a_terminal_gets_colours_and_lines_that_fit_and_a_pipe_gets_neither() {
    if !has_terminal("a_terminal_gets_colours_and_lines_that_fit_and_a_pipe_gets_neither") {
        return;
    }
    let server = server();
    let shown = printed(&server, "plumbago cardinality --depth 3");
    assert!(shown.contains("\x1b[1mmetrics  prefix\x1b[0m\n"), "{shown:?}");
    assert!(shown.lines().all(|line| line.chars().count() <= 60), "{shown}");
    assert!(shown.contains('…') && shown.contains("servers.web1.cpu"), "{shown}");
    let plain = printed(&server, "NO_COLOR=1 plumbago cardinality --depth 3");
    assert!(plain.contains("\nmetrics  prefix\n") && plain.contains('…'), "{plain:?}");
    let piped = printed(&server, "plumbago cardinality --depth 3 | cat");
    assert!(!piped.contains('\x1b') && piped.contains(&"x".repeat(20)), "{piped:?}");
    assert!(printed(&server, "plumbago find '*'").contains("\x1b[1;34mservers.\x1b[0m"));
    let wrong = printed(&server, "plumbago find nosuch");
    assert!(wrong.contains("\x1b[1;31mplumbago:\x1b[0m nothing matches `nosuch`"), "{wrong:?}");
}

#[test]
fn a_person_reads_a_summary_and_a_pipe_reads_points() {
    if !has_terminal("a_person_reads_a_summary_and_a_pipe_reads_points") {
        return;
    }
    let server = server();
    let shown = printed(&server, "plumbago read servers.web1.cpu --from -10min");
    assert!(shown.contains("-10min to now") && shown.contains('▅'), "{shown}");
    assert!(!shown.contains("servers.web1.cpu,"), "{shown}");
    for question in [
        "read --from -5min servers.web1.cpu --points",
        "read --from -5min servers.web1.cpu --output csv",
        "read --from -5min servers.web1.cpu | cat",
    ] {
        let points = printed(&server, &format!("plumbago {question}"));
        assert!(points.contains("servers.web1.cpu,") && points.contains(",7.0\n"), "{question}: {points}");
    }
}

#[test]
fn a_graph_goes_on_until_ctrl_c_and_leaves_the_terminal_as_it_was() {
    if !has_terminal("a_graph_goes_on_until_ctrl_c_and_leaves_the_terminal_as_it_was") {
        return;
    }
    let server = server();
    let line = "trap : INT; plumbago watch servers.web1.cpu --every 1s; echo \"exit code $?\"";
    let mut command = on_terminal(&server, line);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let out = collect(child.stdout.take().unwrap());
    let shown = || out.lock().clone();
    wait_until("the first graph", || shown().contains("servers.web1.cpu  7 at "));
    server.store(&format!("servers.web1.cpu 9 {}\n", now()));
    wait_until("the next graph", || shown().contains("servers.web1.cpu  9 at "));
    // What Ctrl-C is on a terminal.
    let mut keyboard = child.stdin.take().unwrap();
    keyboard.write_all(b"\x03").unwrap();
    assert!(wait_for_end(&mut child).is_some(), "{}", shown());
    drop(keyboard);
    wait_until("the end of the output", || shown().contains("exit code"));
    let shown = shown();
    assert!(shown.contains("\x1b[?1049h\x1b[?25l") && shown.contains("\x1b[?25h\x1b[?1049l"), "{shown:?}");
    let left = shown.rsplit("\x1b[?1049l").next().unwrap();
    assert!(left.contains("servers.web1.cpu  9 at ") && left.contains("exit code 0"), "{left:?}");
}

#[test]
fn a_pipe_gets_a_line_for_each_new_point() {
    let server = server();
    let mut command = plumbago();
    command.args(["watch", "servers.web1.*", "--every", "1s", "--url", &format!("http://{}", server.http)]);
    command.args(["--output", "json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut next = || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let first = next();
    assert_eq!((&first["target"], &first["value"]), (&"servers.web1.cpu".into(), &7.0.into()), "{first}");
    server.store(&format!("servers.web1.cpu 8 {}\n", now()));
    assert_eq!(next()["value"], 8.0);
    let kill = Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap();
    assert!(kill.success());
    assert!(wait_for_end(&mut child).is_some_and(|status| status.success()));
    let nothing = run_to_end({
        let mut command = plumbago();
        command.args(["watch", "nosuch", "--url", &format!("http://{}", server.http)]);
        command
    });
    assert_eq!(nothing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("nothing matches `nosuch`"));
}
