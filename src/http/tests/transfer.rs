//! Compression, and pages of other origins.

use std::io::Read;

use super::{Reply, Server};
use crate::config::{self, PageOrigins};

/// Long enough to be worth compressing.
const LONG: &str = "/functions";

fn gunzip(reply: &Reply) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(reply.bytes.as_slice()).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn long_answers_are_compressed_for_clients_that_can_read_them() {
    let server = Server::start();
    let plain = server.get(LONG);
    assert_eq!(plain.header("content-encoding"), None);
    for accepted in ["gzip", "gzip, deflate, br", "gzip;q=1.0, identity;q=0.5"] {
        let reply = server.request("GET", LONG, &[("accept-encoding", accepted)], "");
        assert_eq!((reply.status, reply.header("content-encoding")), (200, Some("gzip")), "{accepted}");
        assert!(reply.header("vary").is_some_and(|vary| vary.contains("accept-encoding")));
        assert!(reply.bytes.len() < plain.bytes.len() / 3, "{} bytes", reply.bytes.len());
        assert_eq!(gunzip(&reply), plain.body);
    }
    for refused in ["identity", "br", "gzip;q=0"] {
        let reply = server.request("GET", LONG, &[("accept-encoding", refused)], "");
        assert_eq!((reply.header("content-encoding"), &reply.body), (None, &plain.body), "{refused}");
    }
}

#[test]
fn short_answers_and_pictures_are_not() {
    let server = Server::start();
    for path in ["/version", "/render?target=d.step10&from=1000&until=1100"] {
        let reply = server.request("GET", path, &[("accept-encoding", "gzip")], "");
        assert_eq!((reply.status, reply.header("content-encoding")), (200, None), "{path}");
    }
}

#[test]
fn compression_can_be_switched_off() {
    let http = config::Http { compress: false, ..Default::default() };
    let server = Server::with_http(http, config::Query::default());
    let reply = server.request("GET", LONG, &[("accept-encoding", "gzip")], "");
    assert_eq!((reply.status, reply.header("content-encoding")), (200, None));
}

fn allowing(origins: PageOrigins) -> Server {
    let http = config::Http { allow_origins: origins, ..Default::default() };
    Server::with_http(http, config::Query::default())
}

/// What the answer to a page of `origin` lets its browser do.
fn allowed(server: &Server, method: &str, origin: &str) -> (u16, Option<String>, Option<String>) {
    let headers = [
        ("origin", origin),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "x-grafana-org-id"),
    ];
    let headers = if method == "OPTIONS" { &headers[..] } else { &headers[..1] };
    let reply = server.request(method, "/metrics/find?query=a", headers, "");
    let header = |name: &str| reply.header(name).map(str::to_owned);
    if method == "OPTIONS" && reply.header("access-control-allow-origin").is_some() {
        assert!(header("access-control-allow-methods").unwrap().contains("POST"));
        assert_eq!(header("access-control-allow-headers").as_deref(), Some("x-grafana-org-id"));
    }
    (reply.status, header("access-control-allow-origin"), header("access-control-allow-credentials"))
}

#[test]
fn pages_of_the_origins_in_the_configuration_may_read() {
    let grafana = "https://grafana.example:3000".to_owned();
    let server = allowing(PageOrigins::These(vec![grafana.clone(), "http://other.example".to_owned()]));
    for method in ["OPTIONS", "GET"] {
        let yes = (200, Some(grafana.clone()), Some("true".to_owned()));
        assert_eq!(allowed(&server, method, &grafana), yes, "{method}");
        let stranger = allowed(&server, method, "https://grafana.example");
        assert_eq!((stranger.0, stranger.1), (200, None), "{method}");
    }
}

#[test]
fn every_page_may_read_when_asked_for_but_without_a_login() {
    let server = allowing(PageOrigins::Any);
    for method in ["OPTIONS", "GET"] {
        assert_eq!(allowed(&server, method, "https://a.example"), (200, Some("*".to_owned()), None));
    }
}

#[test]
fn no_page_may_read_unless_asked_for() {
    let server = Server::start();
    assert_eq!(allowed(&server, "OPTIONS", "https://a.example"), (204, None, None));
    assert_eq!(allowed(&server, "GET", "https://a.example"), (200, None, None));
}

#[test]
fn no_browser_guesses_what_an_answer_is() {
    let server = Server::start();
    for path in
        ["/", "/render?target=d.step10&format=json", "/render?target=alias(<b>", "/nowhere", "/version"]
    {
        let reply = server.get(path);
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}: {}", reply.status);
    }
}

#[test]
fn a_render_may_be_kept_as_long_as_graphite_says() {
    let server = Server::start();
    let control = |more: &str| {
        let reply = server.get(&format!("/render?target=d.step10&format=json{more}"));
        assert!(reply.header("expires").is_some_and(|date| date.ends_with(" GMT")), "{more}");
        reply.header("cache-control").map(str::to_owned)
    };
    let never = Some("max-age=0, no-cache, no-store, must-revalidate, private".to_owned());
    assert_eq!(control(""), Some("max-age=60".to_owned()));
    assert_eq!(control("&cacheTimeout=7"), Some("max-age=7".to_owned()));
    assert_eq!(control("&noCache=1"), never);
    assert_eq!(control("&cacheTimeout=0"), never);
}
