//! Logins as other programs send them: Grafana, browsers on TLS, and commands that talk to two servers.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::Command;

use serde_json::Value;

use super::auth::{House, https};
use super::harness::{Setup, now, plumbago, run_to_end};
use super::tls::{Certificates, connect};

/// What Grafana's data source sends with each call: its own headers, and the login of its settings.
const GRAFANA: &str =
    "User-Agent: Grafana/11.6.0\r\nX-Grafana-Org-Id: 1\r\nX-Dashboard-Uid: abc\r\nX-Panel-Id: 2\r\n";

/// `reader:open sesame`
const BASIC: &str = "Authorization: Basic cmVhZGVyOm9wZW4gc2VzYW1l\r\n";

/// "Basic auth" and the custom header `Authorization: Bearer …` of a data source, on the calls that it makes.
#[test]
fn grafana_logs_in_as_its_settings_say() {
    let house = House::start(Setup::new());
    let time = now() / 60 * 60;
    house.store(&format!("servers.web.w1 1 {time}\nhidden.x 1 {time}\n"));
    let bearer = format!("Authorization: Bearer {}\r\n", house.token("near"));
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let calls = [
        // "Save & test", and a panel.
        ("POST", "/render", "target=constantLine(100)&from=-1h&until=now&format=json&maxDataPoints=300"),
        ("POST", "/render", "target=servers.*.w1&from=-1h&until=now&format=json&maxDataPoints=300"),
        // The editor, variables, annotations, functions.
        ("GET", "/metrics/find?query=*&until=now", ""),
        ("POST", "/metrics/find", "query=servers.*"),
        ("GET", "/metrics/expand?query=servers.*", ""),
        ("GET", "/tags/autoComplete/tags?expr=name%3Ddisk", ""),
        ("GET", "/events/get_data?from=-1h&until=now&tags=deploy", ""),
        ("GET", "/functions", ""),
        ("GET", "/version", ""),
    ];
    for (method, path, body) in calls {
        for login in [BASIC, &bearer] {
            let (status, answer) = house.ask_with("", method, path, &format!("{GRAFANA}{form}{login}"), body);
            assert_eq!(status, 200, "{method} {path} {login}: {answer}");
        }
        let (status, _) = house.ask_with("", method, path, &format!("{GRAFANA}{form}"), body);
        assert_eq!(status, if path == "/version" { 200 } else { 401 }, "{method} {path}");
    }
    let names = |login: &str| {
        let (_, answer) =
            house.ask_with("", "GET", "/metrics/find?query=*", &format!("{GRAFANA}{login}"), "");
        answer
    };
    assert!(names(BASIC).contains("hidden"));
    assert!(names(&bearer).contains("servers") && !names(&bearer).contains("hidden"));
    // The page of a failed test in Grafana shows this.
    let wrong = "Authorization: Basic cmVhZGVyOndyb25n\r\n";
    let (status, answer) =
        house.ask_with("", "POST", "/render", &format!("{GRAFANA}{form}{wrong}"), calls[0].2);
    assert_eq!((status, answer.trim()), (401, "there is no such user with this password"));
}

#[test]
fn browsers_remember_to_use_tls_where_that_is_set() {
    let test = "browsers_remember_to_use_tls_where_that_is_set";
    let Some(certificates) = Certificates::make(test) else { return };
    let server = certificates.setup().set("listen.https", "127.0.0.1:0").set("http.hsts", "365d").start();
    let ask = |stream: &mut dyn ReadWrite| {
        stream.write_all(b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).to_lowercase()
    };
    let encrypted = ask(&mut connect(https(&server), certificates.client("ca", None)));
    assert!(encrypted.contains("\r\nstrict-transport-security: max-age=31536000\r\n"), "{encrypted}");
    let plain = ask(&mut std::net::TcpStream::connect(server.http).unwrap());
    assert!(plain.starts_with("http/1.1 200") && !plain.contains("strict-transport"), "{plain}");
}

trait ReadWrite: std::io::Read + std::io::Write {}

impl<S: std::io::Read + std::io::Write> ReadWrite for S {}

/// The blocks of a page in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let page = fs::read_to_string(page).unwrap();
    let parts = page.split("```").skip(1).step_by(2);
    parts.filter_map(|part| part.strip_prefix(&format!("{language}\n")).map(str::to_owned)).collect()
}

