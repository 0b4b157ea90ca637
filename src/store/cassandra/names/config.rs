//! A policy as the `config` column of `metrics_metadata` spells it.
//!
//! | key                     | value                                                                              |
//! |-------------------------|------------------------------------------------------------------------------------|
//! | `aggregator`            | `average`, `total`, `minimum`, `maximum`, `last`                                   |
//! | `retention`             | `11520*60s:720*3600s`                                                              |
//! | `carbon_xfilesfactor`   | six decimals: `0.500000`                                                           |
//! | `plumbago_aggregator`   | only for methods BigGraphite does not have: `avg_zero`, `absmax`, `absmin`         |
//! | `plumbago_xfilesfactor` | only for a factor that six decimals do not hold                                    |
//! | `plumbago_dialect`      | `labelled`, only for metrics that a KairosDB, OpenTSDB or Ceres client sent first   |
//!
//! BigGraphite fails on an aggregator it does not know and ignores keys it does not know. So our own methods are written as
//! the nearest of its own (`average`, `maximum`, `minimum`), with the real one in a key of ours. When BigGraphite changes the
//! config of such a metric, it drops our key, and its choice is in force.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use plumbago_model::{Aggregator, Dialect, Policy};

const AGGREGATOR: &str = "aggregator";
const RETENTION: &str = "retention";
const FACTOR: &str = "carbon_xfilesfactor";
const OUR_AGGREGATOR: &str = "plumbago_aggregator";
const OUR_FACTOR: &str = "plumbago_xfilesfactor";
const OUR_DIALECT: &str = "plumbago_dialect";

/// Distinct configs cached by [`Configs`]. A cluster has a few dozen; more would be a mistake.
const REMEMBERED: usize = 4096;

/// The column for a policy.
pub fn encode(policy: &Policy) -> BTreeMap<&'static str, String> {
    let spelled = match policy.aggregator {
        Aggregator::Average | Aggregator::AvgZero => "average",
        Aggregator::Sum => "total",
        Aggregator::Last => "last",
        Aggregator::Max | Aggregator::AbsMax => "maximum",
        Aggregator::Min | Aggregator::AbsMin => "minimum",
    };
    let factor = format!("{:.6}", policy.x_files_factor);
    let mut config =
        BTreeMap::from([(AGGREGATOR, spelled.to_owned()), (RETENTION, policy.retention.to_string())]);
    if spelled.parse() != Ok(policy.aggregator) {
        config.insert(OUR_AGGREGATOR, policy.aggregator.name().to_owned());
    }
    if factor.parse() != Ok(policy.x_files_factor) {
        config.insert(OUR_FACTOR, policy.x_files_factor.to_string());
    }
    if policy.dialect != Dialect::Carbon {
        config.insert(OUR_DIALECT, policy.dialect.to_string());
    }
    config.insert(FACTOR, factor);
    config
}

/// The policy of a column. `default` supplies what is missing or unknown: a config of a later version must not
/// hide its metric.
pub fn decode<'a>(config: impl IntoIterator<Item = (&'a str, &'a str)>, default: &Policy) -> Policy {
    let mut policy = default.clone();
    // Our keys override BigGraphite's, and a map has no order.
    let (mut own_aggregator, mut own_factor) = (None, None);
    for (key, value) in config {
        match key {
            RETENTION => {
                if let Ok(retention) = value.parse() {
                    policy.retention = retention;
                }
            }
            AGGREGATOR => policy.aggregator = value.parse().unwrap_or(policy.aggregator),
            FACTOR => policy.x_files_factor = factor(value).unwrap_or(policy.x_files_factor),
            OUR_AGGREGATOR => own_aggregator = value.parse().ok(),
            OUR_FACTOR => own_factor = factor(value),
            OUR_DIALECT => policy.dialect = value.parse().unwrap_or_default(),
            _ => {}
        }
    }
    policy.aggregator = own_aggregator.unwrap_or(policy.aggregator);
    policy.x_files_factor = own_factor.unwrap_or(policy.x_files_factor);
    policy
}

