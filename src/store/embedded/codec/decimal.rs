//! Values as integers times a power of ten, differenced up to twice and bit-packed relative to the smallest.
//!
//! Most metrics are counters, or readings with a few decimals. Scaled to integers, they or their differences span a narrow
//! range, and packing needs only the bits of that range. The range is per chunk, or per run of 32 where a counter reset or
//! a spike would otherwise widen the whole chunk.

use super::ChunkError;
use super::bits::{self, LANES, MAX_WIDTH};
use super::varint::{self, Reader};

/// Powers of ten a value may be scaled by.
const POWERS: [f64; 7] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6];

/// Adding this to a number of at most [`LIMIT`] rounds it to an integer, which is then in the low bits of the sum.
/// That is rounding and conversion in one addition, which every processor does several at a time.
const ROUNDER: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// Largest scaled value that is accepted.
const LIMIT: f64 = 2_251_799_813_685_248.0; // 2^51

/// `value * power` as an integer, and whether `whole / power` returns `value` bit for bit.
///
/// Negative zero, infinities and NaN never do. A value read from a decimal of few enough digits always does: both parsing
/// and dividing round to the nearest number.
#[inline]
fn scale(value: f64, power: f64) -> (i64, bool) {
    let sum = value * power + ROUNDER;
    let whole = sum - ROUNDER;
    let exact = ((whole / power).to_bits() == value.to_bits()) & (whole.abs() <= LIMIT);
    (sum.to_bits().wrapping_sub(ROUNDER.to_bits()) as i64, exact)
}

#[inline]
fn unscale(whole: i64, power: f64) -> f64 {
    whole as f64 / power
}

/// A value alone in one varint, if it has a short decimal form.
#[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
pub(super) fn to_code(value: f64) -> Option<u64> {
    let digits = (0..POWERS.len()).find(|&digits| scale(value, POWERS[digits]).1)?;
    Some(varint::zigzag(scale(value, POWERS[digits]).0) << 3 | digits as u64)
}

/// Undoes [`to_code`].
pub(super) fn from_code(code: u64) -> Option<f64> {
    let power = *POWERS.get(code as usize & 7)?;
    Some(unscale(varint::unzigzag(code >> 3), power))
}

/// Scratch space for [`Scaler::pack`], and its result.
#[derive(Default)]
pub(super) struct Scaler {
    /// The scaled values and their first and second differences.
    differences: [Vec<i64>; 3],
}

/// How values will be written, decided before anything is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing {
    digits: usize,
    order: usize,
    frame: Frame,
    /// Bytes it takes.
    pub(super) len: usize,
}

/// The smallest number, and how wide they are.
#[derive(Clone, Copy, Debug)]
enum Frame {
    /// The same for all of them.
    Whole { base: i64, width: u32 },
    /// Separate for each run.
    EachRun,
}

const ORDER_SHIFT: u32 = 3;
const EACH_RUN: u8 = 1 << 5;

impl Scaler {
    /// The smallest form of these values, if all have a short decimal form.
    pub(super) fn pack(&mut self, values: &[f64]) -> Option<Packing> {
        let [whole, first, second] = &mut self.differences;
        let digits = scale_all(values, whole)?;
        let mut best = measure(whole, digits, 0, 0);
        // If differencing once does not help, differencing twice has never helped in any of our data.
        if let &[start, _, ..] = &whole[..] {
            difference(whole, first);
            let head = varint::len(varint::zigzag(start));
            let once = measure(first, digits, 1, head);
            if once.len < best.len {
                best = once;
                if let &[slope, _, ..] = &first[..] {
                    difference(first, second);
                    let twice = measure(second, digits, 2, head + varint::len(varint::zigzag(slope)));
                    if twice.len < best.len {
                        best = twice;
                    }
                }
            }
        }
        Some(best)
    }

    /// Appends the values of the last call of `pack`.
    #[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
    pub(super) fn write(&self, packing: &Packing, out: &mut Vec<u8>) {
        let each_run = if matches!(packing.frame, Frame::EachRun) { EACH_RUN } else { 0 };
        out.push(packing.digits as u8 | (packing.order as u8) << ORDER_SHIFT | each_run);
        for start in &self.differences[..packing.order] {
            varint::put(varint::zigzag(start[0]), out);
        }
        if let Frame::Whole { base, width } = packing.frame {
            write_frame(base, width, out);
        }
        let mut lanes = [0; LANES];
        for run in self.differences[packing.order].chunks(LANES) {
            let (base, width) = match packing.frame {
                Frame::Whole { base, width } => (base, width),
                Frame::EachRun => {
                    let (low, high) = extremes(run);
                    let width = bits::width_of((high - low) as u64);
                    write_frame(low, width, out);
                    (low, width)
                }
            };
            for (lane, number) in lanes.iter_mut().zip(run) {
                *lane = (number - base) as u64;
            }
            bits::pack(&lanes[..run.len()], width, out);
        }
    }
}

