//! Texts with ids: an append-only arena, text by id, and id by text.
//!
//! A record in the arena has id, length and bytes side by side, so verifying a candidate of the hash table and reading its
//! id cost one cache miss together. Used twice: for metric names and for the components of the tree.

use std::hash::{BuildHasher, Hasher};

use ahash::RandomState;

use super::table::{NONE, Table};

/// Bytes of an arena segment. Growing by segments never copies, and wastes at most one of them.
const SEGMENT_BYTES: usize = 1 << 20;
/// Records start at multiples of this, which lets 32 bits address 8 GiB.
const ALIGN: usize = 2;
const HEADER_BYTES: usize = 6;
/// Names looked up together. Few enough for their working data to stay in the first-level cache.
const BLOCK: usize = 128;

/// The longest text.
pub(super) const MAX_TEXT_BYTES: usize = u16::MAX as usize;

/// Why a text was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Longer than [`MAX_TEXT_BYTES`].
    TooLong,
    /// The arena is full.
    Full,
}

/// Texts and their ids.
#[derive(Debug)]
pub(super) struct Texts {
    /// Randomly keyed: the texts come from outside, and nobody must be able to aim them all at one slot.
    hasher: RandomState,
    segments: Vec<Vec<u8>>,
    /// Where the record of an id starts, in units of [`ALIGN`] over all segments; [`NONE`] if it has none.
    places: Vec<u32>,
    by_text: Table,
    len: usize,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            segments: Vec::new(),
            places: Vec::new(),
            by_text: Table::default(),
            len: 0,
        }
    }
}

impl Texts {
    /// Number of texts.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// One more than the largest id ever used.
    pub(super) fn id_end(&self) -> usize {
        self.places.len()
    }

    /// The id of a text.
    pub(super) fn find(&self, text: &[u8]) -> Option<u32> {
        let place = self.by_text.find(self.tag(text), |place| self.record(place).1 == text)?;
        Some(self.header(place).0)
    }

    /// The text of an id.
    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&str> {
        self.get_bytes(id).map(|text| std::str::from_utf8(text).expect("records are written from strings"))
    }

    /// The text of an id, for comparing.
    #[inline]
    pub(super) fn get_bytes(&self, id: u32) -> Option<&[u8]> {
        let place = self.places.get(id as usize).copied().filter(|&place| place != NONE)?;
        Some(self.record(place).1)
    }

