//! `[[retention.rule]]`: a retention rule, an aggregation rule, or both, without an extra file.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::retention_rules::{DEFAULT_AGGREGATION, Rule};
use super::settings::one_line;
use super::{ConfigError, Origin};
use plumbago_model::pattern::Pattern;
use plumbago_model::suggest::did_you_mean;
use plumbago_model::{Aggregator, Retention};

/// The rules of one layer, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct InlineRules {
    pub(super) retention: Vec<Rule<Retention>>,
    pub(super) aggregation: Vec<Rule<(Aggregator, f64)>>,
}

/// The keys of a rule with their kind and help, for the documentation and the hints.
pub(super) const RULE_KEYS: [(&str, &str, &str); 5] = [
    ("name", "text", "What `check-config` calls the rule. Optional."),
    ("pattern", "regular expression", "May match anywhere in the name, including tags. Required."),
    ("retentions", "retention list", "Names that match get this retention."),
    ("aggregation", "aggregation method", "Names that match are rolled up by this method."),
    (
        "x_files_factor",
        "number, 0 to 1",
        "Fraction of points that must be known for an aggregate to be shown.",
    ),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    name: Option<String>,
    pattern: Option<Spanned<String>>,
    retentions: Option<Spanned<String>>,
    aggregation: Option<Spanned<String>>,
    x_files_factor: Option<Spanned<f64>>,
}

type OriginOf<'a> = &'a dyn Fn(Range<usize>) -> Origin;

/// Reads the value of `retention.rule`.
pub(super) fn read(
    value: &Spanned<DeValue<'_>>,
    origin_of: OriginOf<'_>,
) -> Result<InlineRules, ConfigError> {
    let wrong = |span| ConfigError::BadValue {
        at: origin_of(span),
        key: "retention.rule".to_owned(),
        message: "expected rules, each written as a [[retention.rule]] table".to_owned(),
    };
    let items = value.get_ref().as_array().ok_or_else(|| wrong(value.span()))?;
    let mut rules = InlineRules::default();
    for (index, item) in items.iter().enumerate() {
        let table = item.get_ref().as_table().ok_or_else(|| wrong(item.span()))?;
        check_keys(table, origin_of)?;
        read_one(&mut rules, index + 1, item, origin_of)?;
    }
    Ok(rules)
}

fn check_keys(table: &DeTable<'_>, origin_of: OriginOf<'_>) -> Result<(), ConfigError> {
    let known = |name: &str| RULE_KEYS.iter().any(|(key, ..)| *key == name);
    let unknown = table.keys().filter(|name| !known(name.get_ref())).min_by_key(|name| name.span().start);
    match unknown {
        None => Ok(()),
        Some(name) => Err(ConfigError::UnknownKey {
            at: origin_of(name.span()),
            key: format!("retention.rule.{}", name.get_ref()),
            hint: did_you_mean(name.get_ref(), RULE_KEYS.iter().map(|(key, ..)| *key)),
        }),
    }
}

fn read_one(
    rules: &mut InlineRules,
    number: usize,
    item: &Spanned<DeValue<'_>>,
    origin_of: OriginOf<'_>,
) -> Result<(), ConfigError> {
    let mut name = format!("rule {number}");
    let refuse = |name: &str, span, message| ConfigError::BadRule {
        at: origin_of(span),
        rule: name.to_owned(),
        message,
    };
    let raw = RawRule::deserialize(ValueDeserializer::from(item.clone()))
        .map_err(|e| refuse(&name, e.span().unwrap_or_else(|| item.span()), one_line(e.message())))?;
    if let Some(given) = raw.name {
        name = given;
    }
    let Some(text) = raw.pattern else {
        return Err(refuse(&name, item.span(), "it has no `pattern`; write a regular expression".to_owned()));
    };
    let pattern = Pattern::new(text.get_ref()).map_err(|e| refuse(&name, text.span(), e.to_string()))?;
    let origin = origin_of(item.span()).to_string();

    let nothing = raw.retentions.is_none() && raw.aggregation.is_none() && raw.x_files_factor.is_none();
    if nothing {
        let message = "it gives nothing; write `retentions`, `aggregation` or both".to_owned();
        return Err(refuse(&name, item.span(), message));
    }
    if let Some(text) = &raw.retentions {
        let gives =
            text.get_ref().parse::<Retention>().map_err(|e| refuse(&name, text.span(), e.to_string()))?;
        let (name, origin, pattern) = (name.clone(), origin.clone(), pattern.clone());
        rules.retention.push(Rule { name, origin, pattern, gives });
    }
    if raw.aggregation.is_some() || raw.x_files_factor.is_some() {
        let (mut method, mut factor) = DEFAULT_AGGREGATION;
        if let Some(text) = &raw.aggregation {
            method = text
                .get_ref()
                .parse()
                .map_err(|e: plumbago_model::UnknownAggregator| refuse(&name, text.span(), e.to_string()))?;
        }
        if let Some(given) = &raw.x_files_factor {
            factor =
                checked_factor(*given.get_ref()).map_err(|message| refuse(&name, given.span(), message))?;
        }
        rules.aggregation.push(Rule { name, origin, pattern, gives: (method, factor) });
    }
    Ok(())
}

/// An xFilesFactor is a fraction.
pub(super) fn checked_factor(factor: f64) -> Result<f64, String> {
    if (0.0..=1.0).contains(&factor) {
        Ok(factor)
    } else {
        Err(format!("xFilesFactor {factor} is not a fraction; give a number from 0 to 1"))
    }
}
