//! Certificates: which nodes to trust, and what to show them.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::{ClusterError, Fault, Tls};

/// What the driver needs to encrypt.
pub(super) fn client_config(tls: &Tls) -> Result<Arc<ClientConfig>, ClusterError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = verifier(tls, &provider)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable("set up encryption", error))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let config = match (&tls.cert_file, &tls.key_file) {
        (Some(cert), Some(key)) => {
            let chain = certificates(cert)?;
            let action = || format!("use the client certificate {}", cert.display());
            builder
                .with_client_auth_cert(chain, private_key(key)?)
                .map_err(|error| unusable(action(), error).hint("the key must belong to the certificate"))?
        }
        (None, None) => builder.with_no_client_auth(),
        _ => {
            return Err(unusable(
                "set up encryption",
                "a client certificate needs both its file and its key",
            )
            .hint("set store.cassandra.tls.cert_file and store.cassandra.tls.key_file, or neither"));
        }
    };
    Ok(Arc::new(config))
}

fn unusable(action: impl Into<String>, detail: impl ToString) -> ClusterError {
    ClusterError::new(Fault::Tls, action, detail.to_string())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ClusterError> {
    let action = || format!("read certificates from {}", path.display());
    let found = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(action(), error).hint("the file must be readable and in PEM"))?;
    if found.is_empty() {
        return Err(unusable(action(), "there is none in it").hint("the file must be in PEM"));
    }
    Ok(found)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, ClusterError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| {
        unusable(format!("read the key {}", path.display()), error)
            .hint("the file must be readable and hold one key in PEM, without a password")
    })
}

fn roots(tls: &Tls) -> Result<RootCertStore, ClusterError> {
    let mut roots = RootCertStore::empty();
    match &tls.ca_file {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| {
                    unusable(format!("trust the certificates in {}", path.display()), error)
                })?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

fn verifier(tls: &Tls, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, ClusterError> {
    let roots = Arc::new(roots(tls)?);
    let strict =
        WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build().map_err(|error| {
            unusable("find certificates to trust", error)
                .hint("set store.cassandra.tls.ca_file to the certificate that signed those of the nodes")
        })?;
    if tls.verify_address { Ok(strict) } else { Ok(Arc::new(AnyAddress(strict))) }
}

/// Trusts a certificate for what signed it, whatever address it names. Many clusters have certificates that name no
/// address, because nodes come and go.
#[derive(Debug)]
struct AnyAddress(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyAddress {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The name is checked last, so the signatures were found to be right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