/// Scales all values by the smallest power of ten that fits them all, and returns its number of digits.
#[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
fn scale_all(values: &[f64], whole: &mut Vec<i64>) -> Option<usize> {
    let mut digits = 0;
    'again: loop {
        let power = POWERS[digits];
        whole.clear();
        whole.reserve(values.len());
        for run in values.chunks(LANES) {
            let mut all_exact = true;
            whole.extend(run.iter().map(|&value| {
                let (number, exact) = scale(value, power);
                all_exact &= exact;
                number
            }));
            if !all_exact {
                digits = digits_of_all(run, digits + 1)?;
                continue 'again;
            }
        }
        return Some(digits);
    }
}

/// The smallest number of digits from `least` on that fits all of `run`.
#[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
fn digits_of_all(run: &[f64], least: usize) -> Option<usize> {
    run.iter()
        .try_fold(least, |least, &value| (least..POWERS.len()).find(|&digits| scale(value, POWERS[digits]).1))
}

#[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
fn difference(numbers: &[i64], out: &mut Vec<i64>) {
    out.clear();
    out.extend(numbers.windows(2).map(|pair| pair[1] - pair[0]));
}

/// Smallest and largest; `numbers` must not be empty.
fn extremes(numbers: &[i64]) -> (i64, i64) {
    numbers.iter().fold((i64::MAX, i64::MIN), |(low, high), &n| (low.min(n), high.max(n)))
}

fn write_frame(base: i64, width: u32, out: &mut Vec<u8>) {
    varint::put(varint::zigzag(base), out);
    out.push(width as u8);
}

fn frame_len(base: i64) -> usize {
    varint::len(varint::zigzag(base)) + 1
}

/// The better of the two frames, `head` being the bytes of the numbers that come before.
fn measure(numbers: &[i64], digits: usize, order: usize, head: usize) -> Packing {
    let (mut low, mut high, mut each_run) = (i64::MAX, i64::MIN, 0);
    for run in numbers.chunks(LANES) {
        let (run_low, run_high) = extremes(run);
        (low, high) = (low.min(run_low), high.max(run_high));
        each_run +=
            frame_len(run_low) + bits::packed_len(run.len(), bits::width_of((run_high - run_low) as u64));
    }
    let width = bits::width_of((high - low) as u64);
    let whole = frame_len(low) + bits::packed_len(numbers.len(), width);
    let (frame, body) = if each_run < whole {
        (Frame::EachRun, each_run)
    } else {
        (Frame::Whole { base: low, width }, whole)
    };
    Packing { digits, order, frame, len: 1 + head + body }
}

/// Packed values, as they are stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed<'a> {
    power: f64,
    order: usize,
    /// First value and first difference; unused ones are zero.
    start: [i64; 2],
    frame: Frame,
    /// Packed numbers left after the starts.
    count: usize,
    body: &'a [u8],
}

impl<'a> Packed<'a> {
    /// Reads all of `bytes` as `count` packed values.
    pub(super) fn read(bytes: &'a [u8], count: usize) -> Result<Self, ChunkError> {
        Self::try_read(bytes, count).ok_or(ChunkError::Malformed("its packed values make no sense"))
    }

    fn try_read(bytes: &'a [u8], count: usize) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let head = reader.byte()?;
        let power = *POWERS.get(usize::from(head & 7))?;
        let order = usize::from(head >> ORDER_SHIFT & 3);
        if order > 2 || head > EACH_RUN | 2 << ORDER_SHIFT | 7 {
            return None;
        }
        let mut start = [0; 2];
        for number in start.iter_mut().take(order) {
            *number = reader.zigzag()?;
        }
        let count = count.checked_sub(order)?;
        let frame = if head & EACH_RUN != 0 {
            let mut runs = reader;
            for at in (0..count).step_by(LANES) {
                take_run(&mut runs, (count - at).min(LANES))?;
            }
            runs.rest().is_empty().then_some(Frame::EachRun)?
        } else {
            let (base, width) = take_frame(&mut reader)?;
            (reader.rest().len() == bits::packed_len(count, width)).then_some(Frame::Whole { base, width })?
        };
        Some(Self { power, order, start, frame, count, body: reader.rest() })
    }

