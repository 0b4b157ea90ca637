//! The programs and scripts in `examples/` do what their first line says.

use std::path::Path;
use std::process::Command;

use crate::harness::{Server, find_program, now};
use crate::skip::skip;

#[path = "../../examples/send_and_read.rs"]
#[allow(dead_code, reason = "its `main` is for people")]
mod send_and_read;

fn run(server: &Server, program: &str, example: &str, arguments: &[&str]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(example);
    let output = Command::new(program).arg(path).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example}: {said}\n{}", server.errors());
}

#[test]
fn points_are_sent_and_read_back() {
    let server = Server::start();
    let time = now() / 60 * 60 - 600;
    send_and_read::send(&server.carbon.to_string(), "a.b", &[(time, 1.5), (time + 60, 2.5)]).unwrap();
    server.wait_for("plumbago_points_stored_total", 2);
    let read = send_and_read::read(&format!("http://{}", server.http), "a.b", time - 60).unwrap();
    assert_eq!(read, [(time, 1.5), (time + 60, 2.5)]);
}

#[test]
fn a_shell_script_sends_a_value() {
    let server = Server::start();
    run(&server, "bash", "send.sh", &["a.b", "3", "127.0.0.1", &server.carbon.port().to_string()]);
    server.wait_for("plumbago_points_stored_total", 1);
}

#[test]
fn python_sends_a_pickle() {
    let server = Server::start();
    let Some(_) = find_program("python3") else {
        return skip("python_sends_a_pickle", "python3 is not installed");
    };
    run(&server, "python3", "send_pickle.py", &["127.0.0.1", &server.pickle.port().to_string()]);
    server.wait_for("plumbago_points_stored_total", 15);
}

#[test]
fn a_deployment_is_marked() {
    let server = Server::start();
    let Some(_) = find_program("curl") else {
        return skip("a_deployment_is_marked", "curl is not installed");
    };
    run(&server, "bash", "mark_deployment.sh", &["v2", &format!("http://{}", server.http)]);
    let events = server.json("/events/get_data?tags=deployment");
    assert_eq!(events[0]["what"], "v2", "{events}");
}
