//! The sockets. They are bound before anything else, so that a port in use is reported at once, and opened when the start is
//! complete.
//!
//! In between, connections are refused, and a relay keeps its points. If the kernel accepted connections during the start, relays
//! would write into them, and lose all of it if the start failed.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::net::{TcpListener, TcpSocket, UdpSocket};
use tokio::task::JoinHandle;

use super::engine::Engine;
use crate::certificate::{Certificate, Inside};
use crate::config::{Config, Listen};
use crate::receive::{Receiver, Recent};

/// Connections that may wait to be accepted; the kernel has a limit of its own.
const BACKLOG: u32 = 4096;

/// A TCP port that is reserved and refuses connections.
pub(super) struct Reserved {
    key: &'static str,
    socket: TcpSocket,
}

impl Reserved {
    /// Reserves the port that `listen.<key>` names.
    pub(super) fn new(key: &'static str, address: SocketAddr) -> Result<Self> {
        let bind = || {
            let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
            // Connections of a previous server may linger; they must not block its port.
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            Ok::<_, std::io::Error>(socket)
        };
        let socket = bind().with_context(|| cannot_listen(key, address))?;
        Ok(Self { key, socket })
    }

    /// Lets connections in, on the current runtime.
    pub(super) fn open(self) -> Result<TcpListener> {
        let address = self.socket.local_addr()?;
        self.socket.listen(BACKLOG).with_context(|| cannot_listen(self.key, address))
    }
}

/// The carbon sockets, reserved or open.
pub(super) struct Sockets<Tcp> {
    pub(super) carbon: Option<Tcp>,
    pub(super) udp: Option<UdpSocket>,
    pub(super) pickle: Option<Tcp>,
    pub(super) carbon_tls: Option<Tcp>,
    pub(super) pickle_tls: Option<Tcp>,
    pub(super) cache_query: Option<Tcp>,
    pub(super) kairosdb_telnet: Option<Tcp>,
    /// The certificate for senders that use TLS.
    certificate: Option<Arc<Certificate>>,
}

impl Sockets<Reserved> {
    /// A server that takes no points has no ports for them, so that relays keep theirs.
    pub(super) async fn bind(config: &Config) -> Result<Self> {
        let (listen, with_udp) = (&config.listen, config.ingest.udp);
        let reserve =
            |key, address: Option<_>| address.map(|address| Reserved::new(key, address)).transpose();
        if config.store.read_only {
            let cache_query = reserve("cache_query", listen.cache_query)?;
            return Ok(Self {
                carbon: None,
                udp: None,
                pickle: None,
                carbon_tls: None,
                pickle_tls: None,
                cache_query,
                kairosdb_telnet: None,
                certificate: None,
            });
        }
        let carbon = reserve("carbon", listen.carbon)?;
        let udp = match carbon.as_ref().filter(|_| with_udp) {
            // If the configuration leaves the port to the system, UDP takes the one that TCP got.
            Some(tcp) => {
                let address = tcp.socket.local_addr()?;
                Some(UdpSocket::bind(address).await.with_context(|| cannot_listen("carbon", address))?)
            }
            None => None,
        };
        Ok(Self {
            carbon,
            udp,
            pickle: reserve("pickle", listen.pickle)?,
            carbon_tls: reserve("carbon_tls", listen.carbon_tls)?,
            pickle_tls: reserve("pickle_tls", listen.pickle_tls)?,
            cache_query: reserve("cache_query", listen.cache_query)?,
            kairosdb_telnet: reserve("kairosdb_telnet", listen.kairosdb_telnet)?,
            certificate: certificate(listen, Inside::Carbon)?,
        })
    }

    /// Lets connections in, on the current runtime.
    pub(super) fn open(self) -> Result<Sockets<TcpListener>> {
        let open = |reserved: Option<Reserved>| reserved.map(Reserved::open).transpose();
        Ok(Sockets {
            carbon: open(self.carbon)?,
            udp: self.udp,
            pickle: open(self.pickle)?,
            carbon_tls: open(self.carbon_tls)?,
            pickle_tls: open(self.pickle_tls)?,
            cache_query: open(self.cache_query)?,
            kairosdb_telnet: open(self.kairosdb_telnet)?,
            certificate: self.certificate,
        })
    }
}

impl Sockets<TcpListener> {
    pub(super) fn start(
        self,
        receiver: &Receiver,
        engine: &Arc<Engine>,
        recent: Arc<dyn Recent>,
    ) -> Vec<JoinHandle<Option<()>>> {
        let certificate = self.certificate.as_ref();
        let started = [
            ("carbon", self.carbon.map(|listener| receiver.plaintext(listener))),
            ("udp", self.udp.map(|socket| receiver.udp(socket))),
            ("pickle", self.pickle.map(|listener| receiver.pickle(listener))),
            (
                "carbon_tls",
                self.carbon_tls
                    .zip(certificate)
                    .map(|(listener, by)| receiver.plaintext_tls(listener, by.clone())),
            ),
            (
                "pickle_tls",
                self.pickle_tls
                    .zip(certificate)
                    .map(|(listener, by)| receiver.pickle_tls(listener, by.clone())),
            ),
            ("kairosdb_telnet", self.kairosdb_telnet.map(|listener| receiver.telnet(listener))),
            ("cache_query", self.cache_query.map(|listener| receiver.cache_queries(listener, recent))),
        ];
        let watched = |(name, task): (_, Option<_>)| Some(engine.supervisor.watch(name, task?));
        started.into_iter().filter_map(watched).collect()
    }
}

/// The certificate of the configuration, if there is one.
pub(super) fn certificate(listen: &Listen, inside: Inside) -> Result<Option<Arc<Certificate>>> {
    let opened = listen.tls.as_ref().map(|config| Certificate::open(config, inside)).transpose()?;
    Ok(opened.map(Arc::new))
}

fn cannot_listen(key: &str, address: SocketAddr) -> String {
    format!(
        "cannot listen on {address} (listen.{key}); is another server running there? Try --set listen.{key}=127.0.0.1:0"
    )
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn a_reserved_port_refuses_connections_until_it_is_opened() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let reserved = Reserved::new("carbon", any).unwrap();
        let address = reserved.socket.local_addr().unwrap();
        let refused = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        let listener = reserved.open().unwrap();
        let _client = TcpStream::connect(address).await.unwrap();
        listener.accept().await.unwrap();
        // No other process gets the port meanwhile.
        let error = Reserved::new("carbon", address).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("listen.carbon"), "{error}");
    }
}