    /// Passes on values `from..until` (and maybe some around them) run by run: position of the first, and the run.
    pub(super) fn decode(&self, from: usize, until: usize, sink: &mut impl FnMut(usize, &[f64])) {
        let [mut value, mut slope] = self.start;
        let second = value.wrapping_add(slope);
        let starts = [unscale(value, self.power), unscale(second, self.power)];
        sink(0, starts.get(..self.order).unwrap_or_default());
        if self.order == 2 {
            value = second;
        }
        let mut rest = Reader::new(self.body);
        let (mut numbers, mut lanes, mut run) = ([0; LANES], [0; LANES], [0.0; LANES]);
        for at in (0..self.count).step_by(LANES) {
            let len = (self.count - at).min(LANES);
            let position = at + self.order;
            if position >= until {
                break;
            }
            let Some((base, width, packed)) = self.next_run(&mut rest, len) else { break };
            let wanted = position + len > from;
            if self.order == 0 && !wanted {
                continue;
            }
            let ((lanes, _), (numbers, _)) = (lanes.split_at_mut(len), numbers.split_at_mut(len));
            bits::unpack(packed, width, lanes);
            for (number, &lane) in numbers.iter_mut().zip(lanes.iter()) {
                *number = base.wrapping_add(lane as i64);
            }
            if self.order == 2 {
                running_sum(numbers, &mut slope);
            }
            if self.order >= 1 {
                running_sum(numbers, &mut value);
            }
            if wanted {
                for (out, &number) in run.iter_mut().zip(numbers.iter()) {
                    *out = unscale(number, self.power);
                }
                sink(position, run.get(..len).unwrap_or(&run));
            }
        }
    }

    /// Base and width of the next run, and the bytes from it on (the bytes after it allow unpacking to load past its end).
    #[inline]
    fn next_run(&self, rest: &mut Reader<'a>, len: usize) -> Option<(i64, u32, &'a [u8])> {
        let (base, width) = match self.frame {
            Frame::Whole { base, width } => (base, width),
            Frame::EachRun => take_frame(rest)?,
        };
        let packed = rest.rest();
        rest.take(bits::packed_len(len, width))?;
        Some((base, width, packed))
    }
}

fn running_sum(numbers: &mut [i64], sum: &mut i64) {
    for number in numbers {
        *sum = sum.wrapping_add(*number);
        *number = *sum;
    }
}

fn take_frame(reader: &mut Reader<'_>) -> Option<(i64, u32)> {
    let base = reader.zigzag()?;
    let width = reader.byte().map(u32::from).filter(|&width| width <= MAX_WIDTH)?;
    Some((base, width))
}

