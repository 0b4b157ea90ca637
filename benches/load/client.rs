//! A minimal HTTP/1.1 client over one kept-alive connection. The cost of a library would show in figures below a millisecond.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// One connection.
#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
    /// A header line that says who asks, or nothing.
    login: String,
    body: Vec<u8>,
}

impl Client {
    /// Connects to `address`.
    pub(crate) fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        let stream = BufReader::with_capacity(64 * 1024, stream);
        Ok(Self { stream, address, login: String::new(), body: Vec::new() })
    }

    /// The same client, with a token in each request.
    pub(crate) fn with_token(mut self, token: &str) -> Self {
        self.login = format!("Authorization: Bearer {token}\r\n");
        self
    }

    /// Sends a request without a body and reads the whole answer: its status and body.
    pub(crate) fn request(&mut self, method: &str, path: &str) -> Result<(u16, &[u8])> {
        let length = if method == "POST" { "Content-Length: 0\r\n" } else { "" };
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n{}{length}\r\n", self.address, self.login);
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.answer(path)
    }

    /// Sends a body, with headers of its own, and reads the whole answer.
    pub(crate) fn post(&mut self, path: &str, headers: &str, body: &[u8]) -> Result<(u16, &[u8])> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\n{}{headers}Content-Length: {}\r\n\r\n",
            self.address,
            self.login,
            body.len()
        );
        let stream = self.stream.get_mut();
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        self.answer(path)
    }

    fn answer(&mut self, path: &str) -> Result<(u16, &[u8])> {
        let status =
            self.line()?.split(' ').nth(1).and_then(|code| code.parse().ok()).context("no HTTP status")?;
        let (mut length, mut chunked) = (None, false);
        loop {
            let header = self.line()?.to_ascii_lowercase();
            if header.is_empty() {
                break;
            } else if let Some(value) = header.strip_prefix("content-length:") {
                length = Some(value.trim().parse::<usize>()?);
            } else if header.starts_with("transfer-encoding:") && header.contains("chunked") {
                chunked = true;
            }
        }
        self.body.clear();
        match length {
            Some(length) => self.take(length)?,
            None if chunked => self.chunks()?,
            None if status == 204 => {}
            None => bail!("the answer to {path} has neither a length nor chunks"),
        }
        Ok((status, &self.body))
    }

    /// GET that must answer 200.
    pub(crate) fn get(&mut self, path: &str) -> Result<&[u8]> {
        let (status, body) = self.request("GET", path)?;
        if status != 200 {
            bail!("{path} answered {status}: {}", String::from_utf8_lossy(&body[..body.len().min(300)]));
        }
        Ok(body)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            bail!("the server closed the connection");
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }

    fn take(&mut self, length: usize) -> Result<()> {
        let at = self.body.len();
        self.body.resize(at + length, 0);
        Ok(self.stream.read_exact(&mut self.body[at..])?)
    }

    fn chunks(&mut self) -> Result<()> {
        loop {
            let length = usize::from_str_radix(&self.line()?, 16).context("a chunk has no length")?;
            self.take(length)?;
            self.line()?;
            if length == 0 {
                return Ok(());
            }
        }
    }
}

/// Percent-encodes what a query string cannot contain.
pub(crate) fn escape(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'*' | b',' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}
