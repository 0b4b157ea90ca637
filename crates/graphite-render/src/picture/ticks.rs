//! Where an axis of values begins and ends, and where its grid lines are.

use super::units::UnitSystem;

/// Lines that look right on a picture of usual height.
const WANTED: f64 = 5.0;
/// More grid lines than this help nobody.
const MOST: f64 = 1000.0;

/// What a request wants of an axis of values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Wish {
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    /// The axis ends here at the latest.
    pub(super) limit: Option<f64>,
    pub(super) step: Option<f64>,
    pub(super) log_base: Option<f64>,
}

/// An axis of values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Values with labels.
    pub(super) ticks: Vec<f64>,
    /// Distance of two of them.
    pub(super) step: f64,
    log: bool,
}

impl Scale {
    /// An axis for values from `low` to `high`.
    pub(super) fn new((low, high): (f64, f64), wish: Wish, units: UnitSystem) -> Self {
        match wish.log_base.filter(|base| *base > 1.0) {
            Some(base) => Self::logarithmic((low, high), wish, base),
            None => Self::linear((low, high), wish, units),
        }
    }

    fn linear((low, high): (f64, f64), wish: Wish, units: UnitSystem) -> Self {
        let mut low = wish.min.unwrap_or(low);
        let mut high = wish.max.unwrap_or(high);
        if let Some(limit) = wish.limit {
            high = high.min(limit);
        }
        if high <= low {
            // A constant line is in the middle of something.
            let room = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
            if wish.max.is_some() {
                low = high - room;
            } else {
                high = low + room;
                low -= if wish.min.is_some() || low == 0.0 { 0.0 } else { room };
            }
        }
        let step = wish.step.filter(|step| *step > 0.0 && (high - low) / step <= MOST);
        let step = step.unwrap_or_else(|| round_step((high - low) / WANTED, units.is_binary()));
        if wish.min.is_none() {
            low = (low / step + 1e-9).floor() * step;
        }
        if wish.max.is_none() && wish.limit.is_none_or(|limit| high < limit) {
            high = (high / step - 1e-9).ceil() * step;
        }
        let first = (low / step - 1e-9).ceil();
        let count = ((high / step + 1e-9).floor() - first).clamp(0.0, MOST) as usize;
        let ticks = (0..=count).map(|i| (first + i as f64) * step).collect();
        Self { low, high, ticks, step, log: false }
    }

    /// Powers of the base. Values of zero and less have no place and are left out.
    fn logarithmic((low, high): (f64, f64), wish: Wish, base: f64) -> Self {
        let high = wish.max.unwrap_or(high).max(f64::MIN_POSITIVE);
        let low = wish.min.unwrap_or(low);
        let low = if low > 0.0 { low.min(high) } else { high / base.powi(4) };
        let (first, last) = (low.log(base).floor(), high.log(base).ceil().max(low.log(base).floor() + 1.0));
        let each = ((last - first) / (2.0 * WANTED)).ceil().max(1.0);
        let count = ((last - first) / each).clamp(0.0, MOST) as usize;
        let ticks: Vec<f64> = (0..=count).map(|i| base.powf(first + i as f64 * each)).collect();
        let low = wish.min.filter(|min| *min > 0.0).unwrap_or(base.powf(first));
        let high = wish.max.unwrap_or(base.powf(last)).max(low * 1.000_001);
        Self { low, high, ticks, step: 0.0, log: true }
    }

    /// How far up a value is: 0 at the bottom, 1 at the top; NaN if it has no place.
    pub(super) fn part(&self, value: f64) -> f64 {
        if self.log {
            return if value > 0.0 {
                (value / self.low).ln() / (self.high / self.low).ln()
            } else {
                f64::NAN
            };
        }
        (value - self.low) / (self.high - self.low)
    }

    /// Where areas end: zero, or what is nearest to it.
    pub(super) fn ground(&self) -> f64 {
        if self.log { self.low } else { 0f64.clamp(self.low.min(self.high), self.high.max(self.low)) }
    }

    /// The text of a tick.
    pub(super) fn label(&self, tick: f64, units: UnitSystem) -> String {
        units.label(tick, if self.log { tick } else { self.step })
    }
}

/// The round number next above: 1, 2, 2.5 or 5 times a power of ten, or a power of two.
fn round_step(rough: f64, binary: bool) -> f64 {
    if !rough.is_finite() || rough <= 0.0 {
        return 1.0;
    }
    if binary && rough >= 1.0 {
        return rough.log2().ceil().exp2();
    }
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * power >= rough * 0.999_999);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(low: f64, high: f64, wish: Wish) -> Scale {
        Scale::new((low, high), wish, UnitSystem::Si)
    }

    #[test]
    fn ends_are_round() {
        let scale = linear(3.0, 97.0, Wish::default());
        assert_eq!((scale.low, scale.high, scale.step), (0.0, 100.0, 20.0));
        assert_eq!(scale.ticks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert!((scale.part(50.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_constant_has_room_around_it() {
        for value in [0.0, 5.0, -5.0, 1e12] {
            let scale = linear(value, value, Wish::default());
            assert!(scale.low <= value && value <= scale.high && scale.low < scale.high, "{scale:?}");
        }
    }

    #[test]
    fn wishes_are_followed() {
        let scale =
            linear(3.0, 97.0, Wish { min: Some(-5.0), max: Some(40.0), step: Some(15.0), ..Wish::default() });
        assert_eq!((scale.low, scale.high, scale.ticks), (-5.0, 40.0, vec![0.0, 15.0, 30.0]));
        let scale = linear(0.0, 97.0, Wish { limit: Some(50.0), ..Wish::default() });
        assert_eq!(scale.high, 50.0);
        let scale = linear(0.0, 10.0, Wish { step: Some(1e-9), ..Wish::default() });
        assert!(scale.ticks.len() < 20, "a step that would draw too much is not taken");
    }

    #[test]
    fn logarithms_have_powers() {
        let scale =
            Scale::new((3.0, 700.0), Wish { log_base: Some(10.0), ..Wish::default() }, UnitSystem::Si);
        assert_eq!((scale.low, scale.high), (1.0, 1000.0));
        assert_eq!(scale.ticks.len(), 4);
        assert!(scale.part(0.0).is_nan() && (scale.part(10.0) - 1.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn binary_steps_are_powers_of_two() {
        let scale = Scale::new((0.0, 5000.0), Wish::default(), UnitSystem::Binary);
        assert_eq!(scale.step, 1024.0);
    }

    proptest::proptest! {
        #[test]
        fn any_range_has_a_scale(low in -1e300..1e300f64, high in -1e300..1e300f64, min in proptest::option::of(-1e9..1e9f64), log in proptest::bool::ANY) {
            let wish = Wish { min, log_base: log.then_some(10.0), ..Wish::default() };
            let scale = linear(low.min(high), high.max(low), wish);
            proptest::prop_assert!(scale.low < scale.high && scale.ticks.len() <= 1002, "{:?}", scale);
        }
    }
}
