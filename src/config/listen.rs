//! `[listen]` as the rest of the program sees it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::Addresses;

/// Where to listen. `None` switches a listener off.
#[derive(Clone, Debug)]
pub struct Listen {
    /// Graphite HTTP API.
    pub http: Option<SocketAddr>,
    /// The same in TLS.
    pub https: Option<SocketAddr>,
    /// Carbon plaintext, TCP and (unless `ingest.udp` is off) UDP.
    pub carbon: Option<SocketAddr>,
    /// Carbon pickle, TCP.
    pub pickle: Option<SocketAddr>,
    /// Carbon plaintext in TLS.
    pub carbon_tls: Option<SocketAddr>,
    /// Carbon pickle in TLS.
    pub pickle_tls: Option<SocketAddr>,
    /// Carbon's protocol for points that are still in memory.
    pub cache_query: Option<SocketAddr>,
    /// KairosDB's and OpenTSDB's lines.
    pub kairosdb_telnet: Option<SocketAddr>,
    /// Who may send points and cache queries; nobody listed means everybody.
    pub allow: Addresses,
    /// `[listen.tls]`; `None` when nothing listens with TLS.
    pub tls: Option<ListenTls>,
}

/// TLS options.
#[derive(Clone, Debug)]
pub struct ListenTls {
    /// The certificate to present, followed by its intermediate certificates.
    pub cert_file: PathBuf,
    /// Its key.
    pub key_file: PathBuf,
    /// The certificates that must have signed those of senders, and of clients that show one; `None` asks for none.
    pub client_ca_file: Option<PathBuf>,
    /// How long the TLS handshake may take.
    pub handshake_timeout: Duration,
}

impl Default for Listen {
    fn default() -> Self {
        let local = |port| Some(SocketAddr::from(([127, 0, 0, 1], port)));
        Self {
            http: local(8080),
            https: None,
            carbon: local(2003),
            pickle: local(2004),
            carbon_tls: None,
            pickle_tls: None,
            cache_query: None,
            kairosdb_telnet: None,
            allow: Addresses::default(),
            tls: None,
        }
    }
}

impl Listen {
    /// The listeners that are on, each with the key that switched it on.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        let all = [
            ("listen.http", self.http),
            ("listen.https", self.https),
            ("listen.carbon", self.carbon),
            ("listen.pickle", self.pickle),
            ("listen.carbon_tls", self.carbon_tls),
            ("listen.pickle_tls", self.pickle_tls),
            ("listen.cache_query", self.cache_query),
            ("listen.kairosdb_telnet", self.kairosdb_telnet),
        ];
        all.into_iter().filter_map(|(key, address)| Some((key, address?)))
    }
}
