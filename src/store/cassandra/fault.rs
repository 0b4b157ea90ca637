//! What the driver reports, in words that say what to do.

use std::fmt;

use scylla::client::pager::{NextPageError, NextRowError};
use scylla::errors::{
    BrokenConnectionError, ConnectionError, ConnectionPoolError, ConnectionSetupRequestErrorKind, DbError,
    ExecutionError, MetadataError, MetadataFetchErrorKind, NewSessionError, PagerExecutionError,
    PrepareError, RequestAttemptError, RequestError, SchemaAgreementError, UseKeyspaceError,
};

use crate::store::StoreError;

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No node could be reached.
    Unreachable,
    /// A node ended the connection.
    Broken,
    /// User or password are wrong or missing.
    Login,
    /// The user may not do this.
    Permission,
    /// TLS failed or is missing on one side.
    Tls,
    /// Too few replicas are alive.
    Unavailable,
    /// No answer in time.
    Timeout,
    /// A node is overloaded.
    Overloaded,
    /// A keyspace, table or column is missing or wrong.
    Schema,
    /// Another server holds what was requested.
    Taken,
    /// Something else.
    Other,
}

impl Fault {
    /// What an operator can do about it.
    fn hint(self) -> &'static str {
        match self {
            Fault::Unreachable => {
                "check that the nodes run and that store.cassandra.nodes names their addresses and client port"
            }
            Fault::Broken => {
                "check the node's log; a node that expects TLS does this too: set store.cassandra.tls.enabled then"
            }
            Fault::Login => {
                "check store.cassandra.username, and the password in store.cassandra.password_file or in the variable \
                 PLUMBAGO_STORE__CASSANDRA__PASSWORD"
            }
            Fault::Permission => {
                "grant the user what it needs: SELECT and MODIFY on both keyspaces, CREATE for schema apply"
            }
            Fault::Tls => "check the keys of store.cassandra.tls, and that the nodes use TLS for clients",
            Fault::Unavailable => {
                "start the nodes that are down, or lower the consistency level in store.cassandra.consistency_*"
            }
            Fault::Timeout => "if the nodes are only slow, raise store.cassandra.request_timeout",
            Fault::Overloaded => "send less, or add nodes",
            Fault::Schema => "plumbago schema check says what is missing, plumbago schema apply makes it",
            Fault::Taken | Fault::Other => "",
        }
    }
}

/// A request to the cluster failed.
#[derive(Clone, Debug)]
pub struct ClusterError {
    /// What kind of thing went wrong.
    pub fault: Fault,
    /// What was tried.
    pub action: String,
    /// What happened.
    pub detail: String,
    /// What to do about it; may be empty.
    pub hint: String,
}

impl ClusterError {
    /// An error with the usual hint for its kind.
    pub fn new(fault: Fault, action: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { fault, action: action.into(), detail: detail.into(), hint: fault.hint().to_owned() }
    }

    /// What the driver reported while `action` was tried.
    pub(super) fn of(action: impl Into<String>, report: &impl Report) -> Self {
        let (fault, detail) = report.told();
        Self::new(fault, action, detail)
    }

    /// The same with another hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Can the same call succeed later, unchanged? A cluster that restarts or is being upgraded rejects all sorts of requests,
    /// so everything is retried except what is certainly our own mistake.
    pub fn is_retryable(&self) -> bool {
        match self.fault {
            Fault::Unreachable | Fault::Broken | Fault::Unavailable | Fault::Timeout | Fault::Overloaded => {
                true
            }
            Fault::Login | Fault::Permission | Fault::Tls | Fault::Schema | Fault::Taken | Fault::Other => {
                false
            }
        }
    }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.action, self.detail)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "; {}", self.hint) }
    }
}

impl std::error::Error for ClusterError {}

impl From<ClusterError> for StoreError {
    fn from(error: ClusterError) -> Self {
        StoreError::Remote { retryable: error.is_retryable(), cause: Box::new(error) }
    }
}

/// An error of the driver.
pub(super) trait Report {
    /// Its kind and its text.
    fn told(&self) -> (Fault, String);
}

