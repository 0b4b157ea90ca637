//! A find as a walk that can be paused: depth first, children in the order of their full paths.
//!
//! Between two steps the index may change. The walk holds only ids and positions, and both are stable, so it continues
//! where it was. What was created or removed in between may or may not be seen.
//!
//! A walk over a large tree spends its time waiting for memory. It therefore collects the children of a directory first,
//! and touches the memory of the next few directories together before it enters any of them.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Index;
use super::found::{FindLimits, Findings, Gathering};
use super::plan::GlobPlan;
use super::sight;
use super::tree::{Child, DirId, Tree};
use plumbago_model::glob::{Branch, Glob};
use plumbago_model::{Cancel, MetricId, Place, QueryError, Scope, Trail};

/// Which metrics count.
pub(super) type Accept<'a> = &'a dyn Fn(MetricId) -> bool;

/// Directories whose memory is touched together.
const AHEAD: usize = 16;
/// Children of each of them whose memory is touched too.
const WANTED_AHEAD: usize = 4;

/// What is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collect {
    /// Metrics and directories.
    All,
    /// Metrics only.
    Leaves,
}

/// A find in progress.
pub(super) struct Search<'g> {
    glob: &'g Glob,
    collect: Collect,
    limits: FindLimits,
    /// What is outside of it is not there.
    scope: Arc<Scope>,
    /// Only what begins so.
    begin: Begin,
    /// The branch to start next.
    branch: usize,
    plan: Option<GlobPlan<'g>>,
    frames: Vec<Frame>,
    /// The items of all frames, those of the innermost last.
    items: Vec<Item>,
    /// The path of the innermost directory, with a dot at the end unless it is the root. It begins at the top of the scope.
    path: Vec<u8>,
    /// Hits of the finished branches, and of this one.
    hits: Gathering,
    /// Where the hits of this branch start.
    branch_hits: usize,
    /// Hits of this branch that are known but not reached yet.
    pending: usize,
}

/// How paths begin: with a directory, and then with the first bytes of a component in it.
#[derive(Default)]
struct Begin {
    /// It ends with a dot, unless it is the top of the tree.
    dir: String,
    component: String,
}

/// A directory being read.
struct Frame {
    dir: DirId,
    states: u64,
    path_len: usize,
    /// How far the scope was followed; nothing if all of the directory is inside.
    trail: Option<Trail>,
    /// The next child to read; `None` once all were read.
    scan: Option<usize>,
    /// Its items, and the next one to handle.
    items: std::ops::Range<usize>,
}

/// Something to do in a directory. A child that is both a hit and a directory makes two items, because other names may
/// sort between them.
#[derive(Clone, Copy)]
struct Item {
    /// The first bytes of the text it sorts by.
    key: u64,
    component: u32,
    task: Task,
}

#[derive(Clone, Copy)]
enum Task {
    Hit {
        leaf: Option<MetricId>,
        directory: bool,
    },
    /// `inside` if all of the directory is inside of the scope.
    Descend {
        dir: DirId,
        states: u64,
        inside: bool,
    },
}

impl<'g> Search<'g> {
    pub(super) fn new(glob: &'g Glob, collect: Collect, limits: FindLimits, scope: &Arc<Scope>) -> Self {
        Search {
            glob,
            collect,
            limits,
            scope: Arc::clone(scope),
            begin: Begin::default(),
            branch: 0,
            plan: None,
            frames: Vec::new(),
            items: Vec::new(),
            path: Vec::new(),
            hits: Gathering::default(),
            branch_hits: 0,
            pending: 0,
        }
    }

    /// Only paths that begin with this text, which may end inside of a component. The glob has to be `**`: it is matched from there on.
    pub(super) fn beginning(mut self, text: &str) -> Self {
        let component = text.rfind('.').map_or(0, |dot| dot + 1);
        let (dir, component) = text.split_at(component);
        self.begin = Begin { dir: dir.to_owned(), component: component.to_owned() };
        self
    }

    /// Continues for about `budget` children, unless cancelled. True when the walk is finished.
    pub(super) fn step(
        &mut self,
        index: &Index,
        accept: Accept<'_>,
        cancel: &Cancel,
        budget: usize,
    ) -> Result<bool, QueryError> {
        cancel.check()?;
        let tree = index.tree();
        let mut left = budget;
        while left > 0 {
            let Some(frame) = self.frames.last_mut() else {
                if !self.next_branch(tree)? {
                    return Ok(true);
                }
                continue;
            };
            if let Some(from) = frame.scan {
                left = left.saturating_sub(self.scan(tree, accept, from, left)?.max(1));
            } else if let Some(at) = frame.items.next() {
                if at % AHEAD == 0 {
                    self.read_ahead(tree, at);
                }
                left -= 1;
                self.perform(tree, at);
            } else {
                self.frames.pop();
                let (items, path) = self.frames.last().map_or((0, 0), |up| (up.items.end, up.path_len));
                self.items.truncate(items);
                self.path.truncate(path);
            }
        }
        Ok(false)
    }

