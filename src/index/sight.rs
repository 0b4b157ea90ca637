//! The index as somebody sees it who is confined to a scope: what is outside is not there. All queries go through here, those of
//! callers who see everything, too.
//!
//! A tenant has names of its own, and this is where they are translated: its tree is a directory of the tree, and its tagged metrics
//! are those that have its tag, which is not there for it.

use std::sync::Arc;

use parking_lot::{Mutex, RwLockReadGuard};
use roaring::RoaringBitmap;

use super::search::{Accept, Collect, Search};
use super::sizes::KnownSizes;
use super::tags::Ids;
use super::tree::{DirId, Tree};
use super::{CHECK_EVERY, FindLimits, Findings, Index, NameWalk, SharedIndex};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId, Place, QueryError, Scope, Tenant};

/// So many names are compared with a scope as soon as what is known of them is looked up.
const FEW: u64 = 16;

/// An index, and what of it somebody may see.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    index: &'a SharedIndex,
    scope: &'a Arc<Scope>,
}

impl<'a> Sight<'a> {
    pub(super) fn new(index: &'a SharedIndex, scope: &'a Arc<Scope>) -> Self {
        Self { index, scope }
    }

    pub(super) fn scope(self) -> &'a Scope {
        self.scope
    }

    /// Is a tag there for the caller? That of tenants is not for a tenant.
    pub(super) fn has_tag(self, tag: &str) -> bool {
        self.scope.tenant().is_none_or(|tenant: &Tenant| tenant.tag() != tag)
    }

    pub(super) fn read(self) -> RwLockReadGuard<'a, Index> {
        self.index.read()
    }

    pub(super) fn known_sizes(self) -> &'a Mutex<KnownSizes> {
        &self.index.sizes
    }

    /// The metrics and directories that match, sorted by path. A tagged name is found when the pattern is exactly that
    /// name. Waiting writers get a turn in between; what they change may or may not be seen.
    pub fn find(self, glob: &Glob, limits: FindLimits, cancel: &Cancel) -> Result<Findings, QueryError> {
        self.search(glob, Collect::All, limits, &|_| true, cancel)
    }

    /// Only the metrics that match, sorted by name.
    pub fn find_leaves(
        self,
        glob: &Glob,
        limits: FindLimits,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        let found = self.search(glob, Collect::Leaves, limits, &|_| true, cancel)?;
        Ok(found.iter().filter_map(|found| Some((found.leaf?, found.path.to_owned()))).collect())
    }

    /// `accept` is called with the lock held: it must not lock the index.
    pub(super) fn search(
        self,
        glob: &Glob,
        collect: Collect,
        limits: FindLimits,
        accept: Accept<'_>,
        cancel: &Cancel,
    ) -> Result<Findings, QueryError> {
        let mut index = self.read();
        if let Some(found) = index.shortcut(glob, collect, self.scope, accept) {
            return Ok(found);
        }
        let mut search = Search::new(glob, collect, limits, self.scope);
        while !search.step(&index, accept, cancel, CHECK_EVERY)? {
            RwLockReadGuard::bump(&mut index);
        }
        drop(index);
        Ok(search.take_hits())
    }

    /// All names without tags, in order.
    pub fn names(self) -> NameWalk {
        NameWalk::within(self.scope)
    }

    /// How many metrics there are, and how many of them have tags.
    pub fn count(self, cancel: &Cancel) -> Result<(u64, u64), QueryError> {
        let mut index = self.read();
        if self.scope.is_everything() {
            return Ok((index.len() as u64, index.tagged_len()));
        }
        let top = root(index.tree(), self.scope);
        let tree = top.map_or(0, |dir| below(index.tree(), dir, self.scope, &self.scope.top()));
        let tagged = self.covered(&mut index, cancel)?.len();
        Ok((tree + tagged, tagged))
    }

    /// The tagged metrics that are inside.
    pub(super) fn covered(
        self,
        index: &mut RwLockReadGuard<'_, Index>,
        cancel: &Cancel,
    ) -> Result<RoaringBitmap, QueryError> {
        let mut covered = self.tagged(index);
        self.confine(index, &mut covered, cancel)?;
        Ok(covered)
    }

    /// The tagged metrics, or those of the tenant.
    pub(super) fn tagged(self, index: &Index) -> RoaringBitmap {
        let Some(tenant) = self.scope.tenant() else { return index.tags.metrics().clone() };
        let mut own = RoaringBitmap::new();
        let ids = index.tags.get(tenant.tag()).and_then(|tag| tag.get(tenant.name()));
        ids.into_iter().for_each(|ids: &Ids| ids.add_to(&mut own));
        own
    }

    /// Leaves those of some tagged metrics that are inside.
    pub(super) fn confine(
        self,
        index: &mut RwLockReadGuard<'_, Index>,
        ids: &mut RoaringBitmap,
        cancel: &Cancel,
    ) -> Result<(), QueryError> {
        if self.scope.tenant().is_some() {
            *ids &= self.tagged(index);
        }
        if self.scope.takes_all() {
            return Ok(());
        }
        if ids.len() <= FEW {
            *ids = self.compare(index, ids, cancel)?;
            return Ok(());
        }
        let generation = index.generation();
        let (mut kept, unknown) = self.index.insides.lock().of(generation, self.scope).split(ids);
        if !unknown.is_empty() {
            let inside = self.compare(index, &unknown, cancel)?;
            if index.generation() == generation {
                self.index.insides.lock().of(generation, self.scope).keep(&unknown, &inside);
            }
            kept |= inside;
        }
        *ids = kept;
        Ok(())
    }

    /// Those of some metrics that are inside, by their names.
    fn compare(
        self,
        index: &mut RwLockReadGuard<'_, Index>,
        ids: &RoaringBitmap,
        cancel: &Cancel,
    ) -> Result<RoaringBitmap, QueryError> {
        let mut inside = RoaringBitmap::new();
        for (nth, id) in ids.iter().enumerate() {
            if nth % CHECK_EVERY == CHECK_EVERY - 1 {
                cancel.check()?;
                RwLockReadGuard::bump(index);
            }
            if index.name(MetricId(id)).is_some_and(|name| self.scope.covers(name)) {
                inside.insert(id);
            }
        }
        Ok(inside)
    }
}

