//! Which slots a chunk holds: all in a row, every n-th, a bitmap, or runs and gaps.

use super::ChunkError;
use super::varint::{self, Reader};

/// The slots of a chunk, as they are stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Presence<'a> {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) count: usize,
    form: Form<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    /// `first`, `first + step`, and so on; a row when `step` is 1.
    Every { step: u32 },
    /// One bit per slot from the first to the last.
    Bitmap(&'a [u8]),
    /// Length of a run, length of a gap, length of a run, and so on, as varints.
    Runs(&'a [u8]),
}

/// How slots will be written, decided before anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormKind {
    Row,
    Stride(u32),
    Bitmap,
    Runs,
}

/// Tags in the first byte of a chunk.
const ROW: u8 = 0;
const STRIDE: u8 = 1;
const BITMAP: u8 = 2;
const RUNS: u8 = 3;

impl FormKind {
    /// The smallest form for these slots, which must be ascending and not empty.
    #[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
    pub(super) fn of(slots: &[u32]) -> Result<Self, ChunkError> {
        let (&[first, ..], &[.., last]) = (slots, slots) else {
            return Err(ChunkError::Unwritable("it has no slots"));
        };
        // No early exit, so that the compiler can vectorise the loop.
        if !slots.windows(2).fold(true, |sorted, pair| sorted & (pair[0] < pair[1])) {
            return Err(ChunkError::Unwritable("its slots are not ascending"));
        }
        let span = (last - first) as usize + 1;
        if span == slots.len() {
            return Ok(FormKind::Row);
        }
        let step = slots[1] - first;
        if slots.windows(2).all(|pair| pair[1] - pair[0] == step) {
            return Ok(FormKind::Stride(step));
        }
        let bitmap_len = varint::len((span - slots.len()) as u64) + span.div_ceil(8);
        let runs_len =
            runs(slots).map(|(run, gap)| varint::len(run) + gap.map_or(0, varint::len)).sum::<usize>();
        Ok(if runs_len < bitmap_len { FormKind::Runs } else { FormKind::Bitmap })
    }

    pub(super) fn tag(self) -> u8 {
        match self {
            FormKind::Row => ROW,
            FormKind::Stride(_) => STRIDE,
            FormKind::Bitmap => BITMAP,
            FormKind::Runs => RUNS,
        }
    }

    /// Appends what the form needs besides the count and the first slot.
    pub(super) fn write(self, slots: &[u32], out: &mut Vec<u8>) {
        match self {
            FormKind::Row => {}
            FormKind::Stride(step) => varint::put(u64::from(step), out),
            FormKind::Bitmap => write_bitmap(slots, out),
            FormKind::Runs => {
                for (run, gap) in runs(slots) {
                    varint::put(run, out);
                    gap.into_iter().for_each(|gap| varint::put(gap, out));
                }
            }
        }
    }
}

#[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
fn write_bitmap(slots: &[u32], out: &mut Vec<u8>) {
    let (first, last) = (slots[0], slots[slots.len() - 1]);
    let span = (last - first) as usize + 1;
    varint::put((span - slots.len()) as u64, out);
    let start = out.len();
    out.resize(start + span.div_ceil(8), 0);
    for slot in slots {
        let bit = (slot - first) as usize;
        out[start + bit / 8] |= 1 << (bit % 8);
    }
}

/// Lengths of the runs of neighbouring slots, each with the gap after it; the last has none.
#[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
fn runs(slots: &[u32]) -> impl Iterator<Item = (u64, Option<u64>)> {
    let mut rest = slots;
    std::iter::from_fn(move || {
        let run = rest.windows(2).position(|pair| pair[1] - pair[0] > 1).map_or(rest.len(), |at| at + 1);
        let (head, tail) = rest.split_at(run);
        rest = tail;
        let end = head.last()?;
        Some((run as u64, tail.first().map(|next| u64::from(next - end - 1))))
    })
}

impl<'a> Presence<'a> {
    /// Reads the form tagged `tag`.
    pub(super) fn read(
        tag: u8,
        count: usize,
        first: u32,
        reader: &mut Reader<'a>,
    ) -> Result<Self, ChunkError> {
        let row = |step| {
            let reach = (count as u64 - 1) * u64::from(step);
            let last = u32::try_from(u64::from(first) + reach).ok()?;
            Some(Self { first, last, count, form: Form::Every { step } })
        };
        match tag {
            ROW => row(1),
            STRIDE => reader.varint_u32().filter(|&step| step > 1).and_then(row),
            BITMAP => Self::read_bitmap(count, first, reader),
            _ => Self::read_runs(count, first, reader),
        }
        .ok_or(ChunkError::Malformed("its slots make no sense"))
    }

