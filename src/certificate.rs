//! The certificate that clients of our listeners see, and whose certificates we accept.

mod subject;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;

pub use subject::common_name;

use crate::config::ListenTls;
use crate::pem::{self, PemError};

/// How often to check the files, at most.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// What a listener speaks inside TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Carbon's protocols. Where `listen.tls.client_ca_file` is set, a sender must present a certificate.
    Carbon,
    /// HTTP/1.1 and HTTP/2. A client may present a certificate, or log in otherwise.
    Http,
}

/// The certificate that clients see. Its files are reloaded when they change: certificates are renewed every few weeks, and
/// that must not require a restart.
#[derive(Debug)]
pub struct Certificate {
    config: ListenTls,
    inside: Inside,
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
    pub fn open(config: &ListenTls, inside: Inside) -> Result<Self, PemError> {
        let changed = changed(config);
        let current = Current { server: server_config(config, inside)?, changed, looked: Instant::now() };
        Ok(Self { config: config.clone(), inside, current: Mutex::new(current) })
    }

    /// The configuration for the next connection. If the files are invalid, the old certificate stays in use.
    pub fn server(&self) -> Arc<ServerConfig> {
        let mut current = self.current.lock();
        if current.looked.elapsed() >= LOOK_EVERY {
            current.looked = Instant::now();
            self.reread(&mut current);
        }
        Arc::clone(&current.server)
    }

    /// How long a handshake may take.
    pub fn handshake_timeout(&self) -> Duration {
        self.config.handshake_timeout
    }

    fn reread(&self, current: &mut Current) {
        let changed = changed(&self.config);
        if changed == current.changed {
            return;
        }
        match server_config(&self.config, self.inside) {
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

fn server_config(config: &ListenTls, inside: Inside) -> Result<Arc<ServerConfig>, PemError> {
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
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            let verifier = match inside {
                Inside::Carbon => verifier,
                Inside::Http => verifier.allow_unauthenticated(),
            };
            builder.with_client_cert_verifier(verifier.build().map_err(|error| PemError {
                action: format!("check clients by {}", path.display()),
                detail: error.to_string(),
                hint: "it must hold the certificates that sign those of senders",
            })?)
        }
    };
    let (chain, key) = (pem::certificates(&config.cert_file)?, pem::private_key(&config.key_file)?);
    let server = builder.with_single_cert(chain, key);
    let mut server =
        server.map_err(|error| unusable(error.to_string(), "listen.tls.key_file must belong to it"))?;
    match inside {
        // Senders never read. If one closes while something from us waits in its socket, the connection is reset and what we
        // have not read yet is lost. So we send nothing after the handshake.
        Inside::Carbon => server.send_tls13_tickets = 0,
        Inside::Http => server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    }
    Ok(Arc::new(server))
}
