//! What a person wants to know of series first: the last value, the extremes, and a line that shows how they went.

use std::io::Write;

use anyhow::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::answer::Series;
use crate::cli::sparkline::{line, number};
use crate::cli::table;

/// Characters of the line.
const COLUMNS: usize = 24;

/// Prints a table with a row for each series; `window` is the head of its lines.
pub(super) fn print(series: &[Series], window: &str, tz: &TimeZone, out: &mut dyn Write) -> Result<()> {
    let rows: Vec<[String; 7]> = series.iter().map(|series| row(series, tz)).collect();
    Ok(table::print(out, ["last", "time", "min", "max", "average", window, "series"], &rows)?)
}

fn row(series: &Series, tz: &TimeZone) -> [String; 7] {
    let seen = || series.points.iter().filter_map(|point| point.1);
    let values: Vec<Option<f64>> = series.points.iter().map(|point| point.1).collect();
    let last = series.points.iter().rev().find_map(|&(time, value)| Some((time, value?)));
    let none = || "-".to_owned();
    let count = seen().count();
    let average = seen().sum::<f64>() / count as f64;
    [
        last.map_or_else(none, |(_, value)| number(value)),
        last.map_or_else(none, |(at, _)| time(at, tz)),
        seen().reduce(f64::min).map_or_else(none, number),
        seen().reduce(f64::max).map_or_else(none, number),
        if count == 0 { none() } else { number(average) },
        line(&values, COLUMNS),
        series.name.clone(),
    ]
}

/// `2026-01-31 10:00:00`
pub(super) fn time(at: i64, tz: &TimeZone) -> String {
    let time = Timestamp::from_second(at).map(|time| time.to_zoned(tz.clone()));
    time.map_or_else(|_| at.to_string(), |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_the_last_value_the_extremes_and_the_course() {
        let points = vec![(60, Some(4.0)), (120, Some(1.0)), (180, Some(10.0)), (240, None)];
        let [last, time, min, max, average, line, name] =
            row(&Series { name: "a.b".to_owned(), points }, &TimeZone::UTC);
        assert_eq!([&*last, &*time, &*min, &*max, &*average], ["10", "1970-01-01 00:03:00", "1", "10", "5"]);
        assert_eq!((line.as_str(), name.as_str()), ("▃▃▃▃▃▃▁▁▁▁▁▁██████      ", "a.b"));
    }

    #[test]
    fn a_series_without_values_has_none() {
        let row = row(&Series { name: "a".to_owned(), points: vec![(60, None)] }, &TimeZone::UTC);
        assert_eq!(row[..5], ["-", "-", "-", "-", "-"].map(str::to_owned));
        assert_eq!(row[5].trim(), "");
    }
}
