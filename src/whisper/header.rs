//! What a file says about itself, and the header of carbon's format.

use std::fmt;
use std::ops::RangeInclusive;

use plumbago_model::{Aggregator, Retention, Stage};

use super::POINT_BYTES;
use super::error::ReadError;
use super::fields::Fields;
use super::input::Input;
use super::method::Method;

/// Bytes before the list of archives.
pub(super) const METADATA_BYTES: u64 = 16;
/// Bytes of one entry of that list.
pub(super) const ENTRY_BYTES: u64 = 12;

/// Before 2012 the first field was the time of the last update, and the method was always the average. Such files are never
/// rewritten, so some are still in use: a time from 2006 to 2015 means one of them.
const LAST_UPDATE: RangeInclusive<u32> = 1_136_073_600..=1_451_606_399;

/// The two layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Carbon's: a ring of points for each archive.
    Plain,
    /// go-carbon's: blocks of compressed points.
    Compressed,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Compressed => "compressed",
        })
    }
}

/// What a file says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Its layout.
    pub format: Format,
    /// How coarser points are made.
    pub method: Method,
    /// The share of points that must be known for a coarser one.
    pub x_files_factor: f64,
    /// Resolutions and how long they last. The archives of a mix count once for each resolution.
    pub retention: Retention,
}

/// A file in carbon's format: its header, and where its rings are.
#[derive(Debug)]
pub(super) struct Plain {
    pub(super) header: Header,
    pub(super) rings: Vec<Ring>,
}

/// One archive as the header describes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    pub(super) offset: u64,
    pub(super) stage: Stage,
}

impl Ring {
    fn bytes(&self) -> u64 {
        u64::from(self.stage.points) * POINT_BYTES as u64
    }
}

impl Plain {
    /// Reads and checks the header.
    pub(super) fn read(input: &mut Input<'_>) -> Result<Self, ReadError> {
        if input.len() == 0 {
            return Err(ReadError::Empty);
        }
        let mut fields = Fields::new(input.read("header", 0, METADATA_BYTES)?);
        let code = fields.u32()?;
        // The longest retention: what the archives say is used instead.
        fields.u32()?;
        let x_files_factor = x_files_factor(fields.f32()?)?;
        let count = fields.u32()?;
        let method = match Method::of_plain(code) {
            Some(method) => method,
            None if LAST_UPDATE.contains(&code) => Method::Known(Aggregator::Average),
            None => return Err(ReadError::UnknownMethod { code, format: Format::Plain }),
        };
        let entries = read_entries(input, count)?;
        let retention = retention(&entries)?;
        let rings: Vec<Ring> = entries
            .iter()
            .zip(retention.stages())
            .map(|(e, &stage)| Ring { offset: e.offset, stage })
            .collect();
        let header = METADATA_BYTES + u64::from(count) * ENTRY_BYTES;
        check_places(&rings, header, input.len())?;
        let header = Header { format: Format::Plain, method, x_files_factor, retention };
        Ok(Self { header, rings })
    }
}

/// An entry of the list of archives, as far as both formats have it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) offset: u64,
    pub(super) step: u32,
    pub(super) slots: u32,
}

impl Entry {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, ReadError> {
        Ok(Self { offset: fields.u32()?.into(), step: fields.u32()?, slots: fields.u32()? })
    }
}

fn read_entries(input: &mut Input<'_>, count: u32) -> Result<Vec<Entry>, ReadError> {
    if count == 0 {
        return Err(ReadError::NoArchives);
    }
    let bytes = input.read("list of archives", METADATA_BYTES, u64::from(count) * ENTRY_BYTES)?;
    let mut fields = Fields::new(bytes);
    (0..count).map(|_| Entry::read(&mut fields)).collect()
}

/// Checks that the archives are in order and fit together.
pub(super) fn retention(entries: &[Entry]) -> Result<Retention, ReadError> {
    let mut before = 0;
    for (archive, &Entry { step, slots, .. }) in entries.iter().enumerate() {
        if step == 0 || slots == 0 {
            return Err(ReadError::Nothing { archive, step, slots });
        }
        if step < before {
            return Err(ReadError::Unsorted { archive, step, before });
        }
        before = step;
    }
    Ok(Retention::new(entries.iter().map(|entry| (entry.step, entry.slots)).collect())?)
}

/// Checks that every archive is inside the file, behind the header, and in no other one.
fn check_places(rings: &[Ring], header: u64, have: u64) -> Result<(), ReadError> {
    let mut sorted: Vec<(usize, &Ring)> = rings.iter().enumerate().collect();
    sorted.sort_by_key(|(_, ring)| ring.offset);
    let mut end = header;
    for (archive, ring) in sorted {
        let offset = ring.offset;
        if offset < header {
            return Err(ReadError::InsideHeader { archive, offset, header });
        }
        if offset < end {
            return Err(ReadError::Overlap { archive, offset, end });
        }
        end = offset + ring.bytes();
        if end > have {
            return Err(ReadError::BeyondEnd { archive, offset, bytes: ring.bytes(), have });
        }
    }
    Ok(())
}

