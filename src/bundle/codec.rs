//! Bundles as bytes: what `/internal/import` takes and `/internal/export` gives. The layout is in `docs/format/bundle.md`.

use std::io::{self, Read};

use super::{Archive, Bundle};
use crate::store::Column;
use plumbago_model::Policy;

/// The first bytes of a stream: the name of the format and its version.
const MAGIC: [u8; 8] = *b"PLBUNDL1";
/// Longest record that is read. A metric with ten years of seconds fits.
const MAX_RECORD_BYTES: u32 = 1 << 30;
/// Bytes are read in pieces of at most this size, so that a wrong length cannot claim memory that no bytes back.
const PIECE_BYTES: u64 = 1 << 20;

/// Why bytes are not bundles.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// The stream broke off, or could not be read.
    #[error("the bundles could not be read: {0}")]
    Io(#[from] io::Error),
    /// Something else, or a version that this program does not know.
    #[error(
        "this is not a stream of bundles of version 1 (it begins with {found:?}); the other end may run another version of plumbago"
    )]
    Magic {
        /// What is there instead.
        found: String,
    },
    /// A record whose bytes do not add up.
    #[error("record {record} of the bundles is damaged: {detail}")]
    Damaged {
        /// Its number, from 1.
        record: u64,
        /// What is wrong.
        detail: &'static str,
    },
}

/// Appends bundles to `out`, with the head of a stream if `out` is empty.
pub fn encode(bundle: &Bundle, out: &mut Vec<u8>) {
    if out.is_empty() {
        out.extend_from_slice(&MAGIC);
    }
    let begin = out.len();
    out.extend_from_slice(&[0; 8]);
    put_text(&bundle.name, out);
    put_text(&bundle.policy.to_string(), out);
    put_count(bundle.archives.len(), out);
    for archive in &bundle.archives {
        put_archive(archive, out);
    }
    let (head, payload) = out.split_at_mut(begin + 8);
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes();
    let sum = crc32c::crc32c(payload).to_le_bytes();
    if let Some(head) = head.last_chunk_mut::<8>() {
        *head = [length[0], length[1], length[2], length[3], sum[0], sum[1], sum[2], sum[3]];
    }
}

