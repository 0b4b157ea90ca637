//! Units of time, and arithmetic with them in a time zone.

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan, Zoned};

/// Times that are reckoned with: what is beyond is taken for the edge. No point is out there.
const FARTHEST: i64 = 1 << 43;

/// A unit of KairosDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// 1 ms.
    Milliseconds,
    /// 1000 ms.
    Seconds,
    /// 60 s.
    Minutes,
    /// 60 minutes.
    Hours,
    /// From midnight to midnight.
    Days,
    /// From Monday to Monday.
    Weeks,
    /// Of the calendar.
    Months,
    /// Of the calendar.
    Years,
}

impl Unit {
    /// All of them, the shortest first.
    pub const ALL: [Unit; 8] = [
        Unit::Milliseconds,
        Unit::Seconds,
        Unit::Minutes,
        Unit::Hours,
        Unit::Days,
        Unit::Weeks,
        Unit::Months,
        Unit::Years,
    ];

    /// The unit of a name in any case.
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name().eq_ignore_ascii_case(text))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Milliseconds => "MILLISECONDS",
            Unit::Seconds => "SECONDS",
            Unit::Minutes => "MINUTES",
            Unit::Hours => "HOURS",
            Unit::Days => "DAYS",
            Unit::Weeks => "WEEKS",
            Unit::Months => "MONTHS",
            Unit::Years => "YEARS",
        }
    }

    /// What an unknown name is answered with.
    pub(super) fn refusal() -> String {
        format!("is not a valid time unit, must be one of {}", Self::names().join(","))
    }

    /// All names.
    pub(super) fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|unit| unit.name()).collect()
    }

    /// Its milliseconds, if it always has as many.
    pub fn fixed_millis(self) -> Option<i64> {
        match self {
            Unit::Milliseconds => Some(1),
            Unit::Seconds => Some(1000),
            Unit::Minutes => Some(60_000),
            Unit::Hours => Some(3_600_000),
            Unit::Days | Unit::Weeks | Unit::Months | Unit::Years => None,
        }
    }

    fn span(self, count: i64) -> Result<Span, jiff::Error> {
        let span = Span::new();
        match self {
            Unit::Milliseconds => span.try_milliseconds(count),
            Unit::Seconds => span.try_seconds(count),
            Unit::Minutes => span.try_minutes(count),
            Unit::Hours => span.try_hours(count),
            Unit::Days => span.try_days(count),
            Unit::Weeks => span.try_weeks(count),
            Unit::Months => span.try_months(count),
            Unit::Years => span.try_years(count),
        }
    }

    /// A moment this many units later; the edge of time if that is beyond it.
    pub fn add(self, zone: &TimeZone, at: i64, count: i64) -> i64 {
        if let Some(millis) = self.fixed_millis() {
            return at.saturating_add(millis.saturating_mul(count));
        }
        let edge = if count < 0 { -FARTHEST } else { FARTHEST };
        let moved = self.span(count).and_then(|span| zoned(at, zone).checked_add(span));
        moved.map_or(edge, |moved| moved.timestamp().as_millisecond())
    }

    /// How many whole units lie between two moments, `origin` being the earlier one.
    pub fn between(self, zone: &TimeZone, origin: i64, at: i64) -> i64 {
        if let Some(millis) = self.fixed_millis() {
            return at.saturating_sub(origin).div_euclid(millis);
        }
        let (from, to) = (zoned(origin, zone), zoned(at, zone));
        let months =
            || (i64::from(to.year()) - i64::from(from.year())) * 12 + i64::from(to.month() - from.month());
        let days = || i64::from(from.date().until(to.date()).map_or(0, |span| span.get_days()));
        let guess = match self {
            Unit::Years => months() / 12,
            Unit::Months => months(),
            Unit::Weeks => days().div_euclid(7),
            _ => days(),
        };
        // Off by one where the time of day, or the day of the month, comes earlier than that of the origin.
        let fits = |count: i64| self.add(zone, origin, count) <= at;
        (guess - 1..=guess + 1).rev().find(|&count| fits(count)).unwrap_or(guess - 1)
    }

    /// The moment from which aligned buckets of this unit are counted.
    pub fn floor(self, zone: &TimeZone, at: i64) -> i64 {
        if self == Unit::Milliseconds {
            return at - at.rem_euclid(1000).min(at.saturating_sub(i64::MIN));
        }
        let moment = zoned(at, zone);
        let date = moment.date();
        let first = match self {
            Unit::Years => date.first_of_year(),
            Unit::Months => date.first_of_month(),
            Unit::Weeks => {
                let since_monday = i64::from(date.weekday().to_monday_zero_offset());
                date.checked_sub(since_monday.days()).unwrap_or(date)
            }
            _ => date,
        };
        zone.to_zoned(first.at(0, 0, 0, 0)).map_or(at, |floor| floor.timestamp().as_millisecond())
    }
}

