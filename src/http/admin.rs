//! Who may look after the server: somebody on the same machine.
//!
//! Until there are logins, calls that change or copy everything are answered on the loopback address only. A proxy on this machine
//! would make the whole world local, so what a proxy forwards is refused. So is what a page of another site sends through the
//! browser of somebody who sits here.

use std::net::{IpAddr, SocketAddr};

use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::serve::IncomingStream;

use super::error::Failure;
use super::request_line::Forgiving;

/// Headers that a proxy adds.
const FORWARDED: [&str; 3] = ["forwarded", "x-forwarded-for", "x-real-ip"];

/// The address at the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(SocketAddr);

impl Peer {
    /// Without the port, and an IPv4 address as one.
    pub(super) fn address(&self) -> IpAddr {
        self.0.ip().to_canonical()
    }
}

impl Connected<IncomingStream<'_, Forgiving>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Forgiving>) -> Self {
        Self(*stream.remote_addr())
    }
}

/// Wraps the calls that only this machine may make.
pub(super) async fn local_only(
    ConnectInfo(Peer(peer)): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    match refusal(peer, request.headers()) {
        None => next.run(request).await,
        Some(reason) => {
            tracing::warn!(%peer, path = request.uri().path(), reason, "an administrative call was refused");
            Failure::Forbidden(reason).into_response()
        }
    }
}

fn refusal(peer: SocketAddr, headers: &HeaderMap) -> Option<&'static str> {
    if !peer.ip().to_canonical().is_loopback() {
        return Some("it did not come from this machine");
    }
    if FORWARDED.iter().any(|name| headers.contains_key(*name)) {
        return Some("a proxy forwarded it");
    }
    (!is_same_site(headers)).then_some("a page of another site sent it")
}

/// Browsers name the site of the page that sends a request, and programs do not.
fn is_same_site(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let host = headers.get(header::HOST).map_or(&b""[..], |host| host.as_bytes());
    origin.as_bytes().strip_prefix(b"http://").is_some_and(|site| site == host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(peer: &str, headers: &[(&'static str, &'static str)]) -> bool {
        let pairs = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        refusal(peer.parse().unwrap(), &pairs.collect()).is_some()
    }

    #[test]
    fn this_machine_may_and_others_may_not() {
        for peer in ["127.0.0.1:5", "127.8.0.1:5", "[::1]:5", "[::ffff:127.0.0.1]:5"] {
            assert!(!refused(peer, &[]), "{peer}");
        }
        for peer in ["192.0.2.1:5", "[2001:db8::1]:5", "[::ffff:192.0.2.1]:5"] {
            assert!(refused(peer, &[]), "{peer}");
        }
    }

    #[test]
    fn a_proxy_or_a_page_elsewhere_may_not() {
        let here = "127.0.0.1:5";
        assert!(refused(here, &[("x-forwarded-for", "192.0.2.1")]));
        assert!(refused(here, &[("host", "localhost:8080"), ("origin", "http://evil.example")]));
        assert!(refused(here, &[("host", "localhost:8080"), ("origin", "null")]));
        assert!(!refused(here, &[("host", "localhost:8080"), ("origin", "http://localhost:8080")]));
    }
}
