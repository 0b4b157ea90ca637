//! What a point was: the bytes of a value, by the type in the key of its row.
//!
//! A long is zig-zag encoded and then written in groups of seven bits, the lowest first. A double is eight bytes, the highest first.
//! Rows from before there were types hold both: a long as its bytes without leading zeros, so that 0 is no byte at all, and a double
//! as a flag and four or eight bytes. The low bit of the column name says which.

use super::histogram::{self, Summary};

/// The type of the values in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// `kairos_long`
    Long,
    /// `kairos_double`
    Double,
    /// Longs and doubles, from before there were types.
    Legacy,
    /// `kairos_histogram_v1`: bins as they are.
    HistogramV1,
    /// `kairos_histogram_v2_proto`: bins in Protocol Buffers.
    HistogramV2,
    /// Texts, complex numbers, and whatever plug-ins bring.
    Other,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// An integer.
    Long(i64),
    /// A floating-point number.
    Double(f64),
    /// What a histogram says in four numbers.
    Histogram(Summary),
}

/// Bytes that are not a value of their type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Too few or too many bytes.
    #[error("{0} bytes cannot be a {1}")]
    Length(usize, &'static str),
    /// A number does not fit into 64 bits.
    #[error("it is longer than 64 bits")]
    TooLong,
    /// A double of a row without a type begins with 1 or 2.
    #[error("a double begins with 1 or 2, not with {0}")]
    Flag(u8),
    /// It cannot be read as a histogram.
    #[error("it is not a histogram: {0}")]
    Histogram(String),
    /// The type is not one that can be read.
    #[error("values of this type cannot be read")]
    Unreadable,
}

impl DataType {
    /// By the name in a key; `None` is a key without a type.
    pub fn named(name: Option<&str>) -> Self {
        match name {
            None | Some("kairos_legacy") => DataType::Legacy,
            Some("kairos_long") => DataType::Long,
            Some("kairos_double") => DataType::Double,
            Some("kairos_histogram_v1") => DataType::HistogramV1,
            Some("kairos_histogram_v2_proto" | "kairos_histogram_v2") => DataType::HistogramV2,
            Some(_) => DataType::Other,
        }
    }

    /// Are its values numbers?
    pub fn is_number(self) -> bool {
        matches!(self, DataType::Long | DataType::Double | DataType::Legacy)
    }

    /// Are its values histograms?
    pub fn is_histogram(self) -> bool {
        matches!(self, DataType::HistogramV1 | DataType::HistogramV2)
    }

    /// Reads a value. `bit` is the low bit of its column name.
    pub fn value(self, bytes: &[u8], bit: bool) -> Result<Value, ValueError> {
        match self {
            DataType::Long => long(bytes).map(Value::Long),
            DataType::Double => {
                let bytes = bytes.try_into().map_err(|_| ValueError::Length(bytes.len(), "double"))?;
                Ok(Value::Double(f64::from_be_bytes(bytes)))
            }
            DataType::Legacy if bit => legacy_double(bytes).map(Value::Double),
            DataType::Legacy => legacy_long(bytes).map(Value::Long),
            DataType::HistogramV1 => histogram::first(bytes).map(Value::Histogram),
            DataType::HistogramV2 => histogram::second(bytes).map(Value::Histogram),
            DataType::Other => Err(ValueError::Unreadable),
        }
    }
}

fn long(bytes: &[u8]) -> Result<i64, ValueError> {
    const WHAT: &str = "long";
    let (mut number, mut shift) = (0_u64, 0_u32);
    for (nth, &byte) in bytes.iter().enumerate() {
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if shift > 63 || (shift == 63 && bits > 1) {
            return Err(ValueError::TooLong);
        }
        number |= bits << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            let rest = bytes.len() - nth - 1;
            let zigzag = (number >> 1).cast_signed() ^ -((number & 1).cast_signed());
            return if rest == 0 { Ok(zigzag) } else { Err(ValueError::Length(bytes.len(), WHAT)) };
        }
    }
    Err(ValueError::Length(bytes.len(), WHAT))
}

fn legacy_long(bytes: &[u8]) -> Result<i64, ValueError> {
    let mut whole = [0; 8];
    let missing = whole.len().checked_sub(bytes.len()).ok_or(ValueError::TooLong)?;
    whole[missing..].copy_from_slice(bytes);
    Ok(i64::from_be_bytes(whole))
}