impl Report for NewSessionError {
    fn told(&self) -> (Fault, String) {
        match self {
            NewSessionError::FailedToResolveAnyHostname(names) => {
                (Fault::Unreachable, format!("no address is known for {}", names.join(", ")))
            }
            NewSessionError::MetadataError(error) => error.told(),
            NewSessionError::UseKeyspaceError(error) => error.told(),
            other => (Fault::Other, other.to_string()),
        }
    }
}

impl Report for MetadataError {
    fn told(&self) -> (Fault, String) {
        match self {
            MetadataError::ConnectionPoolError(error) => error.told(),
            MetadataError::FetchError(error) => match &error.error {
                MetadataFetchErrorKind::PrepareError(error) => error.told(),
                MetadataFetchErrorKind::NextRowError(error) => error.told(),
                other => (Fault::Other, format!("{}: {other}", error.table)),
            },
            other => (Fault::Other, other.to_string()),
        }
    }
}

impl Report for ExecutionError {
    fn told(&self) -> (Fault, String) {
        match self {
            ExecutionError::PrepareError(error) => error.told(),
            ExecutionError::ConnectionPoolError(error) => error.told(),
            ExecutionError::LastAttemptError(error) => error.told(),
            ExecutionError::RequestTimeout(after) => timeout(*after),
            ExecutionError::UseKeyspaceError(error) => error.told(),
            ExecutionError::SchemaAgreementError(error) => error.told(),
            ExecutionError::MetadataError(error) => error.told(),
            other => (Fault::Other, other.to_string()),
        }
    }
}

impl Report for PrepareError {
    fn told(&self) -> (Fault, String) {
        match self {
            PrepareError::ConnectionPoolError(error) => error.told(),
            PrepareError::AllAttemptsFailed { first_attempt, .. } => first_attempt.told(),
            other => (Fault::Other, other.to_string()),
        }
    }
}

impl Report for PagerExecutionError {
    fn told(&self) -> (Fault, String) {
        match self {
            PagerExecutionError::PrepareError(error) => error.told(),
            PagerExecutionError::NextPageError(error) => error.told(),
            PagerExecutionError::UseKeyspaceError(error) => error.told(),
            PagerExecutionError::SchemaAgreementError(error) => error.told(),
            PagerExecutionError::MetadataError(error) => error.told(),
            other => (Fault::Other, other.to_string()),
        }
    }
}

impl Report for NextRowError {
    fn told(&self) -> (Fault, String) {
        match self {
            NextRowError::NextPageError(error) => error.told(),
            other => (Fault::Other, other.to_string()),
        }
    }
}

impl Report for NextPageError {
    fn told(&self) -> (Fault, String) {
        match self {
            NextPageError::RequestFailure(error) => error.told(),
            other => (Fault::Other, other.to_string()),
        }
    }
}

impl Report for RequestError {
    fn told(&self) -> (Fault, String) {
        match self {
            RequestError::ConnectionPoolError(error) => error.told(),
            RequestError::RequestTimeout(after) => timeout(*after),
            RequestError::LastAttemptError(error) => error.told(),
            other => (Fault::Unreachable, other.to_string()),
        }
    }
}

impl Report for UseKeyspaceError {
    fn told(&self) -> (Fault, String) {
        match self {
            UseKeyspaceError::RequestError(error) => error.told(),
            UseKeyspaceError::RequestTimeout(after) => timeout(*after),
            other => (Fault::Schema, other.to_string()),
        }
    }
}

impl Report for SchemaAgreementError {
    fn told(&self) -> (Fault, String) {
        match self {
            SchemaAgreementError::ConnectionPoolError(error) => error.told(),
            SchemaAgreementError::PrepareError(error) => error.told(),
            SchemaAgreementError::RequestError(error) => error.told(),
            SchemaAgreementError::Timeout(after) => (
                Fault::Timeout,
                format!("the nodes did not agree on the schema within {} s", after.as_secs()),
            ),
            other => (Fault::Unreachable, other.to_string()),
        }
    }
}

