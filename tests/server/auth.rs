//! Logins, roles and scopes: the real binary, over TLS and without.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::harness::{Server, Setup, find_program, now, plumbago, run_to_end, wait_until};
use super::skip::skip;
use super::tls::{Certificates, address, connect, send};

/// `open sesame`
const OPEN_SESAME: &str = "$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy";

const USERS: [(&str, &str, &[&str]); 6] = [
    ("reader", "read", &[]),
    ("writer", "write", &[]),
    ("admin", "admin", &[]),
    ("near", "read", &["servers.web", "*;dc=ams"]),
    ("nearwriter", "write", &["servers.web"]),
    ("nearadmin", "admin", &["servers.web"]),
];

/// A server with these users, and the token of each.
pub(crate) struct House {
    pub(crate) server: Server,
    pub(crate) tokens: Vec<(String, String)>,
}

/// The settings that name the three files.
pub(crate) fn with_files(setup: Setup) -> Setup {
    let path = |name: &str| setup.directory().join(name).display().to_string();
    let (users, tokens, passwords) = (path("users"), path("tokens"), path("htpasswd"));
    fs::write(&passwords, format!("reader:{OPEN_SESAME}\n")).unwrap();
    setup
        .set("auth.users_file", &users)
        .set("auth.tokens_file", &tokens)
        .set("auth.htpasswd_file", &passwords)
        .set("auth.max_failures", "1000000")
}

