//! Talking to a running server: HTTP over its port, in TLS for `https://`.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::belongs_to_others;
use super::secure;
use super::token::Login;
use crate::cli::UsageError;
use crate::config::Config;

/// How long connecting, and most pauses in an answer, may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// An answer that is not 200.
#[derive(Debug, thiserror::Error)]
#[error("the server at {authority} answered {status}: {said}{}", hint(status, *.knows_call, given_by))]
pub(super) struct Answered {
    authority: String,
    status: String,
    said: String,
    /// Does it know what it was asked for?
    knows_call: bool,
    /// By what its token is given.
    given_by: String,
}

fn hint(status: &str, knows_call: bool, given_by: &str) -> String {
    match status {
        "401" => format!("; give a token by {given_by}"),
        _ if knows_call => String::new(),
        _ => UNKNOWN_CALL.to_owned(),
    }
}

/// The hint for a server without one of our own calls.
const UNKNOWN_CALL: &str = concat!(
    "; this command needs a Plumbago server of version ",
    env!("CARGO_PKG_VERSION"),
    " or later there, and that is an older one or another program"
);

impl Answered {
    fn new(server: &Server, path: &str, status: &str, said: &[u8]) -> Self {
        let said = String::from_utf8_lossy(said);
        // Ours says in one sentence what is not there. To a call that it does not know, it lists those that it knows.
        let first = said.lines().next().unwrap_or_default().trim();
        let is_ours = first.starts_with("there is no ");
        let knows_call = !(path.starts_with("/internal/") && matches!(status, "404" | "405") && !is_ours);
        let said = if knows_call { said.trim() } else { first };
        let (authority, given_by) = (server.authority.clone(), server.login.given_by.clone());
        Self { authority, status: status.to_owned(), said: said.to_owned(), knows_call, given_by }
    }

    /// Is the answer that there is no such thing?
    fn is_nothing(&self) -> bool {
        self.status == "404" && self.knows_call
    }
}

/// What the body of a request is.
#[derive(Clone, Copy)]
enum Body<'a> {
    Empty,
    Bytes(&'a [u8]),
    Form(&'a str),
}

/// A server that answers HTTP.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// `host:port`
    authority: String,
    /// Does it speak TLS?
    secure: bool,
    /// What we show to it.
    login: Login,
    /// What every path begins with, if it is behind one.
    prefix: String,
    /// Why we talk to it, for errors.
    why: &'static str,
    /// How long any pause in an answer may take; none means for ever.
    pause: Option<Duration>,
}

impl Server {
    /// The server that runs on the store of the configuration.
    pub(super) fn of(config: &Config) -> Result<Self> {
        let why = if belongs_to_others(config) {
            "the store belongs to another user, and no server answers at this address (listen.http); start it, or run the command \
             as that user, such as `sudo -u plumbago plumbago …`"
        } else {
            "a running server has the store open, but does not answer at this address (listen.http); give the same --config or \
             --set as to `serve`"
        };
        Self::listening(config, why)
    }

    /// The server of the configuration, which should be running.
    pub(super) fn expected(config: &Config) -> Result<Self> {
        let why = "no server answers at this address (listen.http); start it, give the --config or --set that `serve` has, or name it by --url";
        Self::listening(config, why)
    }

    fn listening(config: &Config, why: &'static str) -> Result<Self> {
        let (http, https) = (config.listen.http, config.listen.https);
        let address = http
            .or(https)
            .context("the server cannot be asked because listen.http is off; set listen.http for it and for this command")?;
        let (authority, prefix) = (address.to_string(), String::new());
        Ok(Self { authority, secure: http.is_none(), login: Login::own(), prefix, why, pause: Some(TIMEOUT) })
    }

    /// The server that a person names.
    pub(super) fn at(url: &str) -> Result<Self> {
        Self::named(url, "no server answers there (--url)", Login::own())
    }

