//! Certificates and keys from files, for everybody who encrypts.

use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Why a file cannot be used, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {action}: {detail}; {hint}")]
pub struct PemError {
    /// What was tried, with the file.
    pub action: String,
    /// What went wrong.
    pub detail: String,
    /// What to do.
    pub hint: &'static str,
}

/// The certificates of a file, at least one.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let wrong = |detail: String| PemError {
        action: format!("read certificates from {}", path.display()),
        detail,
        hint: "the file must be readable and in PEM",
    };
    let found = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(error.to_string()))?;
    if found.is_empty() { Err(wrong("there is none in it".to_owned())) } else { Ok(found) }
}

/// The one key of a file.
pub fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, PemError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| PemError {
        action: format!("read the key {}", path.display()),
        detail: error.to_string(),
        hint: "the file must be readable and hold one key in PEM, without a password",
    })
}

/// The certificates of a file as those to trust.
pub fn roots(path: &Path) -> Result<RootCertStore, PemError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| PemError {
            action: format!("trust the certificates in {}", path.display()),
            detail: error.to_string(),
            hint: "it must hold the certificates of those who sign",
        })?;
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name)
    }

    #[test]
    fn certificates_are_read_and_trusted() {
        assert_eq!(certificates(&fixture("ca.pem")).unwrap().len(), 1);
        assert_eq!(roots(&fixture("ca.pem")).unwrap().len(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named() {
        let text = certificates(Path::new("/nowhere/ca.pem")).unwrap_err().to_string();
        assert!(text.starts_with("cannot read certificates from /nowhere/ca.pem: "), "{text}");
        let text = certificates(Path::new("/dev/null")).unwrap_err().to_string();
        assert_eq!(
            text,
            "cannot read certificates from /dev/null: there is none in it; the file must be readable and in PEM"
        );
        let text = private_key(&fixture("ca.pem")).unwrap_err().to_string();
        assert!(text.contains("ca.pem: ") && text.contains("one key in PEM"), "{text}");
    }
}
