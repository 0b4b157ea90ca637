//! When a point was: the four bytes of a column name, and the settings of the cluster that say how to read them.
//!
//! Up to KairosDB 1.2 a column name is the distance from the start of the row in milliseconds, shifted left by one bit. The low bit says
//! in rows without a type whether the value is a double. A cluster that began with 1.3 does not shift, and counts milliseconds or
//! seconds. The table `spec` says which of these it is; without that table, or with `LEGACY` in it, it is the first.

use std::fmt;

/// How long a row is where nothing else is said: three weeks.
const DEFAULT_WIDTH_MS: i64 = 1_814_400_000;

/// What the bytes of a column name count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Milliseconds, shifted left by one bit.
    Legacy,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimeUnit::Legacy => "LEGACY",
            TimeUnit::Milliseconds => "MILLISECONDS",
            TimeUnit::Seconds => "SECONDS",
        })
    }
}

/// How the rows of a cluster are laid out in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// What a column name counts.
    pub unit: TimeUnit,
    /// No row is longer than this.
    pub width_ms: i64,
}

/// Settings that no version of KairosDB writes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is `{value}` in the table spec, which is not known; known is {known}")]
pub struct LayoutError {
    name: &'static str,
    value: String,
    known: &'static str,
}

impl Default for Layout {
    fn default() -> Self {
        Self { unit: TimeUnit::Legacy, width_ms: DEFAULT_WIDTH_MS }
    }
}

impl Layout {
    /// From `row_time_unit` and `row_width` in the table `spec`, if there are any.
    pub fn new(unit: Option<&str>, width: Option<&str>) -> Result<Self, LayoutError> {
        let unit = match unit {
            None | Some("LEGACY") => TimeUnit::Legacy,
            Some("MILLISECONDS") => TimeUnit::Milliseconds,
            Some("SECONDS") => TimeUnit::Seconds,
            Some(other) => {
                return Err(LayoutError {
                    name: "row_time_unit",
                    value: other.to_owned(),
                    known: "LEGACY, MILLISECONDS and SECONDS",
                });
            }
        };
        let Some(width) = width else { return Ok(Self { unit, ..Self::default() }) };
        let unit_ms = if unit == TimeUnit::Seconds { 1000 } else { 1 };
        let parsed = width.trim().parse::<i64>().ok().filter(|&width| width > 0);
        match parsed.and_then(|width| width.checked_mul(unit_ms)) {
            Some(width_ms) => Ok(Self { unit, width_ms }),
            None => Err(LayoutError {
                name: "row_width",
                value: width.to_owned(),
                known: "a number of milliseconds, or of seconds where the unit is SECONDS",
            }),
        }
    }

    /// When a point was, in milliseconds since 1970, and the low bit of its column name where that says something else. `None` for
    /// what is no column name.
    pub fn time(&self, row_time: i64, column: &[u8]) -> Option<(i64, bool)> {
        let number = u32::from_be_bytes(column.try_into().ok()?);
        let (distance, bit) = match self.unit {
            TimeUnit::Legacy => (i64::from(number >> 1), number & 1 == 1),
            TimeUnit::Milliseconds => (i64::from(number), false),
            TimeUnit::Seconds => (i64::from(number) * 1000, false),
        };
        Some((row_time.checked_add(distance)?, bit))
    }

    /// The first and the last column name of a row with points in `from_ms..until_ms`. `None` if the row has none.
    pub fn slice(&self, row_time: i64, from_ms: i64, until_ms: i64) -> Option<([u8; 4], [u8; 4])> {
        let end = row_time.saturating_add(self.width_ms);
        if until_ms <= row_time || from_ms >= end {
            return None;
        }
        let first = from_ms.saturating_sub(row_time).max(0);
        let last = until_ms.saturating_sub(1).saturating_sub(row_time);
        let (first, last) = match self.unit {
            // Both values of the low bit.
            TimeUnit::Legacy => (first.saturating_mul(2), last.saturating_mul(2).saturating_add(1)),
            TimeUnit::Milliseconds => (first, last),
            // A point lies at the full second below its time.
            TimeUnit::Seconds => (first / 1000, last / 1000),
        };
        let name = |number: i64| u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes();
        Some((name(first), name(last)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROW: i64 = 1_500_508_800_000;
    const TIME: i64 = 1_501_672_887_988;

    fn layout(unit: &str) -> Layout {
        Layout::new(Some(unit), None).unwrap()
    }

    #[test]
    fn the_documented_example_reads_in_both_widths() {
        assert_eq!(TIME - ROW, 1_164_087_988);
        assert_eq!(layout("LEGACY").time(ROW, &[0x8a, 0xc5, 0x25, 0x68]), Some((TIME, false)));
        assert_eq!(layout("MILLISECONDS").time(ROW, &[0x45, 0x62, 0x92, 0xb4]), Some((TIME, false)));
        assert_eq!(layout("SECONDS").time(ROW, &[0, 0, 0, 7]), Some((ROW + 7000, false)));
        assert_eq!(Layout::default().time(ROW, &[0, 0, 0, 3]), Some((ROW + 1, true)));
        assert_eq!(Layout::default().time(ROW, &[0, 0, 3]), None);
        assert_eq!(Layout::default().time(i64::MAX, &[0, 0, 0, 3]), None);
    }

    #[test]
    fn the_settings_of_a_cluster_are_read_or_refused() {
        assert_eq!(Layout::new(None, None), Ok(Layout::default()));
        let seconds = Layout::new(Some("SECONDS"), Some("1814400")).unwrap();
        assert_eq!(seconds, Layout { unit: TimeUnit::Seconds, width_ms: 1_814_400_000 });
        let error = Layout::new(Some("NANOSECONDS"), None).unwrap_err().to_string();
        assert!(error.contains("`NANOSECONDS`") && error.contains("LEGACY"), "{error}");
        for width in ["0", "-1", "x", "9223372036854775807"] {
            assert!(Layout::new(Some("SECONDS"), Some(width)).is_err(), "{width}");
        }
    }

    #[test]
    fn a_row_outside_of_the_time_has_no_slice() {
        let layout = Layout::default();
        assert_eq!(layout.slice(ROW, 0, ROW), None);
        assert_eq!(layout.slice(ROW, ROW + layout.width_ms, i64::MAX), None);
        assert_eq!(layout.slice(ROW, 0, ROW + 1), Some(([0; 4], [0, 0, 0, 1])));
        assert_eq!(layout.slice(ROW, i64::MIN, i64::MAX), Some(([0; 4], [0xff; 4])));
    }

    proptest! {
        /// A slice holds all points of its time and, but for the fraction of a second, no others.
        #[test]
        fn a_slice_is_its_time(from in 0_i64..100_000, length in 1_i64..100_000, at in 0_u32..250_000, unit in 0..3) {
            let layout = layout(["LEGACY", "MILLISECONDS", "SECONDS"][unit as usize]);
            let column = at.to_be_bytes();
            let (time, _) = layout.time(ROW, &column).unwrap();
            let (from, until) = (ROW + from, ROW + from + length);
            let (first, last) = layout.slice(ROW, from, until).unwrap();
            let is_inside = first <= column && column <= last;
            let slack = if layout.unit == TimeUnit::Seconds { 999 } else { 0 };
            if (from..until).contains(&time) {
                prop_assert!(is_inside);
            } else if time + slack < from || time >= until {
                prop_assert!(!is_inside);
            }
        }
    }
}
