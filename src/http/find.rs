//! `/metrics/find` and `/metrics`: the nodes that match a pattern, in six formats.

mod formats;

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use serde::Serialize;

use super::call::Call;
use super::clock::Clock;
use super::error::Failure;
use super::gate::Seen;
use super::queries::Question;
use super::reply::Wrapping;
use super::tab::Tab;
use super::{Api, Backend, Node, Visitor, carbonapi, reply};
use formats::{Binary, BinaryRecords, Completer, NodeList, Nodes, Records, Tree};
use plumbago_model::{Cancel, Phase};

/// The formats a find can answer in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    TreeJson,
    Completer,
    Json,
    NodeList,
    /// What other Graphite servers ask for.
    Binary(Binary),
}

/// What a find is asked for.
struct Ask {
    query: String,
    format: Format,
    window: Option<(i64, i64)>,
    now: i64,
    wildcards: bool,
    leaves_only: bool,
    position: i64,
}

/// `GET|POST /metrics/find`
pub(super) async fn handle(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    if let Some(message) = &call.message {
        return carbonapi::find(&api, &call.question, message).await;
    }
    let ask = Ask::read(&call, &api)?;
    let format = ask.format;
    let work = move |backend: &dyn Backend, cancel: &Cancel| ask.answer(backend, cancel);
    match format {
        Format::Binary(binary) => {
            found(&call.question, api.config.find_timeout, &api, binary.content_type(), work).await
        }
        _ => listed(&api, &call, work).await,
    }
}

/// Runs a find of some kind and answers with the JSON it makes.
pub(super) async fn listed<F>(api: &Api, call: &Call, work: F) -> Result<Response, Failure>
where
    F: FnOnce(&dyn Backend, &Cancel) -> Result<Vec<u8>, Failure> + Send + 'static,
{
    listed_within(api.config.find_timeout, api, call, work).await
}

/// The same with a deadline of its own.
pub(super) async fn listed_within<F>(
    timeout: Duration,
    api: &Api,
    call: &Call,
    work: F,
) -> Result<Response, Failure>
where
    F: FnOnce(&dyn Backend, &Cancel) -> Result<Vec<u8>, Failure> + Send + 'static,
{
    let wrapping = Wrapping::listing(call)?;
    let content_type = wrapping.content_type();
    let wrapped =
        move |backend: &dyn Backend, cancel: &Cancel| work(backend, cancel).map(|json| wrapping.apply(json));
    found(&call.question, timeout, api, content_type, wrapped).await
}

/// Runs a find of some kind and answers with what it makes.
pub(super) async fn found<F>(
    question: &Arc<Question>,
    timeout: Duration,
    api: &Api,
    content_type: &'static str,
    work: F,
) -> Result<Response, Failure>
where
    F: FnOnce(&dyn Backend, &Cancel) -> Result<Vec<u8>, Failure> + Send + 'static,
{
    let backend = Arc::clone(&api.backend);
    let work = move |cancel: &Cancel| {
        cancel.begin(Phase::Find);
        let body = work(&*backend, cancel)?;
        cancel.take(body.len())?;
        Ok(body)
    };
    let done = api.workers.run(question, timeout, work).await;
    let done = done.inspect_err(|failure| failure.count_limit(&api.telemetry.find_limited))?;
    let mut response = done.reply(content_type);
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
        let clock = Clock::of(params, &api.timezone)?;
        Ok(Self {
            query,
            format,
            window: clock.window(params)?,
            now: clock.now,
            wildcards: params.switch("wildcards")?,
            leaves_only: params.switch("leavesOnly")?,
            position: params.int("position", -1)?,
        })
    }

    fn answer(&self, backend: &dyn Backend, cancel: &Cancel) -> Result<Vec<u8>, Failure> {
        let nodes: Box<dyn Nodes + '_> = match self.format {
            Format::TreeJson => Box::new(Tree::new(base_path(&self.query), self.wildcards)),
            Format::Completer => Box::new(Completer::new(self.wildcards)),
            Format::Json => Box::new(Records::default()),
            Format::NodeList => Box::new(NodeList::new(self.position)),
            Format::Binary(binary) => Box::new(BinaryRecords::new(binary, self.now)),
        };
        let mut listing = Listing { nodes, tab: Tab::new(cancel), leaves_only: self.leaves_only };
        if !names_nothing(&self.query) {
            backend.find(&self.query, self.window, cancel, &mut listing)?;
        }
        listing.tab.settle()?;
        Ok(listing.nodes.document())
    }
}

/// An answer that grows node by node.
struct Listing<'a> {
    nodes: Box<dyn Nodes + 'a>,
    tab: Tab<'a>,
    leaves_only: bool,
}

impl Visitor for Listing<'_> {
    fn expect(&mut self, nodes: usize, path_bytes: usize) {
        self.nodes.expect(nodes, path_bytes);
    }

    fn visit(&mut self, node: Node<'_>) {
        if !self.tab.admits(node.path) {
            return;
        }
        // One that is a directory and a leaf comes twice.
        if node.directory && !self.leaves_only {
            self.nodes.add(&node, false);
        }
        if node.leaf {
            self.nodes.add(&node, true);
        }
    }
}

fn format_of(name: &str) -> Result<Format, Failure> {
    Ok(match name {
        "treejson" => Format::TreeJson,
        "completer" => Format::Completer,
        "json" => Format::Json,
        "nodelist" => Format::NodeList,
        "pickle" => Format::Binary(Binary::Pickle),
        "msgpack" => Format::Binary(Binary::Msgpack),
        _ => {
            return Err(Failure::Refused(format!(
                "Invalid value for 'format' parameter: `{name}`; use treejson, completer, json, nodelist, pickle or \
                 msgpack"
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

/// A pattern that ends in a dot asks for an entry without a name, and there is none.
pub(super) fn names_nothing(query: &str) -> bool {
    query.ends_with('.')
}

/// All of the query up to its last dot, wildcards included: ids begin with it.
fn base_path(query: &str) -> &str {
    query.rfind('.').map_or("", |dot| &query[..=dot])
}

/// Serialising these plain structs into memory has nothing to fail on.
pub(super) fn to_json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}
