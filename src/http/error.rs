//! Failures and their status codes: the only place that knows which is which.

use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::find::to_json;
use super::reply;
use crate::telemetry::{Counter, Refusal};
use graphite_render::RenderError;
use plumbago_model::QueryError;

/// Seconds to wait when something is over a quota. Rates are counted by the minute, and metrics leave less often.
pub(super) const QUOTA_WAIT: u64 = 60;

/// Why a request fails. The text is the whole body, for a person to read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// A parameter is missing or wrong. Graphite's wording, which scripts look for.
    #[error("Invalid parameters ({0})")]
    Invalid(String),
    /// Wrong in another way; the text says it all.
    #[error("{0}")]
    Refused(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// Not without a login. A part of a page gets no challenge: the browser would ask for a password in the middle of it.
    #[error("{0}")]
    LogIn(String, bool),
    /// Not by this caller.
    #[error("{0}")]
    Forbidden(String),
    /// Not before so many seconds have passed.
    #[error("{0}")]
    Wait(String, u64),
    /// The server takes nothing now. Try again after so many seconds.
    #[error("{0}")]
    Overloaded(String, u64),
    /// Not by this method.
    #[error("{0} is not possible here")]
    Method(Method),
    /// What was sent is longer than a limit allows.
    #[error("{0}")]
    TooLong(String),
    /// The body is a form of another kind.
    #[error(
        "a body of type `{0}` is not read here; send the parameters as application/x-www-form-urlencoded or in the query string"
    )]
    MediaType(String),
    /// The body is longer than is read.
    #[error("the request body is longer than {0} bytes")]
    TooLarge(usize),
    /// The body took too long to arrive.
    #[error("the request body did not arrive in time")]
    SlowBody,
    /// The body broke off.
    #[error("the request body could not be read: {0}")]
    BrokenBody(String),
    /// The answer would be larger than a limit allows.
    #[error("{0}")]
    Limit(String),
    /// The deadline passed.
    #[error("the query took longer than {0} allows; ask for less at once, or raise it")]
    Deadline(&'static str),
    /// Nobody reads the answer any more.
    #[error("the client went away")]
    Abandoned,
    /// Somebody cancelled it.
    #[error("the query was cancelled by a call of /internal/queries/cancel")]
    Cancelled,
    /// It needs more memory than one query may have.
    #[error("{0}")]
    Memory(String),
    /// Other queries have the memory.
    #[error("{0}")]
    Crowded(String),
    /// Something else has to end first.
    #[error("{0}")]
    Conflict(String),
    /// Too many requests are running.
    #[error("too many queries are running; try again in a moment, or raise {0}")]
    Busy(&'static str),
    /// Too many of the same user.
    #[error("you have {0} queries running already; wait for some of them to end, or raise {1}")]
    TooMany(usize, &'static str),
    /// The server cannot do it now.
    #[error("{0}")]
    NotReady(String),
    /// The store failed.
    #[error("{0}")]
    Store(String),
    /// The store is out of reach for now.
    #[error("{0}")]
    Away(String),
    /// Points could not be made durable.
    #[error("the flush failed: {0}")]
    Flush(String),
    /// A bug.
    #[error("internal error; the log has more under this request's id")]
    Internal,
}

impl Failure {
    /// The server has no store that could do it.
    pub(super) fn no_store() -> Self {
        Failure::NotFound("there is no store here that could do this".to_owned())
    }

    /// Adds one to `counter` when a limit was the reason.
    pub(super) fn count_limit(&self, counter: &Counter) {
        if matches!(self, Failure::Limit(_) | Failure::Memory(_)) {
            counter.add(1);
        }
    }

    /// Why a query was refused or given up, if it was that.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        Some(match self {
            Failure::Limit(_) => Refusal::Limit,
            Failure::Memory(_) => Refusal::Memory,
            Failure::Crowded(_) => Refusal::Crowded,
            Failure::Busy(_) => Refusal::Busy,
            Failure::TooMany(..) => Refusal::User,
            Failure::Deadline(_) => Refusal::Deadline,
            Failure::Abandoned => Refusal::Abandoned,
            Failure::Cancelled => Refusal::Cancelled,
            _ => return None,
        })
    }

    /// Adds headers and logs, for both forms of a failure.
    fn finish(self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        match &self {
            Failure::Busy(_) | Failure::TooMany(..) | Failure::Crowded(_) => {
                _ = headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"))
            }
            Failure::Wait(_, seconds) | Failure::Overloaded(_, seconds) => {
                _ = headers.insert(header::RETRY_AFTER, HeaderValue::from(*seconds))
            }
            Failure::LogIn(_, is_part_of_page) => {
                let challenge = if *is_part_of_page { "Bearer" } else { "Basic realm=\"Plumbago\", Bearer" };
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
            }
            _ => {}
        }
        if self.status().is_server_error() && !matches!(self, Failure::Abandoned | Failure::Cancelled) {
            tracing::warn!(error = %self, "request failed");
        }
        response
    }

    /// Its text without Graphite's wording.
    pub(super) fn bare(&self) -> String {
        match self {
            Failure::Invalid(text) => text.clone(),
            other => other.to_string(),
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Failure::Invalid(_) | Failure::Refused(_) | Failure::BrokenBody(_) => StatusCode::BAD_REQUEST,
            Failure::LogIn(..) => StatusCode::UNAUTHORIZED,
            Failure::Wait(..) | Failure::TooMany(..) => StatusCode::TOO_MANY_REQUESTS,
            Failure::Forbidden(_) => StatusCode::FORBIDDEN,
            Failure::NotFound(_) => StatusCode::NOT_FOUND,
            Failure::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Failure::Conflict(_) => StatusCode::CONFLICT,
            Failure::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Failure::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Failure::TooLarge(_) | Failure::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Failure::Limit(_) | Failure::Memory(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Failure::Deadline(_) => StatusCode::GATEWAY_TIMEOUT,
            Failure::Abandoned
            | Failure::Cancelled
            | Failure::Busy(_)
            | Failure::Crowded(_)
            | Failure::NotReady(_)
            | Failure::Overloaded(..)
            | Failure::Away(_) => StatusCode::SERVICE_UNAVAILABLE,
            Failure::Store(_) | Failure::Flush(_) | Failure::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let response = reply::text(self.status(), format!("{self}\n"));
        self.finish(response)
    }
}

/// A failure as JSON, `{"error": "…"}`, for the endpoints where graphite-web answers so.
#[derive(Debug)]
pub(super) struct JsonFailure(pub(super) Failure);

impl<T: Into<Failure>> From<T> for JsonFailure {
    fn from(failure: T) -> Self {
        Self(failure.into())
    }
}

impl IntoResponse for JsonFailure {
    fn into_response(self) -> Response {
        let json = to_json(&serde_json::json!({ "error": self.0.to_string() }));
        let response = reply::body(self.0.status(), "application/json", json);
        self.0.finish(response)
    }
}

/// A failure as Spring, and so Ceres, writes it: `{"timestamp", "status", "error", "message", "path"}`.
#[derive(Debug)]
pub(super) struct SpringFailure {
    failure: Failure,
    path: String,
    more: Vec<(&'static str, serde_json::Value)>,
}

impl SpringFailure {
    /// A failure of a call of a path.
    pub(super) fn new(failure: Failure, path: &str) -> Self {
        Self { failure, path: path.to_owned(), more: Vec::new() }
    }

    /// Adds a field.
    pub(super) fn add(&mut self, name: &'static str, value: serde_json::Value) {
        self.more.push((name, value));
    }
}

impl IntoResponse for SpringFailure {
    fn into_response(self) -> Response {
        let status = self.failure.status();
        let mut fields = serde_json::json!({
            "timestamp": jiff::Timestamp::now().round(jiff::Unit::Millisecond).unwrap_or_default().to_string(),
            "status": status.as_u16(),
            "error": status.canonical_reason().unwrap_or_default(),
            "message": self.failure.to_string(),
            "path": self.path,
        });
        for (name, value) in self.more {
            fields[name] = value;
        }
        let response = reply::body(status, "application/json", to_json(&fields));
        self.failure.finish(response)
    }
}

/// What a request asked for. Its failure names the key of its deadline, and the store that it needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Names, tags, or what is known of a metric.
    Names,
    /// Series of a render.
    Series,
    /// Events.
    Events,
}

impl Failure {
    /// What a client sees of a failed query. Nothing else decides that.
    pub(super) fn of(error: QueryError, asked: Asked) -> Self {
        match error {
            QueryError::Limit(text) => Failure::Limit(text),
            QueryError::TooMuch(text) => Failure::Wait(text, QUOTA_WAIT),
            QueryError::Memory(text) => Failure::Memory(text),
            QueryError::Crowded(text) => Failure::Crowded(text),
            QueryError::Invalid(text) => Failure::Invalid(text),
            QueryError::Forbidden(text) => Failure::Forbidden(text),
            QueryError::Deadline if asked == Asked::Series => Failure::Deadline("query.render_timeout"),
            QueryError::Deadline => Failure::Deadline("query.find_timeout"),
            QueryError::Abandoned => Failure::Abandoned,
            QueryError::Away(cause) if asked == Asked::Events => {
                Failure::Away(format!("the store of events is out of reach: {cause}"))
            }
            QueryError::Away(cause) => Failure::Away(format!(
                "the store is out of reach for now; nothing is wrong with the query: {cause}"
            )),
            QueryError::Store(cause) if asked == Asked::Events => {
                Failure::Store(format!("the store of events failed: {cause}"))
            }
            QueryError::Store(cause) => Failure::Store(format!("reading the store failed: {cause}")),
        }
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        Failure::of(error, Asked::Names)
    }
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Query(error) => Failure::of(error, Asked::Series),
            wrong => Failure::Refused(wrong.to_string()),
        }
    }
}
