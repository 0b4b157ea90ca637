//! The tree of names: directories, their children, and the metrics in them.
//!
//! Only directories are nodes. A metric is an entry in its directory's list of children, twelve bytes or so, and becomes a
//! node when something is created below it. Nothing ever moves: directories keep their ids and children their positions,
//! and a removed entry leaves its place empty, so a search can pause, let writers in, and continue where it was.

use std::hash::{BuildHasher, Hasher};

use ahash::RandomState;

use super::table::{NONE, Table};
use super::texts::{Refused, Texts};
use plumbago_model::MetricId;

/// Lists longer than this are searched by hash. Shorter ones fit into a few cache lines and are scanned.
const HASHED_FROM: usize = 32;

/// Set in [`Child::target`] for a metric.
const METRIC: u32 = 1 << 31;

/// The first id that a metric in the tree cannot have.
pub(super) const ID_END: u32 = METRIC - 1;

/// The top of the tree.
pub(super) const ROOT: DirId = DirId(0);

/// A directory's handle: stable, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirId(u32);

/// A directory.
#[derive(Debug)]
pub(super) struct Dir {
    parent: DirId,
    /// The metric of the same name, or [`NONE`].
    metric: u32,
    /// Metrics below, at any depth.
    live: u32,
    /// In order of creation, no component twice.
    children: Vec<Child>,
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    /// The interned text of the component.
    pub(super) component: u32,
    target: u32,
}

/// What a child's component refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// The metric of this name.
    pub(super) metric: Option<MetricId>,
    /// The directory of this name, if it is not empty.
    pub(super) dir: Option<DirId>,
}

/// All directories.
#[derive(Debug)]
pub(super) struct Tree {
    components: Texts,
    dirs: Vec<Dir>,
    /// Position in the list of children by (directory, component), for long lists.
    positions: Table,
    hasher: RandomState,
    /// The directory of the last insert: names tend to arrive with their siblings.
    recent: (String, DirId),
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            components: Texts::default(),
            dirs: vec![Dir::new(ROOT, NONE)],
            positions: Table::default(),
            hasher: RandomState::new(),
            recent: (String::new(), ROOT),
        }
    }
}

impl Dir {
    fn new(parent: DirId, metric: u32) -> Self {
        Self { parent, metric, live: 0, children: Vec::new() }
    }

    /// Its entries, including removed ones.
    #[inline]
    pub(super) fn children(&self) -> &[Child] {
        &self.children
    }

    /// Metrics below it, at any depth.
    pub(super) fn live(&self) -> u32 {
        self.live
    }
}

impl Tree {
    /// Adds a metric whose name is not in the tree.
    pub(super) fn insert(&mut self, id: MetricId, name: &str) -> Result<(), Refused> {
        let (dir, last) = match name.rsplit_once('.') {
            None => (ROOT, name),
            Some((parent, last)) => (self.make_dir(parent)?, last),
        };
        let component = self.components.intern(last)?;
        let target = id.0 | METRIC;
        match self.position(dir, component) {
            None => self.push(dir, Child { component, target }),
            Some(at) => match self.dirs[dir.index()].children[at].dir() {
                Some(own) => self.dirs[own.index()].metric = id.0,
                None => self.dirs[dir.index()].children[at].target = target,
            },
        }
        self.count(dir, |live| live + 1);
        Ok(())
    }

    /// Removes a metric.
    pub(super) fn remove(&mut self, name: &str) {
        let (parent, last) = name.rsplit_once('.').unwrap_or(("", name));
        let Some(dir) = self.find_dir(parent) else { return };
        let Some(component) = self.component(last) else { return };
        let Some(at) = self.position(dir, component) else { return };
        let child = &mut self.dirs[dir.index()].children[at];
        let metric = match child.dir() {
            Some(own) => &mut self.dirs[own.index()].metric,
            None => &mut child.target,
        };
        if std::mem::replace(metric, NONE) != NONE {
            self.count(dir, |live| live - 1);
        }
    }

    /// The metric of a name.
    pub(super) fn metric(&self, name: &str) -> Option<MetricId> {
        let (parent, last) = name.rsplit_once('.').unwrap_or(("", name));
        self.node(self.child(self.find_dir(parent)?, self.component(last)?)?).metric
    }

