//! Certificates: which nodes to trust, and what to present to them.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::{ClusterError, Fault, Tls};
use crate::pem::{self, PemError};

/// The TLS configuration for the driver.
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
            let chain = pem::certificates(cert).map_err(unreadable)?;
            let key = pem::private_key(key).map_err(unreadable)?;
            let action = || format!("use the client certificate {}", cert.display());
            builder
                .with_client_auth_cert(chain, key)
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

fn unreadable(error: PemError) -> ClusterError {
    ClusterError::new(Fault::Tls, error.action, error.detail).hint(error.hint)
}

fn roots(tls: &Tls) -> Result<RootCertStore, ClusterError> {
    match &tls.ca_file {
        Some(path) => pem::roots(path).map_err(unreadable),
        None => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            Ok(roots)
        }
    }
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

/// Trusts a certificate because of its signature, whatever address it names. Many clusters have certificates that name no
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
            // The name is checked last, so the signatures are valid.
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Within the life of the certificates in `tests/fixtures/tls`.
    const THEN: u64 = 1_794_900_000;

    /// Is the node's certificate, which names 127.0.0.1, good for `address`?
    fn trusts(ca: &str, verify_address: bool, address: &str) -> bool {
        let fixture =
            |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name);
        let tls = Tls { ca_file: Some(fixture(ca)), cert_file: None, key_file: None, verify_address };
        let verifier = verifier(&tls, &Arc::new(aws_lc_rs::default_provider())).unwrap();
        let node = pem::certificates(&fixture("node.pem")).unwrap();
        let name = ServerName::try_from(address).unwrap();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(THEN));
        verifier.verify_server_cert(&node[0], &[], &name, &[], now).is_ok()
    }

    #[test]
    fn a_certificate_must_be_signed_and_name_the_address() {
        assert!(trusts("ca.pem", true, "127.0.0.1"));
        assert!(!trusts("ca.pem", true, "127.0.0.2"));
        assert!(!trusts("stranger.pem", true, "127.0.0.1"));
    }

    #[test]
    fn without_the_check_of_addresses_it_must_still_be_signed() {
        assert!(trusts("ca.pem", false, "127.0.0.1"));
        assert!(trusts("ca.pem", false, "127.0.0.2"));
        assert!(!trusts("stranger.pem", false, "127.0.0.1"));
    }
}