    /// How many hits there are so far.
    pub(super) fn hits(&self) -> usize {
        self.hits.len()
    }

    /// Takes the hits so far.
    pub(super) fn take_hits(&mut self) -> Findings {
        self.branch_hits = 0;
        std::mem::take(&mut self.hits).finish()
    }

    fn next_branch(&mut self, tree: &Tree) -> Result<bool, QueryError> {
        let Some(root) = self.root(tree) else { return Ok(false) };
        while let Some(branch) = self.glob.branches().get(self.branch) {
            if self.hits.len() > self.limits.max_hits {
                self.merge_hits()?;
            }
            self.branch += 1;
            self.branch_hits = self.hits.len();
            self.plan = GlobPlan::new(branch, tree);
            self.path.clear();
            self.path.extend_from_slice(self.begin.dir.as_bytes());
            if self.plan.is_some() && self.enter(root, branch.start(), self.scope.takes_all()) {
                return Ok(true);
            }
        }
        self.merge_hits()?;
        Ok(false)
    }

    /// The directory where it begins.
    fn root(&self, tree: &Tree) -> Option<DirId> {
        let top = self.scope.root();
        match self.begin.dir.strip_suffix('.') {
            None => sight::root(tree, &self.scope),
            Some(dir) if top.is_empty() => tree.find_dir(dir),
            Some(dir) => tree.find_dir(&[top, ".", dir].concat()),
        }
    }

    /// Merges the hits of several branches, each name once.
    fn merge_hits(&mut self) -> Result<(), QueryError> {
        if self.glob.branches().len() > 1 {
            self.hits.sort();
        }
        self.check(self.hits.len())
    }

    fn check(&self, hits: usize) -> Result<(), QueryError> {
        match hits > self.limits.max_hits {
            true => Err(self.limits.exceeded(self.glob.as_str())),
            false => Ok(()),
        }
    }

    /// False if nothing in there can be inside of the scope. Below a directory that is inside, nobody has to look.
    fn enter(&mut self, dir: DirId, states: u64, inside: bool) -> bool {
        let place = || self.scope.place(&String::from_utf8_lossy(&self.path));
        let trail = match if inside { Place::Inside } else { place() } {
            Place::Inside => None,
            Place::Above(trail) => Some(trail),
            Place::Outside => return false,
        };
        let at = self.items.len();
        let path_len = self.path.len();
        self.frames.push(Frame { dir, states, path_len, trail, scan: Some(0), items: at..at });
        true
    }

    /// Reads up to `budget` children of the innermost directory, from position `from` on. Returns how many it read.
    fn scan(
        &mut self,
        tree: &Tree,
        accept: Accept<'_>,
        from: usize,
        budget: usize,
    ) -> Result<usize, QueryError> {
        // The plan is taken out of `self`: it updates its cache while `self` records what it lets through.
        let (Some(frame), Some(mut plan)) = (self.frames.last_mut(), self.plan.take()) else { return Ok(0) };
        let (dir, states, branch, trail) = (frame.dir, frame.states, plan.branch(), frame.trail.take());
        let children = tree.dir(dir).children();
        let wanted = plan.lookup(states).map_or(usize::MAX, <[u32]>::len);
        // A directory that is being scanned continues to be scanned, even if it grew during a pause.
        let (seen, scan) = if from == 0 && wanted <= children.len() / 4 {
            let next = branch.advance(states, |_| true);
            let ids = plan.lookup(states).unwrap_or_default();
            for child in ids.iter().filter_map(|&id| tree.child(dir, id)) {
                self.consider(tree, accept, branch, trail.as_ref(), child, next);
            }
            (wanted, None)
        } else {
            let end = children.len().min(from.saturating_add(budget));
            let some = children.get(from..end).unwrap_or_default();
            plan.select(states, some, tree, |child, next| {
                self.consider(tree, accept, branch, trail.as_ref(), child, next);
            });
            (end - from.min(end), (end < children.len()).then_some(end))
        };
        self.plan = Some(plan);
        if let Some(frame) = self.frames.last_mut() {
            frame.trail = trail;
        }
        self.check(self.hits.len() - self.branch_hits + self.pending)?;
        self.scanned(tree, scan);
        Ok(seen)
    }

