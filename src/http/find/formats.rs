//! The formats of a find: each takes the nodes one by one and then writes its document.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::to_json;
use crate::http::{Node, last_component};

/// Takes nodes, sorted by path, and makes a document of them.
pub(super) trait Nodes {
    /// Makes room for so many nodes, whose paths have so many bytes.
    fn expect(&mut self, _nodes: usize, _path_bytes: usize) {}

    /// Adds a node as a leaf or as a directory.
    fn add(&mut self, node: &Node<'_>, leaf: bool);

    /// The document.
    fn document(&mut self) -> Vec<u8>;
}

/// `treejson`: one entry per name: branches, then leaves, each sorted; where both exist the branch stays.
pub(super) struct Tree<'a> {
    base: &'a str,
    wildcards: bool,
    added: usize,
    all_leaves: bool,
    /// Thousands of hosts have the same few names below them: put together before they are sorted.
    by_name: HashMap<Box<str>, bool, ahash::RandomState>,
}

impl<'a> Tree<'a> {
    /// `base` is what ids begin with; with `wildcards` an entry for all comes first.
    pub(super) fn new(base: &'a str, wildcards: bool) -> Self {
        Self { base, wildcards, added: 0, all_leaves: true, by_name: HashMap::default() }
    }
}

impl Nodes for Tree<'_> {
    fn add(&mut self, node: &Node<'_>, leaf: bool) {
        let name = last_component(node.path);
        self.added += 1;
        self.all_leaves &= leaf;
        if !self.by_name.contains_key(name) {
            self.by_name.insert(name.into(), leaf);
        }
    }

    fn document(&mut self) -> Vec<u8> {
        let mut names: Vec<(bool, &str)> = self.by_name.iter().map(|(name, &leaf)| (leaf, &**name)).collect();
        names.sort_unstable();
        let mut entries = Vec::with_capacity(names.len() + 1);
        if self.wildcards && self.added > 1 {
            entries.push(TreeEntry::new(self.base, "*", self.all_leaves));
        }
        entries.extend(names.into_iter().map(|(leaf, name)| TreeEntry::new(self.base, name, leaf)));
        to_json(&entries)
    }
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

/// `completer`: every node, sorted by its last component.
pub(super) struct Completer {
    wildcards: bool,
    paths: Vec<(String, bool)>,
}

impl Completer {
    /// With `wildcards` an entry for all comes last.
    pub(super) fn new(wildcards: bool) -> Self {
        Self { wildcards, paths: Vec::new() }
    }
}

#[derive(Serialize)]
struct Completion<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_leaf: Option<&'static str>,
}

impl Nodes for Completer {
    fn add(&mut self, node: &Node<'_>, leaf: bool) {
        self.paths.push((node.path.to_owned(), leaf));
    }

    fn document(&mut self) -> Vec<u8> {
        self.paths.sort_by(|(a, _), (b, _)| last_component(a).cmp(last_component(b)));
        let mut metrics: Vec<Completion<'_>> = Vec::with_capacity(self.paths.len() + 1);
        for (path, leaf) in &self.paths {
            let (shown, is_leaf) = if *leaf { (path.clone(), "1") } else { (format!("{path}."), "0") };
            metrics.push(Completion {
                path: Some(shown),
                name: last_component(path),
                is_leaf: Some(is_leaf),
            });
        }
        if self.wildcards && metrics.len() > 1 {
            metrics.push(Completion { path: None, name: "*", is_leaf: None });
        }
        to_json(&Completions { metrics })
    }
}

#[derive(Serialize)]
struct Completions<'a> {
    metrics: Vec<Completion<'a>>,
}

/// `json`: every node with its full path and when it has data.
///
/// Written straight into the document, in few pieces: this is the format of scripts that ask for thousands of names, and through a
/// serialiser it took a third of the whole find.
#[derive(Default)]
pub(super) struct Records {
    out: Vec<u8>,
    /// The last span, and how a record with it ends. Many metrics have data for the same time.
    last: Option<((u32, u32), Vec<u8>)>,
}

/// Bytes of a leaf's record beside its path.
const RECORD_BYTES: usize =
    r#",{"path":"","is_leaf":true,"intervals":[{"start":4294967295,"end":4294967295}]}"#.len();

impl Nodes for Records {
    fn expect(&mut self, nodes: usize, path_bytes: usize) {
        // One that grows is copied again and again: that took a fifth of a find of ten thousand names.
        self.out.reserve(nodes * RECORD_BYTES + path_bytes + "[]".len());
    }