fn put(number: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_count(count: usize, out: &mut Vec<u8>) {
    put(u32::try_from(count).unwrap_or(u32::MAX), out);
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    put_count(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

fn put_archive(archive: &Archive, out: &mut Vec<u8>) {
    let column = &archive.column;
    put(archive.step_secs, out);
    put(archive.points, out);
    put_runs(&column.times, |a, b| b.checked_sub(a) == Some(archive.step_secs), out);
    column.values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    put_runs(&column.counts, |a, b| a == b, out);
}

/// Numbers as pairs of the first of a run and the run's length. `continues` says whether a run goes on.
fn put_runs(numbers: &[u32], continues: impl Fn(u32, u32) -> bool, out: &mut Vec<u8>) {
    let at = out.len();
    put(0, out);
    let mut runs = 0_u32;
    for run in numbers.chunk_by(|a, b| continues(*a, *b)) {
        let Some(&first) = run.first() else { continue };
        put(first, out);
        put_count(run.len(), out);
        runs += 1;
    }
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&runs.to_le_bytes());
    }
}

/// The bundles of a stream, one after another. After an error there are no more.
pub struct Bundles<R> {
    from: R,
    record: u64,
    done: bool,
}

impl<R: Read> Bundles<R> {
    /// Reads bundles from a stream.
    pub fn new(from: R) -> Self {
        Self { from, record: 0, done: false }
    }

    fn read(&mut self) -> Result<Option<Bundle>, BundleError> {
        if self.record == 0 && !self.read_magic()? {
            return Ok(None);
        }
        self.record += 1;
        let mut head = [0; 8];
        if !self.fill_or_end(&mut head)? {
            return Ok(None);
        }
        let [a, b, c, d, sum @ ..] = head;
        let length = u32::from_le_bytes([a, b, c, d]);
        if length > MAX_RECORD_BYTES {
            return Err(self.damaged("its length is impossible"));
        }
        let payload = self.read_payload(length)?;
        if crc32c::crc32c(&payload) != u32::from_le_bytes(sum) {
            return Err(self.damaged("its checksum is wrong"));
        }
        decode(&payload).map(Some).map_err(|detail| self.damaged(detail))
    }

    fn read_magic(&mut self) -> Result<bool, BundleError> {
        let mut magic = [0; 8];
        if !self.fill_or_end(&mut magic)? {
            return Ok(false);
        }
        if magic != MAGIC {
            return Err(BundleError::Magic { found: String::from_utf8_lossy(&magic).into_owned() });
        }
        Ok(true)
    }

    /// Fills the buffer; false if the stream ends before its first byte.
    fn fill_or_end(&mut self, buffer: &mut [u8; 8]) -> Result<bool, BundleError> {
        let [first, rest @ ..] = buffer;
        let got = loop {
            match self.from.read(std::slice::from_mut(first)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if got > 0 {
            self.from.read_exact(rest)?;
        }
        Ok(got > 0)
    }

    fn read_payload(&mut self, length: u32) -> Result<Vec<u8>, BundleError> {
        let mut payload = Vec::new();
        let mut left = u64::from(length);
        while left > 0 {
            let got = (&mut self.from).take(left.min(PIECE_BYTES)).read_to_end(&mut payload)?;
            if got == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            left -= got as u64;
        }
        Ok(payload)
    }

    fn damaged(&self, detail: &'static str) -> BundleError {
        BundleError::Damaged { record: self.record, detail }
    }
}

impl<R: Read> Iterator for Bundles<R> {
    type Item = Result<Bundle, BundleError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.read().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

fn decode(payload: &[u8]) -> Result<Bundle, &'static str> {
    let mut fields = Fields(payload);
    let name = fields.text()?.to_owned();
    let policy: Policy = fields.text()?.parse().map_err(|_| "its policy is not one")?;
    let archives = fields.number()?;
    let archives = (0..archives).map(|_| fields.archive()).collect::<Result<_, _>>()?;
    if !fields.0.is_empty() {
        return Err("something follows its end");
    }
    Ok(Bundle { name, policy, archives })
}

/// What is left of a record.
struct Fields<'a>(&'a [u8]);

const SHORT: &str = "it ends too early";

impl<'a> Fields<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, &'static str> {
        let (bytes, rest) = self.0.split_first_chunk::<4>().ok_or(SHORT)?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*bytes))
    }

    fn text(&mut self) -> Result<&'a str, &'static str> {
        let length = self.number()? as usize;
        std::str::from_utf8(self.take(length)?).map_err(|_| "a text is not UTF-8")
    }

    fn archive(&mut self) -> Result<Archive, &'static str> {
        let (step_secs, points) = (self.number()?, self.number()?);
        if step_secs == 0 {
            return Err("an archive has a step of 0 s");
        }
        // Each time has a value of eight bytes further on.
        let times = self.runs(step_secs, self.0.len() / 8)?;
        if !times.is_sorted_by(|a, b| a < b) {
            return Err("times do not ascend");
        }
        let values = self.take(times.len() * 8)?.chunks_exact(8);
        let values = values.map(|bytes| bytes.try_into().map_or(f64::NAN, f64::from_le_bytes)).collect();
        let counts = self.runs(0, times.len())?;
        if !counts.is_empty() && counts.len() != times.len() {
            return Err("counts and times differ in number");
        }
        Ok(Archive { step_secs, points, column: Column { times, values, counts } })
    }

    /// Runs of numbers that grow by `step`, at most so many numbers: a run may claim any length.
    fn runs(&mut self, step: u32, most: usize) -> Result<Vec<u32>, &'static str> {
        let mut numbers = Vec::new();
        for _ in 0..self.number()? {
            let (first, length) = (self.number()?, self.number()?);
            if length as usize > most - numbers.len() {
                return Err(SHORT);
            }
            for nth in 0..length {
                let number = nth.checked_mul(step).and_then(|grown| first.checked_add(grown));
                numbers.push(number.ok_or("a time is beyond 2106")?);
            }
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn archives() -> impl Strategy<Value = Vec<Archive>> {
        let slot = (1..50_u32, any::<f64>(), 1..9_u32);
        let archive = (1..4000_u32, 0..9999_u32, prop::collection::vec(slot, 0..60), any::<bool>());
        let archive = archive.prop_map(|(step_secs, points, slots, counted)| {
            let mut column = Column::default();
            let mut time = 0;
            for (gap, value, count) in slots {
                time += gap / 25 * step_secs + step_secs;
                column.times.push(time);
                column.values.push(if value.is_nan() { 0.0 } else { value });
                column.counts.extend(counted.then_some(count));
            }
            Archive { step_secs, points, column }
        });
        prop::collection::vec(archive, 0..4)
    }

    proptest! {
        #[test]
        fn bundles_come_back_as_they_were(all in prop::collection::vec(("[a-z.;=]{0,20}", archives()), 0..4)) {
            let policy: Policy = "8640*10s:43200*60s|average|0.5".parse().unwrap();
            let bundle = |(name, archives)| Bundle { name, policy: policy.clone(), archives };
            let bundles: Vec<Bundle> = all.into_iter().map(bundle).collect();
            let mut bytes = Vec::new();
            bundles.iter().for_each(|bundle| encode(bundle, &mut bytes));
            let back: Vec<Bundle> = Bundles::new(&*bytes).collect::<Result<_, _>>().unwrap();
            prop_assert_eq!(back, bundles);
        }
    }

    fn one() -> Vec<u8> {
        let column = Column { times: vec![60, 120, 240], values: vec![1.0, 2.0, 3.0], counts: vec![6, 6, 1] };
        let archives = vec![Archive { step_secs: 60, points: 10, column }];
        let policy = "10*60s|sum|0".parse().unwrap();
        let mut bytes = Vec::new();
        encode(&Bundle { name: "a.b".to_owned(), policy, archives }, &mut bytes);
        bytes
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_noticed() {
        let whole = one();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert!(Bundles::new(&*bytes).any(|bundle| bundle.is_err()), "byte {at}");
            let cut = Bundles::new(&whole[..at]).any(|bundle| bundle.is_err());
            assert_eq!(cut, at != 0 && at != 8, "{at} bytes");
        }
    }

    #[test]
    fn lengths_that_no_bytes_back_claim_no_memory() {
        let mut payload = Vec::new();
        put_text("a", &mut payload);
        put_text("10*60s|sum|0", &mut payload);
        // One archive of step 1 whose only run claims four thousand million slots.
        let begin = payload.len();
        for number in [1, 1, 10, 1, 0, u32::MAX] {
            put(number, &mut payload);
        }
        assert_eq!(decode(&payload).unwrap_err(), SHORT);
        // The same for the counts of one slot.
        payload.truncate(begin);
        for number in [1, 1, 10, 1, 0, 1, 0, 0, 1, 7, u32::MAX] {
            put(number, &mut payload);
        }
        assert_eq!(decode(&payload).unwrap_err(), SHORT);
    }

    #[test]
    fn another_version_is_named() {
        let error = Bundles::new(&b"PLBUNDL2........"[..]).next().unwrap().unwrap_err().to_string();
        assert!(error.contains("PLBUNDL2") && error.contains("another version"), "{error}");
    }
}