fn take_run(reader: &mut Reader<'_>, len: usize) -> Option<()> {
    let (_, width) = take_frame(reader)?;
    reader.take(bits::packed_len(len, width)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes, digits and order chosen, after checking that the values come back.
    fn round_trip(values: &[f64]) -> Option<(usize, usize, usize)> {
        let mut scaler = Scaler::default();
        let packing = scaler.pack(values)?;
        let mut bytes = Vec::new();
        scaler.write(&packing, &mut bytes);
        assert_eq!(bytes.len(), packing.len);
        let packed = Packed::read(&bytes, values.len()).unwrap();
        let mut back = vec![f64::NAN; values.len()];
        packed.decode(0, values.len(), &mut |at, run| back[at..at + run.len()].copy_from_slice(run));
        assert!(values.iter().zip(&back).all(|(a, b)| a.to_bits() == b.to_bits()), "{values:?}\n{back:?}");
        Some((bytes.len(), packing.digits, packing.order))
    }

    #[test]
    fn gauges_are_packed_above_their_smallest() {
        let gauge: Vec<f64> = (0..128).map(|i| f64::from(5000 + i * 7919 % 128) / 100.0).collect();
        assert_eq!(round_trip(&gauge), Some((1 + 2 + 1 + 128 * 7 / 8, 2, 0)));
    }

    #[test]
    fn counters_are_packed_as_differences() {
        let mut total = 1_000_000;
        let counter: Vec<f64> = (0..129)
            .map(|i| {
                total += i * 31 % 16;
                f64::from(total)
            })
            .collect();
        assert_eq!(round_trip(&counter), Some((1 + 3 + 1 + 1 + 128 * 4 / 8, 0, 1)));
        let steady: Vec<f64> = (0..1000).map(|i| f64::from(i) * 60.0).collect();
        assert_eq!(round_trip(&steady), Some((4, 0, 1)));
        let speeding: Vec<f64> = (0..1000).map(|i| f64::from(i * i)).collect();
        assert_eq!(round_trip(&speeding), Some((5, 0, 2)));
    }

    #[test]
    fn a_counter_reset_costs_one_run_only() {
        let counter = |i: i32| f64::from(1_000_000_000 + i * 5 + i % 3);
        let steady: Vec<f64> = (0..320).map(counter).collect();
        let reset: Vec<f64> = (0..320).map(|i| if i < 150 { counter(i) } else { counter(i) - 1e9 }).collect();
        let (steady, reset) = (round_trip(&steady).unwrap().0, round_trip(&reset).unwrap().0);
        assert!(reset < steady + 32 * 4 + 40, "{steady} {reset}");
    }

    #[test]
    fn digits_grow_with_what_comes_later() {
        let mut values = vec![3.0; 40];
        values.extend([0.5, 0.25, 17.125, -0.000_001]);
        assert_eq!(round_trip(&values).unwrap().1, 6);
        values.push(0.000_000_1);
        assert_eq!(round_trip(&values), None);
    }

    #[test]
    fn what_is_no_short_decimal_is_refused() {
        for value in [
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.1 + 0.2,
            1e300,
            1e-300,
            LIMIT * 2.0,
            LIMIT + 1.0,
        ] {
            assert_eq!(round_trip(&[1.0, value]), None, "{value}");
            assert_eq!(to_code(value), None, "{value}");
        }
        for value in [0.0, 1.0, -1.0, 12.34, -0.07, LIMIT, -LIMIT, 99.999_999] {
            assert_eq!(from_code(to_code(value).unwrap()), Some(value));
            assert!(round_trip(&[1.0, value]).is_some(), "{value}");
        }
        assert_eq!(from_code(7), None, "there is no tenth to the seventh");
    }

    #[test]
    fn the_widest_range_round_trips() {
        let swings: Vec<f64> = (0..70).map(|i| if i % 2 == 0 { LIMIT } else { -LIMIT }).collect();
        assert!(round_trip(&swings).is_some());
    }

    #[test]
    fn a_part_equals_that_part_of_the_whole() {
        for values in [
            (0..300).map(|i| f64::from(i * 7919 % 1000) / 10.0).collect::<Vec<_>>(),
            (0..300).map(|i| f64::from(i * 60 + i % 3)).collect(),
            (0..300).map(|i| f64::from(i * i)).collect(),
        ] {
            let mut scaler = Scaler::default();
            let packing = scaler.pack(&values).unwrap();
            let mut bytes = Vec::new();
            scaler.write(&packing, &mut bytes);
            let packed = Packed::read(&bytes, values.len()).unwrap();
            for (from, until) in [(0, 1), (1, 2), (31, 33), (32, 64), (250, 300), (299, 300)] {
                let mut back = vec![f64::NAN; values.len()];
                packed.decode(from, until, &mut |at, run| back[at..at + run.len()].copy_from_slice(run));
                assert_eq!(back[from..until], values[from..until]);
            }
        }
    }

    #[test]
    fn senseless_bytes_are_refused() {
        let mut scaler = Scaler::default();
        let packing = scaler.pack(&[1.5, 2.5, 4.0]).unwrap();
        let mut bytes = Vec::new();
        scaler.write(&packing, &mut bytes);
        assert!(Packed::read(&bytes, 3).is_ok());
        for len in 0..bytes.len() {
            assert!(Packed::read(&bytes[..len], 3).is_err());
        }
        assert!(Packed::read(&[&bytes[..], &[0]].concat(), 3).is_err(), "trailing byte");
        assert!(Packed::read(&[7, 0, 0], 3).is_err(), "seven digits");
        assert!(Packed::read(&[3 << ORDER_SHIFT, 0, 0, 0, 0, 0], 3).is_err(), "third differences");
        assert!(Packed::read(&[1 << 6, 0, 0], 3).is_err(), "unknown flag");
        assert!(
            Packed::read(&[0, 0, 58, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 3)
                .is_err()
        );
        assert!(Packed::read(&[2 << ORDER_SHIFT, 0, 0, 0, 0], 1).is_err(), "fewer values than starts");
    }
}
