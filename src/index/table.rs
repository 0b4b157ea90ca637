//! An open-addressing hash table from a 32-bit tag to 32-bit values, the keys kept elsewhere.
//!
//! A slot is tag and value in one word, eight to a cache line. An entry's place depends on its tag alone, so growing and
//! removing never read the keys: doubling a table of a million entries is one pass over memory.

/// Never a value.
pub(super) const NONE: u32 = u32::MAX;

const EMPTY: u64 = u64::MAX;
const MIN_SLOTS: usize = 16;

/// Values by tag. Two entries may have the same tag; the caller tells them apart.
#[derive(Debug)]
pub(super) struct Table {
    /// A power of two of them, at most three quarters in use.
    slots: Vec<u64>,
    len: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self { slots: vec![EMPTY; MIN_SLOTS], len: 0 }
    }
}

impl Table {
    /// The first value under `tag` for which `is_it` holds.
    pub(super) fn find(&self, tag: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = self.home(tag);
        loop {
            let slot = self.slots[at];
            if slot == EMPTY {
                return None;
            }
            if tag_of(slot) == tag && is_it(value_of(slot)) {
                return Some(value_of(slot));
            }
            at = self.after(at);
        }
    }

    /// The slot where a search for `tag` starts. Reading it ahead of [`Table::find`] brings it into the cache.
    pub(super) fn peek(&self, tag: u32) -> u64 {
        self.slots[self.home(tag)]
    }

    /// The first value under `tag`, or [`NONE`]; `peeked` is what [`Table::peek`] returned.
    pub(super) fn first(&self, tag: u32, peeked: u64) -> u32 {
        if tag_of(peeked) == tag {
            return value_of(peeked);
        }
        self.find(tag, |_| true).unwrap_or(NONE)
    }

    /// Adds an entry, even if there is one like it.
    pub(super) fn insert(&mut self, tag: u32, value: u32) {
        debug_assert_ne!(value, NONE);
        if (self.len + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        self.place(tag, value);
        self.len += 1;
    }

    /// Removes an entry, and closes the gap so that no search ends early.
    pub(super) fn remove(&mut self, tag: u32, value: u32) {
        let mut gap = self.home(tag);
        while self.slots[gap] != pack(tag, value) {
            if self.slots[gap] == EMPTY {
                return;
            }
            gap = self.after(gap);
        }
        self.len -= 1;
        let mut at = self.after(gap);
        while self.slots[at] != EMPTY {
            // An entry may move back into the gap unless that is before its home.
            let home = self.home(tag_of(self.slots[at]));
            if self.distance(home, at) >= self.distance(gap, at) {
                self.slots[gap] = self.slots[at];
                gap = at;
            }
            at = self.after(at);
        }
        self.slots[gap] = EMPTY;
    }

    /// Bytes allocated.
    pub(super) fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }

    fn grow(&mut self) {
        let doubled = vec![EMPTY; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, doubled);
        for slot in old {
            if slot != EMPTY {
                self.place(tag_of(slot), value_of(slot));
            }
        }
    }

    fn place(&mut self, tag: u32, value: u32) {
        let mut at = self.home(tag);
        while self.slots[at] != EMPTY {
            at = self.after(at);
        }
        self.slots[at] = pack(tag, value);
    }

    fn home(&self, tag: u32) -> usize {
        tag as usize & (self.slots.len() - 1)
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    /// Steps from one slot forward to another.
    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.slots.len() - 1)
    }
}

fn pack(tag: u32, value: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(value)
}

fn tag_of(slot: u64) -> u32 {
    (slot >> 32) as u32
}

/// [`NONE`] for an empty slot.
fn value_of(slot: u64) -> u32 {
    slot as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn values(table: &Table, tag: u32) -> BTreeSet<u32> {
        let mut seen = BTreeSet::new();
        table.find(tag, |value| !seen.insert(value));
        seen
    }

    proptest! {
        /// Few tags, all near the end of the slots, so that clusters wrap around and collide.
        #[test]
        fn agrees_with_a_set(ops in prop::collection::vec((any::<bool>(), 0_u32..6, 0_u32..40), 1..400)) {
            let mut table = Table::default();
            let mut model = BTreeSet::new();
            for (insert, tag, value) in ops {
                let tag = u32::MAX - 3 + tag.min(3) - tag.saturating_sub(3) * 16;
                if insert && model.insert((tag, value)) {
                    table.insert(tag, value);
                } else if !insert {
                    model.remove(&(tag, value));
                    table.remove(tag, value);
                }
                let expected: BTreeSet<u32> = model.iter().filter(|e| e.0 == tag).map(|e| e.1).collect();
                let first = table.first(tag, table.peek(tag));
                prop_assert_eq!(first == NONE, expected.is_empty());
                prop_assert!(first == NONE || expected.contains(&first));
                prop_assert_eq!(values(&table, tag), expected);
                prop_assert_eq!(table.len, model.len());
            }
        }
    }
}
