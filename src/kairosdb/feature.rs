//! What a query can ask for by name: an aggregator, or a way to group. The parser reads by the tables of these, and `/api/v1/features`
//! shows them to programs that build queries.

use serde_json::{Value, json};

use super::aggregator::AGGREGATORS;
use super::fields::Fields;
use super::grouping::GROUPINGS;
use super::property::Property;
use super::wrong::Wrong;

/// One of them.
pub(super) struct Feature<T: 'static> {
    /// Its name in queries.
    pub(super) name: &'static str,
    /// Its name for people.
    pub(super) label: &'static str,
    /// What it does.
    pub(super) about: &'static str,
    /// What may be said about it.
    pub(super) takes: &'static [Property],
    /// Makes it of what was said.
    pub(super) read: fn(&Fields<'_>) -> Result<T, Wrong>,
}

impl<T> Feature<T> {
    /// Reads the one of a name; `kind` is what its table holds.
    pub(super) fn named(table: &[Self], kind: &str, name: &str, fields: &Fields<'_>) -> Result<T, Wrong> {
        let Some(feature) = table.iter().find(|feature| feature.name == name) else {
            return Err(fields.wrong(name, format_args!("invalid {kind} name")));
        };
        fields.only(name, feature.takes)?;
        (feature.read)(fields)
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "label": self.label,
            "description": self.about,
            "properties": Property::list(self.takes),
        })
    }
}

/// The kinds of features, as KairosDB describes them.
pub fn features() -> Value {
    let kind = |(name, label): &(&str, &str)| json!({ "name": name, "label": label, "properties": features_of(name) });
    Value::Array(KINDS.iter().map(kind).collect())
}

/// All of one kind.
pub fn features_of(kind: &str) -> Option<Value> {
    match kind {
        "group_by" => Some(GROUPINGS.iter().map(Feature::to_json).collect()),
        "aggregators" => Some(AGGREGATORS.iter().map(Feature::to_json).collect()),
        _ => None,
    }
}

/// Names and labels.
const KINDS: [(&str, &str); 2] = [("group_by", "Group By"), ("aggregators", "Aggregator")];