    /// The server that a person names; `why` goes into the error if it cannot be reached.
    pub(super) fn named(url: &str, why: &'static str, login: Login) -> Result<Self> {
        let bad = |reason: &str| {
            UsageError(format!("`{url}` {reason}; write something like http://127.0.0.1:8080"))
        };
        let (secure, rest) = match url.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some((scheme, _)) => {
                bail!(bad(&format!("begins with {scheme}, and only http and https are spoken here")))
            }
            None => (false, url),
        };
        let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty() {
            bail!(bad("names no server"));
        }
        let has_port = authority.rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok());
        let port = match secure {
            _ if has_port && authority.contains(':') => "",
            true => ":443",
            false => ":80",
        };
        let prefix = prefix.trim_end_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("/{prefix}") };
        let authority = format!("{authority}{port}");
        Ok(Self { authority, secure, login, prefix, why, pause: Some(TIMEOUT) })
    }

    /// The same one, asked for something that takes as long as it takes.
    pub(super) fn patient(&self) -> Self {
        Self { pause: None, ..self.clone() }
    }

    /// For messages.
    pub(super) fn name(&self) -> &str {
        &self.authority
    }

    /// Fails if nobody listens there.
    pub(super) fn reach(&self) -> Result<()> {
        self.connect().map(drop)
    }

    /// The body of a GET that was answered with 200.
    pub(super) fn get(&self, path: &str, params: &[(&str, &str)]) -> Result<Vec<u8>> {
        self.ask("GET", path, params, Body::Empty)
    }

    /// The body of a POST that was answered with 200.
    pub(super) fn post(&self, path: &str, params: &[(&str, &str)], body: &[u8]) -> Result<Vec<u8>> {
        self.ask("POST", path, params, Body::Bytes(body))
    }

    /// The body of the answer to a form, which has room for parameters that are too long for a URL.
    pub(super) fn post_form(&self, path: &str, params: &[(&str, &str)]) -> Result<Vec<u8>> {
        self.ask("POST", path, &[], Body::Form(&joined(params)))
    }

    /// The body of a GET that was answered with 200, or `None` if it was answered with 404.
    pub(super) fn find(&self, path: &str, params: &[(&str, &str)]) -> Result<Option<Vec<u8>>> {
        match self.get(path, params) {
            Err(error) if error.downcast_ref().is_some_and(Answered::is_nothing) => Ok(None),
            other => other.map(Some),
        }
    }

    fn ask(&self, method: &str, path: &str, params: &[(&str, &str)], body: Body<'_>) -> Result<Vec<u8>> {
        let (body, kind) = match body {
            Body::Empty => (&[][..], ""),
            Body::Bytes(bytes) => (bytes, ""),
            Body::Form(text) => (text.as_bytes(), "Content-Type: application/x-www-form-urlencoded\r\n"),
        };
        let (authority, length) = (&self.authority, body.len());
        let mut stream = self.open()?;
        let token = self.login.header();
        let target = format!("{}{path}?{}", self.prefix, joined(params));
        let head = format!(
            "{method} {target} HTTP/1.0\r\nHost: {authority}\r\n{token}{kind}Content-Length: {length}\r\n\r\n"
        );
        // A server that refuses answers before it has read all of the body, and closes: what it said is worth more than the error.
        let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let end = memchr::memmem::find(&answer, b"\r\n\r\n");
        let Some(end) = end else {
            sent.and(read.map(drop)).map_err(|error| broken(authority, error))?;
            bail!("the answer of {authority} ends early");
        };
        let answered = answer.split_off(end + 4);
        let head = String::from_utf8_lossy(&answer);
        let status = head.split(' ').nth(1).unwrap_or_default();
        if status != "200" {
            bail!(Answered::new(self, path, status, &answered));
        }
        read.with_context(|| format!("the answer of {authority} broke off"))?;
        check_length(&head, &answered).with_context(|| format!("the answer of {authority} broke off"))?;
        Ok(answered)
    }

    fn open(&self) -> Result<Box<dyn Stream>> {
        let socket = self.connect()?;
        if !self.secure {
            return Ok(Box::new(socket));
        }
        let host = self.authority.rsplit_once(':').map_or(&*self.authority, |(host, _)| host);
        Ok(Box::new(secure::wrap(socket, host.trim_matches(['[', ']']))?))
    }

    fn connect(&self) -> Result<TcpStream> {
        let failed = || format!("{}: {}", self.authority, self.why);
        let addresses = self.authority.to_socket_addrs().with_context(failed)?;
        let mut last = None;
        for address in addresses {
            match TcpStream::connect_timeout(&address, TIMEOUT) {
                Ok(stream) => {
                    stream.set_read_timeout(self.pause)?;
                    return Ok(stream);
                }
                Err(error) => last = Some(error),
            }
        }
        match last {
            Some(error) => Err(error).with_context(failed),
            None => bail!("{}: the name has no address", self.authority),
        }
    }
}

/// A connection, whatever is around it.
trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

/// A body must be as long as its head says.
fn check_length(head: &str, body: &[u8]) -> Result<()> {
    let stated = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    match stated {
        Some(stated) if stated != body.len() => bail!("{} of {stated} bytes arrived", body.len()),
        _ => Ok(()),
    }
}

fn joined(params: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = params.iter().map(|(key, value)| format!("{key}={}", encoded(value))).collect();
    pairs.join("&")
}

/// Percent-encoded, all but the plainest characters.
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

/// What happened to a connection. A certificate that is not trusted is usually that of an authority of one's own.
fn broken(authority: &str, error: std::io::Error) -> anyhow::Error {
    let hint = match error.to_string().contains("certificate") {
        true => " (SSL_CERT_FILE names a file with certificates to trust in place of the system's)",
        false => "",
    };
    anyhow::Error::new(error).context(format!("talking to {authority}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_characters_are_encoded() {
        assert_eq!(encoded("a.*&b=ü"), "a.%2A%26b%3D%C3%BC");
    }

    #[test]
    fn a_server_is_named_in_the_usual_ways() {
        for (url, authority, prefix) in [
            ("http://127.0.0.1:8080", "127.0.0.1:8080", ""),
            ("http://127.0.0.1:8080/", "127.0.0.1:8080", ""),
            ("localhost:8080", "localhost:8080", ""),
            ("http://graphite.example/metrics/", "graphite.example:80", "/metrics"),
            ("http://[::1]:8080", "[::1]:8080", ""),
        ] {
            let server = Server::at(url).unwrap();
            assert_eq!((&*server.authority, &*server.prefix), (authority, prefix), "{url}");
        }
        let server = Server::at("https://a").unwrap();
        assert_eq!((&*server.authority, server.secure), ("a:443", true));
        for url in ["http://", "ftp://a"] {
            assert!(Server::at(url).unwrap_err().to_string().contains("http://127.0.0.1:8080"), "{url}");
        }
    }
}
