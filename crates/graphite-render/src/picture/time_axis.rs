//! Marks of the time axis: where lines go up, what is written below them, and the dates below that.
//!
//! Lines and labels are where graphite-web has them, which takes them from rrdtool: how far they are apart follows from the
//! seconds that a pixel stands for. The dates below are ours. Without them, hours of two days look alike.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit, Zoned, ZonedRound};

use super::font;
use crate::request::TimeRange;

/// A label under the axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) time: i64,
    pub(super) label: String,
}

/// All that the axis has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TimeAxis {
    /// Thin lines.
    pub(super) minor: Vec<i64>,
    /// Lines.
    pub(super) major: Vec<i64>,
    pub(super) labels: Vec<Mark>,
    /// Dates, where the labels of hours of a day or more have none: below the first label of each day.
    pub(super) dates: Vec<Mark>,
}

/// How an axis is divided.
struct Division {
    /// Seconds of a pixel from which on it is used.
    pixel: f64,
    /// Seconds of the axis up to which it is used.
    longest: i64,
    /// Seconds between thin lines, lines and labels.
    minor: i64,
    major: i64,
    label: i64,
    format: &'static str,
}

const MINUTE: i64 = 60;
const HOUR: i64 = 3600;
const DAY: i64 = 86_400;
/// Divisions that are for any length.
const ANY: i64 = i64::MAX;

const fn division(
    pixel: f64,
    longest: i64,
    [minor, major, label]: [i64; 3],
    format: &'static str,
) -> Division {
    Division { pixel, longest, minor, major, label, format }
}

/// The last one that fits is taken.
const DIVISIONS: [Division; 23] = [
    division(0.0, 10 * MINUTE, [5, MINUTE, 5], "%H:%M:%S"),
    division(0.07, 20 * MINUTE, [10, MINUTE, 10], "%H:%M:%S"),
    division(0.14, 30 * MINUTE, [15, MINUTE, 15], "%H:%M:%S"),
    division(0.27, 2 * HOUR, [30, 2 * MINUTE, MINUTE], "%H:%M"),
    division(0.5, 2 * HOUR, [MINUTE, 2 * MINUTE, MINUTE], "%H:%M"),
    division(1.2, 3 * HOUR, [MINUTE, 4 * MINUTE, 2 * MINUTE], "%H:%M"),
    division(2.0, 6 * HOUR, [MINUTE, 10 * MINUTE, 5 * MINUTE], "%H:%M"),
    division(5.0, 12 * HOUR, [2 * MINUTE, 10 * MINUTE, 10 * MINUTE], "%H:%M"),
    division(10.0, DAY, [5 * MINUTE, 20 * MINUTE, 20 * MINUTE], "%H:%M"),
    division(30.0, 2 * DAY, [10 * MINUTE, HOUR, HOUR], "%H:%M"),
    division(60.0, 2 * DAY, [30 * MINUTE, 2 * HOUR, 2 * HOUR], "%H:%M"),
    division(100.0, 6 * DAY, [2 * HOUR, 4 * HOUR, 4 * HOUR], "%a %H:%M"),
    division(255.0, 10 * DAY, [6 * HOUR, 12 * HOUR, 12 * HOUR], "%m/%d %H:%M"),
    division(600.0, 14 * DAY, [6 * HOUR, DAY, DAY], "%m/%d"),
    division(1000.0, 365 * DAY, [12 * HOUR, DAY, DAY], "%m/%d"),
    division(2000.0, 365 * DAY, [DAY, 2 * DAY, 2 * DAY], "%m/%d"),
    division(4000.0, 365 * DAY, [2 * DAY, 4 * DAY, 4 * DAY], "%m/%d"),
    division(8000.0, 365 * DAY, [84 * HOUR, 7 * DAY, 7 * DAY], "%m/%d"),
    division(16_000.0, 365 * DAY, [7 * DAY, 14 * DAY, 14 * DAY], "%m/%d"),
    division(32_000.0, 365 * DAY, [15 * DAY, 30 * DAY, 30 * DAY], "%m/%d"),
    division(64_000.0, ANY, [30 * DAY, 60 * DAY, 60 * DAY], "%m/%d %Y"),
    division(100_000.0, ANY, [60 * DAY, 120 * DAY, 120 * DAY], "%m/%d %Y"),
    division(120_000.0, ANY, [120 * DAY, 240 * DAY, 240 * DAY], "%m/%d %Y"),
];

/// Beyond so many seconds a pixel, marks of days would touch each other, and years are enough.
const YEARS_FROM: f64 = 400_000.0;

/// The axis of `range`, on `width` pixels. A `format` replaces that of the labels.
pub(super) fn axis(range: TimeRange, width: f32, size: f32, tz: &TimeZone, format: Option<&str>) -> TimeAxis {
    let span = (range.until - range.from).max(1);
    let pixel = span as f64 / f64::from(width.max(1.0));
    if pixel > YEARS_FROM {
        return years(range, width, size, tz);
    }
    let fits = |division: &&Division| division.pixel <= pixel && span <= division.longest;
    // On a very wide picture none fits, where graphite-web draws no labels; the finest one that is long enough does.
    let long_enough = || DIVISIONS.iter().find(|division| span <= division.longest);
    let chosen = DIVISIONS.iter().rfind(fits).or_else(long_enough).unwrap_or(&DIVISIONS[22]);
    let text = format.unwrap_or(chosen.format);
    let mark = |time| Mark { time, label: written(time, tz, text) };
    let labels: Vec<Mark> = times(range, chosen.label, tz).map(mark).collect();
    TimeAxis {
        minor: times(range, chosen.minor, tz).collect(),
        major: times(range, chosen.major, tz).collect(),
        dates: if format.is_none() && !chosen.format.contains("%d") {
            dates(&labels, range, tz)
        } else {
            Vec::new()
        },
        labels,
    }
}