impl Report for ConnectionPoolError {
    fn told(&self) -> (Fault, String) {
        match self {
            ConnectionPoolError::Broken { last_connection_error, .. } => last_connection_error.told(),
            other => (Fault::Unreachable, other.to_string()),
        }
    }
}

impl Report for ConnectionError {
    fn told(&self) -> (Fault, String) {
        match self {
            ConnectionError::IoError(error) => {
                let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
                match tls {
                    Some(error) => (Fault::Tls, error.to_string()),
                    None => (Fault::Unreachable, error.to_string()),
                }
            }
            ConnectionError::BrokenConnection(error) => broken(error),
            ConnectionError::ConnectionSetupRequestError(error) => match &error.error {
                ConnectionSetupRequestErrorKind::DbError(error, text) => database(error, text),
                ConnectionSetupRequestErrorKind::MissingAuthentication => {
                    (Fault::Login, "the cluster asks for a user and a password".to_owned())
                }
                ConnectionSetupRequestErrorKind::BrokenConnection(error) => broken(error),
                other => (Fault::Broken, other.to_string()),
            },
            ConnectionError::UseKeyspaceError(error) => error.told(),
            other => (Fault::Unreachable, other.to_string()),
        }
    }
}

impl Report for RequestAttemptError {
    fn told(&self) -> (Fault, String) {
        match self {
            RequestAttemptError::DbError(error, text) => database(error, text),
            RequestAttemptError::BrokenConnectionError(error) => broken(error),
            RequestAttemptError::UnableToAllocStreamId => (Fault::Overloaded, self.to_string()),
            other => (Fault::Other, other.to_string()),
        }
    }
}

fn timeout(after: std::time::Duration) -> (Fault, String) {
    (Fault::Timeout, format!("no answer within {} ms", after.as_millis()))
}

/// A certificate that one side rejects only shows when the other side continues to talk.
fn broken(error: &BrokenConnectionError) -> (Fault, String) {
    let text = error.to_string();
    let alert = ["alert", "certificate", "corrupt message"].iter().any(|word| text.contains(word));
    (if alert { Fault::Tls } else { Fault::Broken }, text)
}

/// The error of a node. Its own text says more than the driver's.
fn database(error: &DbError, text: &str) -> (Fault, String) {
    let fault = match error {
        DbError::AuthenticationError => Fault::Login,
        DbError::Unauthorized => Fault::Permission,
        DbError::Unavailable { .. } => Fault::Unavailable,
        DbError::ReadTimeout { .. } | DbError::WriteTimeout { .. } => Fault::Timeout,
        DbError::Overloaded | DbError::IsBootstrapping | DbError::RateLimitReached { .. } => {
            Fault::Overloaded
        }
        DbError::ReadFailure { .. } | DbError::WriteFailure { .. } | DbError::ServerError => {
            Fault::Unavailable
        }
        DbError::Invalid if is_about_schema(text) => Fault::Schema,
        _ => Fault::Other,
    };
    let text = if text.is_empty() { error.to_string() } else { text.to_owned() };
    (fault, text)
}

/// Only the text of Cassandra's error distinguishes a missing table from a wrong statement.
fn is_about_schema(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["keyspace", "table", "column", "index"].iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_was_tried_what_happened_and_what_to_do() {
        let report = RequestAttemptError::DbError(
            DbError::Invalid,
            "unconfigured table datapoints_60p_60s_0".to_owned(),
        );
        let error = ClusterError::of("read points", &report);
        assert_eq!(error.fault, Fault::Schema);
        assert!(!error.is_retryable());
        assert_eq!(
            error.to_string(),
            "cannot read points: unconfigured table datapoints_60p_60s_0; plumbago schema check says what is \
             missing, plumbago schema apply makes it"
        );
    }

    #[test]
    fn what_passes_by_itself_is_retryable() {
        let of = |error| ClusterError::of("x", &RequestAttemptError::DbError(error, String::new()));
        assert!(of(DbError::Overloaded).is_retryable());
        assert!(of(DbError::ServerError).is_retryable());
        assert!(!of(DbError::AuthenticationError).is_retryable());
        assert!(!of(DbError::SyntaxError).is_retryable());
    }
}