    fn read_bitmap(count: usize, first: u32, reader: &mut Reader<'a>) -> Option<Self> {
        let span = reader.varint_u32()?.checked_add(u32::try_from(count).ok()?)?;
        let last = first.checked_add(span - 1)?;
        let bitmap = reader.take(span.div_ceil(8) as usize)?;
        let ends = bitmap.first()? & 1 == 1 && bitmap.last()? >> ((span - 1) % 8) == 1;
        let set = words(bitmap).map(|word| word.count_ones() as usize).sum::<usize>();
        (ends && set == count).then_some(Self { first, last, count, form: Form::Bitmap(bitmap) })
    }

    fn read_runs(count: usize, first: u32, reader: &mut Reader<'a>) -> Option<Self> {
        let whole = reader.rest();
        let mut left = count;
        let mut next = u64::from(first);
        loop {
            let run = reader.varint().filter(|&run| run > 0 && run <= left as u64)?;
            left -= run as usize;
            next += run;
            if left == 0 {
                break;
            }
            next = next.checked_add(reader.varint().filter(|&gap| gap > 0)?)?;
        }
        let last = u32::try_from(next - 1).ok()?;
        let used = whole.len() - reader.rest().len();
        Some(Self { first, last, count, form: Form::Runs(whole.get(..used)?) })
    }

    /// Are the slots contiguous?
    pub(super) fn is_row(&self) -> bool {
        matches!(self.form, Form::Every { step: 1 })
    }

    /// How many slots come before `slot`.
    pub(super) fn rank(&self, slot: u64) -> usize {
        let offset = slot.saturating_sub(u64::from(self.first));
        if offset == 0 {
            return 0;
        }
        if slot > u64::from(self.last) {
            return self.count;
        }
        match self.form {
            Form::Every { step } => offset.div_ceil(u64::from(step)) as usize,
            Form::Bitmap(bitmap) => {
                let (whole, bits) = (offset as usize / 64, offset % 64);
                let before = words(bitmap).take(whole).map(|word| word.count_ones() as usize).sum::<usize>();
                let word = words(bitmap).nth(whole).unwrap_or(0) & ((1 << bits) - 1);
                before + word.count_ones() as usize
            }
            Form::Runs(_) => self.iter().take_while(|&s| u64::from(s) < slot).count(),
        }
    }

    /// The slots, ascending.
    pub(super) fn iter(&self) -> Slots<'a> {
        let walk = match self.form {
            Form::Every { step } => Walk::Every { step },
            Form::Bitmap(bitmap) => Walk::Bitmap { rest: bitmap, word: 0, base: 0 },
            Form::Runs(runs) => Walk::Runs { reader: Reader::new(runs), run: 0 },
        };
        Slots { next: u64::from(self.first), left: self.count, walk }
    }
}

/// The bitmap, eight bytes at a time, padded with zeros.
fn words(bitmap: &[u8]) -> impl Iterator<Item = u64> {
    bitmap.chunks(8).map(word)
}

fn word(bytes: &[u8]) -> u64 {
    if let Some(&word) = bytes.first_chunk() {
        return u64::from_le_bytes(word);
    }
    let mut word = [0; 8];
    word.iter_mut().zip(bytes).for_each(|(word, byte)| *word = *byte);
    u64::from_le_bytes(word)
}

/// The slots of a chunk, ascending.
pub(super) struct Slots<'a> {
    /// The next slot, or for a bitmap the slot of bit 0 of the next word.
    next: u64,
    left: usize,
    walk: Walk<'a>,
}

