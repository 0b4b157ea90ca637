//! Values as people read them: `1.5 M`, `256 Ki`.

/// How large numbers are shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitSystem {
    /// Thousands: K, M, G …
    Si,
    /// Powers of 1024: Ki, Mi, Gi …
    Binary,
    /// All digits.
    None,
}

const SI: [(f64, &str); 5] = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")];
const BINARY: [(f64, &str); 5] = [
    (1_125_899_906_842_624.0, "Pi"),
    (1_099_511_627_776.0, "Ti"),
    (1_073_741_824.0, "Gi"),
    (1_048_576.0, "Mi"),
    (1024.0, "Ki"),
];

impl UnitSystem {
    /// As the parameter `yUnitSystem` names them; anything else is SI.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "binary" => Self::Binary,
            "none" => Self::None,
            _ => Self::Si,
        }
    }

    /// Is this a system in which powers of two are round?
    pub(super) fn is_binary(self) -> bool {
        self == Self::Binary
    }

    /// `value` with as many decimals as steps of `step` need.
    pub(super) fn label(self, value: f64, step: f64) -> String {
        let prefixes: &[(f64, &str)] = match self {
            Self::Si => &SI,
            Self::Binary => &BINARY,
            Self::None => &[],
        };
        // All labels of an axis have their own prefix, as people expect of 500, 1 K, 1.5 K.
        let (size, prefix) =
            prefixes.iter().copied().find(|(size, _)| value.abs() >= *size).unwrap_or((1.0, ""));
        let decimals = decimals_of(step / size);
        let number = format!("{:.decimals$}", value / size);
        let number = if number.trim_start_matches(['-', '0', '.']).is_empty() { "0" } else { &number };
        if prefix.is_empty() { number.to_owned() } else { format!("{number} {prefix}") }
    }
}

/// Decimals in which multiples of `step` differ.
fn decimals_of(step: f64) -> usize {
    if !step.is_finite() || step <= 0.0 {
        return 2;
    }
    (0..12)
        .find(|&places| {
            (step * 10f64.powi(places)).fract().min(1.0 - (step * 10f64.powi(places)).fract()) < 1e-6
        })
        .map_or(6, |places| places as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_exact() {
        for (value, step, expected) in [
            (0.0, 1.0, "0"),
            (1500.0, 500.0, "1.5 K"),
            (2000.0, 500.0, "2.0 K"),
            (500.0, 500.0, "500"),
            (0.25, 0.25, "0.25"),
            (-3e6, 1e6, "-3 M"),
            (-1e-17, 0.5, "0"),
        ] {
            assert_eq!(UnitSystem::Si.label(value, step), expected);
        }
        assert_eq!(UnitSystem::Binary.label(2048.0, 1024.0), "2 Ki");
        assert_eq!(UnitSystem::None.label(2_000_000.0, 500_000.0), "2000000");
    }
}
