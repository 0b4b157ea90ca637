//! KairosDB's queries as values: what a query asks, and what its aggregators and groups make of samples; and the rows of its tables in
//! Cassandra. There is no I/O here.
//!
//! | file          | noun                                                             |
//! |---------------|------------------------------------------------------------------|
//! | `query`       | what a request asks for, read from its JSON                      |
//! | `fields`      | the properties of one JSON object, read as KairosDB reads them   |
//! | `wrong`       | why a query is refused, in KairosDB's words                      |
//! | `unit`        | units of time, and arithmetic with them in a time zone           |
//! | `sampling`    | the buckets of a range aggregator                                |
//! | `sample`      | a point on its way through a query                               |
//! | `aggregator`  | the aggregators, and how they are read                           |
//! | `feature`     | the names of aggregators and groups, and what they take          |
//! | `property`    | what may be said about one of them                               |
//! | `range`       | the aggregators that make one sample of a bucket                 |
//! | `stepwise`    | the aggregators that go from sample to sample                    |
//! | `grouping`    | `group_by`                                                       |
//! | `results`     | series become groups, groups become results                      |
//! | `answer`      | results as JSON                                                  |
//! | `row`         | keys, column names and values of the rows in its tables          |

mod aggregator;
mod answer;
mod feature;
mod fields;
mod grouping;
mod property;
mod query;
mod range;
mod results;
pub mod row;
mod sample;
mod sampling;
mod stepwise;
mod unit;
mod wrong;

#[cfg(test)]
mod tests;

pub use aggregator::{Aggregator, SaveAs};
pub use answer::{Queried, write_answer, write_tags};
pub use feature::{features, features_of};
pub use grouping::GroupBy;
pub use query::{MetricQuery, Order, Query};
pub use range::Method;
pub use results::{Group, Read, Tags, Work, group};
pub use sample::Sample;
pub use sampling::Sampling;
pub use unit::{Length, Unit};
pub use wrong::Wrong;
