//! What the checkout promises beside its code: how a release is built, how tests are put together, and that none of them is skipped
//! unseen.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::skip::skip;

/// Makes [`a_test_lacks_nothing_here`] believe that it lacks something.
const PRETENCE: &str = "TEST_PRETENDS_TO_LACK_SOMETHING";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn manifest() -> toml::Value {
    toml::from_str(&fs::read_to_string(root().join("Cargo.toml")).unwrap()).unwrap()
}

/// With debug information the binary is five times as large.
#[test]
fn a_release_binary_has_no_debug_information() {
    let release = &manifest()["profile"]["release"];
    assert_eq!(release.get("strip"), Some(&toml::Value::Boolean(true)));
    assert_eq!(release.get("debug"), None);
}

/// Each test binary is linked with the whole server, which takes as long as everything that is in it. The simulation is one of its own
/// because `scripts/simulate` builds it like a release.
#[test]
fn there_are_four_test_binaries() {
    let manifest = manifest();
    assert_eq!(manifest["package"]["autotests"], toml::Value::Boolean(false));
    let binaries: Vec<&str> =
        manifest["test"].as_array().unwrap().iter().map(|test| test["name"].as_str().unwrap()).collect();
    assert_eq!(binaries, ["cassandra", "library", "server", "simulation"]);
}

#[test]
fn the_build_machine_says_that_it_is_one() {
    let directory = tempfile::tempdir().unwrap();
    let script = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let run = directory.path().join(".ci/run");
    script(&run, &fs::read_to_string(root().join(".ci/run")).unwrap());
    script(&directory.path().join("scripts/test"), "#!/bin/sh\necho \"CI=$CI $*\"\n");
    // Through the shell, because a file that was just written may be busy in a child of another test.
    let ran = Command::new("bash").arg(&run).arg("some filter").env_remove("CI").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "CI=true some filter\n", "{ran:?}");
}

#[test]
fn a_test_lacks_nothing_here() {
    if std::env::var_os(PRETENCE).is_some() {
        skip("a_test_lacks_nothing_here", "it pretends to");
    }
}

#[test]
fn a_test_that_cannot_run_is_counted_and_is_a_failure_on_the_build_machine() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("skips");
    let run = |ci: &str| -> Output {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "checkout::a_test_lacks_nothing_here"]);
        command.env(PRETENCE, "1").env("TEST_SKIP_LOG", &log).env("CI", ci);
        command.output().unwrap()
    };
    let here = run("");
    assert!(here.status.success(), "{here:?}");
    assert_eq!(fs::read_to_string(&log).unwrap(), "a_test_lacks_nothing_here: it pretends to\n");
    let there = run("true");
    assert!(!there.status.success(), "{there:?}");
    assert!(String::from_utf8_lossy(&there.stdout).contains("must not be skipped on a build machine"));
}
