//! `/metrics/expand`: the paths that match patterns.

use std::collections::{BTreeMap, BTreeSet};

use axum::response::Response;
use serde::Serialize;

use super::call::Call;
use super::error::Failure;
use super::find::{listed, names_nothing, to_json};
use super::gate::Seen;
use super::tab::Tab;
use super::{Backend, Node};
use plumbago_model::Cancel;

#[derive(Serialize)]
struct Expansion<T> {
    results: T,
}

/// `GET|POST /metrics/expand`
pub(super) async fn handle(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let queries: Vec<String> = call.params.all("query").into_iter().map(str::to_owned).collect();
    let leaves_only = call.params.switch("leavesOnly")?;
    let grouped = call.params.switch("groupByExpr")?;
    let work = move |backend: &dyn Backend, cancel: &Cancel| {
        let found = expand(backend, queries, leaves_only, cancel)?;
        Ok(if grouped {
            to_json(&Expansion { results: found })
        } else {
            to_json(&Expansion { results: found.into_values().flatten().collect::<BTreeSet<_>>() })
        })
    };
    listed(&api, &call, work).await
}

fn expand(
    backend: &dyn Backend,
    queries: Vec<String>,
    leaves_only: bool,
    cancel: &Cancel,
) -> Result<BTreeMap<String, BTreeSet<String>>, Failure> {
    let mut found = BTreeMap::new();
    for query in queries {
        let mut paths = BTreeSet::new();
        // graphite-web finds the root, which has no name.
        if query.is_empty() {
            paths.extend((!leaves_only).then(String::new));
            found.insert(query, paths);
            continue;
        }
        if names_nothing(&query) {
            found.insert(query, paths);
            continue;
        }
        let mut tab = Tab::new(cancel);
        backend.find(&query, None, cancel, &mut |node: Node<'_>| {
            if (node.leaf || !leaves_only) && tab.admits(node.path) {
                paths.insert(node.path.to_owned());
            }
        })?;
        tab.settle()?;
        found.insert(query, paths);
    }
    Ok(found)
}
