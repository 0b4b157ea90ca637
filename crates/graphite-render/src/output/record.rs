//! `format=pickle` and `format=msgpack`: each series as a record, as Graphite servers hand series to each other.

use serde::ser::Error as _;
use serde::{Serialize, Serializer};

use crate::error::RenderError;
use crate::series::Series;
use plumbago_model::Cancel;

/// The fields of a series, by the names that graphite-web reads.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    name: &'a str,
    start: i64,
    end: i64,
    step: i64,
    values: Values<'a>,
    path_expression: &'a str,
    values_per_point: u32,
    consolidation_func: &'a str,
    x_files_factor: f64,
}

/// Numbers, with null for NaN. They are written as long as somebody waits for them.
#[derive(Debug)]
struct Values<'a>(&'a [f64], &'a Cancel);

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.check().map_err(|_| S::Error::custom("nobody waits for it"))?;
        serializer.collect_seq(self.0.iter().map(|value| (!value.is_nan()).then_some(value)))
    }
}

/// A list of records in Python's pickle, protocol 2.
pub fn pickle(series: &[Series], cancel: &Cancel) -> Result<Vec<u8>, RenderError> {
    let options = serde_pickle::SerOptions::new().proto_v2();
    serde_pickle::to_vec(&records(series, cancel), options).map_err(|error| failed(error, cancel))
}

/// A list of records in MessagePack.
pub fn msgpack(series: &[Series], cancel: &Cancel) -> Result<Vec<u8>, RenderError> {
    rmp_serde::to_vec_named(&records(series, cancel)).map_err(|error| failed(error, cancel))
}

impl<'a> Record<'a> {
    fn new(series: &'a Series, cancel: &'a Cancel) -> Self {
        Self {
            name: &series.name,
            start: series.start,
            end: series.end,
            step: series.step,
            values: Values(&series.values, cancel),
            path_expression: &series.path_expression,
            values_per_point: 1,
            consolidation_func: series.consolidation.name(),
            x_files_factor: series.x_files_factor,
        }
    }
}

fn records<'a>(series: &'a [Series], cancel: &'a Cancel) -> Vec<Record<'a>> {
    series.iter().map(|series| Record::new(series, cancel)).collect()
}

fn failed(error: impl std::fmt::Display, cancel: &Cancel) -> RenderError {
    if let Err(cancelled) = cancel.check() {
        return cancelled.into();
    }
    RenderError::invalid(format!("the answer could not be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumbago_model::QueryError;

    fn series() -> Vec<Series> {
        vec![Series::new("a.b", (60, 90, 10), vec![1.5, f64::NAN, f64::INFINITY], 0.5)]
    }

    #[test]
    fn a_pickle_is_a_list_of_dictionaries() {
        let read: Vec<std::collections::BTreeMap<String, serde_pickle::Value>> = serde_pickle::from_slice(
            &pickle(&series(), &Cancel::never()).unwrap(),
            serde_pickle::DeOptions::new(),
        )
        .unwrap();
        assert_eq!(read[0]["name"], serde_pickle::Value::String("a.b".to_owned()));
        assert_eq!(read[0]["step"], serde_pickle::Value::I64(10));
        let values = [
            serde_pickle::Value::F64(1.5),
            serde_pickle::Value::None,
            serde_pickle::Value::F64(f64::INFINITY),
        ];
        assert_eq!(read[0]["values"], serde_pickle::Value::List(values.to_vec()));
        assert_eq!(read[0]["valuesPerPoint"], serde_pickle::Value::I64(1));
        assert_eq!(read[0]["consolidationFunc"], serde_pickle::Value::String("average".to_owned()));
    }

    #[test]
    fn nothing_is_written_for_a_client_who_left() {
        let cancel = Cancel::never();
        cancel.cancel();
        for written in [pickle(&series(), &cancel), msgpack(&series(), &cancel)] {
            assert!(matches!(written, Err(RenderError::Query(QueryError::Abandoned))), "{written:?}");
        }
    }

    #[test]
    fn message_packs_have_the_same_names() {
        let read: Vec<std::collections::BTreeMap<String, serde_json::Value>> = rmp_serde::from_slice(
            &msgpack(&[Series::new("x", (0, 10, 10), vec![f64::NAN], 0.0)], &Cancel::never()).unwrap(),
        )
        .unwrap();
        let keys: Vec<&str> = read[0].keys().map(String::as_str).collect();
        let expected = [
            "consolidationFunc",
            "end",
            "name",
            "pathExpression",
            "start",
            "step",
            "values",
            "valuesPerPoint",
            "xFilesFactor",
        ];
        assert_eq!(keys, expected);
        assert_eq!(read[0]["values"], serde_json::json!([null]));
    }
}
