//! `/internal/browser/graphs`: graphs that people saved, by name.
//!
//! A graph is the part of the page's address that says what is drawn and how. Graphs are kept as memos under a service that
//! clients of KairosDB cannot reach, so tenants have graphs of their own, and the limits of memos hold for them.

use std::sync::Arc;

use axum::response::Response;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::http::call::Call;
use crate::http::error::Failure;
use crate::http::find::to_json;
use crate::http::gate::{Audit, LoggedIn, Seen};
use crate::http::{Api, Memos, reply};
use plumbago_model::{Cancel, QueryError};

/// Where graphs are among the memos.
const SERVICE: &str = "_plumbago";
const SERVICE_KEY: &str = "graphs";

/// Longest name, in characters.
const MAX_NAME: usize = 100;

/// A graph as it is kept.
#[derive(Serialize, Deserialize)]
struct Graph {
    /// What the page has in its address behind the `#`.
    graph: String,
    /// Who saved it last, if they logged in.
    by: Option<String>,
    /// Epoch second of that.
    when: i64,
}

/// A graph in the list.
#[derive(Serialize)]
struct Named {
    name: String,
    #[serde(flatten)]
    graph: Graph,
}

/// `GET /internal/browser/graphs`: all graphs in the order of their names; with `name`, this one alone.
pub(in crate::http) async fn list(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let wanted = call.params.get("name").map(str::to_owned);
    let missing = wanted.clone();
    let work = move |memos: &dyn Memos, cancel: &Cancel| {
        let names = match wanted {
            Some(name) => vec![name],
            None => memos.keys(SERVICE, SERVICE_KEY)?,
        };
        let mut found = Vec::new();
        for name in names {
            cancel.check()?;
            let Some(text) = memos.read(SERVICE, SERVICE_KEY, &name)? else { continue };
            cancel.take(name.len() + text.len())?;
            // What a later version may keep here is nothing for this one.
            if let Ok(graph) = serde_json::from_str(&text) {
                found.push(Named { name, graph });
            }
        }
        Ok(found)
    };
    let found = run(&api, &call, work).await?;
    if let (Some(name), true) = (missing, found.is_empty()) {
        return Err(Failure::NotFound(format!("there is no graph named `{name}`")));
    }
    Ok(answer(&found))
}

/// `POST /internal/browser/graphs`: keeps `graph` under `name`, in place of what was there.
pub(in crate::http) async fn save(
    Seen(api): Seen,
    LoggedIn(by): LoggedIn,
    audit: Audit,
    call: Call,
) -> Result<Response, Failure> {
    let refused = |_: &Failure| api.telemetry.metadata_refused.add(1);
    let name = name_of(&call).inspect_err(refused)?;
    let graph = call.params.get("graph").unwrap_or_default().to_owned();
    if graph.is_empty() {
        return Err(Failure::Refused(
            "`graph` is missing: the part of the page's address behind the #".to_owned(),
        ));
    }
    let kept = Graph { graph, by, when: Timestamp::now().as_second() };
    let text = String::from_utf8(to_json(&kept)).map_err(|_| Failure::Internal)?;
    let (bytes, limit) = (name.len() + text.len(), api.kairosdb.max_metadata_bytes);
    if bytes > limit {
        api.telemetry.metadata_refused.add(1);
        let text =
            format!("name and graph have {bytes} bytes together; kairosdb.max_metadata_bytes allows {limit}");
        return Err(Failure::TooLong(text));
    }
    let key = name.clone();
    let work = move |memos: &dyn Memos, _: &Cancel| memos.write(SERVICE, SERVICE_KEY, &key, &text);
    let written = run(&api, &call, work).await;
    written.inspect_err(|failure| failure.count_limit(&api.telemetry.metadata_refused))?;
    api.telemetry.metadata_stored.add(1);
    audit.note("save-graph", &name, 1);
    Ok(answer(&serde_json::json!({ "saved": name })))
}

/// `POST /internal/browser/graphs/delete`: forgets the graph `name`, if it is there.
pub(in crate::http) async fn delete(Seen(api): Seen, audit: Audit, call: Call) -> Result<Response, Failure> {
    let name = name_of(&call)?;
    let key = name.clone();
    run(&api, &call, move |memos, _| memos.remove(SERVICE, SERVICE_KEY, &key)).await?;
    audit.note("delete-graph", &name, 1);
    Ok(answer(&serde_json::json!({ "deleted": name })))
}

/// A name that people can read in a list.
fn name_of(call: &Call) -> Result<String, Failure> {
    let name = call.params.get("name").unwrap_or_default().trim();
    let length = name.chars().count();
    if length == 0 || length > MAX_NAME || name.chars().any(char::is_control) {
        return Err(Failure::Refused(format!(
            "`name` must have 1 to {MAX_NAME} characters, without line breaks"
        )));
    }
    Ok(name.to_owned())
}

fn answer(value: &impl Serialize) -> Response {
    let mut response = reply::body(axum::http::StatusCode::OK, "application/json", to_json(value));
    reply::never_cached(&mut response);
    response
}

async fn run<T: Send + 'static>(
    api: &Arc<Api>,
    call: &Call,
    work: impl FnOnce(&dyn Memos, &Cancel) -> Result<T, QueryError> + Send + 'static,
) -> Result<T, Failure> {
    let backend = Arc::clone(&api.backend);
    let work = move |cancel: &Cancel| Ok(work(&*backend.memos()?, cancel)?);
    Ok(api.workers.run(&call.question, api.config.find_timeout, work).await?.value)
}
