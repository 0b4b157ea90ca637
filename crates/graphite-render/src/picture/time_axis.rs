//! Where the axis of time has its labels, and what they say in the zone of the request.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit, Zoned, ZonedRound};

use super::font;
use crate::request::TimeRange;

/// A label at a time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) time: i64,
    pub(super) label: String,
}

/// Steps in seconds and how their labels are written. Days and more are counted by the calendar.
const STEPS: [(i64, &str); 22] = [
    (1, "%H:%M:%S"),
    (5, "%H:%M:%S"),
    (15, "%H:%M:%S"),
    (30, "%H:%M:%S"),
    (60, "%H:%M"),
    (2 * 60, "%H:%M"),
    (5 * 60, "%H:%M"),
    (10 * 60, "%H:%M"),
    (15 * 60, "%H:%M"),
    (30 * 60, "%H:%M"),
    (3600, "%H:%M"),
    (2 * 3600, "%H:%M"),
    (3 * 3600, "%H:%M"),
    (6 * 3600, "%m/%d %H:%M"),
    (12 * 3600, "%m/%d %H:%M"),
    (DAY, "%m/%d"),
    (2 * DAY, "%m/%d"),
    (7 * DAY, "%m/%d"),
    (14 * DAY, "%m/%d"),
    (30 * DAY, "%b %Y"),
    (91 * DAY, "%b %Y"),
    (365 * DAY, "%Y"),
];
const DAY: i64 = 86_400;

/// Marks that fit under `width` pixels without touching each other.
pub(super) fn marks(
    range: TimeRange,
    width: f32,
    size: f32,
    tz: &TimeZone,
    format: Option<&str>,
) -> Vec<Mark> {
    let span = (range.until - range.from).max(1);
    let per_second = width / span as f32;
    let fits = |(step, text): &&(i64, &str)| {
        let label = format.map_or_else(
            || font::width(&sample(text), size),
            |format| font::width(&written(range.from, tz, format), size),
        );
        *step as f32 * per_second >= label + 1.5 * size
    };
    // Spans of many years have a label every so many years.
    let Some(&(step, text)) = STEPS.iter().find(fits) else { return years(range, width, size, tz) };
    let format = format.unwrap_or(text);
    let mut marks = Vec::new();
    let mut at = first(range.from, step, tz);
    while let Some(time) =
        at.as_ref().map(|at| at.timestamp().as_second()).filter(|time| *time <= range.until)
    {
        if time >= range.from {
            marks.push(Mark { time, label: written(time, tz, format) });
        }
        at = at.and_then(|at| next(&at, step));
    }
    marks
}

fn years(range: TimeRange, width: f32, size: f32, tz: &TimeZone) -> Vec<Mark> {
    let wanted = (width / (4.0 * size)).max(1.0) as i64;
    let step = ((range.until - range.from) / wanted).max(1);
    (1..wanted)
        .map(|i| range.from + i * step)
        .map(|time| Mark { time, label: written(time, tz, "%Y") })
        .collect()
}

/// A label as wide as any of this format.
fn sample(format: &str) -> String {
    format.replace("%Y", "0000").replace("%b", "MMM").replace(['%', 'H', 'M', 'S', 'm', 'd'], "0")
}

fn written(time: i64, tz: &TimeZone, format: &str) -> String {
    let zoned = Timestamp::from_second(time).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(tz.clone());
    // Formats are the request's own; one that jiff does not know is shown as it is.
    jiff::fmt::strtime::format(format, &zoned).unwrap_or_else(|_| format.to_owned())
}

/// The last round time before `from`: steps within a day are counted from its beginning.
fn first(from: i64, step: i64, tz: &TimeZone) -> Option<Zoned> {
    let zoned = Timestamp::from_second(from).ok()?.to_zoned(tz.clone());
    let midnight = zoned.start_of_day().ok()?;
    match step / DAY {
        0 => {
            let since = from - midnight.timestamp().as_second();
            midnight.checked_add(jiff::Span::new().seconds(since.div_euclid(step) * step)).ok()
        }
        1..=2 => Some(midnight),
        3..=29 => {
            let back = i64::from(midnight.weekday().to_monday_zero_offset());
            midnight.checked_sub(jiff::Span::new().days(back)).ok()
        }
        30..=364 => midnight.first_of_month().ok(),
        _ => midnight.first_of_year().ok(),
    }
}

fn next(at: &Zoned, step: i64) -> Option<Zoned> {
    let span = jiff::Span::new();
    let span = match step / DAY {
        0 => span.seconds(step),
        30 => span.months(1),
        91 => span.months(3),
        365 => span.years(1),
        days => span.days(days),
    };
    let next = at.checked_add(span).ok()?;
    // A change of the clock in between leaves hours on their marks.
    if (3600..DAY).contains(&step) {
        next.round(ZonedRound::new().smallest(Unit::Hour)).ok()
    } else {
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from: i64, until: i64, width: f32, zone: &str) -> Vec<String> {
        let tz = TimeZone::get(zone).unwrap();
        marks(TimeRange { from, until }, width, 10.0, &tz, None).into_iter().map(|mark| mark.label).collect()
    }

    /// 2026-11-16 00:00:00 UTC.
    const MIDNIGHT: i64 = 1_794_787_200;

    #[test]
    fn hours_and_days_are_those_of_the_zone() {
        assert_eq!(labels(MIDNIGHT, MIDNIGHT + 3 * 3600, 200.0, "UTC"), ["00:00", "01:00", "02:00", "03:00"]);
        assert_eq!(labels(MIDNIGHT, MIDNIGHT + 2 * DAY, 200.0, "Asia/Kolkata"), ["11/17", "11/18"]);
        assert_eq!(
            labels(MIDNIGHT, MIDNIGHT + 100 * DAY, 300.0, "UTC"),
            ["Dec 2026", "Jan 2027", "Feb 2027"]
        );
    }

    #[test]
    fn a_clock_change_does_not_shift_the_marks() {
        // Berlin, 2026-10-25: three o'clock comes twice.
        let labels = labels(1_792_879_200, 1_792_879_200 + 12 * 3600, 400.0, "Europe/Berlin");
        assert!(labels.iter().all(|label| label.ends_with(":00")), "{labels:?}");
    }

    #[test]
    fn any_span_has_few_marks() {
        for (from, span) in
            [(0, 1), (MIDNIGHT, 7), (MIDNIGHT, 40 * 365 * DAY), (0, 8000 * 365 * DAY / 4), (-5, 5)]
        {
            assert!(labels(from, from + span, 400.0, "UTC").len() < 60, "{span}");
        }
    }
}
