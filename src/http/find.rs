//! `/metrics/find` and `/metrics`: the nodes that match a pattern, in four formats.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Serialize, Serializer};

use super::call::Call;
use super::clock::Clock;
use super::error::Failure;
use super::reply::Wrapping;
use super::{Api, Backend, Node, reply};
use crate::model::Cancel;

/// The formats a find can answer in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    TreeJson,
    Completer,
    Json,
    NodeList,
}

/// What a find is asked for.
struct Ask {
    query: String,
    format: Format,
    window: Option<(i64, i64)>,
    wildcards: bool,
    leaves_only: bool,
    position: i64,
}

/// `GET|POST /metrics/find`
pub(super) async fn handle(State(api): State<Arc<Api>>, call: Call) -> Result<Response, Failure> {
    let ask = Ask::read(&call, &api)?;
    listed(&api, &call, move |backend, cancel| ask.answer(backend, cancel)).await
}

/// Runs a find of some kind and answers with the JSON it makes.
pub(super) async fn listed<F>(api: &Api, call: &Call, work: F) -> Result<Response, Failure>
where
    F: FnOnce(&dyn Backend, &Cancel) -> Result<Vec<u8>, Failure> + Send + 'static,
{
    let wrapping = Wrapping::listing(call)?;
    let content_type = wrapping.content_type();
    let backend = Arc::clone(&api.backend);
    let work = move |cancel: &Cancel| work(&*backend, cancel).map(|json| wrapping.apply(json));
    let answer = api.workers.run(api.config.find_timeout, work).await;
    let json = answer.inspect_err(|failure| failure.count_limit(&api.telemetry.find_limited))?;
    let mut response = reply::body(StatusCode::OK, content_type, json);
    reply::never_cached(&mut response);
    Ok(response)
}

impl Ask {
    fn read(call: &Call, api: &Api) -> Result<Self, Failure> {
        let params = &call.params;
        let format = format_of(params.get("format").unwrap_or("treejson"))?;
        let query = match params.get("query") {
            None => return Err(Failure::Invalid("missing required parameter 'query'".to_owned())),
            Some("") => return Err(Failure::Invalid("required parameter 'query' is empty".to_owned())),
            Some(query) if format == Format::Completer => {
                completed(query, params.switch("automatic_variants")?)
            }
            Some(query) => query.to_owned(),
        };
        Ok(Self {
            query,
            format,
            window: Clock::of(params, &api.timezone)?.window(params)?,
            wildcards: params.switch("wildcards")?,
            leaves_only: params.switch("leavesOnly")?,
            position: params.int("position", -1)?,
        })
    }

    fn answer(&self, backend: &dyn Backend, cancel: &Cancel) -> Result<Vec<u8>, Failure> {
        let nodes = backend.find(&self.query, self.window, cancel)?;
        let hits = hits(&nodes, self.leaves_only);
        let json = match self.format {
            Format::TreeJson => to_json(&tree(hits, base_path(&self.query), self.wildcards)),
            Format::Completer => to_json(&completions(hits, self.wildcards)),
            Format::Json => to_json(&records(&hits)),
            Format::NodeList => to_json(&node_list(&hits, self.position)),
        };
        Ok(json)
    }
}

fn format_of(name: &str) -> Result<Format, Failure> {
    Ok(match name {
        "treejson" => Format::TreeJson,
        "completer" => Format::Completer,
        "json" => Format::Json,
        "nodelist" => Format::NodeList,
        _ => {
            return Err(Failure::Refused(format!(
                "Invalid value for 'format' parameter: `{name}`; use treejson, completer, json or nodelist"
            )));
        }
    })
}

/// The query of a completer: the last component is a beginning, a doubled dot stands for any text. With variants asked
/// for, `a,b` in a component means `{a,b}`.
fn completed(query: &str, variants: bool) -> String {
    let mut query = query.replace("..", "*.");
    if !query.ends_with('*') {
        query.push('*');
    }
    if !variants {
        return query;
    }
    let braced = |part: &str| {
        if part.contains(',') && !part.contains('{') { format!("{{{part}}}") } else { part.to_owned() }
    };
    query.split('.').map(braced).collect::<Vec<_>>().join(".")
}

/// All of the query up to its last dot, wildcards included: ids begin with it.
fn base_path(query: &str) -> &str {
    query.rfind('.').map_or("", |dot| &query[..=dot])
}

