//! TLS: our certificate, and which senders to accept.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::connection::{self, Protocol};
use super::intake::Intake;
use super::stop::{Phase, Stop};
use super::tcp::Service;
use crate::config::ListenTls;
use crate::pem::{self, PemError};

/// How often to check the files, at most.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The certificate that senders see. Its files are reloaded when they change: certificates are renewed every few weeks, and
/// that must not require a restart.
#[derive(Debug)]
pub struct Certificate {
    config: ListenTls,
    current: Mutex<Current>,
}

/// What the files said when they were last read.
struct Current {
    server: Arc<ServerConfig>,
    changed: Vec<Option<SystemTime>>,
    looked: Instant,
}

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Current").field("changed", &self.changed).finish_non_exhaustive()
    }
}

impl Certificate {
    /// Reads the files, or says which of them cannot be used.
    pub fn open(config: &ListenTls) -> Result<Self, PemError> {
        let changed = changed(config);
        let current = Current { server: server_config(config)?, changed, looked: Instant::now() };
        Ok(Self { config: config.clone(), current: Mutex::new(current) })
    }

    /// The configuration for the next connection. If the files are invalid, the old certificate stays in use.
    fn acceptor(&self) -> TlsAcceptor {
        let mut current = self.current.lock();
        if current.looked.elapsed() >= LOOK_EVERY {
            current.looked = Instant::now();
            self.reread(&mut current);
        }
        TlsAcceptor::from(Arc::clone(&current.server))
    }

    fn reread(&self, current: &mut Current) {
        let changed = changed(&self.config);
        if changed == current.changed {
            return;
        }
        match server_config(&self.config) {
            Ok(server) => {
                tracing::info!(path = %self.config.cert_file.display(), "certificate reloaded");
                *current = Current { server, changed, looked: current.looked };
            }
            Err(error) => tracing::warn!(%error, "the old certificate stays in force"),
        }
    }
}

/// When each file was last written.
fn changed(config: &ListenTls) -> Vec<Option<SystemTime>> {
    let files = [Some(&config.cert_file), Some(&config.key_file), config.client_ca_file.as_ref()];
    let written = |path: &Path| std::fs::metadata(path).and_then(|about| about.modified()).ok();
    files.into_iter().flatten().map(|path| written(path)).collect()
}

fn server_config(config: &ListenTls) -> Result<Arc<ServerConfig>, PemError> {
    let unusable = |detail: String, hint| PemError {
        action: format!("use the certificate {}", config.cert_file.display()),
        detail,
        hint,
    };
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(error.to_string(), "this is a fault of the build"))?;
    let builder = match &config.client_ca_file {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let roots = Arc::new(pem::roots(path)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| PemError {
                action: format!("check senders by {}", path.display()),
                detail: error.to_string(),
                hint: "it must hold the certificates that sign those of senders",
            })?)
        }
    };
    let (chain, key) = (pem::certificates(&config.cert_file)?, pem::private_key(&config.key_file)?);
    let server = builder.with_single_cert(chain, key);
    let mut server =
        server.map_err(|error| unusable(error.to_string(), "listen.tls.key_file must belong to it"))?;
    // Senders never read. If one closes while something from us waits in its socket, the connection is reset and what we
    // have not read yet is lost. So we send nothing after the handshake.
    server.send_tls13_tickets = 0;
    Ok(Arc::new(server))
}

/// Senders that speak `P` inside TLS.
pub(super) struct Encrypted<P> {
    certificate: Arc<Certificate>,
    protocol: PhantomData<fn() -> P>,
}

impl<P> Encrypted<P> {
    pub(super) fn new(certificate: Arc<Certificate>) -> Self {
        Self { certificate, protocol: PhantomData }
    }
}

impl<P: Protocol> Service for Encrypted<P> {
    async fn serve(&self, stream: TcpStream, intake: Arc<Intake>, mut stop: Stop) {
        let limit = self.certificate.config.handshake_timeout;
        let handshake = tokio::time::timeout(limit, self.certificate.acceptor().accept(stream));
        let agreed = tokio::select! {
            agreed = handshake => agreed,
            () = over(&mut stop) => return,
        };
        let failure = match agreed {
            Ok(Ok(wire)) => return connection::serve::<P>(wire, &intake, stop).await,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it took longer than listen.tls.handshake_timeout".to_owned(),
        };
        intake.telemetry.handshakes_failed.add(1);
        tracing::debug!(failure, "a TLS handshake failed");
    }
}

/// Waits until there is no time left.
async fn over(stop: &mut Stop) {
    while stop.phase() != Phase::Over {
        stop.changed().await;
    }
}
