//! The API over real sockets, with a made-up backend behind it.
//!
//! Expected bodies marked as captured are graphite-web 1.1.10's own answers for the same metrics.

mod browser;
mod bundles;
mod carbonapi;
mod care;
mod endpoints;
mod events;
mod fake;
mod find;
mod gate;
mod kairosdb;
mod listing;
mod queries;
mod render;
mod tags;
mod transfer;
mod transport;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::{Listeners, Service, serve};
use crate::auth::Doorman;
use crate::config;
use crate::telemetry::Telemetry;
use fake::FakeBackend;

/// A server on a port of its own; it stops when dropped.
struct Server {
    address: SocketAddr,
    backend: Arc<FakeBackend>,
    telemetry: Arc<Telemetry>,
    stop: watch::Sender<bool>,
    running: Option<tokio::task::JoinHandle<std::io::Result<()>>>,
    runtime: Runtime,
}

/// What came back.
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    /// The body as it came, which may be no text.
    bytes: Vec<u8>,
}

impl Server {
    fn start() -> Self {
        Self::with(config::Query::default())
    }

    fn with(config: config::Query) -> Self {
        Self::with_http(config::Http::default(), config)
    }

    fn with_http(http: config::Http, config: config::Query) -> Self {
        Self::with_logins(http, config, config::Auth::default())
    }

    fn with_logins(http: config::Http, config: config::Query, auth: config::Auth) -> Self {
        let runtime = Runtime::new().unwrap();
        let backend = Arc::new(FakeBackend::default());
        let telemetry = Arc::new(Telemetry::default());
        let (stop, stopped) = watch::channel(false);
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let listeners = Listeners { http: Some(listener), ..Listeners::default() };
        let query = Arc::new(config);
        let doorman = Doorman::open(&auth, Arc::clone(&telemetry)).unwrap().map(Arc::new);
        let service = Service {
            http,
            query,
            auth,
            doorman,
            telemetry: Arc::clone(&telemetry),
            ..Service::of(Arc::clone(&backend) as _)
        };
        let serving = serve(listeners, service, stopped);
        let running = Some(runtime.spawn(serving));
        Self { address, backend, telemetry, stop, running, runtime }
    }

    /// Sends the text of a request as it is, and reads until the server closes.
    fn raw(&self, request: impl AsRef<[u8]>) -> Reply {
        let mut stream = self.connect();
        stream.write_all(request.as_ref()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Reply::parse(&bytes)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Reply {
        let body = body.as_ref();
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            text.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        self.raw([text.as_bytes(), b"\r\n", body].concat())
    }

    fn get(&self, path: &str) -> Reply {
        self.request("GET", path, &[], "")
    }

    fn post(&self, path: &str, form: &str) -> Reply {
        self.request("POST", path, &[("content-type", "application/x-www-form-urlencoded")], form)
    }

    /// The JSON at `path`, which must be answered well.
    fn json(&self, path: &str) -> Value {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        // Infinity, which this parser does not take although browsers and Python do.
        let text = reply.body.replace("1e9999", "1e300");
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}: {text}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(running) = self.running.take() {
            let _ = self.runtime.block_on(running);
        }
    }
}

impl Reply {
    fn parse(bytes: &[u8]) -> Self {
        let cut = memchr::memmem::find(bytes, b"\r\n\r\n").expect("a header block");
        let head = String::from_utf8(bytes[..cut].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let body = bytes[cut + 4..].to_vec();
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if chunked { unchunk(&body) } else { body };
        Self { status, headers, body: String::from_utf8_lossy(&body).into_owned(), bytes: body }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

fn unchunk(mut body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let line = memchr::memmem::find(body, b"\r\n").expect("a chunk size");
        let size = usize::from_str_radix(std::str::from_utf8(&body[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return out;
        }
        out.extend_from_slice(&body[line + 2..line + 2 + size]);
        body = &body[line + 2 + size + 2..];
    }
}