/// Makes a user with the command, and returns the token.
pub(crate) fn add_user(setup: &Setup, name: &str, role: &str, scopes: &[&str]) -> String {
    let mut arguments = vec!["user", "add", name, "--role", role];
    for scope in scopes {
        match scope.strip_prefix("tenant=") {
            Some(tenant) => arguments.extend(["--tenant", tenant]),
            None => arguments.extend(["--scope", scope]),
        }
    }
    let output = setup.run(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl House {
    pub(crate) fn start(setup: Setup) -> Self {
        let setup = with_files(setup);
        let tokens =
            USERS.map(|(name, role, scopes)| (name.to_owned(), add_user(&setup, name, role, scopes)));
        Self { server: setup.start(), tokens: tokens.into() }
    }

    pub(crate) fn token(&self, name: &str) -> &str {
        &self.tokens.iter().find(|(own, _)| own == name).unwrap().1
    }

    fn login(&self, name: &str) -> String {
        match name {
            "" => String::new(),
            "wrong" => "Authorization: Bearer plumbago_wrong\r\n".to_owned(),
            name => format!("Authorization: Bearer {}\r\n", self.token(name)),
        }
    }

    pub(crate) fn ask(&self, who: &str, method: &str, path: &str, body: &str) -> (u16, String) {
        self.ask_with(who, method, path, "", body)
    }

    pub(crate) fn ask_with(
        &self,
        who: &str,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> (u16, String) {
        let request = request(method, path, &format!("{}{headers}", self.login(who)), body);
        let mut stream = TcpStream::connect(self.server.http).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        parse(&answer)
    }

    pub(crate) fn json(&self, who: &str, path: &str) -> Value {
        let (status, body) = self.ask(who, "GET", path, "");
        assert_eq!(status, 200, "{who} {path}: {body}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }

    /// Points in, as somebody who may.
    pub(crate) fn store(&self, lines: &str) {
        let (status, body) = self.ask("writer", "POST", "/internal/write", lines);
        let answer: Value = serde_json::from_str(&body).unwrap_or_default();
        assert_eq!((status, answer["stored"].as_u64()), (200, Some(lines.lines().count() as u64)), "{body}");
    }

    pub(crate) fn counter(&self, name: &str) -> u64 {
        let (_, text) = self.ask("reader", "GET", "/internal/metrics", "");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse::<f64>().unwrap() as u64
    }
}

pub(super) fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Status and body of an answer; a body in pieces stays as it came.
pub(super) fn parse(answer: &[u8]) -> (u16, String) {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text}"));
    let body = if head.to_lowercase().contains("transfer-encoding: chunked") {
        unchunk(body)
    } else {
        body.to_owned()
    };
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body)
}

fn unchunk(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        out.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    out
}

/// What docs/HTTP.md says: method, path, role, and whether a scope shuts somebody out.
pub(crate) fn documented() -> Vec<(String, String, String, bool)> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/HTTP.md")).unwrap();
    let mut rows = Vec::new();
    for line in page.lines().filter_map(|line| line.strip_prefix("| `")) {
        let (call, rest) = line.split_once("` | ").unwrap();
        let (methods, path) = call.split_once(' ').unwrap();
        let role = rest.split(" | ").next().unwrap();
        let (role, whole) = role.split_once(", ").map_or((role, false), |(role, _)| (role, true));
        // What can be got can be asked for without its body.
        let heads = methods.split("\\|").filter(|method| *method == "GET").map(|_| "HEAD");
        for method in methods.split("\\|").chain(heads) {
            rows.push((method.to_owned(), path.to_owned(), role.to_owned(), whole));
        }
    }
    assert!(rows.len() > 50, "only {} calls were found", rows.len());
    rows
}

fn rank(role: &str) -> usize {
    ["none", "read", "write", "admin"]
        .iter()
        .position(|known| *known == role)
        .unwrap_or_else(|| panic!("{role}"))
}

#[test]
fn every_call_answers_as_the_page_says_over_tls_and_plain() {
    let test = "every_call_answers_as_the_page_says_over_tls_and_plain";
    let Some(certificates) = Certificates::make(test) else { return };
    let house = House::start(certificates.setup().set("listen.https", "127.0.0.1:0"));
    let https = https(&house.server);
    let tls = certificates.client("ca", None);
    let secure = |who: &str, method: &str, path: &str| {
        let request = request(method, path, &format!("{}Content-Type: x/y\r\n", house.login(who)), "x");
        let mut stream = connect(https, tls.clone());
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // The end of an answer is where its head says; how the connection ends does not matter.
        let _ = stream.read_to_end(&mut answer);
        parse(&answer).0
    };
    let callers = ["", "wrong", "reader", "writer", "admin", "near", "nearwriter", "nearadmin"];
    for (method, path, role, whole) in documented() {
        let path =
            path.replace("{id}", "1").replace("{name}", "x").replace("{*tag}", "x").replace("{*name}", "x");
        for who in callers {
            let user = USERS.iter().find(|(name, ..)| *name == who);
            let (own, is_confined) =
                user.map_or(("none", false), |(_, role, scopes)| (role, !scopes.is_empty()));
            let expected = match who {
                // The form itself says that the body is no login.
                _ if (&*method, &*path) == ("POST", "/login") => Some(401),
                _ if role == "none" => None,
                "" | "wrong" => Some(401),
                _ if rank(own) < rank(&role) || whole && is_confined => Some(403),
                _ => None,
            };
            // A body that no call likes: nothing is done, but the gate is passed.
            let (plain, body) = house.ask_with(who, &method, &path, "Content-Type: x/y\r\n", "x");
            for status in [plain, secure(who, &method, &path)] {
                let turned_away = Some(status).filter(|status| matches!(status, 401 | 403));
                assert_eq!(turned_away, expected, "{method} {path} by `{who}`: {status} {body}");
            }
        }
    }
}

pub(crate) fn https(server: &Server) -> SocketAddr {
    let line = server.banner.iter().find_map(|line| line.strip_prefix("https     https://")).unwrap();
    line.trim().parse().unwrap()
}

/// Every text in a document.
fn texts(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            out.push(key.clone());
            texts(value, out);
        }),
        _ => {}
    }
}

