//! Stages, policies, sizes and counts in words.

pub(super) use plumbago_model::count;
use plumbago_model::{Policy, Retention};

const UNITS: [(u64, &str); 5] =
    [(31_536_000, "year"), (86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];

/// `10s for 1 day, 1m for 30 days`.
pub(super) fn retention(retention: &Retention) -> String {
    let stage = |s: &plumbago_model::Stage| format!("{} for {}", step(s.step_secs), span(s.span_secs()));
    retention.stages().iter().map(stage).collect::<Vec<_>>().join(", ")
}

/// `90s`, `5m`, `1d`.
fn step(secs: u32) -> String {
    let units = [(86_400, "d"), (3600, "h"), (60, "m"), (1, "s")];
    let unit = units.iter().find(|(size, _)| secs.is_multiple_of(*size));
    unit.map_or_else(String::new, |(size, name)| format!("{}{name}", secs / size))
}

/// In the largest unit that divides it.
fn span(secs: u64) -> String {
    let unit = UNITS.iter().find(|(size, _)| secs.is_multiple_of(*size));
    unit.map_or_else(String::new, |(size, name)| count(secs / size, name))
}

/// `10s for 1 day, 1m for 30 days; average, xFilesFactor 0.5`.
pub(super) fn policy(policy: &Policy) -> String {
    let Policy { retention: stages, aggregator, x_files_factor, dialect: _ } = policy;
    format!("{}; {aggregator}, xFilesFactor {x_files_factor}", retention(stages))
}

/// `869 KiB`: three digits, which are enough for a person. JSON has the exact bytes.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return count(bytes, "byte");
    }
    let mut number = bytes as f64 / 1024.0;
    let mut units = UNITS.into_iter();
    let mut unit = units.next().unwrap_or_default();
    // A number that would round up to 1024 is shown as 1 of the next unit.
    while number >= 1023.5
        && let Some(larger) = units.next()
    {
        (number, unit) = (number / 1024.0, larger);
    }
    if number < 99.95 { format!("{number:.1} {unit}") } else { format!("{number:.0} {unit}") }
}

/// `2026-01-31T10:00:00Z`
pub(super) fn moment(secs: u32) -> String {
    jiff::Timestamp::from_second(i64::from(secs)).map(|time| time.to_string()).unwrap_or_default()
}

/// `2026-01-31`
pub(super) fn day(secs: u32) -> String {
    moment(secs).split('T').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits_and_a_unit() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (889_905, "869 KiB"),
            (102_300, "99.9 KiB"),
            (1_048_575, "1.0 MiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(size(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn a_policy_names_its_method_behind_its_stages() {
        let text = "8640*10s:43200*60s|sum|0".parse().map(|p| policy(&p));
        assert_eq!(text, Ok("10s for 1 day, 1m for 30 days; sum, xFilesFactor 0".to_owned()));
    }

    #[test]
    fn stages_read_like_a_sentence() {
        let words = |text: &str| retention(&text.parse().unwrap());
        assert_eq!(words("10s:1d,1m:30d,1h:2y"), "10s for 1 day, 1m for 30 days, 1h for 2 years");
        assert_eq!(words("1s:1m"), "1s for 1 minute");
        assert_eq!(words("90s:1000,1d:1w"), "90s for 25 hours, 1d for 7 days");
    }
}
