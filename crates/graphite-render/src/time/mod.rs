//! The words of `from`, `until` and `now`: epochs, relative offsets, and the date grammar of at(1) as Graphite has it.
//!
//! A time is `[reference][+|-offset]`. The reference is read from left to right in four steps, each optional: a clock
//! (`17:30`, `8am`), a named hour (`noon`), and a day (`yesterday`, `20240131`, `monday`). Oddities such as `12pm` being
//! midnight are graphite-web's; dashboards rely on the same answers, so they are kept and pinned by captured examples.

mod interval;
#[cfg(test)]
mod tests;

pub use interval::{IntervalError, parse_offset_secs};

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// A text that is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// The hour or minute is missing, not a number, or too large.
    #[error(
        "`{text}` is not a time: `{part}` is no time of day; write it as `17:30`, `8am`, `noon`, `midnight` or `teatime`"
    )]
    Clock {
        /// The whole text.
        text: String,
        /// The part that was read as a time of day.
        part: String,
    },
    /// The day is not one of the known forms, or no such day exists.
    #[error(
        "`{text}` is not a time: `{part}` is no day; use epoch seconds, a time ago such as `-3h`, `now`, `today`, `yesterday`, `tomorrow`, `YYYYMMDD`, \
         `MM/DD/YY`, a month with its day (`jan5`) or a weekday, each with an offset if wanted (`monday-3h`)"
    )]
    Day {
        /// The whole text.
        text: String,
        /// The part that was read as a day.
        part: String,
    },
    /// What follows the sign is not a chain of numbers and units.
    #[error("`{text}` is not a time: {reason}")]
    Offset {
        /// The whole text.
        text: String,
        /// What is wrong with the offset.
        reason: String,
    },
    /// Beyond the years 1 to 9999.
    #[error("the time `{text}` is out of range; it must lie between the years 1 and 9999")]
    Range {
        /// The whole text.
        text: String,
    },
}

/// First and last second that have a date, in UTC. The last day is left out: it has no local time in some zones.
const YEAR_1: i64 = -62_135_596_800;
const YEAR_9999: i64 = 253_402_300_799 - 86_400;

/// Epoch seconds of `text`, read at the moment `now` in the time zone `tz`.
pub fn parse_time(text: &str, now: i64, tz: &TimeZone) -> Result<i64, TimeError> {
    let bare: String = text.to_lowercase().chars().filter(|c| !matches!(c, '_' | ',' | ' ')).collect();
    let bare = bare.trim();
    if all_digits(bare) && !looks_like_date(bare) {
        return epoch(bare).ok_or_else(|| TimeError::Range { text: text.to_owned() });
    }
    // A plus anywhere wins over a minus, so `now-1h+5min` has the reference `now-1h` and is refused.
    let cut = bare.find('+').or_else(|| bare.find('-')).unwrap_or(bare.len());
    let (reference, offset) = bare.split_at(cut);
    let offset = if offset.is_empty() { 0 } else { offset_secs(text, offset)? };
    let base = Reading { text, now, tz }.reference(reference)?;
    let time = base.checked_add(offset).filter(|time| (YEAR_1..=YEAR_9999).contains(time));
    time.ok_or_else(|| TimeError::Range { text: text.to_owned() })
}

fn offset_secs(text: &str, offset: &str) -> Result<i64, TimeError> {
    // A sign with nothing after it moves nothing.
    if offset.len() == 1 {
        return Ok(0);
    }
    parse_offset_secs(offset)
        .map_err(|error| TimeError::Offset { text: text.to_owned(), reason: error.to_string() })
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Eight digits are a date when year, month and day are plausible; `20249999` stays an epoch.
fn looks_like_date(digits: &str) -> bool {
    let field = |range| digits.get(range).and_then(|part: &str| part.parse::<u32>().ok());
    digits.len() == 8
        && matches!((field(0..4), field(4..6), field(6..8)), (Some(y), Some(m), Some(d)) if y > 1900 && m < 13 && d < 32)
}

fn epoch(digits: &str) -> Option<i64> {
    digits.parse().ok().filter(|seconds| *seconds <= YEAR_9999)
}

/// What a reference is read against.
struct Reading<'a> {
    text: &'a str,
    now: i64,
    tz: &'a TimeZone,
}

/// An hour and a minute as read: whether they exist is only checked when the day is known.
#[derive(Clone, Copy, Default)]
struct Clock {
    hour: i8,
    minute: i8,
}

