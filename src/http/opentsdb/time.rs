//! The forms of `start` and `end`: `1h-ago`, seconds, milliseconds, `2026/11/19-03:40:00`.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Numbers beyond this many seconds are milliseconds, as in OpenTSDB.
const MOST_SECONDS: i64 = 9_999_999_999;

/// The milliseconds of a moment.
pub(super) fn moment(text: &str, now: i64, zone: &TimeZone) -> Result<i64, String> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("now") {
        return Ok(now);
    }
    if let Some(length) = text.to_ascii_lowercase().strip_suffix("-ago") {
        return Ok(now.saturating_sub(millis(length)?));
    }
    if let Ok(number) = text.parse::<i64>() {
        return Ok(if number > MOST_SECONDS { number } else { number.saturating_mul(1000) });
    }
    if let Some(millis) = text.split_once('.').and_then(|(s, ms)| format!("{s}{ms}").parse::<i64>().ok()) {
        return Ok(millis);
    }
    for form in ["%Y/%m/%d-%H:%M:%S", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d-%H:%M", "%Y/%m/%d %H:%M", "%Y/%m/%d"] {
        let parsed = DateTime::strptime(form, text);
        let parsed = parsed.or_else(|error| {
            let date = jiff::civil::Date::strptime(form, text).map_err(|_| error)?;
            Ok::<DateTime, jiff::Error>(date.at(0, 0, 0, 0))
        });
        if let Some(at) = parsed.ok().and_then(|at| zone.to_zoned(at).ok()) {
            return Ok(at.timestamp().as_millisecond());
        }
    }
    Err(format!(
        "`{text}` is no time: send 1h-ago, seconds or milliseconds since 1970, or 2026/11/19-03:40:00"
    ))
}

/// The milliseconds of `10m`, `500ms`, `1n`.
pub(super) fn millis(text: &str) -> Result<i64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (count, unit) = text.split_at(digits);
    let millis: i64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 7 * 86_400_000,
        "n" => 30 * 86_400_000,
        "y" => 365 * 86_400_000,
        _ => 0,
    };
    let count: i64 = count.parse().unwrap_or(0);
    if millis == 0 || count == 0 {
        return Err(format!(
            "`{text}` is no length of time: send a number and one of ms, s, m, h, d, w, n (month), y"
        ));
    }
    Ok(count.saturating_mul(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_a_time_are_read() {
        let at = |text: &str| moment(text, 1_000_000_000, &TimeZone::UTC);
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        for (text, millis) in [
            ("now", 1_000_000_000),
            ("1h-ago", 996_400_000),
            ("30S-AGO", 999_970_000),
            ("250ms-ago", 999_999_750),
            ("1356998400", 1_356_998_400_000),
            ("1356998400123", 1_356_998_400_123),
            ("1356998400.123", 1_356_998_400_123),
            ("2013/01/01-00:00:00", 1_356_998_400_000),
            ("2013/01/01 00:00", 1_356_998_400_000),
            ("2013/01/01", 1_356_998_400_000),
        ] {
            assert_eq!(at(text), Ok(millis), "{text}");
        }
        assert_eq!(moment("2013/01/01-01:00", 0, &berlin), Ok(1_356_998_400_000));
        for bad in ["", "ago", "-ago", "1x-ago", "0h-ago", "2013-01-01", "99999999999999999999", "1h"] {
            assert!(at(bad).is_err(), "{bad}");
        }
    }
}
