//! Failures and their status codes: the only place that knows which is which.

use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::find::to_json;
use super::{EventFailure, FindFailure, reply};
use crate::telemetry::Counter;
use graphite_render::RenderError;

/// Why a request gets no answer. The text is the whole body, for a person to read.
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
    /// Too many requests are running.
    #[error("too many queries are running; try again in a moment, or raise query.max_concurrent")]
    Busy,
    /// The server cannot do it now.
    #[error("{0}")]
    NotReady(String),
    /// The store failed.
    #[error("reading the store failed: {0}")]
    Store(String),
    /// The store of events failed; the text says it all.
    #[error("{0}")]
    Events(String),
    /// The store is out of reach for now.
    #[error("the store is out of reach for now; nothing is wrong with the query: {0}")]
    Away(String),
    /// Points could not be made durable.
    #[error("the flush failed: {0}")]
    Flush(String),
    /// A bug.
    #[error("internal error; the log has more under this request's id")]
    Internal,
}

impl Failure {
    /// Adds one to `counter` when a limit was the reason.
    pub(super) fn count_limit(&self, counter: &Counter) {
        if matches!(self, Failure::Limit(_)) {
            counter.add(1);
        }
    }

    /// What goes with every failure, however it is told.
    fn finish(self, mut response: Response) -> Response {
        if matches!(self, Failure::Busy) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status().is_server_error() && !matches!(self, Failure::Abandoned) {
            tracing::warn!(error = %self, "request failed");
        }
        response
    }

    fn status(&self) -> StatusCode {
        match self {
            Failure::Invalid(_) | Failure::Refused(_) | Failure::BrokenBody(_) => StatusCode::BAD_REQUEST,
            Failure::NotFound(_) => StatusCode::NOT_FOUND,
            Failure::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Failure::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Failure::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Failure::TooLarge(_) | Failure::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Failure::Limit(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Failure::Deadline(_) => StatusCode::GATEWAY_TIMEOUT,
            Failure::Abandoned | Failure::Busy | Failure::NotReady(_) | Failure::Away(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Failure::Store(_) | Failure::Events(_) | Failure::Flush(_) | Failure::Internal => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let response = reply::text(self.status(), format!("{self}\n"));
        self.finish(response)
    }
}

/// A failure told as JSON, as graphite-web does wherever it answers with a document of its own: `{"error": "…"}`.
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

impl From<FindFailure> for Failure {
    fn from(failure: FindFailure) -> Self {
        match failure {
            FindFailure::Limit(text) => Failure::Limit(text),
            FindFailure::Invalid(text) => Failure::Invalid(text),
            FindFailure::Deadline => Failure::Deadline("query.find_timeout"),
            FindFailure::Abandoned => Failure::Abandoned,
            FindFailure::Store(text) => Failure::Store(text),
            FindFailure::Away(text) => Failure::Away(text),
        }
    }
}

impl From<EventFailure> for Failure {
    fn from(failure: EventFailure) -> Self {
        let text = failure.to_string();
        match failure {
            EventFailure::TooLong(_) => Failure::TooLong(text),
            EventFailure::Limit(_) => Failure::Limit(text),
            EventFailure::Deadline => Failure::Deadline("query.find_timeout"),
            EventFailure::Abandoned => Failure::Abandoned,
            EventFailure::Store(_) => Failure::Events(text),
            EventFailure::Away(_) => Failure::NotReady(text),
        }
    }
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Limit(text) => Failure::Limit(text),
            RenderError::Deadline => Failure::Deadline("query.render_timeout"),
            RenderError::Abandoned => Failure::Abandoned,
            RenderError::Store(text) => Failure::Store(text),
            RenderError::Away(text) => Failure::Away(text),
            wrong => Failure::Refused(wrong.to_string()),
        }
    }
}
