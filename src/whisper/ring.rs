//! The ring of points that an archive in carbon's format is.
//!
//! The first point in the file gives every slot its times: `n` slots further on is the point `n` steps later, or that plus any
//! number of rounds. Points are overwritten and never erased, so a slot counts only if it has the time stamp that it would have
//! in the present round.

use plumbago_model::Point;

use super::POINT_BYTES;
use super::archive::{Archive, Live};
use super::error::ReadError;
use super::fields::point;
use super::header::Ring;
use super::input::Input;
use super::method::Method;

/// Slots of one read. Most archives are smaller; a large one takes no more memory than this.
const PIECE: u64 = 1 << 16;

/// Reads the live points of an archive.
pub(super) fn read(
    input: &mut Input<'_>,
    ring: &Ring,
    method: Method,
    now: u32,
) -> Result<Archive, ReadError> {
    let stage = ring.stage;
    let live = Live::at(stage, now);
    let mut taker = Taker {
        expected: live.first,
        step: i64::from(stage.step_secs),
        last: live.last,
        points: Vec::new(),
        ahead: 0,
    };
    if let Some(base) = base(input, ring)? {
        let slots = u64::from(stage.points);
        let start = slot_of(live.first, base, stage.step_secs, stage.points);
        taker.take(input, ring, start, slots)?;
        taker.take(input, ring, 0, start)?;
    }
    Ok(Archive { stage, method, points: taker.points, oldest: live.oldest(), ahead: taker.ahead })
}

/// The time stamp of the first point, or `None` if the archive was never written.
fn base(input: &mut Input<'_>, ring: &Ring) -> Result<Option<u32>, ReadError> {
    let bytes = input.read("archive", ring.offset, POINT_BYTES as u64)?;
    let first = bytes.first_chunk().map_or(0, |bytes| point(bytes).timestamp);
    Ok((first != 0).then_some(first))
}

/// Where the point of a time is. Whisper rounds the distance down, so a base between two slots moves up to the next.
fn slot_of(time: i64, base: u32, step: u32, slots: u32) -> u64 {
    let step = u64::from(step);
    let base = i64::try_from(u64::from(base).next_multiple_of(step)).unwrap_or(i64::MAX);
    let distance = (time - base) / step.cast_signed();
    distance.rem_euclid(i64::from(slots)).cast_unsigned()
}

/// Goes through the slots in the order of their time.
struct Taker {
    /// The time stamp that the next slot has if it is live.
    expected: i64,
    step: i64,
    last: u32,
    points: Vec<Point>,
    ahead: u64,
}

impl Taker {
    fn take(&mut self, input: &mut Input<'_>, ring: &Ring, from: u64, until: u64) -> Result<(), ReadError> {
        let mut at = from;
        while at < until {
            let count = PIECE.min(until - at);
            let offset = ring.offset + at * POINT_BYTES as u64;
            let bytes = input.read("archive", offset, count * POINT_BYTES as u64)?;
            self.take_piece(bytes);
            at += count;
        }
        Ok(())
    }

    fn take_piece(&mut self, bytes: &[u8]) {
        let (slots, _) = bytes.as_chunks();
        let mut expected = self.expected;
        for slot in slots {
            let point = point(slot);
            if i64::from(point.timestamp) == expected && point.timestamp != 0 {
                if !point.value.is_nan() {
                    self.points.push(point);
                }
            } else if point.timestamp > self.last {
                self.ahead += 1;
            }
            expected += self.step;
        }
        self.expected = expected;
    }
}

#[cfg(test)]
mod tests {
    use plumbago_model::{Aggregator, Stage};

    use super::*;

    /// A ring of eight slots behind some other bytes, read at `now`.
    fn read_at(slots: &[(u32, f64)], now: u32) -> Archive {
        let stage: Stage = "8*10s_0".parse().unwrap();
        let mut bytes = vec![0xff; 100];
        slots.iter().for_each(|(t, v)| bytes.extend([&t.to_be_bytes()[..], &v.to_be_bytes()].concat()));
        bytes.resize(100 + 8 * POINT_BYTES, 0);
        bytes.extend([0xff; 100]);
        let ring = Ring { offset: 100, stage };
        read(&mut Input::Whole(&bytes), &ring, Method::Known(Aggregator::Last), now).unwrap()
    }

    fn times(archive: &Archive) -> Vec<u32> {
        assert!(archive.points.iter().all(|p| p.value == f64::from(p.timestamp)));
        archive.points.iter().map(|p| p.timestamp).collect()
    }

    fn slots(times: &[u32]) -> Vec<(u32, f64)> {
        times.iter().map(|&t| (t, f64::from(t))).collect()
    }

    #[test]
    fn a_ring_that_was_never_written_is_empty() {
        assert_eq!(times(&read_at(&[], 1000)), [0; 0]);
        assert_eq!(times(&read_at(&slots(&[0, 990]), 1000)), [0; 0], "without a base nothing has a time");
    }

    #[test]
    fn points_come_out_in_the_order_of_time() {
        let wrapped = slots(&[1000, 1010, 1020, 950, 960, 970, 980, 990]);
        assert_eq!(times(&read_at(&wrapped, 1025)), [950, 960, 970, 980, 990, 1000, 1010, 1020]);
        let archive = read_at(&wrapped, 1025);
        assert_eq!((archive.oldest, archive.ahead), (950, 0));
    }

    #[test]
    fn slots_of_an_earlier_round_and_gaps_do_not_count() {
        let stale = slots(&[1000, 1010, 1020, 870, 960, 0, 980, 910]);
        assert_eq!(times(&read_at(&stale, 1025)), [960, 980, 1000, 1010, 1020]);
    }

    #[test]
    fn points_leave_as_time_goes_on_and_wait_while_it_has_not_come() {
        let full = slots(&[1000, 1010, 1020, 950, 960, 970, 980, 990]);
        assert_eq!(times(&read_at(&full, 1030)), [960, 970, 980, 990, 1000, 1010, 1020]);
        assert_eq!(times(&read_at(&full, 1090)), [1020]);
        assert_eq!(times(&read_at(&full, 1100)), [0; 0]);
        let early = read_at(&full, 1009);
        assert_eq!((times(&early).len(), early.ahead), (6, 2), "1010 and 1020 are still to come");
    }

    #[test]
    fn a_slot_with_the_time_of_another_does_not_count() {
        let odd = slots(&[1000, 1020, 1010, 1033]);
        assert_eq!(times(&read_at(&odd, 1035)), [1000]);
    }

    #[test]
    fn a_base_between_two_slots_shifts_the_others_as_in_whisper() {
        let odd = slots(&[1003, 1020, 1030]);
        assert_eq!(times(&read_at(&odd, 1035)), [1020, 1030]);
    }

    #[test]
    fn values_that_are_no_numbers_are_no_points() {
        let archive = read_at(&[(1000, f64::NAN), (1010, 1.0)], 1015);
        assert_eq!(archive.points, [Point { timestamp: 1010, value: 1.0 }]);
    }

    #[test]
    fn an_archive_that_reaches_back_beyond_1970_is_read() {
        let stage: Stage = "8*1000000000s_0".parse().unwrap();
        let mut bytes = vec![0; 8 * POINT_BYTES];
        bytes[..4].copy_from_slice(&1_000_000_000u32.to_be_bytes());
        let ring = Ring { offset: 0, stage };
        let archive = read(&mut Input::Whole(&bytes), &ring, Method::First, u32::MAX).unwrap();
        assert_eq!(archive.points, [Point { timestamp: 1_000_000_000, value: 0.0 }]);
        assert_eq!(archive.oldest, 0);
    }
}