/// docs/SECURITY-SETUP.md, word by word: from an open server to TLS and two users, and Grafana with its token.
#[test]
fn the_five_lines_of_the_page_work() {
    let test = "the_five_lines_of_the_page_work";
    let Some(certificates) = Certificates::make(test) else { return };
    let config = certificates.file("plumbago.toml");
    fs::write(&config, &blocks("docs/SECURITY-SETUP.md", "toml")[0]).unwrap();
    let commands = blocks("docs/SECURITY-SETUP.md", "sh").remove(0);
    let program = env!("CARGO_BIN_EXE_plumbago");
    let commands: Vec<String> = commands
        .lines()
        .filter_map(|line| line.strip_prefix("sudo -u plumbago plumbago "))
        .map(|line| line.replace("/etc/plumbago/plumbago.toml", &config.display().to_string()))
        .collect();
    assert_eq!(commands.len(), 2);
    for command in &commands {
        let script = format!("echo 'open sesame' | '{program}' {command}");
        let output =
            Command::new("bash").args(["-c", &script]).current_dir(certificates.file("")).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let setup = Setup::new().environment("PLUMBAGO_CONFIG", &config.display().to_string());
    let server = setup.set("listen.https", "127.0.0.1:0").start();
    let token = fs::read_to_string(certificates.file("grafana.token")).unwrap();
    let ask = |login: &str, method: &str, path: &str, body: &str| {
        let mut stream = connect(https(&server), certificates.client("ca", None));
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{login}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    };
    let ann = "Authorization: Basic YW5uOm9wZW4gc2VzYW1l\r\n";
    let lines = format!("servers.web.w1 1 {0}\nhidden.x 1 {0}\ndisk;dc=ams 1 {0}\n", now());
    assert!(ask(ann, "POST", "/internal/write", &lines).contains("\"stored\":3"));
    assert!(ask("", "GET", "/metrics/index.json", "").starts_with("HTTP/1.1 401"));
    let grafana = format!("Authorization: Bearer {}\r\n", token.trim());
    let names = ask(&grafana, "GET", "/metrics/index.json", "");
    assert!(names.contains("servers.web.w1") && !names.contains("hidden"), "{names}");
    assert!(ask(&grafana, "GET", "/tags/findSeries?expr=name=disk", "").contains("disk;dc=ams"));
    assert!(ask(&grafana, "POST", "/internal/delete", "query=**").starts_with("HTTP/1.1 403"));
}

/// Two servers that ask for logins, each with tokens of its own.
#[test]
fn a_command_between_two_servers_shows_each_its_own_token() {
    let (here, there) = (House::start(Setup::new()), House::start(Setup::new()));
    let time = now() / 60 * 60 - 600;
    there.store(&format!("a.b 1 {time}\na.c 2 {time}\n"));
    let directory = here.server.setup().directory().to_owned();
    let file = |name: &str, token: &str| {
        fs::write(directory.join(name), token).unwrap();
        directory.join(name).display().to_string()
    };
    let (own, other) = (file("own", here.token("admin")), file("other", there.token("admin")));
    let url = |house: &House| format!("http://{}", house.server.http);
    let run = |arguments: &[&str], variable: Option<&str>| {
        let mut command = plumbago();
        command
            .current_dir(&directory)
            .args(["--token-file", &own])
            .args(arguments)
            .args(["--url", &url(&here)]);
        command.envs(variable.map(|token| ("PLUMBAGO_OTHER_TOKEN", token)));
        let output = run_to_end(command);
        let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
        for token in [here.token("admin"), there.token("admin")] {
            assert!(!text.contains(token), "{text}");
        }
        (output.status.code(), text)
    };
    let fill = ["fill", "--from", &url(&there)];
    // Its own token is not for the other one.
    let (code, text) = run(&fill, None);
    assert!(code == Some(1) && text.contains("--from-token-file or PLUMBAGO_OTHER_TOKEN"), "{text}");
    let (code, text) = run(&[&fill[..], &["--from-token-file", &other]].concat(), None);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(here.json("reader", "/metrics/index.json"), serde_json::json!(["a.b", "a.c"]));
    let compare = ["compare", "--with", &url(&there), "a.*"];
    let (code, text) = run(&compare, None);
    assert!(code != Some(0) && text.contains("--with-token-file"), "{text}");
    let (code, text) = run(&compare, Some(there.token("admin")));
    assert_eq!(code, Some(0), "{text}");
    here.store(&format!("new.metric 1 {time}\n"));
    let copy = ["copy", "new.*", "--to", &url(&there)];
    let (code, text) = run(&copy, None);
    assert!(code == Some(1) && text.contains("--to-token-file"), "{text}");
    let (code, text) = run(&[&copy[..], &["--to-token-file", &other]].concat(), None);
    assert_eq!(code, Some(0), "{text}");
    let names: Value = there.json("reader", "/metrics/index.json");
    assert_eq!(names, serde_json::json!(["a.b", "a.c", "new.metric"]));
    // Neither server has written a token down.
    for house in [&here, &there] {
        let said = house.server.errors();
        assert!(!said.contains(here.token("admin")) && !said.contains(there.token("admin")));
    }
}
