//! Tenants: each has the answers of a server of its own, whatever it asks, and nothing of the others is in any answer.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::auth::{add_user, documented, parse, request, with_files};
use super::harness::{Server, Setup, now, wait_until};
use super::tls::{Certificates, address, connect, send};

/// The names of one party: a few words, so that those of two parties are often alike.
fn names(own: &'static str) -> impl Strategy<Value = String> {
    let word = || select(vec!["a", "b", "web", own]);
    let tags = select(vec!["", "", ";dc=ams", ";dc=fra;host=1", ";zone=z"]);
    (prop::collection::vec(word(), 1..4), tags).prop_map(|(words, tags)| format!("{}{tags}", words.join(".")))
}

fn ask(server: &Server, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.http).unwrap();
    stream.write_all(request(method, path, headers, body).as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    parse(&answer)
}

fn as_tenant(name: &str) -> String {
    format!("X-Tenant: {name}\r\n")
}

fn write(server: &Server, headers: &str, names: &[String]) {
    write_at(now(), server, headers, names);
}

fn write_at(t: u64, server: &Server, headers: &str, names: &[String]) {
    let lines: String = names.iter().map(|name| format!("{name} 1 {t}\n")).collect();
    let (status, body) = ask(server, "POST", "/internal/write", headers, &lines);
    assert!(status == 200 && body.contains(&format!("\"stored\":{}", names.len())), "{status} {body}");
}

/// Questions whose answers do not depend on the server, but for its metrics.
const QUESTIONS: [&str; 42] = [
    "/metrics/find?query=*",
    "/metrics/find?query=**&format=json",
    "/metrics/find?query=a.*&format=completer",
    "/metrics/find?query=tenants.*",
    "/metrics/expand?query=**",
    "/metrics/expand?query=a.*&query={a,b}.*&groupByExpr=1",
    "/metrics/index.json",
    "/render?format=json&target=**&from=-2min&noNullPoints=1",
    "/render?format=json&target=a.b&from=-2min&noNullPoints=1",
    "/render?format=json&target=seriesByTag('name=a')&from=-2min&noNullPoints=1",
    "/render?format=json&target=seriesByTag('tenant=')&from=-2min",
    "/render?format=json&target=groupByTags(seriesByTag('dc!='),'sum','dc','tenant')&from=-2min&noNullPoints=1",
    "/tags",
    "/tags/dc",
    "/tags/tenant",
    "/tags/name",
    "/tags/findSeries?expr=dc!=",
    "/tags/findSeries?expr=dc!=&expr=tenant!=t-2",
    "/tags/findSeries?expr=tenant=t-1",
    "/tags/autoComplete/tags",
    "/tags/autoComplete/tags?expr=dc!=",
    "/tags/autoComplete/values?tag=tenant",
    "/tags/autoComplete/values?tag=name",
    "/internal/cardinality?depth=2",
    "/internal/browser/tree?tagged=1&path=a",
    "/internal/names?query=**",
    "/api/v1/metricnames",
    "/api/v1/metricnames?prefix=a",
    "/api/v1/tagnames",
    "/api/v1/tagvalues",
    "/api/v1/catalog/metrics",
    "/api/v1/catalog/tags?metric=a",
    "/api/v1/catalog/tags?metric=a&tag=dc",
    "/api/v1/catalog/tags?metric=a&tag=tenant",
    "/api/v1/catalog/cardinality",
    "/api/v1/catalog/windows?metric=a",
    "/api/suggest?type=metrics&q=",
    "/api/suggest?type=tagk&q=",
    "/api/suggest?type=tagv&q=",
    "/api/query?start=1h-ago&m=sum:a",
    "/api/query?start=1h-ago&m=none:web%7Bdc=*%7D",
    "/api/query?start=1h-ago&m=sum:a%7Btenant=*%7D",
];

