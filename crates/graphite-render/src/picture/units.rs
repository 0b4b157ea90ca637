//! Values as people read them: `1.5 k`, `256.0 Ki`. They are written as graphite-web writes them.

use crate::python::number::general;

/// How large numbers are shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitSystem {
    /// Thousands: k, M, G …
    Si,
    /// Powers of 1024: Ki, Mi, Gi …
    Binary,
    /// Seconds: m, H, D …
    Seconds,
    /// Milliseconds: s, m, H …
    Milliseconds,
    /// All digits.
    None,
}

const SI: [(f64, &str); 5] = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
const BINARY: [(f64, &str); 5] = [
    (1_125_899_906_842_624.0, "Pi"),
    (1_099_511_627_776.0, "Ti"),
    (1_073_741_824.0, "Gi"),
    (1_048_576.0, "Mi"),
    (1024.0, "Ki"),
];
const SECONDS: [(f64, &str); 5] =
    [(31_536_000.0, "Y"), (2_592_000.0, "M"), (86_400.0, "D"), (3600.0, "H"), (60.0, "m")];
const MILLISECONDS: [(f64, &str); 6] = [
    (31_536_000_000.0, "Y"),
    (2_592_000_000.0, "M"),
    (86_400_000.0, "D"),
    (3_600_000.0, "H"),
    (60_000.0, "m"),
    (1000.0, "s"),
];

impl UnitSystem {
    /// As the parameter `yUnitSystem` names them; anything else is SI.
    pub(super) fn named(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "binary" => Self::Binary,
            "sec" => Self::Seconds,
            "msec" => Self::Milliseconds,
            "none" => Self::None,
            _ => Self::Si,
        }
    }

    /// Is this a system in which powers of two are round?
    pub(super) fn is_binary(self) -> bool {
        self == Self::Binary
    }

    /// The label of `value` on an axis with lines every `step` that is `span` long. Lines of a logarithmic axis have no step.
    pub(super) fn label(self, value: f64, step: Option<f64>, span: f64) -> String {
        let (value, prefix) = self.shortened(value, step);
        let (span, span_prefix) = self.shortened(span, step);
        let number = if value < 0.1 {
            general(value)
        } else if value < 1.0 {
            format!("{value:.2}")
        } else if span > 3.0 || span_prefix != prefix {
            format!("{value:.1}")
        } else if span > 0.1 {
            format!("{value:.2}")
        } else {
            general(value)
        };
        if prefix.is_empty() { number } else { format!("{number} {prefix}") }
    }

    /// A value in the largest unit that neither it nor a step is smaller than.
    fn shortened(self, value: f64, step: Option<f64>) -> (f64, &'static str) {
        let units: &[(f64, &str)] = match self {
            Self::Si => &SI,
            Self::Binary => &BINARY,
            Self::Seconds => &SECONDS,
            Self::Milliseconds => &MILLISECONDS,
            Self::None => &[],
        };
        let is_fit = |size: f64| value.abs() >= size && step.is_none_or(|step| step >= size);
        let (size, prefix) = units.iter().copied().find(|(size, _)| is_fit(*size)).unwrap_or((1.0, ""));
        (value / size, prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_of_graphite_web() {
        for (value, step, span, expected) in [
            (0.0, 20.0, 100.0, "0"),
            (20.0, 20.0, 100.0, "20.0"),
            (1500.0, 500.0, 2000.0, "1500.0"),
            (2000.0, 1000.0, 4000.0, "2.0 k"),
            (0.25, 0.25, 1.0, "0.25"),
            (1.5, 0.5, 2.0, "1.50"),
            (-3e6, 1e6, 6e6, "-3 M"),
        ] {
            assert_eq!(UnitSystem::Si.label(value, Some(step), span), expected);
        }
        assert_eq!(UnitSystem::Si.label(1000.0, None, 999.0), "1.0 k");
        assert_eq!(UnitSystem::Binary.label(2048.0, Some(1024.0), 4096.0), "2.0 Ki");
        assert_eq!(UnitSystem::Seconds.label(7200.0, Some(3600.0), 14_400.0), "2.0 H");
        assert_eq!(UnitSystem::Milliseconds.label(90_000.0, Some(30_000.0), 120_000.0), "90.0 s");
        assert_eq!(UnitSystem::None.label(2_000_000.0, Some(500_000.0), 3e6), "2000000.0");
    }
}
