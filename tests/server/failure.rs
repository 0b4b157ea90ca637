//! A thread of the server fails: everybody learns of it, and the process ends so that a supervisor starts it again.

use std::process::ExitStatus;

use crate::harness::{Server, Setup, now, wait_until};
use crate::skip;

/// Makes a thread fail when it starts, in builds that have the switch.
const FAULT: &str = "PLUMBAGO_TEST_THREAD_FAULT";

/// False, and a word about it, where the program was built without the switch.
fn can_fail() -> bool {
    if !cfg!(debug_assertions) {
        skip::note("failures of threads", "a release build has no switch for them");
    }
    cfg!(debug_assertions)
}

fn start(fault: &str, grace: &str) -> Server {
    Setup::new().set("server.failure_grace", grace).environment(FAULT, fault).start()
}

/// What `/health/ready` and the counters say about a failed thread, until the server stops.
fn failed(fault: &str, thread: &str, message: &str) -> ExitStatus {
    let server = start(fault, "1h");
    wait_until("the failure", || server.get("/health/ready").status == 503);
    let ready = server.get("/health/ready").body;
    assert!(ready.contains(&format!("`{thread}`")) && ready.contains(message), "{ready}");
    assert_eq!(server.get("/health/live").status, 200);
    assert_eq!(server.counter(&format!("plumbago_thread_failures_total{{thread=\"{thread}\"}}")), 1);
    assert_eq!(server.counter("plumbago_thread_failures_total{thread=\"http\"}"), 0);
    wait_until("the line in the log", || server.errors().contains(message));
    server.stop("TERM").0
}

#[test]
fn a_panic_of_any_thread_shows_in_health_counters_and_log() {
    if can_fail() {
        for thread in ["sync", "cut", "merge", "disk"] {
            assert_eq!(failed(thread, thread, "asks for a panic").code(), Some(1), "{thread}");
        }
    }
}

#[test]
fn a_thread_that_ends_by_itself_is_a_failure_too() {
    if can_fail() {
        assert_eq!(failed("merge:end", "merge", "nobody asked for a stop").code(), Some(1));
    }
}

#[test]
fn after_the_grace_the_process_ends_by_itself_and_the_next_one_has_every_point() {
    if !can_fail() {
        return;
    }
    let setup = Setup::new().set("server.failure_grace", "1h").environment(FAULT, "cut");
    let server = setup.start();
    wait_until("the failure", || server.get("/health/ready").status == 503);
    let now = now();
    server.store(&format!("kept 42 {now}\n"));
    let (status, setup) = server.stop("INT");
    assert_eq!(status.code(), Some(1));

    let server = setup.environment(FAULT, "").start();
    assert_eq!(server.points("kept", now - 60, now + 60).len(), 1);
    let setup = server.kill();
    let output = setup.set("server.failure_grace", "0s").environment(FAULT, "sync").run_to_end();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("plumbago: the thread `sync` failed: it panicked"), "{said}");
}
