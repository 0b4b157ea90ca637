//! The plug-in's own tests on every Python it is for, and its types.

use std::process::Command;

use super::web::{peer, root};
use crate::skip::{note, skip};

#[test]
fn unit_tests_pass_on_python_3_9() {
    unit_tests_pass_on("3.9");
}

#[test]
fn unit_tests_pass_on_python_3_10() {
    unit_tests_pass_on("3.10");
}

#[test]
fn unit_tests_pass_on_python_3_11() {
    unit_tests_pass_on("3.11");
}

#[test]
fn unit_tests_pass_on_python_3_12() {
    unit_tests_pass_on("3.12");
}

#[test]
fn unit_tests_pass_on_python_3_13() {
    unit_tests_pass_on("3.13");
}

fn unit_tests_pass_on(version: &str) {
    let environment = match peer(&format!("plugin-{version}")) {
        Ok(environment) => environment,
        // A machine need not have every Python, not even one that builds: graphite-web itself needs one of them, and misses
        // it loudly.
        Err(why) => return note(&format!("the plug-in on Python {version}"), &why),
    };
    let folder = root().join("graphite-web-plugin");
    let path = std::env::join_paths([folder.join("src"), folder.join("tests/stand_in")]).unwrap();
    let mut command = Command::new(environment.join("bin/python"));
    command.args(["-W", "error", "-m", "unittest"]).current_dir(&folder);
    command.env("PYTHONPATH", path).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let ran =
        said.lines().find_map(|line| line.strip_prefix("Ran ")?.split(' ').next()?.parse::<usize>().ok());
    assert!(ran.is_some_and(|ran| ran > 0), "no test ran: {said}");
}

#[test]
fn types_are_right() {
    let environment = match peer("mypy") {
        Ok(environment) => environment,
        Err(why) => return skip("types_are_right", &why),
    };
    let mut command = Command::new(environment.join("bin/python"));
    command.args(["-m", "mypy", "--no-incremental", "--cache-dir=/dev/null"]);
    command.current_dir(root().join("graphite-web-plugin"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