/// A node as a directory or as a leaf. One that is both gives two hits, the directory first.
#[derive(Clone, Copy)]
struct Hit<'a> {
    node: &'a Node,
    leaf: bool,
}

fn hits(nodes: &[Node], leaves_only: bool) -> Vec<Hit<'_>> {
    let mut hits = Vec::with_capacity(nodes.len());
    for node in nodes {
        if node.directory && !leaves_only {
            hits.push(Hit { node, leaf: false });
        }
        if node.leaf {
            hits.push(Hit { node, leaf: true });
        }
    }
    hits
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TreeEntry<'a> {
    text: &'a str,
    id: String,
    // Numbers, not booleans: Grafana's backend decodes them into integers.
    allow_children: u8,
    expandable: u8,
    leaf: u8,
}

impl<'a> TreeEntry<'a> {
    fn new(base: &str, text: &'a str, leaf: bool) -> Self {
        let branch = u8::from(!leaf);
        let id = [base, text].concat();
        Self { text, id, allow_children: branch, expandable: branch, leaf: u8::from(leaf) }
    }
}

/// One entry per name: branches, then leaves, each sorted; where both exist the branch stays.
fn tree<'a>(hits: Vec<Hit<'a>>, base: &str, wildcards: bool) -> Vec<TreeEntry<'a>> {
    // Thousands of hosts have the same few names below them: put together before they are sorted.
    let mut by_name: HashMap<&str, bool, ahash::RandomState> = HashMap::default();
    for hit in &hits {
        by_name.entry(hit.node.name()).or_insert(hit.leaf);
    }
    let mut names: Vec<(bool, &str)> = by_name.into_iter().map(|(name, leaf)| (leaf, name)).collect();
    names.sort_unstable();
    let mut entries = Vec::with_capacity(names.len() + 1);
    if wildcards && hits.len() > 1 {
        entries.push(TreeEntry::new(base, "*", hits.iter().all(|hit| hit.leaf)));
    }
    entries.extend(names.into_iter().map(|(leaf, name)| TreeEntry::new(base, name, leaf)));
    entries
}

#[derive(Serialize)]
struct Completions<'a> {
    metrics: Vec<Completion<'a>>,
}

#[derive(Serialize)]
struct Completion<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_leaf: Option<&'static str>,
}

fn completions(mut hits: Vec<Hit<'_>>, wildcards: bool) -> Completions<'_> {
    hits.sort_by_key(|hit| hit.node.name());
    let mut metrics: Vec<_> = hits
        .iter()
        .map(|&Hit { node, leaf }| Completion {
            path: Some(if leaf { node.path.clone() } else { format!("{}.", node.path) }),
            name: node.name(),
            is_leaf: Some(if leaf { "1" } else { "0" }),
        })
        .collect();
    if wildcards && metrics.len() > 1 {
        metrics.push(Completion { path: None, name: "*", is_leaf: None });
    }
    Completions { metrics }
}

#[derive(Serialize)]
struct Record<'a> {
    path: &'a str,
    is_leaf: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<Intervals>,
}

#[derive(Serialize)]
struct Interval {
    start: u32,
    end: u32,
}

/// A list of one, or of none for a metric without data.
struct Intervals(Option<Interval>);

impl Serialize for Intervals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
    }
}

fn records<'a>(hits: &[Hit<'a>]) -> Vec<Record<'a>> {
    hits.iter()
        .map(|&Hit { node, leaf }| Record {
            path: &node.path,
            is_leaf: leaf,
            intervals: leaf.then(|| Intervals(node.span.map(|(start, end)| Interval { start, end }))),
        })
        .collect()
}

#[derive(Serialize)]
struct NodeList<'a> {
    nodes: BTreeSet<&'a str>,
}

/// The distinct components at one place of the paths; negative places count from the end.
fn node_list<'a>(hits: &[Hit<'a>], position: i64) -> NodeList<'a> {
    let mut seen = HashSet::new();
    for hit in hits {
        let mut parts = hit.node.path.split('.');
        let place = usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX);
        let part = if position < 0 { parts.nth_back(place - 1) } else { parts.nth(place) };
        seen.extend(part);
    }
    NodeList { nodes: seen.into_iter().collect() }
}

/// Serialising these plain structs into memory has nothing to fail on.
pub(super) fn to_json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}
