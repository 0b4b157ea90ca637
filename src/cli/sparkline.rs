//! A series in one line of block characters, and numbers as short as they may be.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The line, with so many characters. Where several points share a character it shows the largest, so that no peak is lost. A gap is blank.
pub(super) fn line(values: &[Option<f64>], columns: usize) -> String {
    let finite = || values.iter().flatten().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let block = |value: f64| {
        let part = if high > low { (value - low) / (high - low) } else { 0.5 };
        // NaN cannot be here, and what is beyond the ends counts as them.
        BLOCKS.get((part * 7.0).round().clamp(0.0, 7.0) as usize).copied().unwrap_or(' ')
    };
    (0..columns)
        .map(|column| {
            let from = column * values.len() / columns;
            let until = ((column + 1) * values.len() / columns).max(from + 1);
            let shared = values.get(from..until.min(values.len())).unwrap_or_default();
            shared.iter().flatten().copied().reduce(f64::max).map_or(' ', block)
        })
        .collect()
}

/// A number with up to six digits that say something, and a whole number with all of them.
pub(super) fn number(value: f64) -> String {
    if !value.is_finite() || value.fract() == 0.0 && value.abs() < 1e15 {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor();
    if !(-5.0..15.0).contains(&magnitude) {
        return format!("{value:.5e}");
    }
    let decimals = (5.0 - magnitude).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_never_lost_and_a_gap_is_blank() {
        let mut values = vec![Some(0.0); 100];
        values[57] = Some(7.0);
        assert_eq!(line(&values, 10), "▁▁▁▁▁█▁▁▁▁");
        assert_eq!(line(&[Some(1.0), None, Some(3.0), Some(2.0)], 4), "▁ █▅");
        assert_eq!(line(&[Some(1.0), Some(2.0)], 4), "▁▁██");
        assert_eq!(line(&[Some(5.0), Some(5.0)], 2), "▅▅");
        assert_eq!(line(&[Some(f64::INFINITY), Some(1.0), Some(2.0)], 3), "█▁█");
        assert_eq!(line(&[], 3), "   ");
    }

    #[test]
    fn numbers_have_the_digits_that_matter() {
        for (value, text) in [
            (3.0, "3"),
            (12.5, "12.5"),
            (1_234_567_890.0, "1234567890"),
            (1_234_567.891, "1234568"),
            (0.1 + 0.2, "0.3"),
            (-0.000_123_456_7, "-0.000123457"),
            (1e-9, "1.00000e-9"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(number(value), text, "{value}");
        }
    }
}