/// So many units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// How many; at least one.
    pub value: i64,
    /// Of which.
    pub unit: Unit,
}

impl Length {
    /// Its milliseconds when it begins at a moment.
    pub fn millis_from(self, zone: &TimeZone, at: i64) -> i64 {
        self.unit.add(zone, at, self.value).saturating_sub(at)
    }
}

/// A moment in a time zone.
pub(super) fn zoned(at: i64, zone: &TimeZone) -> Zoned {
    let at = at.clamp(-FARTHEST, FARTHEST);
    Timestamp::from_millisecond(at).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(zone.clone())
}

/// A moment within the time that is reckoned with.
pub(super) fn within_time(at: i64) -> i64 {
    at.clamp(-FARTHEST, FARTHEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn days_follow_the_clock_of_the_zone() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        // The clocks went forward in the night to 29 March 2026.
        let before = millis("2026-03-28T23:00:00Z");
        assert_eq!(Unit::Days.add(&berlin, before, 1), millis("2026-03-29T22:00:00Z"));
        assert_eq!(Unit::Hours.add(&berlin, before, 24), millis("2026-03-29T23:00:00Z"));
        assert_eq!(Unit::Days.between(&berlin, before, millis("2026-03-29T21:59:59.999Z")), 0);
        assert_eq!(Unit::Days.between(&berlin, before, millis("2026-03-29T22:00:00Z")), 1);
        assert_eq!(Unit::Days.floor(&berlin, millis("2026-03-29T12:00:00Z")), before);
    }

    #[test]
    fn weeks_months_and_years_begin_where_the_calendar_says() {
        let at = millis("2026-11-19T03:20:30.456Z");
        let floor = |unit: Unit| unit.floor(&TimeZone::UTC, at);
        assert_eq!(floor(Unit::Years), millis("2026-01-01T00:00:00Z"));
        assert_eq!(floor(Unit::Months), millis("2026-11-01T00:00:00Z"));
        assert_eq!(floor(Unit::Weeks), millis("2026-11-16T00:00:00Z"));
        for unit in [Unit::Days, Unit::Hours, Unit::Minutes, Unit::Seconds] {
            assert_eq!(floor(unit), millis("2026-11-19T00:00:00Z"), "{unit:?}");
        }
        assert_eq!(floor(Unit::Milliseconds), millis("2026-11-19T03:20:30Z"));
        let january = millis("2026-01-31T00:00:00Z");
        assert_eq!(Unit::Months.add(&TimeZone::UTC, january, 1), millis("2026-02-28T00:00:00Z"));
        assert_eq!(Unit::Months.between(&TimeZone::UTC, january, millis("2026-02-28T00:00:00Z")), 1);
        assert_eq!(Unit::Months.between(&TimeZone::UTC, january, millis("2026-03-30T23:00:00Z")), 1);
        assert_eq!(Unit::Years.between(&TimeZone::UTC, january, millis("2030-01-30T00:00:00Z")), 3);
    }

    #[test]
    fn no_moment_is_too_far_away() {
        for unit in Unit::ALL {
            for at in [i64::MIN, -1, 0, i64::MAX] {
                for count in [i64::MIN, -1, 0, 1, i64::MAX] {
                    unit.add(&TimeZone::UTC, at, count);
                }
                unit.between(&TimeZone::UTC, at, 0);
                unit.between(&TimeZone::UTC, 0, at);
                unit.floor(&TimeZone::UTC, at);
            }
        }
    }
}
