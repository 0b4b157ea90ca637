//! What a slice of a pie is worth: the functions of `pieMode`, which have a list of their own.

use super::{Invocation, Kind, Param, Row};
use crate::error::RenderError;
use crate::eval::Value;
use crate::series::aggregate::Aggregation;

const SERIES: &[Param] = &[Param::required("series", Kind::Series)];

static ROWS: &[Row] = &[
    Row::new("average", "Pie", SERIES, "Slices are as large as the means of the series.", not_in_a_target),
    Row::new(
        "maximum",
        "Pie",
        SERIES,
        "Slices are as large as the greatest values of the series.",
        not_in_a_target,
    ),
    Row::new(
        "minimum",
        "Pie",
        SERIES,
        "Slices are as large as the least values of the series.",
        not_in_a_target,
    ),
];

/// All pie functions, as they are told about.
pub fn rows() -> &'static [Row] {
    ROWS
}

/// What a pie function makes of the values of a series.
pub fn aggregation(name: &str) -> Option<Aggregation> {
    match name {
        "average" => Some(Aggregation::Average),
        "maximum" => Some(Aggregation::Max),
        "minimum" => Some(Aggregation::Min),
        _ => None,
    }
}

/// Targets know them not.
fn not_in_a_target(call: Invocation<'_>) -> Result<Value, RenderError> {
    Err(RenderError::invalid(format!("{} is for pieMode, not for targets", call.name())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_listed_and_works() {
        assert!(rows().iter().all(|row| aggregation(row.name).is_some()));
        let of = |name: &str| aggregation(name).map(|aggregation| aggregation.of(&[1.0, f64::NAN, 3.0]));
        assert_eq!((of("average"), of("maximum"), of("minimum")), (Some(2.0), Some(3.0), Some(1.0)));
        assert_eq!(of("sum"), None);
    }
}
