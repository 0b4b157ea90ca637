//! What metrics take of a quota for as long as there are any.

use crate::whisper;
use plumbago_model::Retention;

/// How much a metric takes when every stage of it is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Size {
    /// Points of all stages.
    pub points: u64,
    /// Bytes of the file that whisper makes for it.
    pub logical: u64,
    /// Bytes that it takes on this server's disk, as a rule.
    pub physical: u64,
}

impl Size {
    /// The size of a metric that is kept like this.
    pub fn of(retention: &Retention) -> Self {
        Self {
            points: retention.points(),
            logical: whisper::file_bytes(retention),
            physical: retention.disk_bytes(),
        }
    }
}

/// Metrics, and what they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stock {
    pub(super) metrics: u64,
    /// Directories directly below that of the account.
    pub(super) namespaces: u64,
    pub(super) size: Size,
}

impl Stock {
    /// One metric.
    pub(super) fn one(size: Size) -> Self {
        Self { metrics: 1, namespaces: 0, size }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.change(other, u64::saturating_add);
    }

    pub(super) fn remove(&mut self, other: Self) {
        self.change(other, u64::saturating_sub);
    }

    fn change(&mut self, other: Self, by: impl Fn(u64, u64) -> u64) {
        self.metrics = by(self.metrics, other.metrics);
        self.namespaces = by(self.namespaces, other.namespaces);
        self.size.points = by(self.size.points, other.size.points);
        self.size.logical = by(self.size.logical, other.size.logical);
        self.size.physical = by(self.size.physical, other.size.physical);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_that_of_full_stages() {
        let retention: Retention = "10s:1d,1m:30d".parse().unwrap();
        let points = 8640 + 43_200;
        let size = Size::of(&retention);
        assert_eq!(size, Size { points, logical: 16 + 2 * 12 + 12 * points, physical: 2 * points });
        let mut stock = Stock::one(size);
        stock.add(Stock::one(size));
        stock.remove(Stock::one(size));
        assert_eq!(stock, Stock::one(size));
        stock.remove(Stock { metrics: 9, ..Stock::one(size) });
        assert_eq!(stock, Stock::default());
    }
}