    /// A directory by its id.
    #[inline]
    pub(super) fn dir(&self, dir: DirId) -> &Dir {
        &self.dirs[dir.index()]
    }

    /// What a child's component refers to now.
    #[inline]
    pub(super) fn node(&self, child: Child) -> Node {
        match child.dir() {
            Some(id) => {
                let dir = &self.dirs[id.index()];
                let metric = (dir.metric != NONE).then_some(MetricId(dir.metric));
                Node { metric, dir: (dir.live > 0).then_some(id) }
            }
            None if child.target == NONE => Node { metric: None, dir: None },
            None => Node { metric: Some(MetricId(child.target & !METRIC)), dir: None },
        }
    }

    /// The entry of a directory for a component.
    #[inline]
    pub(super) fn child(&self, dir: DirId, component: u32) -> Option<Child> {
        self.position(dir, component).map(|at| self.dirs[dir.index()].children[at])
    }

    /// The id of a component's text, if any name has it.
    pub(super) fn component(&self, text: &str) -> Option<u32> {
        self.components.find(text.as_bytes())
    }

    /// The text of a component.
    #[inline]
    pub(super) fn text(&self, component: u32) -> &str {
        self.components.get(component).expect("components are never removed")
    }

    /// The text of a component, for comparing.
    #[inline]
    pub(super) fn text_bytes(&self, component: u32) -> &[u8] {
        self.components.get_bytes(component).expect("components are never removed")
    }

    /// Reads a directory so that it is in the cache when it is needed. Several such reads wait for memory at the same time.
    #[inline]
    pub(super) fn warm(&self, dir: DirId) {
        let children = &self.dirs[dir.index()].children;
        std::hint::black_box(
            [children.first(), children.last()].map(|child| child.map(|child| child.component)),
        );
    }

    /// One more than the largest component id.
    pub(super) fn component_end(&self) -> usize {
        self.components.id_end()
    }

    /// Bytes allocated.
    pub(super) fn memory_bytes(&self) -> usize {
        let children: usize = self.dirs.iter().map(|dir| dir.children.capacity()).sum();
        self.components.memory_bytes()
            + self.dirs.capacity() * size_of::<Dir>()
            + children * size_of::<Child>()
            + self.positions.memory_bytes()
    }

    /// The directory of a path, if it ever existed.
    pub(super) fn find_dir(&self, path: &str) -> Option<DirId> {
        if path.is_empty() {
            return Some(ROOT);
        }
        path.split('.').try_fold(ROOT, |dir, text| self.child(dir, self.component(text)?)?.dir())
    }

    fn make_dir(&mut self, path: &str) -> Result<DirId, Refused> {
        if self.recent.0 == path {
            return Ok(self.recent.1);
        }
        let mut dir = ROOT;
        for text in path.split('.') {
            let component = self.components.intern(text)?;
            dir = self.enter(dir, component)?;
        }
        self.recent.0.clear();
        self.recent.0.push_str(path);
        self.recent.1 = dir;
        Ok(dir)
    }

    /// The directory of a component below `dir`, created if necessary.
    fn enter(&mut self, dir: DirId, component: u32) -> Result<DirId, Refused> {
        let at = self.position(dir, component);
        let child = at.map(|at| self.dirs[dir.index()].children[at]);
        if let Some(own) = child.and_then(Child::dir) {
            return Ok(own);
        }
        let new = u32::try_from(self.dirs.len()).ok().filter(|&id| id < METRIC).map(DirId);
        let new = new.ok_or(Refused::Full)?;
        let metric = child.and_then(|child| self.node(child).metric).map_or(NONE, |id| id.0);
        self.dirs.push(Dir::new(dir, metric));
        match at {
            Some(at) => self.dirs[dir.index()].children[at].target = new.0,
            None => self.push(dir, Child { component, target: new.0 }),
        }
        Ok(new)
    }

    fn position(&self, dir: DirId, component: u32) -> Option<usize> {
        let children = &self.dirs[dir.index()].children;
        if children.len() <= HASHED_FROM {
            return children.iter().position(|child| child.component == component);
        }
        // An entry of another directory with the same tag is harmless: the check compares what is at that position here.
        let here = |at: u32| children.get(at as usize).is_some_and(|child| child.component == component);
        self.positions.find(self.tag(dir, component), here).map(|at| at as usize)
    }

