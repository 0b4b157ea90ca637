//! Is this caller somebody on the same machine? Without logins, only such callers may change or copy anything.
//!
//! A proxy on this machine would make the whole world local, so what a proxy forwards does not count. Nor does what a page of
//! another site sends through the browser of somebody who sits here, whatever name it has given to this machine.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};

/// Headers that a proxy adds.
const FORWARDED: [&str; 3] = ["forwarded", "x-forwarded-for", "x-real-ip"];

/// Why a caller is not taken for somebody on this machine; nothing if it is.
pub(super) fn stranger(from: IpAddr, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
    if !from.to_canonical().is_loopback() {
        return Some("it did not come from this machine");
    }
    if FORWARDED.iter().any(|name| headers.contains_key(*name)) {
        return Some("a proxy forwarded it");
    }
    if !is_same_site(uri, headers) {
        return Some("a page of another site sent it");
    }
    // Somebody's name server may say that their site is at this machine. A page of theirs is then of the same site.
    (is_browser(headers) && !host_of(uri, headers).is_some_and(|host| is_local_name(&host)))
        .then_some("the browser knows this machine by a name that anybody may give it; use http://localhost")
}

/// Browsers name the site of the page that sends a request, and programs do not.
pub(super) fn is_same_site(uri: &Uri, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    is_own_origin(origin.as_bytes(), uri, headers)
}

/// The same, where a browser must say so.
pub(super) fn is_surely_same_site(uri: &Uri, headers: &HeaderMap) -> bool {
    match headers.get(header::ORIGIN) {
        Some(origin) => is_own_origin(origin.as_bytes(), uri, headers),
        None => headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin"),
    }
}

/// A proxy may speak TLS for us, so the scheme says nothing.
fn is_own_origin(origin: &[u8], uri: &Uri, headers: &HeaderMap) -> bool {
    let site = [&b"http://"[..], b"https://"].into_iter().find_map(|scheme| origin.strip_prefix(scheme));
    site.is_some_and(|site| host_of(uri, headers).is_some_and(|host| host.as_str().as_bytes() == site))
}

/// Where the request was sent to: `Host`, or what HTTP/2 has in its place.
fn host_of(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    let host = headers.get(header::HOST).and_then(|host| Authority::try_from(host.as_bytes()).ok());
    host.or_else(|| uri.authority().cloned())
}

/// All browsers say that they are Mozilla.
fn is_browser(headers: &HeaderMap) -> bool {
    let agent = headers.get(header::USER_AGENT).map_or(&b""[..], |agent| agent.as_bytes());
    headers.contains_key(header::ORIGIN) || agent.starts_with(b"Mozilla/")
}

/// An address, or the name that every machine has for itself.
fn is_local_name(host: &Authority) -> bool {
    let name = host.host();
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || name.ends_with(".localhost") || address.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(from: &str, headers: &[(&'static str, &'static str)]) -> bool {
        let pairs = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        stranger(from.parse().unwrap(), &Uri::from_static("/x"), &pairs.collect()).is_some()
    }

    #[test]
    fn this_machine_may_and_others_may_not() {
        for from in ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"] {
            assert!(!refused(from, &[]), "{from}");
        }
        for from in ["192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"] {
            assert!(refused(from, &[]), "{from}");
        }
    }

    #[test]
    fn a_proxy_or_a_page_elsewhere_may_not() {
        let here = "127.0.0.1";
        assert!(refused(here, &[("x-forwarded-for", "192.0.2.1")]));
        assert!(refused(here, &[("host", "localhost:8080"), ("origin", "http://evil.example")]));
        assert!(refused(here, &[("host", "localhost:8080"), ("origin", "null")]));
        for host in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "a.localhost"] {
            assert!(!refused(here, &[("host", host), ("user-agent", "Mozilla/5.0")]), "{host}");
        }
        assert!(!refused(here, &[("host", "localhost:8080"), ("origin", "http://localhost:8080")]));
        assert!(!refused(here, &[("host", "localhost:8080"), ("origin", "https://localhost:8080")]));
    }

    #[test]
    fn a_site_that_gives_its_name_to_this_machine_may_not() {
        let evil = "evil.example:8080";
        let here = "127.0.0.1";
        assert!(refused(here, &[("host", evil), ("origin", "http://evil.example:8080")]));
        assert!(refused(here, &[("host", evil), ("user-agent", "Mozilla/5.0 (X11)")]));
        // A program may use the name of its machine.
        assert!(!refused(here, &[("host", "web1.example:8080"), ("user-agent", "curl/8")]));
    }
}