    fn scanned(&mut self, tree: &Tree, scan: Option<usize>) {
        let Some(frame) = self.frames.last_mut() else { return };
        frame.scan = scan;
        if scan.is_none() {
            frame.items.end = self.items.len();
            let first = frame.items.start;
            self.items[first..].sort_unstable_by(|a, b| a.order(b, tree));
            self.read_ahead(tree, first);
        }
    }

    /// Brings the next directories into the cache, up to the next multiple of [`AHEAD`], where this is repeated.
    fn read_ahead(&self, tree: &Tree, from: usize) {
        let end = (from + 1).next_multiple_of(AHEAD).min(self.items.len());
        for item in &self.items[from..end] {
            if let Task::Descend { dir, .. } = item.task {
                tree.warm(dir);
            }
        }
        // If the plan needs only a few known children, touch those as well.
        let Some(plan) = &self.plan else { return };
        for item in &self.items[from..end] {
            let Task::Descend { dir, states, .. } = item.task else { continue };
            for &component in plan.lookup(states).unwrap_or_default().iter().take(WANTED_AHEAD) {
                if let Some(below) = tree.child(dir, component).and_then(Child::dir) {
                    tree.warm(below);
                }
            }
        }
    }

    /// Records what to do about a child that leads to the places `next`.
    fn consider(
        &mut self,
        tree: &Tree,
        accept: Accept<'_>,
        branch: &Branch,
        trail: Option<&Trail>,
        child: Child,
        next: u64,
    ) {
        let component = child.component;
        let begins = || tree.text(component).starts_with(&self.begin.component);
        if self.frames.len() == 1 && !self.begin.component.is_empty() && !begins() {
            return;
        }
        let place = trail.map_or(Place::Inside, |trail| self.scope.step(trail, tree.text(component)));
        if matches!(place, Place::Outside) {
            return;
        }
        // Do not read a directory before its turn: by then its memory is fetched together with that of others.
        let mut down = child.dir();
        if branch.is_match(next) {
            let node = tree.node(child);
            down = node.dir;
            let leaf = node.metric.filter(|&id| matches!(place, Place::Inside) && accept(id));
            let directory = node.dir.is_some_and(|dir| sight::is_seen(tree, dir, &self.scope, &place));
            if leaf.is_some() || (directory && self.collect == Collect::All) {
                self.pending += 1;
                self.items.push(Item::new(component, Task::Hit { leaf, directory }, tree));
            }
        }
        if let Some(dir) = down
            && branch.goes_on(next)
        {
            let inside = matches!(place, Place::Inside);
            self.items.push(Item::new(component, Task::Descend { dir, states: next, inside }, tree));
        }
    }

    fn perform(&mut self, tree: &Tree, at: usize) {
        let Item { component, task, .. } = self.items[at];
        let text = tree.text_bytes(component);
        match task {
            Task::Hit { leaf, directory } => {
                self.pending -= 1;
                self.hits.push(&self.path, text, leaf, directory);
            }
            Task::Descend { dir, states, inside } => {
                let len = self.path.len();
                self.path.extend_from_slice(text);
                self.path.push(b'.');
                if !self.enter(dir, states, inside) {
                    self.path.truncate(len);
                }
            }
        }
    }
}

impl Item {
    #[inline]
    fn new(component: u32, task: Task, tree: &Tree) -> Item {
        // The text, and the dot that everything below a directory has behind it. They are few bytes: a copy would be a call.
        let text =
            tree.text_bytes(component).iter().chain(matches!(task, Task::Descend { .. }).then_some(&b'.'));
        let (key, len) = text.take(8).fold((0, 0), |(key, len), &byte| (key << 8 | u64::from(byte), len + 8));
        let key = key.checked_shl(u64::BITS - len).unwrap_or(0);
        Item { key, component, task }
    }

    #[inline]
    fn order(&self, other: &Item, tree: &Tree) -> Ordering {
        self.key.cmp(&other.key).then_with(|| {
            let (a, b) = (tree.text_bytes(self.component), tree.text_bytes(other.component));
            let shared = a.len().min(b.len());
            let tails = || a[shared..].iter().chain(self.dot()).cmp(b[shared..].iter().chain(other.dot()));
            a[..shared].cmp(&b[..shared]).then_with(tails)
        })
    }

    /// Everything below a directory starts with its text and a dot, so the descent sorts there.
    #[inline]
    fn dot(&self) -> &'static [u8] {
        match self.task {
            Task::Hit { .. } => b"",
            Task::Descend { .. } => b".",
        }
    }
}
