//! Aggregation methods as whisper files number them.

use std::fmt;

use plumbago_model::{Aggregator, Partial};

/// How a file makes coarser points from finer ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// A method that Plumbago has too.
    Known(Aggregator),
    /// The earliest point. go-carbon only.
    First,
    /// A percentile of the points, 0 to 100. Only archives of a [`Method::Mix`] have it.
    Percentile(f32),
    /// Several archives for each resolution, each with a method of its own. Compressed files only.
    Mix,
}

/// Whisper's numbers begin with 1 and follow this order.
const PLAIN: [Aggregator; 8] = Aggregator::ALL;

impl Method {
    /// The method that carbon's whisper means by a number. go-carbon writes 6 for [`Method::First`] into such files too, but
    /// carbon and graphite-web read it as avg_zero, and nothing in the file tells which one it is.
    pub(super) fn of_plain(code: u32) -> Option<Self> {
        let place = usize::try_from(code).ok()?.checked_sub(1)?;
        PLAIN.get(place).copied().map(Self::Known)
    }

    /// The method that a compressed file means by a number in its header.
    pub(super) fn of_compressed(code: u32) -> Option<Self> {
        match code {
            1..=5 => Self::of_plain(code),
            6 => Some(Self::First),
            7 => Some(Self::Mix),
            _ => None,
        }
    }

    /// The method of one archive of a mix.
    pub(super) fn of_mixed(code: u32, percentile: f32) -> Option<Self> {
        match code {
            8 => Some(Self::Percentile(percentile)),
            _ => Self::of_compressed(code).filter(|method| *method != Self::Mix),
        }
    }

    /// The same method in Plumbago, if it has it.
    pub fn aggregator(self) -> Option<Aggregator> {
        match self {
            Self::Known(aggregator) => Some(aggregator),
            _ => None,
        }
    }

    /// One value for several, in the order of their time. The values may be reordered.
    pub(super) fn apply(self, values: &mut [f64]) -> Option<f64> {
        match self {
            Self::Known(method) => {
                let all = values.iter().fold(Partial::EMPTY, |all, &v| method.merge(all, Partial::point(v)));
                method.finish(all, all.count(), 0.0)
            }
            Self::First => values.first().copied(),
            Self::Percentile(percent) => percentile(values, f64::from(percent)),
            Self::Mix => None,
        }
    }
}

/// The number whisper has for a method.
pub(super) fn code(method: Aggregator) -> u32 {
    let place = PLAIN.iter().position(|known| *known == method);
    place.map_or(0, |place| place as u32 + 1)
}

/// Between two neighbours the value is interpolated, as go-carbon does.
fn percentile(values: &mut [f64], percent: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let place = values.len().checked_sub(1)? as f64 * percent / 100.0;
    let upper = *values.get(place.ceil() as usize)?;
    let share = place.fract();
    if share == 0.0 {
        return Some(upper);
    }
    let lower = *values.get(place.floor() as usize)?;
    Some(upper * share + lower * (1.0 - share))
}

/// Carbon's name, or go-carbon's.
impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(method) => method.fmt(f),
            Self::First => f.write_str("first"),
            Self::Percentile(percent) => write!(f, "p{percent}"),
            Self::Mix => f.write_str("mix"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_whisper() {
        let names = ["average", "sum", "last", "max", "min", "avg_zero", "absmax", "absmin"];
        for (number, name) in (1..).zip(names) {
            let method = Method::of_plain(number).unwrap();
            assert_eq!(method.to_string(), name);
            assert_eq!(code(method.aggregator().unwrap()), number);
        }
        assert_eq!([Method::of_plain(0), Method::of_plain(9)], [None, None]);
    }

    #[test]
    fn go_carbon_has_other_numbers_from_six_on() {
        assert_eq!(Method::of_compressed(5), Some(Method::Known(Aggregator::Min)));
        assert_eq!(Method::of_compressed(6), Some(Method::First));
        assert_eq!(Method::of_compressed(7), Some(Method::Mix));
        assert_eq!([Method::of_compressed(0), Method::of_compressed(8)], [None, None]);
        assert_eq!(Method::of_mixed(8, 95.0), Some(Method::Percentile(95.0)));
        assert_eq!(Method::of_mixed(7, 0.0), None, "no mix in a mix");
    }

    #[test]
    fn each_method_makes_one_value() {
        let apply = |method: Method| method.apply(&mut [3.0, -5.0, 1.0, 2.0]);
        assert_eq!(apply(Method::First), Some(3.0));
        assert_eq!(apply(Method::Known(Aggregator::Last)), Some(2.0));
        assert_eq!(apply(Method::Known(Aggregator::Average)), Some(0.25));
        assert_eq!(apply(Method::Percentile(50.0)), Some(1.5));
        assert_eq!(apply(Method::Percentile(100.0)), Some(3.0));
        assert_eq!(Method::Percentile(50.0).apply(&mut []), None);
        assert_eq!(Method::Percentile(99.9).to_string(), "p99.9");
    }
}