/// The dates of the labels, if they are not all of one day, or of most of it.
fn dates(labels: &[Mark], range: TimeRange, tz: &TimeZone) -> Vec<Mark> {
    let date = |time| written(time, tz, "%Y-%m-%d");
    if date(range.from) == date(range.until) && range.until - range.from < DAY / 2 {
        return Vec::new();
    }
    let mut found: Vec<Mark> = Vec::new();
    for mark in labels {
        let label = date(mark.time);
        if found.last().is_none_or(|last| last.label != label) {
            found.push(Mark { time: mark.time, label });
        }
    }
    found
}

fn years(range: TimeRange, width: f32, size: f32, tz: &TimeZone) -> TimeAxis {
    let wanted = (width / (font::width("0000", size) * 2.0)).clamp(1.0, 100.0) as i64;
    let step = ((range.until - range.from) / wanted).max(1);
    let times: Vec<i64> = (1..wanted).map(|i| range.from + i * step).collect();
    let labels = times.iter().map(|time| Mark { time: *time, label: written(*time, tz, "%Y") }).collect();
    TimeAxis { minor: Vec::new(), major: times, labels, dates: Vec::new() }
}

fn written(time: i64, tz: &TimeZone, format: &str) -> String {
    let zoned = Timestamp::from_second(time).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(tz.clone());
    // Formats are the request's own; one that jiff does not know is shown as it is.
    jiff::fmt::strtime::format(format, &zoned).unwrap_or_else(|_| format.to_owned())
}

/// Round times in `range`, `step` seconds apart on the clock of the zone, counted from the midnight before the range.
fn times(range: TimeRange, step: i64, tz: &TimeZone) -> impl Iterator<Item = i64> {
    let second = |at: &Zoned| at.timestamp().as_second();
    std::iter::successors(first(range.from, step, tz), move |at| next(at, step))
        .map(move |at| second(&at))
        .skip_while(move |time| *time < range.from)
        .take_while(move |time| *time < range.until)
}

/// The last round time before `from`; of whole days it is the midnight before.
fn first(from: i64, step: i64, tz: &TimeZone) -> Option<Zoned> {
    let zoned = Timestamp::from_second(from).ok()?.to_zoned(tz.clone());
    let midnight = zoned.start_of_day().ok()?;
    let since = if step < DAY { from - midnight.timestamp().as_second() } else { 0 };
    midnight.checked_add(jiff::Span::new().seconds(since.div_euclid(step) * step)).ok()
}

fn next(at: &Zoned, step: i64) -> Option<Zoned> {
    let span = jiff::Span::new();
    let span = if step % DAY == 0 { span.days(step / DAY) } else { span.seconds(step) };
    let next = at.checked_add(span).ok()?;
    // A change of the clock in between leaves hours on their marks.
    if (HOUR..DAY).contains(&step) {
        next.round(ZonedRound::new().smallest(Unit::Hour)).ok()
    } else {
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(from: i64, until: i64, width: f32, zone: &str) -> TimeAxis {
        axis(TimeRange { from, until }, width, 10.0, &TimeZone::get(zone).unwrap(), None)
    }

    fn texts(marks: &[Mark]) -> Vec<&str> {
        marks.iter().map(|mark| mark.label.as_str()).collect()
    }

    /// 2026-11-16 00:00:00 UTC.
    const MIDNIGHT: i64 = 1_794_787_200;

    #[test]
    fn hours_and_days_are_those_of_the_zone() {
        let axis = drawn(MIDNIGHT, MIDNIGHT + 3 * HOUR, 300.0, "UTC");
        assert_eq!(texts(&axis.labels), ["00:00", "01:00", "02:00"]);
        let axis = drawn(MIDNIGHT, MIDNIGHT + 3 * DAY, 300.0, "Asia/Kolkata");
        assert_eq!(texts(&axis.labels), ["11/17", "11/18", "11/19"]);
    }

    #[test]
    fn hours_of_several_days_have_dates_below() {
        let axis = drawn(MIDNIGHT + HOUR, MIDNIGHT + DAY + HOUR, 1000.0, "UTC");
        assert_eq!(texts(&axis.dates), ["2026-11-16", "2026-11-17"]);
        assert_eq!(axis.dates[1].time, MIDNIGHT + DAY);
        assert_eq!(drawn(MIDNIGHT, MIDNIGHT + 3 * HOUR, 1000.0, "UTC").dates, []);
        assert_eq!(texts(&drawn(MIDNIGHT, MIDNIGHT + DAY - 1, 1000.0, "UTC").dates), ["2026-11-16"]);
        assert_eq!(drawn(MIDNIGHT, MIDNIGHT + 5 * DAY, 300.0, "UTC").dates, [], "the labels are dates");
    }

    #[test]
    fn a_clock_change_does_not_shift_the_marks() {
        // Berlin, 2026-10-25: three o'clock comes twice.
        let axis = drawn(1_792_879_200, 1_792_879_200 + 12 * HOUR, 400.0, "Europe/Berlin");
        let labels = texts(&axis.labels);
        assert!(labels.iter().all(|label| label.ends_with(":00")), "{labels:?}");
    }

    #[test]
    fn any_span_has_few_marks() {
        for (from, span) in
            [(0, 1), (MIDNIGHT, 7), (MIDNIGHT, 40 * 365 * DAY), (0, 8000 * 365 * DAY / 4), (-5, 5)]
        {
            let axis = drawn(from, from + span, 400.0, "UTC");
            assert!(axis.labels.len() < 150 && axis.minor.len() < 600, "{span}: {}", axis.labels.len());
        }
    }
}
