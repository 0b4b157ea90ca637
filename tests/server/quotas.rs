//! Quotas on a real server: who is refused, who is not, and what is counted.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};

use serde_json::{Value, json};

use super::harness::{Server, Setup, now, wait_until};
use super::tls::{Certificates, address, connect, send};

/// A server with these quotas, as TOML.
fn with(quotas: &str) -> Setup {
    Setup::new().set("quota", quotas)
}

fn lines(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name} 1 {}\n", now())).collect()
}

/// Sends lines over HTTP; gives the status, and how many were stored and over a quota.
fn write(server: &Server, names: &[&str]) -> (u16, u64, u64) {
    let answer = server.post_text("/internal/write", &lines(names));
    let json: Value = serde_json::from_str(&answer.body).unwrap();
    (answer.status, json["stored"].as_u64().unwrap(), json["refused"]["quota"].as_u64().unwrap_or(0))
}

fn used(server: &Server, quota: &str) -> u64 {
    server.counter(&format!("plumbago_quota_used{{quota=\"{quota}\",limit=\"metrics\"}}"))
}

fn refused(server: &Server, quota: &str, limit: &str, dry_run: bool) -> u64 {
    let labels = format!("quota=\"{quota}\",limit=\"{limit}\",dry_run=\"{dry_run}\"");
    server.counter(&format!("plumbago_quota_refused_total{{{labels}}}"))
}

#[test]
fn a_flood_of_new_names_leaves_existing_metrics_alone() {
    let server = with(r#"[{name="web", match="servers.web", metrics=2}]"#).start();
    server.store(&lines(&["servers.web.a", "servers.web.b"]));
    let flood: String = (0..5000).map(|n| format!("servers.web.flood{n} 1 {}\n", now())).collect();
    server.send(format!("{flood}{}", lines(&["servers.web.a", "servers.db.a", "servers.web.b"])));
    wait_until("the flood to be refused", || server.rejected("quota") == 5000);
    server.wait_for("plumbago_points_stored_total", 5);
    assert_eq!(server.counter("plumbago_metrics"), 3);
    assert_eq!((used(&server, "web"), refused(&server, "web", "metrics", false)), (2, 5000));
    assert_eq!(server.counter("plumbago_quota_limit{quota=\"web\",limit=\"metrics\"}"), 2);
    // Some are stored: the sender need not send them again. None is stored: it may try again later.
    assert_eq!(write(&server, &["servers.web.a", "servers.web.new"]), (200, 1, 1));
    let answer = server.post_text("/internal/write", &lines(&["servers.web.new"]));
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("60")), "{}", answer.body);
    assert_eq!(serde_json::from_str::<Value>(&answer.body).unwrap()["refused"], json!({"quota": 1}));
    // With something wrong among them, sending it again would not help.
    let answer = server.post_text("/internal/write", &format!("{}what?\n", lines(&["servers.web.new"])));
    assert_eq!((answer.status, answer.header("retry-after")), (200, None), "{}", answer.body);
}

