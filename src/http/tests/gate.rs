//! Who may call what: with logins and without.

use tempfile::TempDir;

use super::super::endpoints::{Subject, endpoints};
use super::{Reply, Server};
use crate::auth::{entries, new_token};
use crate::config;
use plumbago_model::Role;

const OPEN_SESAME: &str = "$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy";

/// Everybody has the password `open sesame`.
struct House {
    server: Server,
    token: String,
    _directory: TempDir,
}

impl House {
    fn new(change: impl FnOnce(config::Auth) -> config::Auth) -> Self {
        let directory = TempDir::new().unwrap();
        let token = new_token();
        let file = |name: &str, text: String| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            Some(path)
        };
        let users = "reader read\nwriter write\nadmin admin\nconfined admin a\n";
        let passwords: String = ["reader", "writer", "admin", "confined", "stranger"]
            .iter()
            .map(|name| format!("{name}:{OPEN_SESAME}\n"))
            .collect();
        let auth = change(config::Auth {
            users_file: file("users", users.to_owned()),
            tokens_file: file("tokens", entries::with_token("", "writer", &token, None)),
            htpasswd_file: file("htpasswd", passwords),
            ..config::Auth::default()
        });
        let server = Server::with_logins(config::Http::default(), config::Query::default(), auth);
        Self { server, token, _directory: directory }
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.server.request("GET", path, headers, "")
    }

    fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.server.request("POST", path, headers, body)
    }

    fn log_in(&self, name: &str) -> String {
        let reply =
            self.post("/login", &[("origin", "http://test")], &format!("user={name}&password=open+sesame"));
        assert_eq!((reply.status, reply.header("location")), (303, Some("./")), "{}", reply.body);
        reply.header("set-cookie").unwrap().to_owned()
    }
}

/// `open sesame`, as curl and Grafana send it.
fn basic(name: &str) -> (&'static str, &'static str) {
    let value = match name {
        "reader" => "Basic cmVhZGVyOm9wZW4gc2VzYW1l",
        "writer" => "Basic d3JpdGVyOm9wZW4gc2VzYW1l",
        "admin" => "Basic YWRtaW46b3BlbiBzZXNhbWU=",
        "confined" => "Basic Y29uZmluZWQ6b3BlbiBzZXNhbWU=",
        "stranger" => "Basic c3RyYW5nZXI6b3BlbiBzZXNhbWU=",
        _ => "Basic cmVhZGVyOndyb25n",
    };
    ("authorization", value)
}

#[test]
fn every_endpoint_asks_for_the_role_of_its_row() {
    let house = House::new(|auth| config::Auth { max_failures: 1_000_000, ..auth });
    let callers = [
        (None, Role::None),
        (Some("reader"), Role::Read),
        (Some("writer"), Role::Write),
        (Some("admin"), Role::Admin),
        (Some("confined"), Role::Admin),
    ];
    for row in endpoints() {
        let path = row.path.replace("{id}", "1").replace("{name}", "x").replace("{*tag}", "x");
        for method in row.methods {
            for (name, role) in callers {
                // A body that no endpoint likes: nothing is done, but the gate is passed.
                let login: Vec<_> = name.map(basic).into_iter().chain([("content-type", "x/y")]).collect();
                let reply = house.server.request(method.as_str(), &path, &login, "x");
                let is_confined = name == Some("confined") && row.subject != Subject::Metrics;
                let expected = match name {
                    _ if role >= row.role && !is_confined => None,
                    None => Some(401),
                    Some(_) => Some(403),
                };
                let turned_away = Some(reply.status).filter(|status| matches!(status, 401 | 403));
                // The form itself answers 401 to who cannot log in.
                if row.path != "/login" {
                    assert_eq!(turned_away, expected, "{method} {path} {name:?}: {}", reply.body);
                }
                assert!(reply.header("x-content-type-options").is_some(), "{method} {path}");
            }
            let reply =
                house.server.request(method.as_str(), &path, &[basic("wrong"), ("content-type", "x/y")], "x");
            let refused = reply.status == 401;
            assert_eq!(
                refused,
                row.role > Role::None || row.path == "/login" && method == "POST",
                "{method} {path}"
            );
        }
    }
}

