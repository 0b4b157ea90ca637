//! Who sends points.

use std::net::IpAddr;
use std::sync::Arc;

use plumbago_model::Scope;

/// Somebody who sends points, as far as this server knows.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    /// The name of the caller or of the user whose certificate was shown. Nobody has one on a port without logins.
    pub user: Option<Arc<str>>,
    /// Where the points come from; nowhere if this server made them.
    pub address: Option<IpAddr>,
    /// The metrics that may be written.
    pub scope: Arc<Scope>,
}

impl Sender {
    /// Somebody of whom only the address is known.
    pub fn at(address: IpAddr) -> Self {
        Self { address: Some(address), ..Self::default() }
    }
}