    fn add(&mut self, node: &Node<'_>, leaf: bool) {
        self.path(node.path);
        match node.span.map(interval) {
            _ if !leaf => self.out.extend_from_slice(br#","is_leaf":false}"#),
            None => self.out.extend_from_slice(br#","is_leaf":true,"intervals":[]}"#),
            Some(span) => {
                let end = match &mut self.last {
                    Some((last, end)) if *last == span => end,
                    last => &mut last.insert((span, end_of_leaf(span))).1,
                };
                self.out.extend_from_slice(end);
            }
        }
    }

    fn document(&mut self) -> Vec<u8> {
        match self.out.first_mut() {
            // Each record begins with a comma.
            Some(first) => *first = b'[',
            None => self.out.push(b'['),
        }
        self.out.push(b']');
        std::mem::take(&mut self.out)
    }
}

impl Records {
    fn path(&mut self, path: &str) {
        let plain = |b: u8| b >= b' ' && b != b'"' && b != b'\\';
        if path.bytes().fold(true, |all, b| all & plain(b)) {
            self.out.extend_from_slice(br#",{"path":""#);
            self.out.extend_from_slice(path.as_bytes());
            self.out.push(b'"');
        } else {
            self.out.extend_from_slice(br#",{"path":"#);
            self.out.extend_from_slice(&to_json(&path));
        }
    }
}

fn end_of_leaf((start, end): (u32, u32)) -> Vec<u8> {
    format!(r#","is_leaf":true,"intervals":[{{"start":{start},"end":{end}}}]}}"#).into_bytes()
}

/// `nodelist`: the distinct components at one place of the paths; negative places count from the end.
pub(super) struct NodeList {
    position: i64,
    seen: BTreeSet<Box<str>>,
}

impl NodeList {
    /// Of the components at `position`.
    pub(super) fn new(position: i64) -> Self {
        Self { position, seen: BTreeSet::new() }
    }
}

#[derive(Serialize)]
struct Seen<'a> {
    nodes: Vec<&'a str>,
}

impl Nodes for NodeList {
    fn add(&mut self, node: &Node<'_>, _leaf: bool) {
        let mut parts = node.path.split('.');
        let place = usize::try_from(self.position.unsigned_abs()).unwrap_or(usize::MAX);
        let part = if self.position < 0 { parts.nth_back(place - 1) } else { parts.nth(place) };
        if let Some(part) = part.filter(|&part| !self.seen.contains(part)) {
            self.seen.insert(part.into());
        }
    }

    fn document(&mut self) -> Vec<u8> {
        to_json(&Seen { nodes: self.seen.iter().map(|part| &**part).collect() })
    }
}

/// The formats in which Graphite servers tell each other of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    /// Python's pickle, protocol 2. Nothing in it needs a class to be loaded.
    Pickle,
    /// MessagePack.
    Msgpack,
}

impl Binary {
    /// graphite-web reads everything that does not say MessagePack here as a pickle.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Binary::Pickle => "application/pickle",
            Binary::Msgpack => "application/x-msgpack",
        }
    }
}

/// `pickle` and `msgpack`: every node with its full path and when it has data.
pub(super) struct BinaryRecords {
    format: Binary,
    now: u32,
    records: Vec<BinaryRecord>,
}

#[derive(Serialize)]
struct BinaryRecord {
    path: Box<str>,
    is_leaf: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<Vec<(u32, u32)>>,
}

impl BinaryRecords {
    /// As of `now`, in epoch seconds.
    pub(super) fn new(format: Binary, now: i64) -> Self {
        let now = u32::try_from(now.max(0)).unwrap_or(u32::MAX);
        Self { format, now, records: Vec::new() }
    }

    /// graphite-web chooses among the servers that have a name by how much of the time each covers, and passes over those
    /// that cover none of it. So no interval is empty, and where it is not known when there is data, it may be any time.
    fn interval(&self, span: Option<(u32, u32)>) -> (u32, u32) {
        interval(span.unwrap_or((0, self.now)))
    }
}

/// From the first point to the last, the same in every format, and never empty.
fn interval((first, last): (u32, u32)) -> (u32, u32) {
    (first, last.max(first.saturating_add(1)))
}

impl Nodes for BinaryRecords {
    fn add(&mut self, node: &Node<'_>, leaf: bool) {
        let intervals = leaf.then(|| vec![self.interval(node.span)]);
        self.records.push(BinaryRecord { path: node.path.into(), is_leaf: leaf, intervals });
    }

    /// Serialising these plain structs into memory has nothing to fail on.
    fn document(&mut self) -> Vec<u8> {
        match self.format {
            Binary::Pickle => {
                let options = serde_pickle::SerOptions::new().proto_v2();
                serde_pickle::to_vec(&self.records, options).unwrap_or_default()
            }
            Binary::Msgpack => rmp_serde::to_vec_named(&self.records).unwrap_or_default(),
        }
    }
}
