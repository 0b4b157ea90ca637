//! Histograms of the plug-in kairosdb-extensions, as far as four numbers go: how many values, their sum, the least, the greatest.
//!
//! The first format is a list of bins and then minimum, maximum, mean and sum. The second is a length and a message of Protocol Buffers
//! that says the same.

use std::collections::HashMap;

use prost::Message;

use super::ValueError;

/// Bytes of a bin in the first format: a double and a count.
const BIN_BYTES: usize = 12;

/// What a histogram says in four numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Values that went in.
    pub count: f64,
    /// Their sum.
    pub sum: f64,
    /// The least of them.
    pub min: f64,
    /// The greatest of them.
    pub max: f64,
}

/// The message of the second format. The bins' borders are packed by `precision`, which no summary needs.
#[derive(Message)]
struct Histogram {
    #[prost(map = "uint64, uint32", tag = "1")]
    bins: HashMap<u64, u32>,
    #[prost(double, tag = "2")]
    min: f64,
    #[prost(double, tag = "3")]
    max: f64,
    #[prost(double, tag = "4")]
    sum: f64,
}

/// Reads the first format.
pub(super) fn first(bytes: &[u8]) -> Result<Summary, ValueError> {
    let short = || ValueError::Length(bytes.len(), "histogram");
    let (length, rest) = bytes.split_first_chunk().ok_or_else(short)?;
    let bins = usize::try_from(u32::from_be_bytes(*length)).ok().and_then(|bins| bins.checked_mul(BIN_BYTES));
    let (bins, rest) = bins.and_then(|bytes| rest.split_at_checked(bytes)).ok_or_else(short)?;
    let count = |bin: &[u8]| bin.last_chunk().map_or(0.0, |count| f64::from(i32::from_be_bytes(*count)));
    let count = bins.chunks_exact(BIN_BYTES).map(count).sum();
    let numbers: &[u8; 32] = rest.try_into().map_err(|_| short())?;
    let number = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&numbers[at * 8..at * 8 + 8]);
        f64::from_be_bytes(bytes)
    };
    Ok(Summary { count, min: number(0), max: number(1), sum: number(3) })
}

/// Reads the second format.
pub(super) fn second(bytes: &[u8]) -> Result<Summary, ValueError> {
    let short = || ValueError::Length(bytes.len(), "histogram");
    let (length, message) = bytes.split_first_chunk().ok_or_else(short)?;
    if usize::try_from(u32::from_be_bytes(*length)).ok() != Some(message.len()) {
        return Err(short());
    }
    let read = Histogram::decode(message).map_err(|error| ValueError::Histogram(error.to_string()))?;
    let count = read.bins.values().map(|&count| f64::from(count)).sum();
    Ok(Summary { count, sum: read.sum, min: read.min, max: read.max })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: Summary = Summary { count: 5.0, sum: 12.5, min: 1.0, max: 4.5 };

    fn doubles(numbers: &[f64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    #[test]
    fn the_first_format_is_bins_and_four_numbers() {
        let bins =
            [&1.0_f64.to_be_bytes()[..], &[0, 0, 0, 2], &4.0_f64.to_be_bytes(), &[0, 0, 0, 3]].concat();
        let bytes = [&[0, 0, 0, 2][..], &bins, &doubles(&[1.0, 4.5, 2.5, 12.5])].concat();
        assert_eq!(first(&bytes), Ok(SUMMARY));
        for cut in [0, 3, 5, 20, bytes.len() - 1] {
            assert_eq!(first(&bytes[..cut]), Err(ValueError::Length(cut, "histogram")));
        }
        assert!(first(&[0xff; 40]).is_err(), "a length that nothing could have");
    }

    #[test]
    fn the_second_format_is_a_message_behind_its_length() {
        let field = |tag: u8, number: f64| [&[tag << 3 | 1][..], &number.to_be_bytes().map(|b| b)].concat();
        let little = |tag: u8, number: f64| {
            let mut bytes = field(tag, number);
            bytes[1..].reverse();
            bytes
        };
        // Bins 7 → 2 and 300 → 3, then minimum, maximum, sum, mean and precision.
        let bins = [&[0x0a, 4, 8, 7, 16, 2][..], &[0x0a, 5, 8, 0xac, 2, 16, 3]].concat();
        let numbers =
            [little(2, 1.0), little(3, 4.5), little(4, 12.5), little(5, 2.5), vec![0x30, 7]].concat();
        let message = [bins, numbers].concat();
        let bytes = [&(message.len() as u32).to_be_bytes()[..], &message].concat();
        assert_eq!(second(&bytes), Ok(SUMMARY));
        assert_eq!(second(&bytes[..9]), Err(ValueError::Length(9, "histogram")));
        let broken = second(&[0, 0, 0, 2, 0x0a, 9]).unwrap_err().to_string();
        assert!(broken.starts_with("it is not a histogram: "), "{broken}");
    }
}
