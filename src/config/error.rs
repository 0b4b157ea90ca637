//! What can be wrong with a configuration.

use std::path::PathBuf;

use super::Origin;

/// Why a configuration was refused. Each text begins with the place to look at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file that was named cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no TOML, or not the form carbon's files have.
    #[error("{place}: {message}", place = at.exact())]
    Syntax {
        /// Where.
        at: Origin,
        /// What is wrong.
        message: String,
    },
    /// A key or section that does not exist.
    #[error("{place}: unknown key `{key}`{hint}", place = at.exact())]
    UnknownKey {
        /// Where.
        at: Origin,
        /// The whole key: `listen.htp`.
        key: String,
        /// `; did you mean ...?`, or what to do instead.
        hint: String,
    },
    /// A value its key cannot have.
    #[error("{place}: {key}: {message}", place = at.exact())]
    BadValue {
        /// Where.
        at: Origin,
        /// The whole key.
        key: String,
        /// What is wrong, with the value.
        message: String,
    },
    /// A retention or aggregation rule that cannot be used.
    #[error("{place}: rule `{rule}`: {message}", place = at.exact())]
    BadRule {
        /// Where.
        at: Origin,
        /// Its section name.
        rule: String,
        /// What is wrong, with the value.
        message: String,
    },
    /// A quota that cannot be used.
    #[error("{place}: quota `{quota}`: {message}", place = at.exact())]
    BadQuota {
        /// Where.
        at: Origin,
        /// Its name.
        quota: String,
        /// What is wrong, with the value.
        message: String,
    },
    /// A `--set` without `=`.
    #[error("--set {0}: write it as section.key=value, for example --set listen.http=0.0.0.0:8080")]
    BadFlag(String),
    /// A variable of ours that is not text.
    #[error("environment variable {0} is not UTF-8")]
    NotUtf8(String),
}
