//! docs/CLI.md, docs/KAIROSDB.md and docs/CERES.md show what the commands really print: their `console` blocks are run in order, in one
//! directory, and compared.
//!
//! `...` in a line stands for any text, and a line of `...` for any lines. `<!-- start -->` and `<!-- stop -->` start and stop a server
//! there; the page has 127.0.0.1:8080 for its address. `UPDATE_DOCS=1 cargo test --test server manual` writes what differs into the page.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Server, Setup, plumbago, run_to_end};

/// What the page has for the address of the server.
const SHOWN: &str = "127.0.0.1:8080";

/// Every metric keeps its points for so long that fixed times stay readable.
const CONFIG: &str = "\
[retention]
default = '1m:15y,1h:30y'
[kairosdb]
retention = '1s:15y,5m:30y'
[store]
reserve_bytes = 0
[telemetry]
carbon_interval = '0s'
";

/// A directory in which the commands of the page run.
struct Place {
    directory: tempfile::TempDir,
    server: Option<Server>,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        symlink(env!("CARGO_BIN_EXE_plumbago"), directory.path().join("plumbago")).unwrap();
        let place = Self { directory, server: None };
        place.configure("127.0.0.1:0");
        place
    }

    fn work(&self) -> PathBuf {
        let work = self.directory.path().join("work");
        std::fs::create_dir_all(&work).unwrap();
        work
    }

    fn configure(&self, http: &str) {
        let config = format!("{CONFIG}[listen]\nhttp = '{http}'\n");
        std::fs::write(self.work().join("plumbago.toml"), config).unwrap();
    }
}

impl Stage for Place {
    fn start(&mut self) {
        let config = self.work().join("plumbago.toml");
        let setup = Setup::new().environment("PLUMBAGO_CONFIG", config.to_str().unwrap());
        let server = setup.data(&self.work().join("plumbago-data")).start();
        self.configure(&server.http.to_string());
        self.server = Some(server);
    }

    fn stop(&mut self) {
        self.server.take().unwrap().stop("TERM");
        self.configure("127.0.0.1:0");
    }

    fn run(&mut self, line: &str, _: &dyn Fn(&str) -> bool) -> String {
        let address = self.server.as_ref().map_or_else(|| SHOWN.to_owned(), |server| server.http.to_string());
        let mut command = Command::new("sh");
        let path = std::env::var("PATH").unwrap_or_default();
        for (name, _) in plumbago().get_envs() {
            command.env_remove(name);
        }
        command.env("PATH", format!("{}:{path}", self.directory.path().display())).env("TZ", "UTC");
        command.current_dir(self.work()).arg("-c");
        command.arg(format!("exec 2>&1; {}", line.replace(SHOWN, &address)));
        let output = run_to_end(command);
        let work = self.work();
        let text = String::from_utf8(output.stdout).unwrap();
        text.replace(&address, SHOWN).replace(work.to_str().unwrap(), "/srv")
    }
}

/// Where the commands of a page run.
pub(crate) trait Stage {
    /// A section of the page begins.
    fn section(&mut self, _heading: &str) {}
    /// Starts the server of the page.
    fn start(&mut self);
    /// Stops it.
    fn stop(&mut self);
    /// What a command prints, stdout and stderr together. `is_right` says whether it is what the page has.
    fn run(&mut self, line: &str, is_right: &dyn Fn(&str) -> bool) -> String;
}

/// One piece of the page.
enum Piece {
    /// A line as it is.
    Text(String),
    Start,
    Stop,
    /// A command, and the lines that it is said to print.
    Run(String, Vec<String>),
}

fn pieces(page: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        match (line, pieces.last_mut()) {
            ("```console", _) => is_console = true,
            ("```", _) => is_console = false,
            ("<!-- start -->", _) => pieces.push(Piece::Start),
            ("<!-- stop -->", _) => pieces.push(Piece::Stop),
            (line, last) if is_console => match (line.strip_prefix("$ "), last) {
                (Some(command), _) => {
                    pieces.push(Piece::Run(command.to_owned(), Vec::new()));
                    continue;
                }
                (None, Some(Piece::Run(_, said))) => {
                    said.push(line.to_owned());
                    continue;
                }
                _ => panic!("a console block must begin with a command: {line}"),
            },
            _ => {}
        }
        pieces.push(Piece::Text(line.to_owned()));
    }
    pieces
}