#[test]
fn a_confined_caller_sees_and_changes_nothing_else() {
    let house = House::start(Setup::new());
    let t = now();
    let names = [
        "servers.web.w1",
        "servers.web.w2.secretless",
        "servers.hidden.h1",
        "hidden.x",
        "disk;dc=ams",
        "disk;dc=hidden",
    ];
    house.store(&names.map(|name| format!("{name} 1 {t}\n")).concat());
    let event = |what: &str, tags: &str| format!(r#"{{"what":"{what}","tags":"{tags}"}}"#);
    assert_eq!(house.ask("writer", "POST", "/events/", &event("hidden one", "hidden.x")).0, 200);
    assert_eq!(house.ask("writer", "POST", "/events/", &event("seen one", "servers.web")).0, 200);

    let from = t - 600;
    let render = |target: &str| format!("/render?format=json&from={from}&until={}&target={target}", t + 60);
    let mut seen = 0;
    for path in [
        "/metrics/find?query=*".to_owned(),
        "/metrics/find?query=**&format=json".to_owned(),
        "/metrics/find?query=servers.*&format=completer".to_owned(),
        "/metrics/expand?query=**".to_owned(),
        "/metrics/expand?query=hidden.x".to_owned(),
        "/metrics/index.json".to_owned(),
        render("**"),
        render("hidden.x"),
        render("aliasByNode(servers.*.*,1,2)"),
        render("movingAverage(servers.*.*,'1min')"),
        render("timeShift(hidden.x,'1s')"),
        render("seriesByTag('name=disk')"),
        render("seriesByTag('name=hidden.x')"),
        render("groupByNode(servers.*.*,1,'sum')"),
        "/tags".to_owned(),
        "/tags/dc".to_owned(),
        "/tags/name".to_owned(),
        "/tags/findSeries?expr=name=disk".to_owned(),
        "/tags/autoComplete/tags".to_owned(),
        "/tags/autoComplete/values?tag=dc".to_owned(),
        "/tags/autoComplete/values?expr=name=disk&tag=dc".to_owned(),
        "/events/get_data".to_owned(),
        "/internal/cardinality?depth=2".to_owned(),
        "/internal/browser/tree?path=servers".to_owned(),
        "/internal/browser/tree".to_owned(),
        "/internal/browser/search?query=hid".to_owned(),
        "/internal/browser/search?query=s".to_owned(),
        "/internal/browser/tree?tagged=1&path=disk".to_owned(),
    ] {
        // What a name that is outside would be recognised by.
        let hidden = |who: &str| {
            let mut found = Vec::new();
            texts(&house.json(who, &path), &mut found);
            found.retain(|text| text.contains("hidden"));
            found
        };
        assert_eq!(hidden("near"), [""; 0], "{path}");
        seen += hidden("reader").len();
    }
    assert!(seen > 20, "others see what is hidden: {seen}");
    assert_eq!(
        house.json("near", "/metrics/index.json"),
        serde_json::json!(["servers.web.w1", "servers.web.w2.secretless"])
    );
    assert_eq!(house.ask("near", "GET", "/internal/browser/metric?name=hidden.x", "").0, 404);

    // Writes.
    let lines =
        format!("servers.web.new 1 {t}\nhidden.new 1 {t}\nservers..web.w1 2 {t}\nservers.webx 1 {t}\n");
    let (status, body) = house.ask("nearwriter", "POST", "/internal/write", &lines);
    let verdict: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, &verdict["stored"], &verdict["refused"]["out_of_scope"]),
        (200, &2.into(), &2.into()),
        "{body}"
    );
    assert_eq!(house.ask("nearwriter", "POST", "/tags/tagSeries?path=hidden;a=b", "").0, 403);
    assert_eq!(house.ask("nearwriter", "POST", "/events/", &event("x", "deploy")).0, 403);
    assert_eq!(house.ask("nearwriter", "POST", "/events/", &event("x", "servers.web.w1")).0, 200);
    // Deletions.
    let (status, body) = house.ask("nearadmin", "POST", "/internal/delete?query=**", "");
    assert_eq!(status, 200, "{body}");
    let left = house.json("reader", "/metrics/index.json");
    assert_eq!(left, serde_json::json!(["hidden.x", "servers.hidden.h1"]));
    assert_eq!(house.ask("nearadmin", "POST", "/internal/rename?from=hidden&to=servers.web.mine", "").0, 403);
}

