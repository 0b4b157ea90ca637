//! Where an axis of values begins and ends, and where its grid lines are: as graphite-web chooses them.

use super::units::UnitSystem;

/// Into how many parts an axis is divided if the request does not say.
const DIVISORS: [f64; 3] = [4.0, 5.0, 6.0];
/// More grid lines than this help nobody.
const MOST: f64 = 1000.0;
/// The part of a step by which a value may miss its line.
const SLACK: f64 = 1e-4;
/// Steps that are tried. From one to the next but two they grow tenfold, so a few are enough.
const TRIES: usize = 60;

/// Where an axis ends at the top.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Top {
    /// At the first line above all values.
    #[default]
    Line,
    /// At the highest value.
    Value,
    /// Here.
    At(f64),
}

/// What a request wants of an axis of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wish {
    pub(super) min: Option<f64>,
    pub(super) max: Top,
    /// The axis ends here at the latest.
    pub(super) limit: Option<f64>,
    pub(super) step: Option<f64>,
    /// Into how many parts it may be divided; none means the usual ones.
    pub(super) divisors: Vec<f64>,
    pub(super) log_base: Option<f64>,
}

/// An axis of values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Values with labels.
    pub(super) ticks: Vec<f64>,
    /// Distance of two of them; they have none on a logarithmic axis.
    pub(super) step: Option<f64>,
}

impl Scale {
    /// An axis for values from `low` to `high`.
    pub(super) fn new((low, high): (f64, f64), wish: &Wish, units: UnitSystem) -> Self {
        match wish.log_base.filter(|base| *base > 1.0) {
            Some(base) => Self::logarithmic((low, high), wish, base),
            None => Self::linear((low, high), wish, units),
        }
    }

    fn linear(values: (f64, f64), wish: &Wish, units: UnitSystem) -> Self {
        let ends = Ends::new(values, wish);
        let (mut low, mut high) = (ends.low, ends.high);
        let step = wish.step.filter(|step| *step > 0.0 && (high - low) / step <= MOST);
        let step = step.unwrap_or_else(|| choose_step((low, high), &wish.divisors, units.is_binary()));
        if !ends.low_is_fixed {
            low = (low / step + SLACK).floor() * step;
        }
        if !ends.high_is_fixed {
            high = (high / step - SLACK).ceil() * step;
            if let Some(limit) = wish.limit.filter(|limit| high > limit + SLACK * step) {
                high = limit;
            }
        }
        if high <= low {
            high = low + room(low);
        }
        let first = (low / step - SLACK).ceil();
        let count = ((high / step + SLACK).floor() - first).clamp(0.0, MOST) as usize;
        let ticks = (0..=count).map(|i| (first + i as f64) * step).collect();
        Self { low, high, ticks, step: Some(step) }
    }

    /// Powers of the base. Values of zero and less have no place and are left out.
    fn logarithmic(values: (f64, f64), wish: &Wish, base: f64) -> Self {
        let ends = Ends::new(values, wish);
        let high = ends.high.max(f64::MIN_POSITIVE);
        let low = if ends.low > 0.0 { ends.low.min(high) } else { high / base.powi(4) };
        let (first, last) = ((low.log(base) + 1e-9).floor(), (high.log(base) - 1e-9).ceil());
        let last = last.max(first + 1.0);
        let each = ((last - first) / 50.0).ceil().max(1.0);
        let count = ((last - first) / each).clamp(0.0, MOST) as usize;
        let ticks: Vec<f64> = (0..=count).map(|i| base.powf(first + i as f64 * each)).collect();
        let low = base.powf(first).max(f64::MIN_POSITIVE);
        let high = base.powf(last).min(f64::MAX).max(low * 1.000_001);
        Self { low, high, ticks, step: None }
    }

    /// How far up a value is: 0 at the bottom, 1 at the top; NaN if it has no place.
    pub(super) fn part(&self, value: f64) -> f64 {
        if self.step.is_some() {
            (value - self.low) / (self.high - self.low)
        } else if value > 0.0 {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            f64::NAN
        }
    }

    /// Where areas end: zero, or what is nearest to it.
    pub(super) fn ground(&self) -> f64 {
        match self.step {
            Some(_) => 0f64.clamp(self.low.min(self.high), self.high.max(self.low)),
            None => self.low,
        }
    }

    /// The text of a tick.
    pub(super) fn label(&self, tick: f64, units: UnitSystem) -> String {
        units.label(tick, self.step, self.high - self.low)
    }
}

/// From where to where an axis has to reach, before it is rounded.
struct Ends {
    low: f64,
    high: f64,
    low_is_fixed: bool,
    high_is_fixed: bool,
}

impl Ends {
    fn new((low, high): (f64, f64), wish: &Wish) -> Self {
        let low_is_fixed = wish.min.is_some();
        let low = wish.min.unwrap_or(low);
        let (mut high, mut high_is_fixed) = match wish.max {
            Top::At(high) => (high, true),
            Top::Value => (high, true),
            Top::Line => (high, false),
        };
        if let Some(limit) = wish.limit.filter(|limit| *limit < high) {
            (high, high_is_fixed) = (limit, true);
        }
        let ends = Self { low, high, low_is_fixed, high_is_fixed };
        if (high - low) > low.abs().max(high.abs()) * 1e-13 { ends } else { ends.widened() }
    }