/// The same with a body: KairosDB's and OpenTSDB's.
const ASKED: [(&str, &str); 5] = [
    (
        "/api/v1/datapoints/query",
        r#"{"start_absolute":1,"metrics":[{"name":"a"},{"name":"web","group_by":[{"name":"tag","tags":["dc","tenant"]}]}]}"#,
    ),
    (
        "/api/v1/datapoints/query",
        r#"{"start_relative":{"value":1,"unit":"hours"},"metrics":[{"name":"a","tags":{"tenant":["t-1","t-2"]}},{"name":"b","tags":{"dc":"ams"},"aggregators":[{"name":"sum","sampling":{"value":1,"unit":"years"}}]}]}"#,
    ),
    ("/api/v1/datapoints/query/tags", r#"{"start_absolute":1,"metrics":[{"name":"a"},{"name":"mine"}]}"#),
    (
        "/api/query",
        r#"{"start":"1h-ago","queries":[{"aggregator":"none","metric":"a"},{"aggregator":"sum","metric":"web","tags":{"dc":"*"}}]}"#,
    ),
    (
        "/api/query",
        r#"{"start":"1h-ago","queries":[{"aggregator":"sum","metric":"a","filters":[{"type":"wildcard","tagk":"tenant","filter":"*"}]}]}"#,
    ),
];

/// Texts that are in no answer for the tenant t-1.
const SECRETS: [&str; 4] = ["secret", "t-2", "tenants", "tenant="];

#[test]
fn a_tenant_has_the_answers_of_a_server_of_its_own() {
    let mut runner = TestRunner::new(Config { cases: 3, ..Config::default() });
    let set = |own| prop::collection::btree_set(names(own), 1..14);
    let all = (set("mine"), set("secret"), set("secret2"));
    let compare = |(mine, others, operators): (_, _, _)| -> Result<(), TestCaseError> {
        let list = |names: std::collections::BTreeSet<String>| names.into_iter().collect::<Vec<_>>();
        let (mine, others, operators) = (list(mine), list(others), list(operators));
        let shared = Setup::new().set("tenants.enabled", "true").start();
        let alone = Setup::new().start();
        let own = as_tenant("t-1");
        // The answers have the times of the points.
        let t = now();
        write_at(t, &shared, &own, &mine);
        write_at(t, &shared, &as_tenant("t-2"), &others);
        write_at(t, &shared, "", &operators);
        write_at(t, &alone, "", &mine);
        for server in [(&shared, &*own), (&alone, "")] {
            ask(server.0, "POST", "/events/", server.1, r#"{"what":"deploy","tags":"web","when":1000}"#);
        }
        ask(&shared, "POST", "/events/", &as_tenant("t-2"), r#"{"what":"secret","tags":"web","when":1000}"#);
        let paths = ["", "a", "a.b", "b", "web", "mine", "tenants", "tenants.t-1"];
        let trees = paths.iter().map(|path| format!("/internal/browser/tree?path={path}"));
        let words = ["a", "b", "t-1", "tenants", "web.a", "dc", "1"];
        let searches = words.iter().map(|word| format!("/internal/browser/search?query={word}"));
        let questions = QUESTIONS.iter().map(|question| (*question).to_owned()).chain(trees).chain(searches);
        for question in questions {
            let (status, got) = ask(&shared, "GET", &question, &own, "");
            let (expected_status, expected) = ask(&alone, "GET", &question, "", "");
            prop_assert_eq!((status, &got), (expected_status, &expected), "{}", question);
        }
        for (path, body) in ASKED {
            let got = ask(&shared, "POST", path, &own, body);
            prop_assert_eq!(got, ask(&alone, "POST", path, "", body), "{} {}", path, body);
        }
        let (_, events) = ask(&shared, "GET", "/events/get_data?from=1", &own, "");
        prop_assert!(events.contains("deploy") && !events.contains("secret"), "{}", events);
        // Deletions: of a metric, of some points, and of all that there is.
        let points = r#"{"start_absolute":1,"metrics":[{"name":"b","tags":{"dc":"ams"}}]}"#;
        for (method, path, body) in [
            ("DELETE", "/api/v1/metric/web", ""),
            ("DELETE", "/api/v1/metric/secret", ""),
            ("POST", "/api/v1/datapoints/delete", points),
        ] {
            let deleted = ask(&shared, method, path, &own, body);
            prop_assert_eq!(deleted, ask(&alone, method, path, "", body), "{}", path);
        }
        for query in ["**", "**;dc=*", "**;zone=*"] {
            let path = format!("/internal/delete?query={query}");
            let deleted = ask(&shared, "POST", &path, &own, "");
            prop_assert_eq!(deleted, ask(&alone, "POST", &path, "", ""), "{}", path);
        }
        let left = ask(&shared, "GET", "/internal/names?query=**", "", "").1;
        prop_assert_eq!(left.matches("t-1").count(), 0, "{}", left);
        let theirs: Vec<String> = serde_json::from_str(&left).unwrap();
        prop_assert_eq!(theirs.len(), others.len() + operators.len());
        Ok(())
    };
    runner.run(&all, compare).unwrap();
}

/// What parameters may be.
const VALUES: [&str; 25] = [
    "*",
    "**",
    "web.*",
    "{web,disk}*",
    "disk",
    "a",
    "s",
    "t",
    "1",
    "100",
    "name=~.*",
    "dc!=",
    "dc",
    "web",
    "seriesByTag('name!=')",
    "web.a",
    "disk;dc=ams",
    "sum:disk%7Bdc=*%7D",
    "dc=ams",
    "metrics",
    "1h-ago",
    "2020-01-01T00:00:00Z",
    "t-1",
    "json",
    "",
];

/// Parameters of all calls.
const PARAMETERS: [&str; 27] = [
    "query",
    "target",
    "expr",
    "tag",
    "path",
    "name",
    "below",
    "depth",
    "limit",
    "format",
    "source",
    "destination",
    "from",
    "until",
    "to",
    "tagPrefix",
    "valuePrefix",
    "tagged",
    "dry_run",
    "prefix",
    "metric",
    "metricName",
    "tagKey",
    "type",
    "m",
    "q",
    "start",
];

/// Bodies of the calls that read JSON.
const BODIES: [&str; 4] = [
    "",
    r#"{"start_absolute":1,"metrics":[{"name":"disk","group_by":[{"name":"tag","tags":["dc","host","tenant"]}]}]}"#,
    r#"{"start":"1h-ago","queries":[{"aggregator":"none","metric":"disk"}]}"#,
    r#"{"metricName":"disk","tags":{"dc":"ams"},"ts":1000000000,"value":1}"#,
];

/// Every call of docs/HTTP.md with parameters that could mean anything.
#[test]
fn nothing_of_another_tenant_is_in_any_answer() {
    let server = Setup::new().set("tenants.enabled", "true").start();
    let own = ["web.a", "disk;dc=ams"].map(str::to_owned);
    let secrets = ["web.secret", "secret.a", "disk;dc=secret", "secret;host=secret"].map(str::to_owned);
    write(&server, &as_tenant("t-1"), &own);
    write(&server, &as_tenant("t-2"), &secrets);
    write(&server, "", &["secret.operator".to_owned(), "disk;secret=1".to_owned()]);
    ask(&server, "POST", "/events/", &as_tenant("t-2"), r#"{"what":"secret","tags":"web secret"}"#);
    let pair = (select(PARAMETERS.to_vec()), select(VALUES.to_vec()));
    let query = (prop::collection::vec(pair, 1..5), select(BODIES.to_vec()));
    let mut runner = TestRunner::new(Config { cases: 25, ..Config::default() });
    let calls: Vec<_> = documented().into_iter().filter(|(_, path, ..)| !path.contains("log")).collect();
    let run = |(params, asked): (Vec<(&str, &str)>, &str)| -> Result<(), TestCaseError> {
        let text: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let text = text.join("&").replace(' ', "%20");
        for (method, path, _, whole) in &calls {
            let path = path.replace("{id}", "1").replace("{name}", "a").replace("{*tag}", "dc");
            let path = path.replace("{*name}", "page.css");
            let path = format!("{path}?{text}");
            let sent = if method == "POST" && path.starts_with("/api/") { asked } else { "" };
            let (status, body) = ask(&server, method, &path, &as_tenant("t-1"), sent);
            prop_assert!(status < 500 || status == 503, "{} {}: {} {}", method, path, status, body);
            // Texts and graphs are for tenants, too, each with its own.
            let is_own =
                ["/api/v1/metadata/", "/internal/browser/graphs"].iter().any(|own| path.starts_with(own));
            let is_closed = *whole && !is_own;
            prop_assert!(!is_closed || status == 403, "{} {}: {}", method, path, status);
            // A page of files, and the list of what is documented, are the same for everybody.
            let is_page =
                path.starts_with("/?") || path.starts_with("/browser") || path.starts_with("/functions");
            for secret in SECRETS.into_iter().filter(|_| !is_page && status != 404) {
                prop_assert!(!body.contains(secret), "{} {}: {}", method, path, body);
            }
        }
        Ok(())
    };
    runner.run(&query, run).unwrap();
    for metric in ["secret", "disk"] {
        assert_eq!(ask(&server, "DELETE", &format!("/api/v1/metric/{metric}"), &as_tenant("t-1"), "").0, 204);
    }
    // A body cannot name another tenant than the rest of the request.
    let item = r#"{"tenant":"t-2","metricName":"disk","tags":{"dc":"secret"},"ts":1000000000,"value":1}"#;
    for path in ["/api/write/single", "/api/write/single?tenant=t-1"] {
        let (status, why) = ask(&server, "POST", path, &as_tenant("t-1"), item);
        assert!(status == 400 && why.contains("`t-1`"), "{status} {why}");
    }
    let left: Vec<String> =
        serde_json::from_str(&ask(&server, "GET", "/internal/names?query=**", &as_tenant("t-2"), "").1)
            .unwrap();
    assert_eq!(left.len(), secrets.len(), "{left:?}");
}

#[test]
fn who_is_bound_to_a_tenant_is_no_other() {
    let setup = with_files(Setup::new().set("tenants.enabled", "true"));
    let bound = add_user(&setup, "bound", "write", &["tenant=t-1"]);
    let within = add_user(&setup, "within", "read", &["tenant=t-1", "web"]);
    let free = add_user(&setup, "free", "write", &[]);
    let boss = add_user(&setup, "boss", "admin", &[]);
    let near = add_user(&setup, "near", "read", &["web"]);
    let server = setup.start();
    let login = |token: &str| format!("Authorization: Bearer {token}\r\n");
    let get = |token: &str, path: &str, headers: &str| {
        ask(&server, "GET", path, &format!("{}{headers}", login(token)), "")
    };
    write(&server, &login(&bound), &["web.a".to_owned(), "db.a".to_owned()]);
    write(&server, &format!("{}{}", login(&free), as_tenant("t-2")), &["web.b".to_owned()]);
    let index = "/metrics/index.json";
    let all = |text: &str| (200, text.to_owned());
    assert_eq!(get(&bound, index, ""), all(r#"["db.a","web.a"]"#));
    assert_eq!(get(&bound, &format!("{index}?tenant=t-1"), &as_tenant("t-1")).0, 200);
    assert_eq!(get(&bound, index, &as_tenant("t-2")).0, 403);
    assert_eq!(get(&bound, &format!("{index}?tenant=t-2"), "").0, 403);
    assert_eq!(get(&within, index, ""), all(r#"["web.a"]"#));
    assert_eq!(get(&free, index, &as_tenant("t-2")), all(r#"["web.b"]"#));
    assert_eq!(get(&free, &format!("{index}?tenant=t-1"), "").1, r#"["db.a","web.a"]"#);
    assert_eq!(get(&free, &format!("{index}?tenant=t-1"), &as_tenant("t-2")).0, 400);
    let (status, why) = get(&free, index, "");
    assert!(status == 400 && why.contains("X-Tenant"), "{status} {why}");
    assert_eq!(get(&free, &format!("{index}?tenant=a.b"), "").0, 400);
    assert_eq!(get(&boss, index, "").1, r#"["tenants.t-1.db.a","tenants.t-1.web.a","tenants.t-2.web.b"]"#);
    assert_eq!(get(&near, index, "").1, "[]");
    assert_eq!(get(&near, index, &as_tenant("t-1")).0, 403);
    // A form, whose tenant comes too late.
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let posted = |token: &str, headers: &str| {
        let headers = format!("{}{form}{headers}", login(token));
        ask(&server, "POST", "/metrics/find", &headers, "query=*&tenant=t-2").0
    };
    assert_eq!((posted(&bound, ""), posted(&free, &as_tenant("t-2"))), (403, 200));
    let listed = server.setup().run(&["user", "list", "--output", "json"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains(r#""tenant": "t-1""#));
}

#[test]
fn senders_over_tls_and_on_the_open_ports_write_into_their_tenants() {
    let test = "senders_over_tls_and_on_the_open_ports_write_into_their_tenants";
    let Some(certificates) = Certificates::make(test) else { return };
    let ca = certificates.file("ca.pem").display().to_string();
    let setup = with_files(certificates.setup())
        .set("listen.tls.client_ca_file", &ca)
        .set("auth.certificates", "true")
        .set("tenants.enabled", "true")
        .set("tenants.default", "everybody");
    let boss = add_user(&setup, "boss", "admin", &[]);
    std::fs::write(setup.directory().join("users"), "boss admin\nsender write tenant=t-1\n").unwrap();
    let server = setup.start();
    let t = now();
    let to = address(&server, "carbon");
    let lines = format!("web.a 1 {t}\ndisk;dc=ams 1 {t}\ndisk;tenant=t-2 1 {t}\n");
    send(connect(to, certificates.client("ca", Some("sender"))), lines.as_bytes()).unwrap();
    server.send(format!("web.a 2 {t}\n"));
    let headers = format!("Authorization: Bearer {boss}\r\n");
    let names = || ask(&server, "GET", "/internal/names?query=**", &headers, "").1;
    wait_until("the points of both senders", || names().matches("web.a").count() == 2);
    let mut stored: Vec<String> = serde_json::from_str(&names()).unwrap();
    stored.sort();
    assert_eq!(stored, ["disk;dc=ams;tenant=t-1", "tenants.everybody.web.a", "tenants.t-1.web.a"]);
}

#[test]
fn metadata_is_of_one_tenant_and_of_nobody_who_is_confined_further() {
    let setup = with_files(Setup::new()).set("tenants.enabled", "true");
    let logins = [
        ("boss", add_user(&setup, "boss", "admin", &[])),
        ("one", add_user(&setup, "one", "write", &["tenant=t-1"])),
        ("two", add_user(&setup, "two", "write", &["tenant=t-2"])),
        ("web", add_user(&setup, "web", "write", &["tenant=t-1", "web"])),
        ("reader", add_user(&setup, "reader", "read", &["tenant=t-1"])),
    ];
    let server = setup.start();
    let call = |who: &str, method: &str, body: &str| {
        let token = &logins.iter().find(|(name, _)| *name == who).unwrap().1;
        let headers = format!("Authorization: Bearer {token}\r\n");
        ask(&server, method, "/api/v1/metadata/s/k/owner", &headers, body)
    };
    for (who, text) in [("boss", "the operator"), ("one", "secret of t-1"), ("two", "secret of t-2")] {
        assert_eq!(call(who, "POST", text).0, 204, "{who}");
    }
    assert_eq!(call("one", "GET", ""), (200, "secret of t-1".to_owned()));
    assert_eq!(call("two", "GET", ""), (200, "secret of t-2".to_owned()));
    assert_eq!(call("boss", "GET", ""), (200, "the operator".to_owned()));
    for method in ["GET", "POST", "DELETE"] {
        assert_eq!(call("web", method, "x").0, 403, "{method}");
    }
    assert_eq!((call("reader", "GET", "").0, call("reader", "POST", "x").0), (200, 403));
    assert_eq!(call("reader", "DELETE", "").0, 403);
    assert_eq!(call("two", "DELETE", "").0, 204);
    assert_eq!((call("two", "GET", "").0, call("one", "GET", "").0), (404, 200));
    // Saved graphs are kept in the same way.
    let graphs = |who: &str, method: &str, form: &str| {
        let token = &logins.iter().find(|(name, _)| *name == who).unwrap().1;
        let headers =
            format!("Authorization: Bearer {token}\r\nContent-Type: application/x-www-form-urlencoded\r\n");
        ask(&server, method, "/internal/browser/graphs", &headers, form)
    };
    assert_eq!(graphs("one", "POST", "name=mine&graph=target%3Da").0, 200);
    assert!(graphs("one", "GET", "").1.contains(r#""by":"one""#));
    assert_eq!(graphs("two", "GET", ""), (200, "[]".to_owned()));
    assert_eq!((graphs("reader", "GET", "").0, graphs("reader", "POST", "name=x&graph=y").0), (200, 403));
    assert_eq!((graphs("web", "GET", "").0, graphs("web", "POST", "name=x&graph=y").0), (403, 403));
}