fn legacy_double(bytes: &[u8]) -> Result<f64, ValueError> {
    let Some((&flag, number)) = bytes.split_first() else { return Err(ValueError::Length(0, "double")) };
    let wrong = |_| ValueError::Length(bytes.len(), "double");
    match flag {
        1 => Ok(f64::from(f32::from_be_bytes(number.try_into().map_err(wrong)?))),
        2 => Ok(f64::from_be_bytes(number.try_into().map_err(wrong)?)),
        other => Err(ValueError::Flag(other)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(name: Option<&str>, bytes: &[u8], bit: bool) -> Result<Value, ValueError> {
        DataType::named(name).value(bytes, bit)
    }

    #[test]
    fn longs_are_zig_zag_in_groups_of_seven_bits() {
        let long = |bytes: &[u8]| read(Some("kairos_long"), bytes, false);
        // The documented example: 33.
        assert_eq!(long(&[0x42]), Ok(Value::Long(33)));
        assert_eq!(long(&[0]), Ok(Value::Long(0)));
        assert_eq!(long(&[1]), Ok(Value::Long(-1)));
        assert_eq!(
            long(&[0xff; 9].iter().copied().chain([1]).collect::<Vec<_>>()),
            Ok(Value::Long(i64::MIN))
        );
        assert_eq!(long(&[0xac, 0x02]), Ok(Value::Long(150)));
        assert_eq!(long(&[]), Err(ValueError::Length(0, "long")));
        assert_eq!(long(&[0x80]), Err(ValueError::Length(1, "long")));
        assert_eq!(long(&[1, 1]), Err(ValueError::Length(2, "long")));
        assert_eq!(long(&[0xff; 11]), Err(ValueError::TooLong));
    }

    #[test]
    fn doubles_are_eight_bytes() {
        let double = |bytes: &[u8]| read(Some("kairos_double"), bytes, false);
        assert_eq!(double(&(-2.5_f64).to_be_bytes()), Ok(Value::Double(-2.5)));
        assert_eq!(double(&[0; 7]), Err(ValueError::Length(7, "double")));
    }

    #[test]
    fn rows_without_a_type_hold_both_kinds() {
        for name in [None, Some("kairos_legacy")] {
            assert_eq!(read(name, &[], false), Ok(Value::Long(0)));
            assert_eq!(read(name, &[1, 0], false), Ok(Value::Long(256)));
            assert_eq!(read(name, &[0xff; 8], false), Ok(Value::Long(-1)));
            assert_eq!(read(name, &[1; 9], false), Err(ValueError::TooLong));
            assert_eq!(
                read(name, &[&[1][..], &1.5_f32.to_be_bytes()].concat(), true),
                Ok(Value::Double(1.5))
            );
            assert_eq!(
                read(name, &[&[2][..], &0.1_f64.to_be_bytes()].concat(), true),
                Ok(Value::Double(0.1))
            );
            assert_eq!(read(name, &[0, 4], true), Err(ValueError::Flag(0)));
            assert_eq!(read(name, &[], true), Err(ValueError::Length(0, "double")));
        }
    }

    #[test]
    fn other_types_are_known_to_be_unknown() {
        for name in ["kairos_string", "kairos_complex", "kairos_long_nano", "my_type", ""] {
            assert_eq!(DataType::named(Some(name)), DataType::Other);
        }
        assert_eq!(DataType::Other.value(b"x", false), Err(ValueError::Unreadable));
    }

    proptest! {
        /// The encoding, written the plain way.
        #[test]
        fn every_long_is_read(number: i64) {
            let mut rest = ((i128::from(number) << 1) ^ (i128::from(number) >> 127)) as u64;
            let mut bytes = Vec::new();
            while rest >= 0x80 {
                bytes.push((rest % 0x80) as u8 | 0x80);
                rest /= 0x80;
            }
            bytes.push(rest as u8);
            prop_assert_eq!(DataType::Long.value(&bytes, false), Ok(Value::Long(number)));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, bit: bool) {
            for kind in [DataType::Long, DataType::Double, DataType::Legacy, DataType::HistogramV1, DataType::HistogramV2] {
                let _ = kind.value(&bytes, bit);
            }
        }
    }
}
