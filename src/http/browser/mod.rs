//! The metric browser: a page at `/`, one for operators at `/operate`, and what they ask the server for.
//!
//! A page is plain HTML, CSS and JavaScript modules in `page/`, embedded in the binary: nothing is built, and nothing is
//! fetched from elsewhere. What the Graphite API does not tell (counts, search as you type, retention, health) is at
//! `/internal/browser/*`, which belongs to the page and may change with it.

mod assets;
pub(super) mod graphs;
mod health;
mod metric;
mod rules;
mod search;
mod tree;

pub(super) use assets::{asset, login_page, operate, page};
pub use health::Health;
pub use metric::{LastPoint, MetricDescription, RuleName, StageShape};
pub(super) use rules::handle as rules;
pub use rules::{AppliedQuota, RuledName};
pub(super) use {health::handle as health, metric::handle as metric};
pub(super) use {search::handle as search, tree::handle as tree};

use serde::Serialize;

pub use crate::index::PageRequest;
use plumbago_model::{Cancel, QueryError};

/// Most nodes in one answer. A page is for looking at; another letter narrows a longer list down.
const MAX_NODES: i64 = 1000;

/// What the browser asks of the server behind it. All methods may block.
pub trait Browse {
    /// A page of a directory.
    fn list(
        &self,
        folder: Folder<'_>,
        wanted: PageRequest<'_>,
        cancel: &Cancel,
    ) -> Result<Listing, QueryError>;

    /// Names that have all words of a text, or that match it if it is a glob. When the deadline passes, those found by then.
    fn search(&self, text: &str, limit: usize, cancel: &Cancel) -> Result<Listing, QueryError>;

    /// What is known of a metric; `None` if there is none of that name.
    fn describe(&self, name: &str, cancel: &Cancel) -> Result<Option<MetricDescription>, QueryError>;

    /// What the rules in force do to a name; `None` if the server has no rules. The error says why no metric can have that name.
    fn rules_for(&self, _name: &str, _cancel: &Cancel) -> Result<Option<RuledName>, QueryError> {
        Ok(None)
    }

    /// How the server is.
    fn health(&self) -> Health;
}

/// What is looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder<'a> {
    /// A directory of the tree; the empty path is its top.
    Directory(&'a str),
    /// The names that tagged metrics have before their tags.
    TaggedNames,
    /// The tagged metrics that have this name before their tags.
    TaggedWith(&'a str),
}

/// Nodes, in the order in which they are to be shown.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Listing {
    /// Those on this page.
    pub nodes: Vec<ListedNode>,
    /// How many there are on all pages together.
    pub total: usize,
    /// False when the time was up before all names were looked at.
    pub complete: bool,
}

/// A node as the browser shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedNode {
    /// The component, or the full name.
    pub name: String,
    /// Is it a metric?
    pub metric: bool,
    /// Does it hold other nodes?
    pub directory: bool,
    /// Metrics below it; not known while names are looked up in a cluster.
    pub below: Option<u64>,
}

/// The part of a listing that a request asks for.
fn limit_of(params: &super::params::Params, default: i64) -> Result<usize, super::error::Failure> {
    let limit = params.int("limit", default)?.clamp(1, MAX_NODES);
    Ok(usize::try_from(limit).unwrap_or(1))
}
