//! Answers: plain text, and JSON with its wrappings (`jsonp`, `pretty`, ASCII only).

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use jiff::fmt::rfc2822;
use jiff::{SignedDuration, Timestamp};

use super::call::Call;
use super::error::Failure;
use super::params::Params;

/// A body with its content type.
pub(super) fn body(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Plain text.
pub(super) fn text(status: StatusCode, text: impl Into<Body>) -> Response {
    body(status, "text/plain; charset=utf-8", text)
}

/// Tells every cache on the way to keep out.
pub(super) fn never_cached(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
}

/// Tells caches how long an answer is good for, as graphite-web does. Zero keeps them out.
pub(super) fn cached_for(seconds: u32, now: Timestamp, response: &mut Response) {
    let control = match seconds {
        0 => HeaderValue::from_static("max-age=0, no-cache, no-store, must-revalidate, private"),
        _ => HeaderValue::try_from(format!("max-age={seconds}"))
            .unwrap_or(HeaderValue::from_static("no-cache")),
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, control);
    let expires = now + SignedDuration::from_secs(i64::from(seconds));
    let date = rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&expires).ok();
    if let Some(date) = date.and_then(|date| HeaderValue::try_from(date).ok()) {
        headers.insert(header::EXPIRES, date);
    }
}

/// How to write a JSON document. It is read before the work begins, so that a bad callback costs nothing, and applied when the
/// document is written.
#[derive(Debug)]
pub(super) struct Wrapping {
    /// The function of `jsonp`.
    pub(super) callback: Option<String>,
    pretty: bool,
    /// What the `Accept` header says of characters beyond ASCII, for the endpoints that look at it.
    ascii: Option<bool>,
}

impl Wrapping {
    /// For documents in UTF-8.
    pub(super) fn plain(params: &Params) -> Result<Self, Failure> {
        let pretty = params.get("pretty").is_some_and(|p| !p.is_empty());
        Ok(Self { callback: jsonp(params)?.map(str::to_owned), pretty, ascii: None })
    }

    /// For find, expand and their like: ASCII, unless the client takes more than `application/json`.
    pub(super) fn listing(call: &Call) -> Result<Self, Failure> {
        Ok(Self { ascii: Some(call.ascii), ..Self::plain(&call.params)? })
    }

    /// The document in its wrappings.
    pub(super) fn apply(&self, json: Vec<u8>) -> Vec<u8> {
        let json = self.escape(json);
        let json = if self.pretty { indent(&json) } else { json };
        let Some(callback) = &self.callback else { return json };
        [callback.as_bytes(), b"(", &json, b")"].concat()
    }

    /// What stands around a document with these ends that is written piece by piece; none if the pieces would have to be changed.
    pub(super) fn around(&self, ends: [&'static str; 2]) -> Option<(String, &'static str)> {
        let [begin, end] = ends;
        match (&self.callback, self.pretty || self.ascii == Some(true)) {
            (_, true) => None,
            (None, false) => Some((begin.to_owned(), end)),
            (Some(callback), false) => {
                Some((format!("{callback}({begin}"), if end == "]" { "])" } else { ")" }))
            }
        }
    }

    /// How many times a document is in memory while it is wrapped, in bytes of the document.
    pub(super) fn copies(&self) -> usize {
        1 + usize::from(self.callback.is_some()) + 3 * usize::from(self.pretty)
    }

    /// Replaces what is not ASCII if that is asked for.
    pub(super) fn escape(&self, json: Vec<u8>) -> Vec<u8> {
        if self.ascii == Some(true) { ascii_only(json) } else { json }
    }

    /// The type that goes with it.
    pub(super) fn content_type(&self) -> &'static str {
        match (self.callback.is_some(), self.ascii == Some(false)) {
            (false, false) => "application/json",
            (false, true) => "application/json;charset=utf-8",
            (true, false) => "text/javascript",
            (true, true) => "text/javascript;charset=utf-8",
        }
    }
}

/// The callback of `jsonp`. Anything but a JavaScript reference is refused: the browser would run it.
fn jsonp(params: &Params) -> Result<Option<&str>, Failure> {
    let Some(callback) = params.get("jsonp").filter(|callback| !callback.is_empty()) else { return Ok(None) };
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.' | b'[' | b']');
    if callback.len() <= 256 && callback.bytes().all(plain) {
        return Ok(Some(callback));
    }
    Err(Failure::Invalid("jsonp must be the name of a JavaScript function".to_owned()))
}

/// Replaces all that is not ASCII by `\u` escapes. Such characters only stand inside of strings.
fn ascii_only(json: Vec<u8>) -> Vec<u8> {
    if json.is_ascii() {
        return json;
    }
    let text = String::from_utf8_lossy(&json);
    let mut out = String::with_capacity(text.len() + text.len() / 2);
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out.into_bytes()
}

/// The document with line breaks and an indent of two, laid out as Python's `json.dumps(indent=2)` does. It works on the
/// text because numbers such as `1e9999` do not survive being parsed.
fn indent(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 3);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, &byte) in json.iter().enumerate() {
        if in_string {
            out.push(byte);
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'[' | b'{' => {
                out.push(byte);
                depth += 1;
                if !matches!(json.get(at + 1), Some(b']' | b'}')) {
                    break_line(&mut out, depth);
                }
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if !matches!(out.last(), Some(b'[' | b'{')) {
                    break_line(&mut out, depth);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                break_line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            _ => {
                in_string = byte == b'"';
                out.push(byte);
            }
        }
    }
    out
}

fn break_line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretty_is_pythons_layout() {
        let compact = br#"[{"t":"a\",[{:","d":[[1.0,2],[null,1e9999]],"e":[],"o":{}}]"#;
        let pretty = "[\n  {\n    \"t\": \"a\\\",[{:\",\n    \"d\": [\n      [\n        1.0,\n        2\n      ],\n      [\n        null,\n        1e9999\n      ]\n    ],\n    \"e\": [],\n    \"o\": {}\n  }\n]";
        assert_eq!(String::from_utf8(indent(compact)).unwrap(), pretty);
        assert_eq!(indent(b"[]"), b"[]");
        assert_eq!(indent(br#"["\\"]"#), b"[\n  \"\\\\\"\n]");
    }

    #[test]
    fn characters_beyond_ascii_are_escaped_as_utf16() {
        assert_eq!(ascii_only("\"aüß😀\"".into()), br#""a\u00fc\u00df\ud83d\ude00""#);
        assert_eq!(ascii_only(b"\"a\"".to_vec()), b"\"a\"");
    }
}
