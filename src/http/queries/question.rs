//! What a request asks, and who sent it.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, MatchedPath, Request};
use axum::http::HeaderMap;
use axum::http::request::Parts;

use crate::auth::ANONYMOUS;
use crate::http::gate::{Peer, Standing};
use crate::http::params::Params;
use crate::http::turns::Asker;

/// Characters of a question that are kept: enough to recognise it.
const MAX_TEXT: usize = 1000;

/// Bytes of a header that are kept.
const MAX_HEADER: usize = 100;

/// The parameters that hold what is asked, the first of these that a request has.
const ASKED: [&str; 6] = ["target", "query", "expr", "path", "tag", "tags"];

/// Who sent a request, as far as it is known. It is the same for all that is recorded of the request.
#[derive(Clone, Debug, Default)]
pub(in crate::http) struct Origin {
    /// The number of the request, as in `x-request-id`.
    pub(in crate::http) id: u64,
    /// The address it came from.
    pub(in crate::http) client: Option<IpAddr>,
    /// Grafana's organisation, dashboard and panel.
    pub(in crate::http) org: Option<Box<str>>,
    pub(in crate::http) dashboard: Option<Box<str>>,
    pub(in crate::http) panel: Option<Box<str>>,
    /// The number of the trace that it is part of.
    pub(in crate::http) trace: Option<Box<str>>,
}

impl Origin {
    /// Of a request that has just arrived.
    pub(in crate::http) fn of(id: u64, request: &Request) -> Self {
        let headers = request.headers();
        let peer = request.extensions().get::<ConnectInfo<Peer>>();
        Self {
            id,
            client: peer.map(|ConnectInfo(peer)| peer.ip()),
            org: text(headers, "x-grafana-org-id"),
            dashboard: text(headers, "x-dashboard-uid").or_else(|| text(headers, "x-dashboard-id")),
            panel: text(headers, "x-panel-id"),
            trace: headers.get("traceparent").and_then(|value| trace_of(value.to_str().ok()?)),
        }
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<Box<str>> {
    let value = headers.get(name)?.to_str().ok()?;
    value.get(..value.len().min(MAX_HEADER)).filter(|value| !value.is_empty()).map(Into::into)
}

/// The number of a trace in a `traceparent`: `00-<32 digits>-<16 digits>-<2 digits>`, of which all but the last may not be zero.
fn trace_of(header: &str) -> Option<Box<str>> {
    let mut parts = header.trim().split('-');
    let mut digits = |count: usize| {
        let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        parts.next().filter(|part| part.len() == count && part.bytes().all(hex))
    };
    let (version, trace, parent, _flags) = (digits(2)?, digits(32)?, digits(16)?, digits(2)?);
    let given = |number: &str| number.bytes().any(|b| b != b'0');
    (version != "ff" && given(trace) && given(parent)).then(|| trace.into())
}

/// What is asked, and by whom.
#[derive(Debug, Default)]
pub(in crate::http) struct Question {
    /// The template of the endpoint.
    pub(super) endpoint: Box<str>,
    /// What was asked for, shortened.
    pub(super) text: String,
    /// Who logged in.
    pub(super) user: Option<Arc<str>>,
    pub(super) origin: Origin,
}

impl Question {
    /// The question of a request with these parameters.
    pub(in crate::http) fn of(head: &Parts, params: &Params) -> Self {
        let endpoint = head.extensions.get::<MatchedPath>().map_or(head.uri.path(), MatchedPath::as_str);
        let standing = head.extensions.get::<Standing>();
        let user = standing.map(|standing| &standing.caller.name).filter(|name| &***name != ANONYMOUS);
        let origin = head.extensions.get::<Origin>().cloned().unwrap_or_default();
        Self {
            endpoint: endpoint.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(endpoint).into(),
            text: asked(params),
            user: user.map(Arc::clone),
            // Behind a proxy that is believed it is another one.
            origin: Origin { client: standing.map(|standing| standing.from).or(origin.client), ..origin },
        }
    }

    /// Who asks: the user, or everybody at that address.
    pub(super) fn asker(&self) -> Option<Asker> {
        let user = self.user.clone().map(Asker::User);
        user.or_else(|| self.origin.client.map(Asker::Address))
    }

    /// The same question in other words: those of a message that is no list of parameters.
    pub(in crate::http) fn worded<'a>(&self, words: impl Iterator<Item = &'a str>) -> Arc<Self> {
        let (endpoint, user, origin) = (self.endpoint.clone(), self.user.clone(), self.origin.clone());
        Arc::new(Self { endpoint, text: shortened(words), user, origin })
    }
}

fn asked(params: &Params) -> String {
    let given = ASKED.iter().map(|name| params.all(name)).find(|values| !values.is_empty());
    match given {
        Some(values) => shortened(values.into_iter()),
        None => shortened(params.pairs().flat_map(|(name, value)| [name, "=", value])),
    }
}

/// The texts one after the other, as far as there is room.
fn shortened<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut all = String::new();
    for text in texts {
        if !all.is_empty() {
            all.push(' ');
        }
        let room = MAX_TEXT.saturating_sub(all.len());
        if text.len() > room {
            let fits = |(at, c): &(usize, char)| at + c.len_utf8() <= room;
            all.extend(text.char_indices().take_while(fits).map(|(_, c)| c));
            all.push_str("...");
            break;
        }
        all.push_str(text);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_as_the_standard_writes_it() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let read = |version: &str, trace: &str, parent: &str| {
            trace_of(&format!("{version}-{trace}-{parent}-01")).map(String::from)
        };
        assert_eq!(read("00", trace, "00f067aa0ba902b7").as_deref(), Some(trace));
        assert_eq!(
            read("cc", trace, "00f067aa0ba902b7").as_deref(),
            Some(trace),
            "later versions begin alike"
        );
        for (version, trace, parent) in [
            ("ff", trace, "00f067aa0ba902b7"),
            ("00", &"0".repeat(32)[..], "00f067aa0ba902b7"),
            ("00", trace, "0000000000000000"),
            ("00", &trace.to_uppercase()[..], "00f067aa0ba902b7"),
            ("00", "4bf9", "00f067aa0ba902b7"),
            ("", "", ""),
        ] {
            assert_eq!(read(version, trace, parent), None, "{version}-{trace}-{parent}");
        }
    }

    #[test]
    fn what_is_asked_is_the_targets_or_else_all_parameters() {
        let text = |query: &str| {
            let mut params = Params::default();
            params.extend(query.as_bytes());
            asked(&params)
        };
        assert_eq!(text("target=a&from=-1h&target=b"), "a b");
        assert_eq!(text("query=a.*&format=json"), "a.*");
        assert_eq!(text("below=a&depth=2"), "below = a depth = 2");
        let long = "ü".repeat(3000);
        let kept = text(&format!("target=a&target={long}"));
        assert!(kept.ends_with("ü...") && kept.len() <= MAX_TEXT + 3, "{}", kept.len());
    }
}