#[test]
fn a_login_is_asked_for_and_a_wrong_one_is_not_explained() {
    let house = House::new(|auth| auth);
    let reply = house.get("/metrics/find?query=*", &[]);
    assert_eq!(reply.status, 401);
    assert_eq!(reply.header("www-authenticate"), Some("Basic realm=\"Plumbago\", Bearer"));
    // The page asks by itself: a browser must not do so in the middle of it.
    let part = house.get("/metrics/find?query=*", &[("sec-fetch-dest", "empty")]);
    assert_eq!((part.status, part.header("www-authenticate")), (401, Some("Bearer")));
    let wrong = house.get("/version/", &[basic("wrong")]);
    assert_eq!(wrong.status, 200, "an open endpoint asks nobody");
    let wrong = house.get("/functions", &[basic("wrong")]);
    assert!(wrong.status == 401 && wrong.body.contains("no such user with this password"), "{}", wrong.body);
    let stranger = house.get("/functions", &[basic("stranger")]);
    assert!(stranger.status == 403 && stranger.body.contains("auth.users_file"), "{}", stranger.body);
    let bearer = format!("Bearer {}", house.token);
    assert_eq!(house.get("/functions", &[("authorization", &bearer)]).status, 200);
    for bad in ["Bearer plumbago_x", "Digest x", "Basic !!!"] {
        assert_eq!(house.get("/functions", &[("authorization", bad)]).status, 401, "{bad}");
    }
}

#[test]
fn too_many_wrong_logins_have_to_wait() {
    let house = House::new(|auth| config::Auth { max_failures: 2, ..auth });
    assert_eq!(house.get("/functions", &[basic("reader")]).status, 200);
    for _ in 0..2 {
        assert_eq!(house.get("/functions", &[basic("wrong")]).status, 401);
    }
    let reply = house.get("/functions", &[basic("wrong")]);
    assert_eq!(reply.status, 429);
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(house.get("/functions", &[basic("reader")]).status, 200, "what was right goes on working");
}

#[test]
fn the_page_logs_in_with_a_cookie_that_no_other_site_can_use() {
    let house = House::new(|auth| auth);
    let form = house.get("/login", &[]);
    assert!(form.status == 200 && form.body.contains("type=\"password\""), "{}", form.body);
    assert!(form.header("content-security-policy").unwrap().contains("script-src 'self'"));
    let wrong = house.post("/login", &[("origin", "http://test")], "user=admin&password=wrong");
    assert!(wrong.status == 401 && wrong.body.contains("no such user"), "{}", wrong.body);
    let elsewhere = [("origin", "http://evil.example")];
    assert_eq!(house.post("/login", &elsewhere, "user=admin&password=open+sesame").status, 403);

    let set = house.log_in("admin");
    assert!(set.contains("; HttpOnly; SameSite=Strict") && !set.contains("Secure"), "{set}");
    let cookie = set.split(';').next().unwrap();
    let get =
        |headers: &[(&str, &str)]| house.get("/functions", &[&[("cookie", cookie)], headers].concat()).status;
    assert_eq!(get(&[]), 200);
    let delete = |headers: &[(&str, &str)]| {
        house
            .post("/internal/delete?query=a&dry_run=1", &[&[("cookie", cookie)], headers].concat(), "")
            .status
    };
    assert_eq!(delete(&[("origin", "http://test")]), 200);
    assert_eq!(delete(&[("sec-fetch-site", "same-origin")]), 200);
    for wrong in [
        &[][..],
        &[("origin", "http://evil.example")],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
    ] {
        assert_eq!(delete(wrong), 403, "{wrong:?}");
    }
    assert_eq!(
        house.post("/logout", &[("cookie", cookie), ("origin", "http://evil.example")], "").status,
        403
    );
    assert_eq!(get(&[]), 200);
    let out = house.post("/logout", &[("cookie", cookie), ("origin", "http://test")], "");
    assert_eq!((out.status, out.header("location")), (303, Some("login")));
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(get(&[]), 401);
}

