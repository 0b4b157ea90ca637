//! TLS around a connection to a server. Certificates are trusted as the system trusts them; `SSL_CERT_FILE` names others.

use std::net::TcpStream;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A connection in TLS. The server must have a certificate for `host`.
pub(super) fn wrap(socket: TcpStream, host: &str) -> Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .context("this build has no TLS")?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned())
        .with_context(|| format!("`{host}` is no name that a certificate could have"))?;
    let connection = ClientConnection::new(Arc::new(config), name).context("TLS")?;
    Ok(StreamOwned::new(connection, socket))
}