fn factor(text: &str) -> Option<f64> {
    text.parse().ok().filter(|factor| (0.0..=1.0).contains(factor))
}

/// Decodes many columns: most are the same, and equal ones share a policy.
#[derive(Debug)]
pub(super) struct Configs {
    default: Arc<Policy>,
    known: HashMap<String, Arc<Policy>>,
    /// The column as one text, to look it up by.
    key: String,
}

impl Configs {
    pub(super) fn new(default: Arc<Policy>) -> Self {
        Self { default, known: HashMap::new(), key: String::new() }
    }

    pub(super) fn decode<'a>(&mut self, config: impl Iterator<Item = (&'a str, &'a str)>) -> Arc<Policy> {
        self.key.clear();
        for (key, value) in config {
            for text in [key, value] {
                self.key.push_str(text);
                self.key.push('\0');
            }
        }
        if let Some(policy) = self.known.get(&self.key) {
            return policy.clone();
        }
        let mut parts = self.key.split('\0');
        let pairs = std::iter::from_fn(|| Some((parts.next()?, parts.next()?)));
        let policy = Arc::new(decode(pairs, &self.default));
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(self.key.clone(), policy.clone());
        policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> Policy {
        text.parse().unwrap()
    }

    fn decoded(config: &BTreeMap<&'static str, String>) -> Policy {
        let default = policy("1*1s|last|0.25");
        decode(config.iter().map(|(key, value)| (*key, value.as_str())), &default)
    }

    #[test]
    fn it_is_spelled_as_biggraphite_spells_it() {
        let config = encode(&policy("11520*60s:720*3600s|sum|0.5"));
        let expected = [(AGGREGATOR, "total"), (FACTOR, "0.500000"), (RETENTION, "11520*60s:720*3600s")];
        assert_eq!(config, expected.map(|(key, value)| (key, value.to_owned())).into());
    }

    #[test]
    fn every_policy_comes_back() {
        let labelled = policy("60*1s:60*60s|sum|0|labelled");
        assert_eq!(decoded(&encode(&labelled)), labelled);
        for aggregator in Aggregator::ALL {
            for x_files_factor in [0.0, 0.5, 1.0, 1.0 / 3.0] {
                let policy = Policy { aggregator, x_files_factor, ..policy("60*1s:60*60s|sum|0") };
                let config = encode(&policy);
                assert_eq!(decoded(&config), policy);
                assert!(["average", "total", "minimum", "maximum", "last"].contains(&&*config[AGGREGATOR]));
            }
        }
    }

    #[test]
    fn what_is_not_understood_is_taken_from_the_default() {
        let default = policy("60*1s|max|0.25");
        let read =
            |pairs: &[(&'static str, &'static str)]| decode(pairs.iter().copied(), &default).to_string();
        assert_eq!(read(&[]), "60*1s|max|0.25");
        assert_eq!(read(&[(AGGREGATOR, "median"), (RETENTION, "9*9s"), ("new", "x")]), "9*9s|max|0.25");
        assert_eq!(read(&[(RETENTION, "9 lives"), (FACTOR, "nan"), (AGGREGATOR, "total")]), "60*1s|sum|0.25");
        assert_eq!(
            read(&[(OUR_AGGREGATOR, "future"), (AGGREGATOR, "last"), (FACTOR, "7")]),
            "60*1s|last|0.25"
        );
    }

    #[test]
    fn equal_configs_share_a_policy() {
        let mut configs = Configs::new(Arc::new(policy("60*1s|max|0.25")));
        let pairs = [(AGGREGATOR, "total"), (RETENTION, "9*9s")];
        let first = configs.decode(pairs.into_iter());
        assert!(Arc::ptr_eq(&first, &configs.decode(pairs.into_iter())));
        assert_eq!(first.to_string(), "9*9s|sum|0.25");
        assert_eq!(configs.decode([].into_iter()).to_string(), "60*1s|max|0.25");
    }
}
