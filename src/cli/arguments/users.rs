//! The arguments of commands that look after logins.

use clap::{Args, Subcommand};
use plumbago_model::Role;

/// Arguments of `user`.
#[derive(Clone, Debug, Args)]
pub struct User {
    /// What to do
    #[command(subcommand)]
    pub action: UserAction,
}

/// What to do with logins.
#[derive(Clone, Debug, Subcommand)]
pub enum UserAction {
    /// Make a user, change one, or give one another token or password
    ///
    /// Makes a token and prints it; nobody can read it later. With --password, asks for a password instead, or reads it from the
    /// first line of stdin. With --no-secret, only the role and the scope are written, for users of certificates and proxies.
    /// A user may have several tokens, so that a new one can be used before the old one is revoked.
    #[command(after_help = "Examples:
  plumbago user add ann --role admin --password
  plumbago user add grafana --role read --scope 'servers.**' > grafana.token
  plumbago user add web1.example --role write --scope 'servers.web1' --no-secret
  plumbago user add acme --role write --tenant acme > acme.token")]
    Add(UserAdd),
    /// List everybody who may log in, with roles, scopes and what they log in with
    #[command(after_help = "Examples:
  plumbago user list
  plumbago user list --output json")]
    List(UserList),
    /// Take everything from a user: role, tokens and password
    #[command(after_help = "Examples:
  plumbago user revoke grafana
  plumbago user revoke grafana --tokens        only the tokens, before a new one")]
    Revoke(UserRevoke),
}

/// Arguments of `user add`.
#[derive(Clone, Debug, Args)]
pub struct UserAdd {
    /// The name
    pub name: String,
    /// What the user may do: read, write or admin [default: as before, for a user who is there]
    #[arg(long, value_name = "ROLE")]
    pub role: Option<Role>,
    /// Metrics that there are for the user: a subtree such as `servers.web`, or `*;dc=ams` for those with a tag. May be
    /// repeated [default: all]
    #[arg(long, value_name = "GLOB")]
    pub scope: Vec<String>,
    /// Bind the user to a tenant: there are no other metrics than that tenant's, by the names that it has for them. The scope is
    /// within it [default: as before]
    #[arg(long, value_name = "NAME")]
    pub tenant: Option<String>,
    /// Set a password instead of making a token
    #[arg(long)]
    pub password: bool,
    /// Make neither a token nor a password
    #[arg(long, conflicts_with = "password")]
    pub no_secret: bool,
    /// How long the token lasts, such as 90d [default: for ever]
    #[arg(long, value_name = "TIME", conflicts_with_all = ["password", "no_secret"])]
    pub expires: Option<String>,
}

/// Arguments of `user list`.
#[derive(Clone, Debug, Args)]
pub struct UserList {}

/// Arguments of `user revoke`.
#[derive(Clone, Debug, Args)]
pub struct UserRevoke {
    /// The name
    pub name: String,
    /// Revoke only the tokens
    #[arg(long)]
    pub tokens: bool,
}