#[test]
fn a_sender_writes_what_its_certificate_allows() {
    let test = "a_sender_writes_what_its_certificate_allows";
    let Some(certificates) = Certificates::make(test) else { return };
    let ca = certificates.file("ca.pem").display().to_string();
    let setup = with_files(certificates.setup().set("listen.https", "127.0.0.1:0"))
        .set("listen.tls.client_ca_file", &ca)
        .set("auth.certificates", "true");
    let token = add_user(&setup, "reader", "read", &[]);
    let file = setup.directory().join("users");
    let add = |line: &str| fs::write(&file, fs::read_to_string(&file).unwrap() + line).unwrap();
    add("sender write servers.web\nrenewed read\n");
    let house = House { server: setup.start(), tokens: vec![("reader".to_owned(), token)] };
    let t = now();
    let lines = format!("servers.web.a 1 {t}\nservers.db.a 1 {t}\n");
    let to = address(&house.server, "carbon");
    send(connect(to, certificates.client("ca", Some("sender"))), lines.as_bytes()).unwrap();
    wait_until("both points to be counted", || {
        house.counter("plumbago_points_stored_total") == 1
            && house.counter("plumbago_points_rejected_total{reason=\"out_of_scope\"}") == 1
    });
    // Somebody who may only read, and somebody without a line in the file of users.
    for (who, reason) in [("renewed", "role"), ("server", "no_role")] {
        let _ = send(connect(to, certificates.client("ca", Some(who))), lines.as_bytes());
        let counter = format!("plumbago_auth_failures_total{{reason=\"{reason}\"}}");
        wait_until("the refusal to be counted", || house.counter(&counter) == 1);
    }
    assert_eq!(house.json("reader", "/metrics/index.json"), serde_json::json!(["servers.web.a"]));
    // Over HTTPS, the certificate is a login.
    let names = |own: Option<&str>| {
        let mut stream = connect(https(&house.server), certificates.client("ca", own));
        stream.write_all(request("GET", "/metrics/index.json", "", "").as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        parse(&answer)
    };
    assert_eq!(names(Some("sender")), (200, "[\"servers.web.a\"]".to_owned()));
    assert_eq!(names(None).0, 401);
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn commands_show_a_token_and_users_come_and_go_while_the_server_runs() {
    let house = House::start(Setup::new());
    house.store(&format!("a.b 1 {}\n", now()));
    let url = format!("http://{}", house.server.http);
    let directory = house.server.setup().directory().to_owned();
    let run = |token: Option<&str>, arguments: &[&str]| {
        let mut command = plumbago();
        command.current_dir(&directory).args(arguments).args(["--url", &url]);
        command.envs(token.map(|token| ("PLUMBAGO_TOKEN", token)));
        run_to_end(command)
    };
    let without = run(None, &["find", "*"]);
    assert_eq!(without.status.code(), Some(1));
    assert!(text(&without).contains("--token-file or PLUMBAGO_TOKEN"), "{}", text(&without));
    assert_eq!(text(&run(Some(house.token("reader")), &["find", "*"])), "a.\n");
    let file = directory.join("token");
    fs::write(&file, format!("{}\n", house.token("admin"))).unwrap();
    let deleted = run(None, &["--token-file", file.to_str().unwrap(), "delete", "a.b"]);
    assert!(deleted.status.success(), "{}", text(&deleted));
    let refused = run(Some(house.token("writer")), &["delete", "a.b"]);
    assert!(text(&refused).contains("needs the role admin, and `writer` has write"), "{}", text(&refused));

    let setup = house.server.setup();
    let late = add_user(setup, "late", "read", &[]);
    let asks = |token: &str| run(Some(token), &["find", "*"]);
    wait_until("the new user", || !text(&asks(&late)).contains("401"));
    let listed = text(&setup.run(&["user", "list"]));
    assert!(listed.contains("near        read   servers.web *;dc=ams; token"), "{listed}");
    assert!(listed.contains("reader      read   everything; password, token"), "{listed}");
    assert!(!listed.contains(&late) && !listed.contains(OPEN_SESAME));
    let revoked = setup.run(&["user", "revoke", "late"]);
    assert!(revoked.status.success(), "{}", text(&revoked));
    wait_until("the user to be gone", || text(&asks(&late)).contains("401"));
    assert_eq!(setup.run(&["user", "revoke", "late"]).status.code(), Some(1));

    // What happened is written down, and no secret is.
    let said = house.server.errors();
    assert!(
        said.contains("plumbago::audit")
            && said.contains("deed=\"delete\"")
            && said.contains("user=\"admin\""),
        "{said}"
    );
    assert!(said.contains("a login failed"), "{said}");
    let config = text(&setup.run(&["check-config"]));
    for secret in
        house.tokens.iter().map(|(_, token)| token.as_str()).chain([&*late, "open sesame", OPEN_SESAME])
    {
        assert!(!said.contains(secret) && !config.contains(secret), "{secret}");
    }
}

#[test]
fn a_password_is_read_from_stdin_and_works_at_once() {
    let house = House::start(Setup::new());
    let setup = house.server.setup();
    let mut command = setup.command();
    // The same settings, another command.
    let arguments: Vec<_> =
        command.get_args().filter(|argument| *argument != "serve").map(ToOwned::to_owned).collect();
    command = plumbago();
    command.current_dir(setup.directory()).args(arguments).args([
        "user",
        "add",
        "cat",
        "--role",
        "read",
        "--password",
    ]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"let me in please\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output));
    // `cat:let me in please`
    let basic = "Authorization: Basic Y2F0OmxldCBtZSBpbiBwbGVhc2U=\r\n";
    wait_until("the new password", || house.ask_with("", "GET", "/functions", basic, "").0 == 200);
}

#[test]
fn http_2_is_spoken_where_a_client_asks_for_it() {
    let test = "http_2_is_spoken_where_a_client_asks_for_it";
    let Some(certificates) = Certificates::make(test) else { return };
    let Some(curl) = find_program("curl") else { return skip(test, "no curl") };
    let server = certificates.setup().set("listen.https", "127.0.0.1:0").start();
    let (ca, url) = (certificates.file("ca.pem"), format!("https://{}/version", https(&server)));
    let asked = |flag: &str| {
        let mut command = Command::new(&curl);
        command.args(["-sS", flag, "-o", "/dev/null", "-w", "%{http_version} %{response_code}", "--cacert"]);
        let output = command.arg(&ca).arg(&url).output().unwrap();
        text(&output)
    };
    assert_eq!(asked("--http2"), "2 200");
    assert_eq!(asked("--http1.1"), "1.1 200");
    // Commands speak TLS, too.
    let mut command = plumbago();
    command.env("SSL_CERT_FILE", &ca).args(["find", "*", "--url", &format!("https://{}", https(&server))]);
    assert!(text(&run_to_end(command)).contains("nothing matches"));
}

#[test]
fn only_listed_addresses_may_send() {
    let server = Setup::new().set("listen.allow", "192.0.2.0/24").start();
    let mut sender = TcpStream::connect(server.carbon).unwrap();
    // The server may have closed the connection already.
    let _ = sender.write_all(format!("a.b 1 {}\n", now()).as_bytes());
    server.wait_for("plumbago_senders_refused_total", 1);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(format!("a.b 1 {}\n", now()).as_bytes(), server.carbon).unwrap();
    server.wait_for("plumbago_senders_refused_total", 2);
    assert_eq!(server.counter("plumbago_points_received_total"), 0);
    let open = Setup::new().set("listen.allow", "192.0.2.0/24,127.0.0.0/8").start();
    open.store(&format!("a.b 1 {}\n", now()));
}

#[test]
fn a_server_that_others_reach_without_a_login_says_so() {
    let exposed = Setup::new().set("listen.http", "0.0.0.0:0").start();
    assert!(exposed.errors().contains("has the role read without a login"), "{}", exposed.errors());
    let health = exposed.json("/internal/browser/health");
    assert!(
        health["warning"].as_str().is_some_and(|text| text.contains("docs/SECURITY-SETUP.md")),
        "{health}"
    );
    let local = Server::start();
    assert!(!local.errors().contains("without a login"));
    assert!(local.json("/internal/browser/health")["warning"].is_null());
}

#[test]
fn a_login_without_a_user_or_a_file_is_refused_at_the_start() {
    let output = Setup::new().set("auth.tokens_file", "/dev/null").run_to_end();
    assert!(
        output.status.code() == Some(2) && text(&output).contains("auth.users_file"),
        "{}",
        text(&output)
    );
    let setup = with_files(Setup::new());
    fs::write(setup.directory().join("users"), "ann root\n").unwrap();
    fs::write(setup.directory().join("tokens"), "").unwrap();
    let output = setup.run_to_end();
    assert!(
        output.status.code() == Some(1) && text(&output).contains("line 1: `root` is not a role"),
        "{}",
        text(&output)
    );
}

#[test]
fn a_query_is_listed_under_the_name_of_its_caller() {
    let house = House::start(Setup::new());
    house.store(&format!("servers.web1.load 1 {}\n", now()));
    assert_eq!(house.ask("near", "GET", "/render?target=servers.web1.load&format=json", "").0, 200);
    let mut last = Value::Null;
    wait_until("the end of the query", || {
        let queries = house.json("admin", "/internal/queries");
        last = queries.pointer("/most_frequent/0/last").cloned().unwrap_or_default();
        last["outcome"] == "answered"
    });
    assert_eq!((&last["user"], &last["query"]), (&"near".into(), &"servers.web1.load".into()), "{last}");
    for who in ["reader", "nearadmin"] {
        assert_eq!(house.ask(who, "GET", "/internal/queries", "").0, 403, "{who}");
    }
}