/// Does a line match a pattern with `...` in it?
fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("...");
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        match parts.peek() {
            None => return rest.ends_with(part),
            Some(_) => match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            },
        }
    }
    true
}

fn all_match(patterns: &[String], lines: &[&str]) -> bool {
    match (patterns, lines) {
        ([], []) => true,
        ([first, others @ ..], _) if first == "..." => {
            (0..=lines.len()).any(|from| all_match(others, &lines[from..]))
        }
        ([first, others @ ..], [line, lines @ ..]) => matches(first, line) && all_match(others, lines),
        _ => false,
    }
}

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)
}

#[test]
fn every_example_prints_what_the_page_says() {
    check_page("CLI.md");
}

#[test]
fn every_call_of_kairosdbs_clients_answers_what_the_page_says() {
    check_page("KAIROSDB.md");
}

#[test]
fn every_call_of_ceres_clients_answers_what_the_page_says() {
    check_page("CERES.md");
}

fn check_page(name: &str) {
    check_page_on(name, &mut Place::new());
}

/// Runs the commands of a page, and fails if one prints something else than the page has.
pub(crate) fn check_page_on(name: &str, place: &mut dyn Stage) {
    let written = std::fs::read_to_string(page(name)).unwrap();
    let (mut text, mut wrong) = (String::new(), Vec::new());
    let mut push = |line: &str| text = std::mem::take(&mut text) + line + "\n";
    for piece in pieces(&written) {
        match piece {
            Piece::Text(line) => {
                if let Some(heading) = line.strip_prefix("## ") {
                    place.section(heading);
                }
                push(&line);
            }
            Piece::Start => place.start(),
            Piece::Stop => place.stop(),
            Piece::Run(command, said) => {
                let is_right = |printed: &str| all_match(&said, &printed.lines().collect::<Vec<_>>());
                let printed = place.run(&command, &is_right);
                let lines: Vec<&str> = printed.lines().collect();
                push(&format!("$ {command}"));
                if is_right(&printed) {
                    said.iter().for_each(|line| push(line));
                } else {
                    wrong.push(format!("$ {command}\n{printed}"));
                    lines.iter().for_each(|line| push(line));
                }
            }
        }
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(page(name), &text).unwrap();
        wrong.clear();
    }
    assert!(wrong.is_empty(), "docs/{name} says otherwise:\n{}", wrong.join("\n"));
}

#[test]
fn every_command_is_on_the_page() {
    let written = std::fs::read_to_string(page("CLI.md")).unwrap();
    let help = run_to_end({
        let mut command = plumbago();
        command.arg("--help");
        command
    });
    let help = String::from_utf8(help.stdout).unwrap();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() > 20, "{help}");
    for command in commands.into_iter().filter(|command| *command != "help") {
        assert!(written.contains(&format!("\n### {command}\n")), "docs/CLI.md has no section on {command}");
    }
}

#[test]
fn dots_stand_for_anything() {
    for (pattern, line, is_match) in [
        ("a...c", "abc", true),
        ("a...", "abc", true),
        ("...c", "abc", true),
        ("a...c", "abcd", false),
        ("abc", "abcd", false),
        ("a...b...c", "a-b-c", true),
        ("a...b...c", "a-c", false),
    ] {
        assert_eq!(matches(pattern, line), is_match, "{pattern} {line}");
    }
    let patterns = ["a", "...", "z"].map(str::to_owned);
    assert!(all_match(&patterns, &["a", "b", "c", "z"]) && all_match(&patterns, &["a", "z"]));
    assert!(!all_match(&patterns, &["a", "b"]));
}