/// The directory that is the top of the tree in a scope, if there is anything in it.
pub(super) fn root(tree: &Tree, scope: &Scope) -> Option<DirId> {
    tree.find_dir(scope.root())
}

/// Is anything in a directory that stands at this place inside?
pub(super) fn is_seen(tree: &Tree, dir: DirId, scope: &Scope, place: &Place) -> bool {
    match place {
        Place::Inside => true,
        Place::Outside => false,
        Place::Above(trail) => tree.dir(dir).children().iter().any(|&child| {
            let node = tree.node(child);
            let place = scope.step(trail, tree.text(child.component));
            match &place {
                Place::Outside => false,
                Place::Inside => node.metric.is_some() || node.dir.is_some(),
                Place::Above(_) => node.dir.is_some_and(|dir| is_seen(tree, dir, scope, &place)),
            }
        }),
    }
}

/// How many metrics are inside, in a directory that stands at this place.
pub(super) fn below(tree: &Tree, dir: DirId, scope: &Scope, place: &Place) -> u64 {
    match place {
        Place::Inside => u64::from(tree.dir(dir).live()),
        Place::Outside => 0,
        Place::Above(trail) => {
            let children = tree.dir(dir).children().iter();
            children
                .map(|&child| {
                    let node = tree.node(child);
                    let place = scope.step(trail, tree.text(child.component));
                    let own = u64::from(matches!(place, Place::Inside) && node.metric.is_some());
                    own + node.dir.map_or(0, |dir| below(tree, dir, scope, &place))
                })
                .sum()
        }
    }
}
