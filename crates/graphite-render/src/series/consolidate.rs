//! Several neighbouring values become one.

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::RenderError;

/// The consolidation function of a series, by its name. A wrong name is found out only when it is used: until then a
/// dashboard that carries it works, as it does with graphite-web.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consolidation(Cow<'static, str>);

impl Default for Consolidation {
    fn default() -> Self {
        Consolidation(Cow::Borrowed("average"))
    }
}

#[derive(Clone, Copy)]
enum Method {
    Average,
    AvgZero,
    Sum,
    Max,
    Min,
    First,
    Last,
}

impl Consolidation {
    /// By name.
    pub fn named(name: impl Into<String>) -> Self {
        Consolidation(Cow::Owned(name.into()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Is there such a function?
    pub(crate) fn check(&self) -> Result<(), RenderError> {
        self.method().map(drop)
    }

    /// Buckets of `per_point` values, each with one value at the end. A bucket needs at least one known value, and
    /// known / `per_point` must reach the xFilesFactor, also for a shorter last bucket.
    pub fn consolidate(&self, values: &[f64], per_point: usize, xff: f64) -> Result<Vec<f64>, RenderError> {
        let method = self.method()?;
        let per_point = per_point.max(1);
        let bucket = |bucket: &[f64]| {
            let known = bucket.iter().filter(|v| !v.is_nan()).count();
            let enough = known > 0 && known as f64 / per_point as f64 >= xff;
            if enough { method.of(bucket, known) } else { f64::NAN }
        };
        Ok(values.chunks(per_point).map(bucket).collect())
    }

    /// The same with the values shared when there is nothing to do.
    pub(crate) fn shared(
        &self,
        values: &Arc<[f64]>,
        per_point: usize,
        xff: f64,
    ) -> Result<Arc<[f64]>, RenderError> {
        if per_point <= 1 {
            Ok(Arc::clone(values))
        } else {
            Ok(self.consolidate(values, per_point, xff)?.into())
        }
    }

    fn method(&self) -> Result<Method, RenderError> {
        Ok(match self.name() {
            "average" | "avg" => Method::Average,
            "avg_zero" => Method::AvgZero,
            "sum" => Method::Sum,
            "max" => Method::Max,
            "min" => Method::Min,
            "first" => Method::First,
            "last" => Method::Last,
            other => {
                return Err(RenderError::invalid(format!(
                    "Invalid consolidation function: '{other}'; use sum, average, avg_zero, max, min, first or last"
                )));
            }
        })
    }
}

impl Method {
    /// The bucket holds at least one known value.
    fn of(self, bucket: &[f64], known: usize) -> f64 {
        let mut values = bucket.iter().copied().filter(|v| !v.is_nan());
        let sum = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |sum, v| sum + v);
        match self {
            Method::Average => sum(&mut values) / known as f64,
            Method::AvgZero => sum(&mut values) / bucket.len() as f64,
            Method::Sum => sum(&mut values),
            Method::Max => values.fold(f64::NAN, f64::max),
            Method::Min => values.fold(f64::NAN, f64::min),
            Method::First => values.next().unwrap_or(f64::NAN),
            Method::Last => values.next_back().unwrap_or(f64::NAN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: f64 = f64::NAN;

    fn text(values: &[f64]) -> String {
        format!("{values:?}")
    }

    #[test]
    fn each_method_drops_nulls_but_avg_zero() {
        let values = [1.0, N, 4.0, N, N, N, 7.0];
        for (name, expected) in [
            ("average", [2.5, N, 7.0]),
            ("avg", [2.5, N, 7.0]),
            ("avg_zero", [5.0 / 3.0, N, 7.0]),
            ("sum", [5.0, N, 7.0]),
            ("max", [4.0, N, 7.0]),
            ("min", [1.0, N, 7.0]),
            ("first", [1.0, N, 7.0]),
            ("last", [4.0, N, 7.0]),
        ] {
            let got = Consolidation::named(name).consolidate(&values, 3, 0.0).unwrap();
            assert_eq!(text(&got), text(&expected), "{name}");
        }
    }

    #[test]
    fn x_files_factor_counts_against_the_full_bucket() {
        let got = Consolidation::default().consolidate(&[1.0, 2.0, N, 4.0], 3, 0.5).unwrap();
        assert_eq!(text(&got), text(&[1.5, N]));
    }

    #[test]
    fn a_wrong_name_is_an_error_only_when_used() {
        let bogus = Consolidation::named("bogus");
        assert!(bogus.shared(&Arc::from([1.0]), 1, 0.0).is_ok());
        assert!(bogus.consolidate(&[1.0], 2, 0.0).unwrap_err().to_string().contains("'bogus'"));
    }
}
