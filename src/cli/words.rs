//! Stages in words.

use plumbago_model::Retention;

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

/// In the largest unit that leaves nothing over.
fn span(secs: u64) -> String {
    let unit = UNITS.iter().find(|(size, _)| secs.is_multiple_of(*size));
    unit.map_or_else(String::new, |(size, name)| {
        let number = secs / size;
        format!("{number} {name}{}", if number == 1 { "" } else { "s" })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_read_like_a_sentence() {
        let words = |text: &str| retention(&text.parse().unwrap());
        assert_eq!(words("10s:1d,1m:30d,1h:2y"), "10s for 1 day, 1m for 30 days, 1h for 2 years");
        assert_eq!(words("1s:1m"), "1s for 1 minute");
        assert_eq!(words("90s:1000,1d:1w"), "90s for 25 hours, 1d for 7 days");
    }
}