    /// The ids of many texts, in their order.
    ///
    /// Each step handles a block of texts before the next step starts. The loads of one step do not depend on each
    /// other, so the processor waits for many cache misses at once instead of one after the other.
    pub(super) fn find_many<'a>(
        &self,
        mut texts: impl Iterator<Item = &'a [u8]>,
        mut found: impl FnMut(Option<u32>),
    ) {
        let mut block: [&[u8]; BLOCK] = [&[]; BLOCK];
        let (mut tags, mut slots) = ([0_u32; BLOCK], [0_u64; BLOCK]);
        let (mut places, mut headers) = ([NONE; BLOCK], [(0_u32, 0_usize); BLOCK]);
        loop {
            let mut len = 0;
            for (place, text) in block.iter_mut().zip(&mut texts) {
                *place = text;
                len += 1;
            }
            for (tag, text) in tags[..len].iter_mut().zip(&block) {
                *tag = self.tag(text);
            }
            for (slot, tag) in slots[..len].iter_mut().zip(&tags) {
                *slot = self.by_text.peek(*tag);
            }
            for i in 0..len {
                places[i] = self.by_text.first(tags[i], slots[i]);
            }
            for i in 0..len {
                headers[i] = if places[i] == NONE { (NONE, 0) } else { self.header(places[i]) };
            }
            for i in 0..len {
                let (id, bytes) = headers[i];
                found(match places[i] {
                    NONE => None,
                    place if bytes == block[i].len() && self.bytes(place, bytes) == block[i] => Some(id),
                    // Another text has the same tag: rare enough to start over.
                    _ => self.find(block[i]),
                });
            }
            if len < BLOCK {
                return;
            }
        }
    }

    /// Adds a new text under an unused id.
    pub(super) fn insert(&mut self, id: u32, text: &str) -> Result<(), Refused> {
        let place = self.append(id, text)?;
        let index = id as usize;
        if self.places.len() <= index {
            self.places.resize(index + 1, NONE);
        }
        self.places[index] = place;
        self.by_text.insert(self.tag(text.as_bytes()), place);
        self.len += 1;
        Ok(())
    }

    /// The id of a text; a new text gets the next free id.
    pub(super) fn intern(&mut self, text: &str) -> Result<u32, Refused> {
        if let Some(id) = self.find(text.as_bytes()) {
            return Ok(id);
        }
        let id = u32::try_from(self.places.len()).map_err(|_| Refused::Full)?;
        self.insert(id, text)?;
        Ok(id)
    }

    /// Forgets an id and its text. The bytes stay in the arena.
    pub(super) fn remove(&mut self, id: u32) {
        let Some(slot) = self.places.get_mut(id as usize) else { return };
        let place = std::mem::replace(slot, NONE);
        if place != NONE {
            let tag = self.tag(self.record(place).1);
            self.by_text.remove(tag, place);
            self.len -= 1;
        }
    }

    /// Bytes allocated.
    pub(super) fn memory_bytes(&self) -> usize {
        let segments: usize = self.segments.iter().map(Vec::capacity).sum();
        segments + self.places.capacity() * size_of::<u32>() + self.by_text.memory_bytes()
    }

    fn tag(&self, text: &[u8]) -> u32 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(text);
        (hasher.finish() >> 32) as u32
    }

    fn append(&mut self, id: u32, text: &str) -> Result<u32, Refused> {
        let len = u16::try_from(text.len()).map_err(|_| Refused::TooLong)?;
        let bytes = (HEADER_BYTES + text.len()).next_multiple_of(ALIGN);
        if self.segments.last().is_none_or(|segment| segment.len() + bytes > SEGMENT_BYTES) {
            self.segments.push(Vec::with_capacity(SEGMENT_BYTES));
        }
        let number = self.segments.len() - 1;
        let segment = &mut self.segments[number];
        let start = number * SEGMENT_BYTES + segment.len();
        let place = u32::try_from(start / ALIGN).ok().filter(|&place| place != NONE).ok_or(Refused::Full)?;
        let end = segment.len() + bytes;
        segment.extend_from_slice(&id.to_le_bytes());
        segment.extend_from_slice(&len.to_le_bytes());
        segment.extend_from_slice(text.as_bytes());
        segment.resize(end, 0);
        Ok(place)
    }

    #[inline]
    fn record(&self, place: u32) -> (u32, &[u8]) {
        let (id, len) = self.header(place);
        (id, self.bytes(place, len))
    }

    #[inline]
    fn header(&self, place: u32) -> (u32, usize) {
        let (segment, start) = self.locate(place);
        let [a, b, c, d, e, f] = segment[start..start + HEADER_BYTES] else { return (NONE, 0) };
        (u32::from_le_bytes([a, b, c, d]), usize::from(u16::from_le_bytes([e, f])))
    }

    #[inline]
    fn bytes(&self, place: u32, len: usize) -> &[u8] {
        let (segment, start) = self.locate(place);
        &segment[start + HEADER_BYTES..start + HEADER_BYTES + len]
    }

    #[inline]
    fn locate(&self, place: u32) -> (&[u8], usize) {
        let start = place as usize * ALIGN;
        (&self.segments[start / SEGMENT_BYTES], start % SEGMENT_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_many(texts: &Texts, wanted: &[String]) -> Vec<Option<u32>> {
        let mut found = Vec::new();
        texts.find_many(wanted.iter().map(String::as_bytes), |id| found.push(id));
        found
    }

    #[test]
    fn texts_are_found_by_id_and_by_text() {
        let mut texts = Texts::default();
        for id in 0..10_000 {
            texts.insert(id * 3, &format!("servers.host{id}.é")).unwrap();
        }
        assert_eq!(texts.len(), 10_000);
        assert_eq!(texts.get(3 * 77), Some("servers.host77.é"));
        assert_eq!((texts.get(1), texts.get(1_000_000)), (None, None));
        let wanted: Vec<String> = (0..20_000).map(|i| format!("servers.host{i}.é")).collect();
        let expected: Vec<_> = (0..20_000).map(|i| (i < 10_000).then_some(i * 3)).collect();
        assert_eq!(find_many(&texts, &wanted), expected);
        assert_eq!(find_many(&texts, &wanted[..BLOCK]), expected[..BLOCK]);
        assert_eq!(find_many(&texts, &[]), []);
    }

    #[test]
    fn a_removed_text_is_gone_and_can_come_back() {
        let mut texts = Texts::default();
        texts.insert(0, "a").unwrap();
        texts.insert(1, "b").unwrap();
        texts.remove(0);
        texts.remove(0);
        texts.remove(9);
        assert_eq!((texts.get(0), texts.find(b"a"), texts.len()), (None, None, 1));
        texts.insert(2, "a").unwrap();
        assert_eq!((texts.find(b"a"), texts.find(b"b")), (Some(2), Some(1)));
    }

    #[test]
    fn long_texts_cross_no_segment_and_too_long_ones_are_refused() {
        let mut texts = Texts::default();
        let text = |i: u32| format!("{i}{}", "x".repeat(MAX_TEXT_BYTES - 10));
        for id in 0..50 {
            texts.insert(id, &text(id)).unwrap();
        }
        assert!(texts.segments.len() > 2);
        for id in 0..50 {
            assert_eq!(texts.get(id), Some(&*text(id)));
            assert_eq!(texts.find(text(id).as_bytes()), Some(id));
        }
        assert_eq!(texts.insert(50, &"x".repeat(MAX_TEXT_BYTES + 1)), Err(Refused::TooLong));
        assert_eq!(texts.intern(""), Ok(50));
        assert_eq!(texts.intern(""), Ok(50));
    }

    #[test]
    fn two_sets_of_texts_hash_differently() {
        let (a, b) = (Texts::default(), Texts::default());
        let same = (0..64_u8).filter(|i| a.tag(&[*i]) == b.tag(&[*i])).count();
        assert!(same < 8, "{same} of 64 tags are the same: the hash key is not random");
    }
}
