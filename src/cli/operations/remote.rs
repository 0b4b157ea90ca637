//! Asks the server that has the store open, over plain HTTP.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::config::Config;

const TIMEOUT: Duration = Duration::from_secs(60);

/// The body of a GET that was answered with 200.
pub(super) fn get(config: &Config, path: &str, params: &[(&str, &str)]) -> Result<String> {
    let query: Vec<String> = params.iter().map(|(key, value)| format!("{key}={}", encoded(value))).collect();
    ask(config, &format!("GET {path}?{}", query.join("&")), "")
}

/// The body of a POST that was answered with 200.
pub(super) fn post(config: &Config, path: &str, body: &str) -> Result<String> {
    ask(config, &format!("POST {path}"), body)
}

fn ask(config: &Config, request: &str, body: &str) -> Result<String> {
    let address = config.listen.http.context(
        "a running server has the store open, and listen.http is off, so this command cannot ask it; stop it, or set listen.http",
    )?;
    let mut stream = connect(address)?;
    let length = body.len();
    write!(stream, "{request} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n{body}")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("the server's answer ends early")?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status != "200" {
        bail!("the server at {address} answered {status}: {}", body.trim());
    }
    Ok(body.to_owned())
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, TIMEOUT);
    let stream = stream.with_context(|| {
        format!("a running server has the store open, but does not answer at {address} (listen.http); give the same --config or --set as to `serve`")
    })?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

/// Percent-encodes everything but letters, digits and the like.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn reserved_characters_are_encoded() {
        assert_eq!(encoded("a.*&b=ü"), "a.%2A%26b%3D%C3%BC");
    }
}