/// The share, with the digits that were once typed: 0.1 as a 32-bit number is not the 64-bit number 0.1.
pub(super) fn x_files_factor(value: f32) -> Result<f64, ReadError> {
    let share = value.to_string().parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or(ReadError::XFilesFactor { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with some archives (offset, step, points), and zeros up to `len`.
    fn file(code: u32, factor: f32, archives: &[(u32, u32, u32)], len: usize) -> Vec<u8> {
        let mut bytes = [code.to_be_bytes(), 86_400u32.to_be_bytes(), factor.to_be_bytes()].concat();
        bytes.extend((archives.len() as u32).to_be_bytes());
        archives.iter().for_each(|&(a, b, c)| bytes.extend([a, b, c].map(u32::to_be_bytes).concat()));
        bytes.resize(bytes.len().max(len), 0);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Plain, ReadError> {
        Plain::read(&mut Input::Whole(bytes))
    }

    fn refusal(bytes: &[u8]) -> String {
        read(bytes).unwrap_err().to_string()
    }

    const TWO: [(u32, u32, u32); 2] = [(40, 10, 60), (760, 60, 100)];
    const LEN: usize = 40 + 160 * POINT_BYTES;

    #[test]
    fn a_header_is_read() {
        let plain = read(&file(4, 0.1, &TWO, LEN)).unwrap();
        assert_eq!(plain.header.method, Method::Known(Aggregator::Max));
        assert_eq!(plain.header.x_files_factor, 0.1);
        assert_eq!(plain.header.retention.to_string(), "60*10s:100*60s");
        assert_eq!(plain.rings.iter().map(|ring| ring.offset).collect::<Vec<_>>(), [40, 760]);
    }

    #[test]
    fn every_method_is_known_and_no_other() {
        for (code, method) in (1..).zip(Aggregator::ALL) {
            assert_eq!(read(&file(code, 0.5, &TWO, LEN)).unwrap().header.method, Method::Known(method));
        }
        for code in [0, 9, 1024, 1_136_073_599, 1_451_606_400] {
            assert!(refusal(&file(code, 0.5, &TWO, LEN)).contains(&format!("aggregation method {code} is")));
        }
        let old = read(&file(1_300_000_000, 0.5, &TWO, LEN)).unwrap();
        assert_eq!(old.header.method, Method::Known(Aggregator::Average), "the time of the last update");
    }

    #[test]
    fn files_that_end_early_are_refused() {
        assert!(refusal(&[]).contains("the file is empty"));
        let whole = file(1, 0.5, &TWO, LEN);
        for len in 1..LEN {
            let error = read(&whole[..len]).unwrap_err();
            let wanted = match len {
                0..40 => matches!(error, ReadError::CutOff { have, .. } if have == len as u64),
                40..760 => matches!(error, ReadError::BeyondEnd { archive: 0, .. }),
                _ => matches!(error, ReadError::BeyondEnd { archive: 1, .. }),
            };
            assert!(wanted, "{len}: {error}");
        }
        assert!(read(&[&whole[..], b"more"].concat()).is_ok(), "whisper does not mind either");
    }

    #[test]
    fn numbers_beyond_the_file_allocate_nothing() {
        let mut bytes = file(1, 0.5, &TWO, LEN);
        bytes[12..16].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(refusal(&bytes).contains("the list of archives ends at byte 51539607556"));
        let huge = file(1, 0.5, &[(28, 1, u32::MAX)], 100);
        assert!(
            refusal(&huge).contains("archive 0 has 51539607540 bytes from byte 28 on, but the file has 100")
        );
        let far = file(1, 0.5, &[(u32::MAX, 1, 1)], 100);
        assert!(refusal(&far).contains("archive 0 has 12 bytes from byte 4294967295 on"));
    }

    #[test]
    fn archives_must_fit_together() {
        let one = |archives: &[(u32, u32, u32)]| refusal(&file(1, 0.5, archives, 10_000));
        assert!(one(&[]).contains("no archive"));
        assert!(one(&[(40, 0, 60)]).contains("archive 0 has 60 points of 0 s"));
        assert!(one(&[(40, 10, 60), (760, 60, 0)]).contains("archive 1 has 0 points of 60 s"));
        assert!(one(&[(40, 60, 60), (760, 10, 60)]).contains("archive 1 has 10 s per point"));
        assert!(one(&[(40, 10, 60), (760, 10, 70)]).contains("must grow"));
        assert!(one(&[(40, 7, 60), (760, 60, 60)]).contains("60s is not a multiple of 7s"));
        assert!(one(&[(40, 10, 60), (760, 60, 10)]).contains("must reach further back"));
        assert!(one(&[(40, 10, 3), (760, 60, 10)]).contains("too short to fill one slot"));
    }

    #[test]
    fn archives_have_places_of_their_own() {
        let one = |archives: &[(u32, u32, u32)]| refusal(&file(1, 0.5, archives, 10_000));
        assert!(one(&[(39, 10, 60), (760, 60, 60)]).contains("begins at byte 39, inside the header"));
        assert!(one(&[(40, 10, 60), (759, 60, 60)]).contains("archive 1 begins at byte 759, before"));
        let backwards = file(1, 0.5, &[(760, 10, 60), (40, 60, 60)], 10_000);
        assert!(read(&backwards).is_ok(), "their order in the file is nobody's business");
    }

    #[test]
    fn the_factor_is_a_share() {
        for value in [-0.1, 1.5, f32::NAN, f32::INFINITY] {
            assert!(refusal(&file(1, value, &TWO, LEN)).contains("the xFilesFactor is"), "{value}");
        }
        for value in [0.0f32, 0.3, 0.5, 1.0] {
            let shown = read(&file(1, value, &TWO, LEN)).unwrap().header.x_files_factor.to_string();
            assert_eq!(shown, value.to_string());
        }
    }
}
