//! `[auth]` as the rest of the program sees it.

use std::path::PathBuf;
use std::time::Duration;

use super::{Addresses, Tenancy};
use plumbago_model::Role;

/// Who may call, and how they say who they are.
#[derive(Clone, Debug)]
pub struct Auth {
    /// Users with their roles and scopes.
    pub users_file: Option<PathBuf>,
    /// Hashes of tokens.
    pub tokens_file: Option<PathBuf>,
    /// Hashes of passwords.
    pub htpasswd_file: Option<PathBuf>,
    /// Is the name in a client's certificate the name of a user?
    pub certificates: bool,
    /// The header in which a proxy names the user.
    pub proxy_header: Option<String>,
    /// The proxies that are believed.
    pub proxies: Addresses,
    /// The role of callers without a login, if it is configured.
    pub anonymous: Option<Role>,
    /// How long a login on the page lasts.
    pub session: Duration,
    /// Wrong logins that an address may try in a minute.
    pub max_failures: u32,
    /// `[tenants]`: whose metrics a caller sees.
    pub tenancy: Tenancy,
}

impl Auth {
    /// Can anybody log in? If not, programs on this machine may do everything.
    pub fn is_on(&self) -> bool {
        let files = self.tokens_file.is_some() || self.htpasswd_file.is_some();
        files || self.certificates || self.proxy_header.is_some()
    }

    /// What callers from elsewhere may do who do not log in.
    pub fn anonymous(&self) -> Role {
        self.anonymous.unwrap_or(if self.is_on() { Role::None } else { Role::Read })
    }
}

impl Default for Auth {
    fn default() -> Self {
        Self {
            users_file: None,
            tokens_file: None,
            htpasswd_file: None,
            certificates: false,
            proxy_header: None,
            proxies: Addresses::default(),
            anonymous: None,
            session: Duration::from_secs(12 * 3600),
            max_failures: 10,
            tenancy: Tenancy::default(),
        }
    }
}