impl Reading<'_> {
    fn reference(&self, reference: &str) -> Result<i64, TimeError> {
        if reference.is_empty() || reference == "now" {
            return Ok(self.now);
        }
        let (clock, day) = self.clock(reference)?;
        let date = self.day(day)?;
        let (year, month, day) = (date.year(), date.month(), date.day());
        let civil = DateTime::new(year, month, day, clock.hour, clock.minute, 0, 0)
            .map_err(|_| self.bad_clock(reference))?;
        // Of an hour that comes twice Graphite takes the second, and it moves a skipped one forward.
        let zoned = self.tz.to_ambiguous_timestamp(civil).later();
        zoned.map(Timestamp::as_second).map_err(|_| TimeError::Range { text: self.text.to_owned() })
    }

    /// Takes the time of day off the front. Each form may override the one before it, as in graphite-web.
    fn clock<'r>(&self, reference: &'r str) -> Result<(Clock, &'r str), TimeError> {
        let mut clock = Clock::default();
        let mut rest = reference;
        if let Some((hour, after)) = short_prefix(rest, ":") {
            let digits = after.char_indices().nth(2).map_or(after.len(), |(at, _)| at);
            let (minute, after) = after.split_at(digits);
            clock = Clock { hour: self.number(hour, reference)?, minute: self.number(minute, reference)? };
            rest = after;
            if let Some(after) = rest.strip_prefix("am") {
                rest = after;
            } else if let Some(after) = rest.strip_prefix("pm") {
                clock.hour = afternoon(clock.hour);
                rest = after;
            }
        }
        if let Some((hour, after)) = short_prefix(rest, "am") {
            clock.hour = self.number(hour, reference)?;
            rest = after;
        }
        if let Some((hour, after)) = short_prefix(rest, "pm") {
            clock.hour = afternoon(self.number(hour, reference)?);
            rest = after;
        }
        for (word, hour) in [("noon", 12), ("midnight", 0), ("teatime", 16)] {
            if let Some(after) = rest.strip_prefix(word) {
                return Ok((Clock { hour, minute: 0 }, after));
            }
        }
        Ok((clock, rest))
    }

    fn day(&self, day: &str) -> Result<Date, TimeError> {
        let bad = || TimeError::Day { text: self.text.to_owned(), part: day.to_owned() };
        let today = self.today()?;
        let date = match day {
            "" | "today" => Some(today),
            "yesterday" => today.yesterday().ok(),
            "tomorrow" => today.tomorrow().ok(),
            _ if day.matches('/').count() == 2 => slashed_date(day),
            _ if day.len() == 8 && all_digits(day) => compact_date(day),
            _ => named_day(day, today),
        };
        date.ok_or_else(bad)
    }

    fn today(&self) -> Result<Date, TimeError> {
        let now = Timestamp::from_second(self.now);
        let now = now.map_err(|_| TimeError::Range { text: self.now.to_string() })?;
        Ok(self.tz.to_datetime(now).date())
    }

    fn number(&self, digits: &str, reference: &str) -> Result<i8, TimeError> {
        digits.parse().ok().filter(|n| *n >= 0 && all_digits(digits)).ok_or_else(|| self.bad_clock(reference))
    }

    fn bad_clock(&self, part: &str) -> TimeError {
        TimeError::Clock { text: self.text.to_owned(), part: part.to_owned() }
    }
}

/// Twelve hours on, around the clock: `12pm` is 0 o'clock.
fn afternoon(hour: i8) -> i8 {
    (hour + 12) % 24
}

/// What stands before and after `mark`, when that is one or two bytes from the start.
fn short_prefix<'r>(text: &'r str, mark: &str) -> Option<(&'r str, &'r str)> {
    text.split_once(mark).filter(|(before, _)| matches!(before.len(), 1 | 2))
}

/// `MM/DD/YY` or `MM/DD/YYYY`; two-digit years are 1970 to 2069.
fn slashed_date(day: &str) -> Option<Date> {
    let mut parts = day.split('/').map(|part| part.parse::<i16>().ok());
    let (month, day, year) = (parts.next()??, parts.next()??, parts.next()??);
    let year = if year < 1900 { year + 1900 } else { year };
    let year = if year < 1970 { year + 100 } else { year };
    Date::new(year, month.try_into().ok()?, day.try_into().ok()?).ok()
}

fn compact_date(day: &str) -> Option<Date> {
    Date::new(day.get(0..4)?.parse().ok()?, day.get(4..6)?.parse().ok()?, day.get(6..8)?.parse().ok()?).ok()
}

/// A month with the day of the month behind it, or the latest such weekday. Three letters decide.
fn named_day(day: &str, today: Date) -> Option<Date> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    const WEEKDAYS: [(&str, Weekday); 7] = [
        ("mon", Weekday::Monday),
        ("tue", Weekday::Tuesday),
        ("wed", Weekday::Wednesday),
        ("thu", Weekday::Thursday),
        ("fri", Weekday::Friday),
        ("sat", Weekday::Saturday),
        ("sun", Weekday::Sunday),
    ];
    let word = day.get(..3)?;
    if let Some(month) = (1..).zip(MONTHS).find_map(|(number, name)| (name == word).then_some(number)) {
        return Date::new(today.year(), month, trailing_day(day)?).ok();
    }
    let (_, weekday) = WEEKDAYS.into_iter().find(|(name, _)| *name == word)?;
    today.checked_sub(i64::from(today.weekday().since(weekday)).days()).ok()
}

/// The last two digits, or the last one.
fn trailing_day(day: &str) -> Option<i8> {
    let tail = |len: usize| day.get(day.len().checked_sub(len)?..).filter(|t| all_digits(t))?.parse().ok();
    tail(2).or_else(|| tail(1))
}
