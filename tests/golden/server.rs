//! The HTTP API over the data set, on a port of its own.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use plumbago::http::{Listeners, Service, serve};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::case::Options;
use super::memory::Memory;
use super::{ENGINE, data, read};

/// One for all tests of this program; it ends with it.
static SERVER: LazyLock<Server> = LazyLock::new(Server::start);

struct Server {
    address: SocketAddr,
    _runtime: Runtime,
    _stop: watch::Sender<bool>,
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Without its parameters.
    pub(crate) content_type: String,
    pub(crate) body: String,
}

impl Server {
    fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let text = read(ENGINE, "data");
        let backend = Arc::new(Memory::new(data::series(&text), data::events(&text)));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = watch::channel(false);
        let listeners = Listeners { http: Some(listener), ..Listeners::default() };
        runtime.spawn(serve(listeners, Service::of(backend), stopped));
        Self { address, _runtime: runtime, _stop: stop }
    }
}

/// Asks for a path with its query.
pub(crate) fn get(path: &str) -> Reply {
    // The goldens are written for people; what a URL cannot hold is encoded here.
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"{}[]|\\\"<>^`".contains(&byte);
    fetch(&format!("http://{}{}", SERVER.address, encode(path, plain)))
}

/// The body of a path, whatever it is made of; the status must be 200.
pub(crate) fn bytes(path: &str) -> Vec<u8> {
    let url = format!("http://{}{path}", SERVER.address);
    let mut reply = ureq::get(url).call().expect("an answer");
    reply.body_mut().read_to_vec().expect("a body")
}

fn fetch(url: &str) -> Reply {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let mut reply = agent.get(url).call().expect("an answer");
    let status = reply.status().as_u16();
    let content_type = reply.headers().get("content-type").and_then(|v| v.to_str().ok()).unwrap_or_default();
    let content_type = content_type.split(';').next().unwrap_or_default().to_owned();
    Reply { status, content_type, body: reply.body_mut().read_to_string().expect("text") }
}

/// Asks us for a render as JSON.
pub(crate) fn render(options: &Options) -> Reply {
    render_at(&SERVER.address.to_string(), options)
}

/// Asks any server for a render as JSON.
pub(crate) fn render_at(address: &str, options: &Options) -> Reply {
    let encode = |text: &str| encode(text, |byte| byte.is_ascii_alphanumeric());
    let query: String = options.iter().map(|(k, v)| format!("&{}={}", encode(k), encode(v))).collect();
    fetch(&format!("http://{address}/render?format=json{query}"))
}

fn encode(text: &str, plain: impl Fn(u8) -> bool) -> String {
    let encoded = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encoded).collect()
}