    /// A constant line is in the middle of something.
    fn widened(self) -> Self {
        let (low, high) = match (self.low_is_fixed, self.high_is_fixed) {
            (true, _) => (self.low, self.low + room(self.low)),
            (false, true) => (self.high - room(self.high), self.high),
            (false, false) => {
                let (middle, room) =
                    (self.low / 2.0 + self.high / 2.0, room(self.low.abs().max(self.high.abs())));
                (middle - room, middle + room)
            }
        };
        Self { low, high, ..self }
    }
}

/// Room beside a value that is all there is.
fn room(value: f64) -> f64 {
    if value.abs() < 1e-9 { 1.0 } else { value.abs() * 0.1 }
}

/// The round step that leaves the least room below and above the values, with one of the allowed numbers of parts.
fn choose_step((low, high): (f64, f64), divisors: &[f64], binary: bool) -> f64 {
    let divisors = if divisors.is_empty() { &DIVISORS[..] } else { divisors };
    let most = divisors.iter().copied().fold(1.0, f64::max);
    let fewest = divisors.iter().copied().fold(most, f64::min);
    let span = high - low;
    let mut best: Option<(f64, f64)> = None;
    for step in round_steps(span / most, binary).take(TRIES) {
        if best.is_some_and(|(room, _)| step * fewest >= 2.0 * room + span) {
            break;
        }
        let bottom = step * (low / step + SLACK).floor();
        for divisor in divisors {
            let top = bottom + step * divisor;
            let room = (top - high).max(low - bottom);
            if top >= high - SLACK * step && best.is_none_or(|(least, _)| room < least) {
                best = Some((room, step));
            }
        }
    }
    best.map_or(span / most, |(_, step)| step)
}

/// Round numbers from `least` on: 1, 2 and 5 times powers of ten, or powers of two.
fn round_steps(least: f64, binary: bool) -> impl Iterator<Item = f64> {
    let (base, factors): (f64, &[f64]) = if binary { (2.0, &[1.0]) } else { (10.0, &[1.0, 2.0, 5.0]) };
    let first = (least.log(base) - SLACK).floor();
    let powers = (0..).map(move |i| base.powf(first + f64::from(i)));
    powers
        .flat_map(move |power| factors.iter().map(move |factor| factor * power))
        .filter(move |step| *step >= least * (1.0 - SLACK))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(low: f64, high: f64, wish: Wish) -> Scale {
        Scale::new((low, high), &wish, UnitSystem::Si)
    }

    #[test]
    fn ends_are_round() {
        let scale = linear(3.0, 97.0, Wish::default());
        assert_eq!((scale.low, scale.high, scale.step), (0.0, 100.0, Some(20.0)));
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
        let wish = Wish { min: Some(-5.0), max: Top::At(40.0), step: Some(15.0), ..Wish::default() };
        let scale = linear(3.0, 97.0, wish);
        assert_eq!((scale.low, scale.high, scale.ticks), (-5.0, 40.0, vec![0.0, 15.0, 30.0]));
        let scale = linear(0.0, 97.0, Wish { limit: Some(50.0), ..Wish::default() });
        assert_eq!(scale.high, 50.0);
        let scale = linear(0.0, 97.0, Wish { max: Top::Value, ..Wish::default() });
        assert_eq!(scale.high, 97.0);
        let scale = linear(0.0, 10.0, Wish { divisors: vec![2.0], ..Wish::default() });
        assert_eq!(scale.ticks, [0.0, 5.0, 10.0]);
        let scale = linear(0.0, 10.0, Wish { step: Some(1e-9), ..Wish::default() });
        assert!(scale.ticks.len() < 20, "a step that would draw too much is not taken");
    }

    #[test]
    fn logarithms_have_powers() {
        let wish = Wish { log_base: Some(10.0), ..Wish::default() };
        let scale = Scale::new((3.0, 700.0), &wish, UnitSystem::Si);
        assert_eq!((scale.low, scale.high), (1.0, 1000.0));
        assert_eq!(scale.ticks.len(), 4);
        assert!(scale.part(0.0).is_nan() && (scale.part(10.0) - 1.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn binary_steps_are_powers_of_two() {
        let scale = Scale::new((0.0, 5000.0), &Wish::default(), UnitSystem::Binary);
        assert_eq!(scale.step, Some(1024.0));
    }

    proptest::proptest! {
        #[test]
        fn any_range_has_a_scale(
            low in -1e300..1e300f64, high in -1e300..1e300f64, min in proptest::option::of(-1e9..1e9f64),
            divisors in proptest::collection::vec(1.0..50.0f64, 0..4), log in proptest::bool::ANY,
        ) {
            let wish = Wish { min, divisors, log_base: log.then_some(10.0), ..Wish::default() };
            let scale = linear(low.min(high), high.max(low), wish);
            proptest::prop_assert!(scale.low < scale.high && scale.ticks.len() <= 1002, "{:?}", scale);
        }
    }
}