#[test]
fn a_dry_run_counts_and_takes_everything() {
    let server = with(r#"[{name="all", metrics=1, points_per_second=0, dry_run=true}]"#).start();
    assert_eq!(write(&server, &["a", "b", "c"]), (200, 3, 0));
    assert_eq!((used(&server, "all"), refused(&server, "all", "metrics", true)), (3, 2));
    assert_eq!(write(&server, &["a", "b"]), (200, 2, 0));
    assert!(refused(&server, "all", "points_per_second", true) >= 2);
    assert_eq!(server.rejected("quota"), 0);
}

#[test]
fn a_minute_has_so_many_points_and_new_metrics() {
    let server = with(
        r#"[{name="a", match="a", points_per_second=1}, {name="b", match="b", new_metrics_per_minute=3}]"#,
    )
    .start();
    // The minute may turn between two calls, but not within one.
    assert_eq!(write(&server, &["a.x"; 100]), (200, 60, 40));
    assert_eq!(write(&server, &["b.1", "b.2", "b.3", "b.4", "b.5"]), (200, 3, 2));
    let series = server.post("/tags/tagMultiSeries", &["1", "2", "3", "4"].map(|n| ("path", n)));
    assert_eq!(series.status, 200, "{}", series.body);
}

#[test]
fn a_restart_keeps_the_counts_and_a_deletion_makes_room() {
    let quotas = r#"[{name="a", match="a", metrics=3}, {name="tagged", match="*;dc=ams", metrics=1}]"#;
    let server = with(quotas).start();
    assert_eq!(write(&server, &["a.x", "a.y", "a.z", "a.w", "m;dc=ams", "n;dc=ams", "n;dc=fra"]).1, 5);
    let server = server.kill().start();
    assert_eq!((used(&server, "a"), used(&server, "tagged")), (3, 1));
    assert_eq!(write(&server, &["a.w", "a.x"]), (200, 1, 1));
    assert_eq!(server.post("/internal/delete", &[("query", "a.x")]).status, 200);
    assert_eq!(used(&server, "a"), 2);
    assert_eq!(write(&server, &["a.w"]), (200, 1, 0));
    // With another name, a metric counts elsewhere.
    let renamed = server.post("/internal/rename", &[("from", "a.y"), ("to", "b.y")]);
    assert_eq!((renamed.status, used(&server, "a")), (200, 2), "{}", renamed.body);
    let (_, setup) = server.stop("TERM");
    let server = setup.start();
    assert_eq!((used(&server, "a"), used(&server, "tagged")), (2, 1));
    let all = server.json("/internal/quotas");
    assert_eq!((all[0]["quota"].as_str(), all[0]["most"].as_f64()), (Some("a"), Some(3.0)), "{all}");
}

/// A server where `alice`, `bob` and `sender` may write, and the token of each.
fn with_users(setup: Setup) -> (Server, [String; 3]) {
    let path = |name: &str| setup.directory().join(name).display().to_string();
    let (users, tokens) = (path("users"), path("tokens"));
    let setup = setup.set("auth.users_file", &users).set("auth.tokens_file", &tokens);
    let tokens = [("alice", "write"), ("bob", "write"), ("root", "admin")].map(|(name, role)| {
        let output = setup.run(&["user", "add", name, "--role", role]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    });
    // With a certificate, and so without a token.
    fs::write(&users, fs::read_to_string(&users).unwrap() + "sender write\n").unwrap();
    (setup.start(), tokens)
}

/// A call with a token; gives the status and the body.
fn call(server: &Server, token: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(server.http).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// How many metrics count for a quota, as somebody who may ask.
fn metrics_of(server: &Server, token: &str, quota: &str) -> f64 {
    let (status, body) = call(server, token, "GET", "/internal/quotas", "");
    assert_eq!(status, 200, "{body}");
    let all: Vec<Value> = serde_json::from_str(&body).unwrap();
    let found = all.iter().find(|usage| usage["quota"] == quota && usage["limit"] == "metrics");
    found.unwrap()["used"].as_f64().unwrap()
}

#[test]
fn what_a_user_creates_counts_for_that_user_even_after_a_restart() {
    let test = "what_a_user_creates_counts_for_that_user_even_after_a_restart";
    let Some(certificates) = Certificates::make(test) else { return };
    let setup = certificates
        .setup()
        .set(
            "quota",
            r#"[{name="alice", user="alice", metrics=2}, {name="sender", user="sender", metrics=1}]"#,
        )
        .set("listen.tls.client_ca_file", &certificates.file("ca.pem").display().to_string())
        .set("auth.certificates", "true");
    let (server, [alice, bob, root]) = with_users(setup);
    let write = |server: &Server, token: &str, names: &[&str]| {
        let (status, body) = call(server, token, "POST", "/internal/write", &lines(names));
        let json: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}"));
        (status, json["stored"].as_u64().unwrap())
    };
    assert_eq!(write(&server, &alice, &["a", "b", "c"]), (200, 2));
    assert_eq!(write(&server, &alice, &["c"]), (429, 0));
    assert_eq!(write(&server, &bob, &["c", "d", "e"]), (200, 3));
    assert_eq!(write(&server, &alice, &["c"]), (200, 1), "it exists by now");
    let to = address(&server, "carbon");
    let over_tls = |names: &[&str]| {
        send(connect(to, certificates.client("ca", Some("sender"))), lines(names).as_bytes()).unwrap();
    };
    over_tls(&["s.1"]);
    wait_until("its metric to be counted", || metrics_of(&server, &root, "sender") == 1.0);
    over_tls(&["s.2"]);
    let is_refused = || {
        let (_, text) = call(&server, &root, "GET", "/internal/metrics", "");
        text.contains(
            "plumbago_quota_refused_total{quota=\"sender\",limit=\"metrics\",dry_run=\"false\"} 1\n",
        )
    };
    wait_until("the second to be refused", is_refused);
    // First the log tells whose they are, and after a clean stop the catalogue does.
    let server = server.kill().start();
    assert_eq!((metrics_of(&server, &root, "alice"), metrics_of(&server, &root, "sender")), (2.0, 1.0));
    assert_eq!(write(&server, &alice, &["f"]), (429, 0));
    let (_, setup) = server.stop("TERM");
    let server = setup.start();
    assert_eq!((metrics_of(&server, &root, "alice"), metrics_of(&server, &root, "sender")), (2.0, 1.0));
    assert_eq!(call(&server, &root, "POST", "/internal/delete?query=a", "").0, 200);
    assert_eq!((metrics_of(&server, &root, "alice"), write(&server, &alice, &["f"])), (1.0, (200, 1)));
}

#[test]
fn an_address_has_its_own_quota_and_datagrams_of_others_do_not_count() {
    let server = with(r#"[{name="far", from="127.0.0.2", metrics=1}]"#).start();
    let [near, far] = ["127.0.0.1:0", "127.0.0.2:0"].map(|from| UdpSocket::bind(from).unwrap());
    for n in 0..20 {
        near.send_to(lines(&[&format!("near.{n}")]).as_bytes(), server.carbon).unwrap();
        far.send_to(lines(&[&format!("far.{n}")]).as_bytes(), server.carbon).unwrap();
    }
    wait_until("all datagrams", || server.counter("plumbago_points_received_total") == 40);
    assert_eq!((server.counter("plumbago_points_stored_total"), server.rejected("quota")), (21, 19));
    server.store(&lines(&["near.20", "near.21"]));
    assert_eq!((used(&server, "far"), refused(&server, "far", "metrics", false)), (1, 19));
}

#[test]
fn a_reload_puts_changed_quotas_in_force() {
    let setup = Setup::new();
    let [config, file] = ["plumbago.toml", "storage-quotas.conf"].map(|name| setup.directory().join(name));
    fs::write(&config, "[[quota]]\nname = \"a\"\nmatch = \"a\"\nmetrics = 1\n").unwrap();
    let server = setup.environment("PLUMBAGO_CONFIG", &config.display().to_string()).start();
    assert_eq!(write(&server, &["a.x.1", "a.y.1"]), (200, 1, 1));
    fs::write(&file, "[a.*]\nmetrics = 2\nstat-metric-prefix = \"x.\"\n[/]\nmetrics = 4\n").unwrap();
    fs::write(&config, "ingest.quotas_file = \"storage-quotas.conf\"\n").unwrap();
    let reloaded = server.post("/internal/reload", &[]);
    let json: Value = serde_json::from_str(&reloaded.body).unwrap();
    assert_eq!(json["needs_restart"], json!([]), "{json}");
    assert!(
        json["warnings"][0].as_str().unwrap().contains("storage-quotas.conf:3: `stat-metric-prefix`"),
        "{json}"
    );
    assert_eq!((used(&server, "a.*"), used(&server, "/")), (1, 1));
    // Each directory has its own two, and all together have four.
    assert_eq!(write(&server, &["a.x.2", "a.x.3", "a.y.1", "a.y.2", "b"]), (200, 3, 2));
    assert_eq!((used(&server, "a.*"), used(&server, "/")), (2, 4));
    fs::write(&file, "[a.*]\nmetrics = few\n").unwrap();
    let refused = server.post("/internal/reload", &[]);
    assert!(refused.body.contains("storage-quotas.conf:2: quota `a.*`: metrics = few"), "{}", refused.body);
    assert_eq!(used(&server, "/"), 4, "the old ones stay in force");
}

#[test]
fn go_carbons_file_limits_namespaces_and_what_metrics_take() {
    let setup = Setup::new();
    let [file, schemas] =
        ["storage-quotas.conf", "storage-schemas.conf"].map(|name| setup.directory().join(name));
    // 60 points, and 600: as whisper files 748 bytes and 7228.
    fs::write(
        &schemas,
        "[long]\npattern = long$\nretentions = 60s:10h\n[rest]\npattern = .*\nretentions = 60s:1h\n",
    )
    .unwrap();
    fs::write(
        &file,
        "[/]\nnamespaces = 2\n[a]\ndata-points = 720\n[b]\nlogical-size = 1,500\n[*.*]\nnamespaces = 1\n",
    )
    .unwrap();
    let server = setup
        .set("ingest.quotas_file", "storage-quotas.conf")
        .set("retention.schemas", "storage-schemas.conf")
        .start();
    let names = ["a.x", "a.long", "a.z", "a.w", "b.x.y.1", "b.x.y.2", "b.x.z.3", "c.x", "d"];
    assert_eq!(
        write(&server, &names),
        (200, 6, 3),
        "a.w is a point too many, b.x.z and c are namespaces too many"
    );
    let of = |quota: &str, limit: &str| {
        server.counter(&format!("plumbago_quota_used{{quota=\"{quota}\",limit=\"{limit}\"}}"))
    };
    assert_eq!((of("/", "namespaces"), of("a", "data-points"), of("b", "logical-size")), (2, 720, 1496));
    assert_eq!(write(&server, &["b.w"]), (429, 0, 1));
    // What the rules keep is what counts, also when they change.
    fs::write(&schemas, "[rest]\npattern = .*\nretentions = 60s:1h\n").unwrap();
    assert_eq!(server.post("/internal/reload", &[]).status, 200);
    assert_eq!(of("a", "data-points"), 180);
    let (_, setup) = server.stop("TERM");
    let server = setup.start();
    let of = |quota: &str, limit: &str| {
        server.counter(&format!("plumbago_quota_used{{quota=\"{quota}\",limit=\"{limit}\"}}"))
    };
    assert_eq!((of("/", "namespaces"), of("a", "data-points"), of("b", "logical-size")), (2, 180, 1496));
    assert_eq!(server.post("/internal/delete", &[("query", "b.**")]).status, 200);
    assert_eq!(write(&server, &["c.x", "b.x"]), (200, 1, 1));
}

#[test]
fn check_config_says_which_quotas_apply() {
    let setup = Setup::new();
    let file = setup.directory().join("storage-quotas.conf");
    fs::write(&file, "[/]\nmetrics = 9\n[servers.*]\nthroughput = 600\n").unwrap();
    let setup = setup.set("ingest.quotas_file", "storage-quotas.conf").set(
        "quota",
        r#"[{name="alice", user="alice", metrics=5}, {name="web", match="servers.web", metrics=10, dry_run=true}, {name="ams", match="*;dc=ams", new_metrics_per_minute=3}]"#,
    );
    let check = |name: &str| {
        let output = setup.run(&["check-config", name]);
        let text = String::from_utf8(output.stdout).unwrap();
        let begin = text.find("quota ").unwrap_or_else(|| panic!("{text}"));
        text[begin..].to_owned()
    };
    assert_eq!(
        check("servers.web.a"),
        "quota        \"alice\" if alice sends it: at most 5 metrics\n             at --set\n             \
         \"web\": at most 10 metrics (dry run: nothing is refused)\n             at --set\n             \
         \"/\": at most 9 metrics\n             at storage-quotas.conf:1\n             \
         \"servers.*\": at most 10 points per second below servers.web\n             at storage-quotas.conf:3\n"
    );
    assert!(check("disk;dc=ams").contains("\"ams\": at most 3 new metrics per minute"));
    assert!(!check("disk;dc=fra").contains("\"ams\""));
    let output = setup.run(&["check-config", "servers.web.a", "--output", "json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (json["quotas"][1]["name"].as_str(), &json["quotas"][1]["dry_run"]),
        (Some("web"), &json!(true))
    );
}

#[test]
fn a_tag_has_only_so_many_values() {
    let server = Setup::new().set("ingest.max_tag_values", "2").start();
    let answer = server.post_text(
        "/internal/write",
        &lines(&["m;host=a", "m;host=b", "m;host=c", "n;host=a", "o;dc=x", "p"]),
    );
    let json: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(json, json!({"stored": 5, "refused": {"tag_values": 1}}));
    assert_eq!(server.post("/tags/tagSeries", &[("path", "q;host=z")]).status, 429);
    assert_eq!(server.post("/tags/delSeries", &[("path", "m;host=b")]).status, 200);
    assert_eq!(server.post("/tags/tagSeries", &[("path", "q;host=z")]).status, 200);
}
