//! KairosDB's API, `/api/v1`: a thin layer on the index, renders, and the one way in for points.
//!
//! | file         | what                                                        |
//! |--------------|-------------------------------------------------------------|
//! | `datapoints` | points come in                                              |
//! | `query`      | points are read, and the tags of their series               |
//! | `save`       | what a query makes is written                               |
//! | `delete`     | points and metrics are deleted                              |
//! | `names`      | metrics, tags and their values                              |
//! | `metadata`   | texts that clients keep here                                |
//! | `server`     | version, health, features                                   |

pub(super) mod datapoints;
pub(super) mod delete;
pub(super) mod metadata;
pub(super) mod names;
pub(super) mod query;
mod save;
pub(super) mod server;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::error::Failure;
use super::find::to_json;
use super::reply;
use crate::kairosdb::Wrong;

/// A failure as KairosDB's clients read it: `{"errors": [...]}`.
#[derive(Debug)]
pub(super) enum KairosFailure {
    /// A failure of ours, with its own status.
    One(Failure),
    /// What is wrong with what was sent; the rest of it is done.
    Several(Vec<String>),
}

impl<T: Into<Failure>> From<T> for KairosFailure {
    fn from(failure: T) -> Self {
        Self::One(failure.into())
    }
}

impl From<Wrong> for KairosFailure {
    fn from(wrong: Wrong) -> Self {
        Self::Several(wrong.texts().to_vec())
    }
}

impl IntoResponse for KairosFailure {
    fn into_response(self) -> Response {
        match self {
            Self::One(failure) => {
                let text = to_json(&json!({ "errors": [failure.bare()] }));
                let mut response = failure.into_response();
                response.headers_mut().remove(header::CONTENT_LENGTH);
                response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
                *response.body_mut() = text.into();
                response
            }
            Self::Several(errors) => {
                reply::body(StatusCode::BAD_REQUEST, JSON, to_json(&json!({ "errors": errors })))
            }
        }
    }
}

const JSON: &str = "application/json; charset=UTF-8";

/// A document, never cached.
pub(super) fn answer(json: impl Into<axum::body::Body>) -> Response {
    let mut response = reply::body(StatusCode::OK, JSON, json);
    reply::never_cached(&mut response);
    response
}

/// Done, with nothing to say.
pub(super) fn nothing() -> Response {
    StatusCode::NO_CONTENT.into_response()
}
