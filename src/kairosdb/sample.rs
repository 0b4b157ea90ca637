//! A point on its way through a query.

/// What a series had at one moment: a point, or the points that an aggregated slot was made from.
///
/// A slot keeps how many points it stands for and their sum, so that an average, a sum or a count over slots is that over the points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Milliseconds since 1970.
    pub at: i64,
    /// What it shows; NaN is KairosDB's null.
    pub value: f64,
    /// The sum of the points it stands for.
    pub sum: f64,
    /// How many points it stands for.
    pub count: u32,
}

impl Sample {
    /// One point.
    pub fn point(at: i64, value: f64) -> Self {
        Self { at, value, sum: value, count: 1 }
    }

    /// No value at a moment: what `gaps` puts where a bucket is empty.
    pub fn null(at: i64) -> Self {
        Self { at, value: f64::NAN, sum: 0.0, count: 0 }
    }

    /// Has it no value?
    pub fn is_null(&self) -> bool {
        self.value.is_nan()
    }

    /// The same with its value changed by a factor.
    pub(super) fn scaled(self, change: impl Fn(f64) -> f64) -> Self {
        Self { value: change(self.value), sum: change(self.sum), ..self }
    }
}
