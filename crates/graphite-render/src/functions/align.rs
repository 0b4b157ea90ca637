//! Windows that begin at the start of a minute, an hour, a day and so on.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::error::RenderError;
use crate::request::TimeRange;

/// What a window begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    /// From this day of the week on, of which Monday is 1.
    Week(i8),
    Month,
    Year,
}

impl Unit {
    /// By its first letters, as in intervals; a digit at the end of a week is the day it begins with.
    pub(super) fn named(text: &str) -> Result<Self, RenderError> {
        let wrong = || {
            RenderError::invalid(format!(
                "`{text}` is nothing to align to; use seconds, minutes, hours, days, weeks, weeks1 to weeks7, months or years"
            ))
        };
        let day = || match text.chars().next_back() {
            Some(c) if c.is_alphabetic() => Some(1),
            last => last?.to_digit(10)?.try_into().ok(),
        };
        Ok(match text.as_bytes() {
            [b's', ..] => Unit::Second,
            [b'm', b'i', b'n', ..] => Unit::Minute,
            [b'h', ..] => Unit::Hour,
            [b'd', ..] => Unit::Day,
            [b'w', ..] => Unit::Week(day().ok_or_else(wrong)?),
            [b'm', b'o', b'n', ..] => Unit::Month,
            [b'y', ..] => Unit::Year,
            _ => return Err(wrong()),
        })
    }
}

/// The window from the start of the unit that it begins in. Local time is that of the window's start throughout, even if
/// the clocks changed since the unit began.
pub(super) fn aligned(range: TimeRange, unit: Unit, tz: &TimeZone) -> TimeRange {
    let start = || {
        let time = Timestamp::from_second(range.from).ok()?;
        let offset = tz.to_offset(time);
        let local = start_of(unit, offset.to_datetime(time))?;
        Some(offset.to_timestamp(local).ok()?.as_second())
    };
    // Beyond the calendar there is nothing to align to.
    TimeRange { from: start().unwrap_or(range.from), ..range }
}

fn start_of(unit: Unit, local: DateTime) -> Option<DateTime> {
    let date = local.date();
    Some(match unit {
        Unit::Second => local,
        Unit::Minute => date.at(local.hour(), local.minute(), 0, 0),
        Unit::Hour => date.at(local.hour(), 0, 0, 0),
        Unit::Day => midnight(date),
        Unit::Week(first) => {
            let days = date.weekday().to_monday_one_offset() - first;
            let days = if days < 0 { days + 7 } else { days };
            midnight(date.checked_sub(i64::from(days).days()).ok()?)
        }
        Unit::Month => midnight(date.first_of_month()),
        Unit::Year => midnight(date.first_of_year()),
    })
}

fn midnight(date: Date) -> DateTime {
    date.at(0, 0, 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Wednesday.
    const FROM: i64 = 1_794_996_045; // 2026-11-18 10:00:45 UTC

    fn start(unit: &str, tz: &TimeZone) -> String {
        let range = aligned(TimeRange { from: FROM, until: FROM + 60 }, Unit::named(unit).unwrap(), tz);
        assert_eq!(range.until, FROM + 60);
        tz.to_datetime(Timestamp::from_second(range.from).unwrap()).to_string()
    }

    #[test]
    fn the_start_of_each_unit() {
        for (unit, expected) in [
            ("seconds", "2026-11-18T10:00:45"),
            ("minutes", "2026-11-18T10:00:00"),
            ("hours", "2026-11-18T10:00:00"),
            ("days", "2026-11-18T00:00:00"),
            ("weeks", "2026-11-16T00:00:00"),
            ("weeks3", "2026-11-18T00:00:00"),
            ("weeks5", "2026-11-13T00:00:00"),
            ("weeks7", "2026-11-15T00:00:00"),
            ("months", "2026-11-01T00:00:00"),
            ("years", "2026-01-01T00:00:00"),
        ] {
            assert_eq!(start(unit, &TimeZone::UTC), expected, "{unit}");
        }
        let tz = TimeZone::get("Asia/Kathmandu").unwrap();
        assert_eq!(start("hours", &tz), "2026-11-18T15:00:00");
        assert_eq!(start("days", &tz), "2026-11-18T00:00:00");
    }

    #[test]
    fn the_offset_is_that_of_the_start() {
        // New York left daylight saving time on 1 November: the month began an hour earlier by the clock of its end.
        let tz = TimeZone::get("America/New_York").unwrap();
        assert_eq!(start("months", &tz), "2026-11-01T01:00:00");
    }

    #[test]
    fn other_words_are_refused() {
        for text in ["", "1h", "m", "week!", "fortnight"] {
            assert!(Unit::named(text).is_err(), "{text}");
        }
        let nowhere = TimeRange { from: i64::MIN, until: 0 };
        assert_eq!(aligned(nowhere, Unit::Day, &TimeZone::UTC), nowhere);
    }
}
