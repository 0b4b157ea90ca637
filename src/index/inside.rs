//! Which metrics are inside of scopes, as far as somebody asked or sent. Each name is compared with a scope once.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::{Index, SharedIndex};
use plumbago_model::{MetricId, Scope};

/// Scopes of which something is kept, those that were needed last. For each of them a million metrics take a quarter of a megabyte
/// where somebody asks by tags, and another one where somebody sends.
const SCOPES: usize = 16;

/// What is known for some scopes.
#[derive(Debug)]
pub(super) struct PerScope<K> {
    /// The ids mean what they meant in this generation of the index.
    generation: u64,
    of: Vec<(Arc<Scope>, K)>,
}

impl<K> Default for PerScope<K> {
    fn default() -> Self {
        Self { generation: 0, of: Vec::new() }
    }
}

impl<K: Default> PerScope<K> {
    /// What is known for a scope. The lock of the index is held, so its generation is this one.
    pub(super) fn of(&mut self, generation: u64, scope: &Arc<Scope>) -> &mut K {
        if self.generation != generation {
            self.of.clear();
            self.generation = generation;
        }
        match self.of.iter().position(|(of, _)| Arc::ptr_eq(of, scope) || of == scope) {
            // The one that was needed last is at the end.
            Some(at) => self.of[at..].rotate_left(1),
            None => {
                if self.of.len() >= SCOPES {
                    self.of.remove(0);
                }
                self.of.push((Arc::clone(scope), K::default()));
            }
        }
        &mut self.of.last_mut().expect("one was found or pushed").1
    }
}

/// Sets of metrics with tags.
#[derive(Debug, Default)]
pub(super) struct Sets {
    /// The metrics that were compared.
    compared: RoaringBitmap,
    inside: RoaringBitmap,
}

impl Sets {
    /// Which of some metrics are known to be inside, and which are to be compared.
    pub(super) fn split(&self, ids: &RoaringBitmap) -> (RoaringBitmap, RoaringBitmap) {
        (ids & &self.inside, ids - &self.compared)
    }

    /// Keeps what came out of a comparison.
    pub(super) fn keep(&mut self, compared: &RoaringBitmap, inside: &RoaringBitmap) {
        self.compared |= compared;
        self.inside |= inside;
    }
}

/// Two bits for each metric: whether it was compared, and whether it is inside. They are looked up for every point.
#[derive(Debug, Default)]
pub(super) struct Bits(Vec<u8>);

impl Bits {
    const COMPARED: u8 = 0b01;
    const INSIDE: u8 = 0b10;

    fn place(id: MetricId) -> (usize, u32) {
        (id.index() / 4, id.0 % 4 * 2)
    }

    fn get(&self, id: MetricId) -> Option<bool> {
        let (byte, shift) = Self::place(id);
        let bits = self.0.get(byte)? >> shift;
        (bits & Self::COMPARED != 0).then_some(bits & Self::INSIDE != 0)
    }

    fn set(&mut self, id: MetricId, is_inside: bool) {
        let (byte, shift) = Self::place(id);
        if self.0.len() <= byte {
            self.0.resize(byte + 1, 0);
        }
        let inside = if is_inside { Self::INSIDE } else { 0 };
        self.0[byte] |= (Self::COMPARED | inside) << shift;
    }
}

impl SharedIndex {
    /// The places of the metrics in a list that are outside of a scope. `index` is this one.
    pub fn places_outside(&self, index: &Index, scope: &Arc<Scope>, ids: &[Option<MetricId>]) -> Vec<usize> {
        let (mut outside, mut unknown) = (Vec::new(), Vec::new());
        if scope.is_everything() {
            return outside;
        }
        let generation = index.generation();
        let mut known = self.senders.lock();
        let bits = known.of(generation, scope);
        for (at, id) in ids.iter().enumerate() {
            match id.map(|id| (id, bits.get(id))) {
                None | Some((_, Some(true))) => {}
                Some((_, Some(false))) => outside.push(at),
                Some((id, None)) => unknown.push((at, id)),
            }
        }
        drop(known);
        if unknown.is_empty() {
            return outside;
        }
        let is_inside = |id| index.name(id).is_some_and(|name| scope.covers(name));
        let compared: Vec<(usize, MetricId, bool)> =
            unknown.into_iter().map(|(at, id)| (at, id, is_inside(id))).collect();
        let mut known = self.senders.lock();
        let bits = known.of(generation, scope);
        for (at, id, is_inside) in compared {
            bits.set(id, is_inside);
            if !is_inside {
                outside.push(at);
            }
        }
        outside
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use plumbago_model::Cancel;

    #[test]
    fn the_scopes_that_were_needed_last_are_kept() {
        let scope = |nth: usize| Arc::new(Scope::of([&*format!("s{nth}")]).unwrap());
        let (mut insides, ids) = (PerScope::<Sets>::default(), RoaringBitmap::from_iter([1, 2]));
        let one = RoaringBitmap::from_iter([1]);
        for nth in 0..=SCOPES {
            let (found, unknown) = insides.of(7, &scope(nth)).split(&ids);
            assert!(found.is_empty() && unknown == ids);
            insides.of(7, &scope(nth)).keep(&ids, &one);
            // The first one is needed again and again.
            assert_eq!(insides.of(7, &scope(0)).split(&ids), (one.clone(), RoaringBitmap::new()));
        }
        assert_eq!(insides.of.len(), SCOPES);
        assert_eq!(insides.of(7, &scope(1)).split(&ids).1, ids, "it made room");
        assert_eq!(insides.of(8, &scope(0)).split(&ids).1, ids, "of another generation");
    }

    proptest! {
        /// However names come, go and change, what is inside is what a look at each of them finds.
        #[test]
        fn what_is_known_is_never_of_another_name(
            changes in prop::collection::vec((0..40_u32, "[ab];(dc=[xy];)?host=[a-d]", 0..4_u8), 1..60),
        ) {
            let scopes = [&["a"][..], &["*;dc=x"], &["b;host=a", "a;dc=y"]];
            let scopes = scopes.map(|texts| Arc::new(Scope::of(texts.iter().copied()).unwrap()));
            // Enough of them that it is worth while to remember.
            let mut index = Index::new();
            for id in 100..150 {
                index.insert(MetricId(id), &format!("a;host=h{id}")).unwrap();
            }
            let index = SharedIndex::new(index);
            for (id, name, change) in changes {
                match change {
                    0 => {
                        index.write().remove(MetricId(id));
                    }
                    1 => {
                        let _ = index.write().rename(MetricId(id), &name);
                    }
                    _ => {
                        let _ = index.write().insert(MetricId(id), &name);
                    }
                }
                for scope in &scopes {
                    let all = index.all().covered(&mut index.read(), &Cancel::never()).unwrap();
                    let read = index.read();
                    let is_inside = |id: &u32| scope.covers(read.name(MetricId(*id)).unwrap());
                    let expected: RoaringBitmap = all.iter().filter(is_inside).collect();
                    drop(read);
                    let found = index.within(scope).covered(&mut index.read(), &Cancel::never()).unwrap();
                    prop_assert_eq!(&found, &expected);
                    let ids: Vec<Option<MetricId>> = all.iter().map(|id| Some(MetricId(id))).chain([None]).collect();
                    let mut outside = index.places_outside(&index.read(), scope, &ids);
                    outside.sort_unstable();
                    let is_outside = |at: &usize| ids[*at].is_some_and(|id| !expected.contains(id.0));
                    prop_assert_eq!(outside, (0..ids.len()).filter(is_outside).collect::<Vec<_>>());
                }
            }
        }
    }
}
