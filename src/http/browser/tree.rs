//! `/internal/browser/tree`: what is in a directory, with counts.

use axum::response::Response;

use super::{Folder, PageRequest, limit_of};
use crate::http::call::Call;
use crate::http::error::Failure;
use crate::http::find::{listed, to_json};
use crate::http::gate::Seen;

const DEFAULT_NODES: i64 = 500;

/// `GET /internal/browser/tree?path=a.b&after=c&limit=500`; with `tagged=1` the path is a name before tags.
pub(in crate::http) async fn handle(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let text = |name| call.params.get(name).unwrap_or_default().to_owned();
    let (path, after) = (text("path"), text("after"));
    let limit = limit_of(&call.params, DEFAULT_NODES)?;
    let tagged = call.params.switch("tagged")?;
    listed(&api, &call, move |backend, cancel| {
        let folder = match tagged {
            false => Folder::Directory(&path),
            true if path.is_empty() => Folder::TaggedNames,
            true => Folder::TaggedWith(&path),
        };
        Ok(to_json(&backend.browse().list(folder, PageRequest { after: &after, limit }, cancel)?))
    })
    .await
}