#[test]
fn a_proxy_is_believed_if_it_is_one_of_ours() {
    let proxies = |text: &str| config::Addresses::new(vec![text.parse().unwrap()]);
    let header = Some("x-webauth-user".to_owned());
    let believed = House::new(|auth| config::Auth {
        proxy_header: header.clone(),
        proxies: proxies("127.0.0.1"),
        ..auth
    });
    let user = |house: &House, name: &str| house.get("/internal/browser/health", &[("x-webauth-user", name)]);
    let reply = user(&believed, "reader");
    assert!(reply.status == 200 && reply.body.contains("\"user\":\"reader\""), "{}", reply.body);
    assert_eq!(user(&believed, "nobody").status, 403);
    assert_eq!(believed.get("/functions", &[]).status, 401);
    let other =
        House::new(|auth| config::Auth { proxy_header: header, proxies: proxies("192.0.2.1"), ..auth });
    assert_eq!(user(&other, "admin").status, 401);
    // With TLS in front of us, the cookie is for TLS only.
    let headers = [("origin", "https://test"), ("x-forwarded-proto", "https")];
    let reply = believed.post("/login", &headers, "user=admin&password=open+sesame");
    assert!(reply.header("set-cookie").unwrap().ends_with("; Secure"));
    let reply = other.post("/login", &headers, "user=admin&password=open+sesame");
    assert!(!reply.header("set-cookie").unwrap().contains("Secure"), "anybody can say so");
}

#[test]
fn without_logins_others_may_read_and_this_machine_may_do_everything() {
    let plain = Server::start();
    let with = |role| {
        let auth = config::Auth { anonymous: Some(role), ..config::Auth::default() };
        Server::with_logins(config::Http::default(), config::Query::default(), auth)
    };
    // What a proxy forwards is somebody else's.
    let other = [("x-forwarded-for", "192.0.2.1")];
    let statuses = |server: &Server, headers: &[(&str, &str)]| {
        ["/metrics/find?query=a", "/tags/tagSeries?path=a;b=c", "/internal/delete?query=a&dry_run=1"]
            .map(|path| server.request("POST", path, headers, "").status)
    };
    assert_eq!(statuses(&plain, &[]), [200, 200, 200]);
    assert_eq!(statuses(&plain, &other), [200, 403, 403]);
    assert_eq!(statuses(&with(Role::None), &other), [403, 403, 403]);
    assert_eq!(statuses(&with(Role::Write), &other), [200, 200, 403]);
    assert_eq!(statuses(&with(Role::Admin), &other), [200, 200, 200]);
    let reply = plain.request("POST", "/internal/delete?query=a", &other, "");
    assert!(
        reply.body.contains("a proxy forwarded it") && reply.body.contains("auth.anonymous"),
        "{}",
        reply.body
    );
    assert_eq!(plain.get("/login").status, 303);
}

#[test]
fn answers_guard_themselves_in_a_browser() {
    let server = Server::start();
    for path in ["/", "/functions", "/nowhere", "/render?target=a&format=svg", "/login"] {
        let reply = server.get(path);
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        // A form of ours must say where it comes from.
        let referrer = if path == "/" { "same-origin" } else { "no-referrer" };
        assert_eq!(reply.header("referrer-policy"), Some(referrer), "{path}");
        assert!(reply.header("content-security-policy").unwrap().starts_with("default-src 'none'"), "{path}");
        assert_eq!(reply.header("x-frame-options"), Some("SAMEORIGIN"), "{path}");
    }
}
