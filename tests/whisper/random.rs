//! Random points, the same in every run.

use plumbago_model::Point;

/// A generator with a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`, which must not be 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % u64::from(bound)) as u32
    }

    /// A value of one of the shapes that metrics have.
    pub(crate) fn value(&mut self, shape: u32) -> f64 {
        match shape % 5 {
            0 => 42.0,
            1 => f64::from(self.below(100)),
            2 => f64::from(self.below(100_000)) / 100.0 - 300.0,
            3 => f64::from(self.below(1 << 30)).sin(),
            _ => [0.0, -0.0, f64::MIN_POSITIVE, f64::MAX, -1.0, 1e-300][self.below(6) as usize],
        }
    }

    /// Points of one shape between two times, with gaps, in order.
    pub(crate) fn points(&mut self, from: u32, until: u32, step: u32, gap: u32, shape: u32) -> Vec<Point> {
        let mut points = Vec::new();
        let mut timestamp = from - from % step;
        while timestamp < until {
            if timestamp >= from {
                points.push(Point { timestamp, value: self.value(shape) });
            }
            timestamp += step * (1 + if self.below(8) == 0 { self.below(gap) } else { 0 });
        }
        points
    }
}