enum Walk<'a> {
    Every { step: u32 },
    Bitmap { rest: &'a [u8], word: u64, base: u64 },
    Runs { reader: Reader<'a>, run: u64 },
}

impl Iterator for Slots<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let slot = match &mut self.walk {
            Walk::Every { step } => {
                let slot = self.next;
                self.next += u64::from(*step);
                slot
            }
            Walk::Bitmap { rest, word: bits, base } => {
                while *bits == 0 {
                    let (head, tail) = rest.split_at(rest.len().min(8));
                    if head.is_empty() {
                        return None;
                    }
                    (*bits, *rest, *base) = (word(head), tail, self.next);
                    self.next += 64;
                }
                let slot = *base + u64::from(bits.trailing_zeros());
                *bits &= *bits - 1;
                slot
            }
            Walk::Runs { reader, run } => {
                if *run == 0 {
                    *run = reader.varint()?;
                }
                let slot = self.next;
                *run -= 1;
                self.next += 1;
                if *run == 0 {
                    self.next += reader.varint().unwrap_or(0);
                }
                slot
            }
        };
        Some(slot as u32)
    }

    fn nth(&mut self, n: usize) -> Option<u32> {
        if let Walk::Every { step } = self.walk {
            let n = n.min(self.left);
            self.next += n as u64 * u64::from(step);
            self.left -= n;
            return self.next();
        }
        for _ in 0..n {
            self.next()?;
        }
        self.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(slots: &[u32]) -> (FormKind, usize) {
        let form = FormKind::of(slots).unwrap();
        let mut bytes = Vec::new();
        form.write(slots, &mut bytes);
        let mut reader = Reader::new(&bytes);
        let back = Presence::read(form.tag(), slots.len(), slots[0], &mut reader).unwrap();
        assert!(reader.rest().is_empty());
        assert_eq!(back.iter().collect::<Vec<_>>(), slots);
        assert_eq!((back.first, back.last), (slots[0], slots[slots.len() - 1]));
        for slot in slots.iter().flat_map(|&s| [u64::from(s).saturating_sub(1), s.into(), u64::from(s) + 1]) {
            let before = slots.iter().filter(|&&s| u64::from(s) < slot).count();
            assert_eq!(back.rank(slot), before, "{form:?} {slot}");
            assert_eq!(back.iter().nth(before), slots.get(before).copied());
        }
        (form, bytes.len())
    }

    #[test]
    fn each_shape_takes_its_smallest_form() {
        assert_eq!(round_trip(&[7]), (FormKind::Row, 0));
        assert_eq!(round_trip(&(100..220).collect::<Vec<_>>()), (FormKind::Row, 0));
        assert_eq!(round_trip(&(0..240).map(|i| 3 + i * 6).collect::<Vec<_>>()), (FormKind::Stride(6), 1));
        assert_eq!(round_trip(&[0, u32::MAX]), (FormKind::Stride(u32::MAX), 5));
        let one_gap: Vec<u32> = (0..1440).filter(|i| *i != 700).collect();
        assert_eq!(round_trip(&one_gap), (FormKind::Runs, 5));
        assert_eq!(round_trip(&[5, 900, 1439]), (FormKind::Runs, 7));
        let ragged: Vec<u32> = (0..400).filter(|i| i * i % 7 != 2).collect();
        assert_eq!(round_trip(&ragged).0, FormKind::Bitmap);
        assert_eq!(round_trip(&[u32::MAX - 3, u32::MAX - 2, u32::MAX]).0, FormKind::Bitmap);
    }

    #[test]
    fn unsorted_or_no_slots_are_refused() {
        for slots in [&[][..], &[1, 1], &[2, 1], &[1, 3, 2]] {
            assert!(matches!(FormKind::of(slots), Err(ChunkError::Unwritable(_))), "{slots:?}");
        }
    }

    #[test]
    fn impossible_slots_are_refused() {
        let refused = |tag, count, first, bytes: &[u8]| {
            Presence::read(tag, count, first, &mut Reader::new(bytes)).is_err()
        };
        assert!(refused(ROW, 2, u32::MAX, &[]), "runs past the last slot there is");
        assert!(refused(STRIDE, 2, 0, &[1]), "a stride of 1 is a row");
        assert!(refused(STRIDE, 2, 0, &[]), "no stride");
        assert!(refused(BITMAP, 2, 0, &[1, 0b011]), "last bit unset");
        assert!(refused(BITMAP, 2, 0, &[1, 0b110]), "first bit unset");
        assert!(refused(BITMAP, 2, 0, &[1, 0b111]), "too many bits");
        assert!(refused(BITMAP, 2, 0, &[1, 0b1101]), "bits beyond the span");
        assert!(refused(BITMAP, 2, u32::MAX - 1, &[1, 0b101]), "runs past the last slot there is");
        assert!(refused(RUNS, 3, 0, &[1, 1, 3]), "more slots than counted");
        assert!(refused(RUNS, 3, 0, &[1, 0, 2]), "gap of nothing");
        assert!(refused(RUNS, 3, 0, &[1, 1]), "fewer slots than counted");
        assert!(!refused(RUNS, 3, 0, &[1, 1, 2]));
    }
}