    fn push(&mut self, dir: DirId, child: Child) {
        let children = &mut self.dirs[dir.index()].children;
        if children.len() == children.capacity() {
            // There are many lists and most are short: growing by half wastes less than doubling.
            children.reserve_exact(2 + children.len() / 2);
        }
        children.push(child);
        let len = children.len();
        let fresh = match len {
            ..=HASHED_FROM => len..len,
            _ if len == HASHED_FROM + 1 => 0..len,
            _ => len - 1..len,
        };
        for at in fresh {
            let tag = self.tag(dir, self.dirs[dir.index()].children[at].component);
            self.positions.insert(tag, at as u32);
        }
    }

    /// Adjusts the number of metrics below `dir` and all directories above it.
    fn count(&mut self, mut dir: DirId, change: impl Fn(u32) -> u32) {
        loop {
            let this = &mut self.dirs[dir.index()];
            this.live = change(this.live);
            if dir == ROOT {
                return;
            }
            dir = this.parent;
        }
    }

    fn tag(&self, dir: DirId, component: u32) -> u32 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u64(u64::from(dir.0) << 32 | u64::from(component));
        (hasher.finish() >> 32) as u32
    }
}

impl DirId {
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

impl Child {
    #[inline]
    pub(super) fn dir(self) -> Option<DirId> {
        (self.target & METRIC == 0).then_some(DirId(self.target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(tree: &Tree, path: &str) -> Node {
        let (parent, last) = path.rsplit_once('.').unwrap_or(("", path));
        let child = tree.find_dir(parent).and_then(|dir| tree.child(dir, tree.component(last)?));
        child.map_or(Node { metric: None, dir: None }, |child| tree.node(child))
    }

    fn tree(names: &[&str]) -> Tree {
        let mut tree = Tree::default();
        for (id, name) in (0..).zip(names) {
            tree.insert(MetricId(id), name).unwrap();
        }
        tree
    }

    #[test]
    fn a_metric_becomes_a_directory_too_and_stays_a_metric() {
        let tree = tree(&["a.b", "a.b.c", "x.y", "x"]);
        for (path, metric, dir) in [("a", None, true), ("a.b", Some(0), true), ("a.b.c", Some(1), false)] {
            assert_eq!(
                (node(&tree, path).metric, node(&tree, path).dir.is_some()),
                (metric.map(MetricId), dir)
            );
        }
        assert_eq!((node(&tree, "x").metric, node(&tree, "x").dir.is_some()), (Some(MetricId(3)), true));
    }

    #[test]
    fn an_empty_directory_is_none_until_it_fills_again() {
        let mut tree = tree(&["a.b.c", "a.b", "a.d"]);
        tree.remove("a.b.c");
        assert_eq!(node(&tree, "a.b"), Node { metric: Some(MetricId(1)), dir: None });
        tree.remove("a.b");
        tree.remove("a.b");
        tree.remove("a.nothing");
        assert!(node(&tree, "a").dir.is_some());
        tree.remove("a.d");
        assert_eq!(node(&tree, "a"), Node { metric: None, dir: None });
        tree.insert(MetricId(7), "a.b.c").unwrap();
        assert!(node(&tree, "a").dir.is_some() && node(&tree, "a.b").dir.is_some());
        assert_eq!(node(&tree, "a.b").metric, None);
        assert_eq!(node(&tree, "a.b.c").metric, Some(MetricId(7)));
        assert_eq!(tree.dir(ROOT).live, 1);
    }

    #[test]
    fn long_lists_are_looked_into_by_hash() {
        let mut tree = Tree::default();
        for id in 0..2000 {
            tree.insert(MetricId(id), &format!("{}.n{id}", id % 2)).unwrap();
        }
        for id in 0..2000 {
            assert_eq!(node(&tree, &format!("{}.n{id}", id % 2)).metric, Some(MetricId(id)));
            assert_eq!(node(&tree, &format!("{}.n{id}", 1 - id % 2)).metric, None);
        }
    }
}
