//! A property of an aggregator or of a way to group: what it is called, and what it may be.

use serde_json::{Map, Value, json};

use super::unit::Unit;

/// A property.
#[derive(Clone, Copy, Debug)]
pub(super) struct Property {
    /// Its name in queries.
    pub(super) name: &'static str,
    label: &'static str,
    about: &'static str,
    pub(super) kind: Kind,
    /// What counts when a query leaves it out; none if it must not.
    pub(super) usual: Option<&'static str>,
    /// What must hold, for a program that asks a person, and how to say that.
    rule: Option<(&'static str, &'static str)>,
}

/// What a property may be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Boolean,
    Long,
    Double,
    Text,
    /// One of these words.
    Choice(fn() -> Vec<&'static str>),
    /// A list, whose items are completed with something that the server lists.
    List(&'static str),
    /// Texts by names.
    Texts,
    /// An object of its own.
    Object(&'static [Property]),
}

impl Property {
    pub(super) const fn new(
        name: &'static str,
        label: &'static str,
        kind: Kind,
        about: &'static str,
    ) -> Self {
        Self { name, label, about, kind, usual: None, rule: None }
    }

    pub(super) const fn usually(self, usual: &'static str) -> Self {
        Self { usual: Some(usual), ..self }
    }

    /// `expression` is JavaScript, as in KairosDB.
    pub(super) const fn must(self, expression: &'static str, message: &'static str) -> Self {
        Self { rule: Some((expression, message)), ..self }
    }

    /// Properties as KairosDB describes them, by their label.
    pub(super) fn list(properties: &[Self]) -> Value {
        let mut sorted: Vec<&Self> = properties.iter().collect();
        sorted.sort_by_key(|property| property.label);
        sorted.into_iter().map(Self::shown).collect()
    }

    fn shown(&self) -> Value {
        let mut fields = Map::new();
        let mut add = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        add("name", self.name.into());
        add("label", self.label.into());
        add("description", self.about.into());
        add("optional", self.usual.is_some().into());
        add("type", self.kind.name().into());
        add("multiline", false.into());
        if let Kind::Object(inner) = self.kind {
            add("properties", Self::list(inner));
            return Value::Object(fields);
        }
        add("options", self.kind.options().into());
        add("defaultValue", self.usual.unwrap_or_default().into());
        add("autocomplete", self.kind.completion().into());
        let rule =
            |(expression, message)| json!({ "expression": expression, "type": "js", "message": message });
        add("validations", self.rule.into_iter().map(rule).collect());
        Value::Object(fields)
    }
}

impl Kind {
    /// Its name in KairosDB.
    fn name(self) -> &'static str {
        match self {
            Kind::Boolean => "boolean",
            Kind::Long => "long",
            Kind::Double => "double",
            Kind::Text => "String",
            Kind::Choice(_) => "enum",
            Kind::List(_) => "array",
            Kind::Texts => "Map",
            Kind::Object(_) => "Object",
        }
    }

    fn options(self) -> Vec<&'static str> {
        match self {
            Kind::Choice(options) => options(),
            _ => Vec::new(),
        }
    }

    fn completion(self) -> &'static str {
        match self {
            Kind::List(completion) => completion,
            _ => "",
        }
    }
}

const VALUE: Property = Property::new("value", "Value", Kind::Long, "How many units.")
    .must("value > 0", "The value must be greater than 0.");

/// A unit of time.
pub(super) const UNIT: Property =
    Property::new("unit", "Unit", Kind::Choice(Unit::names), "The unit of time.").usually("MILLISECONDS");

/// A length of time.
pub(super) const LENGTH: Kind =
    Kind::Object(&[VALUE, Property::new("unit", "Unit", Kind::Choice(Unit::names), "The unit of time.")]);

/// What every aggregator on buckets takes.
pub(super) const RANGE: &[Property] = &[SAMPLING, ALIGN_START, ALIGN_END, ALIGN_SAMPLING, TRIM];

/// The length of a bucket.
pub(super) const SAMPLING: Property =
    Property::new("sampling", "Sampling", LENGTH, "The length of a bucket.").usually("1 MILLISECONDS");

pub(super) const ALIGN_START: Property = Property::new(
    "align_start_time",
    "Align start time",
    Kind::Boolean,
    "Results bear the start of their bucket, not the time of its first point.",
)
.usually("false");

pub(super) const ALIGN_END: Property =
    Property::new("align_end_time", "Align end time", Kind::Boolean, "Results bear the end of their bucket.")
        .usually("false");

pub(super) const ALIGN_SAMPLING: Property = Property::new(
    "align_sampling",
    "Align sampling",
    Kind::Boolean,
    "Buckets begin where the calendar says, in the time zone of the query, and not at its start.",
)
.usually("true");

pub(super) const TRIM: Property =
    Property::new("trim", "Trim", Kind::Boolean, "Buckets that the query covers only in part are left out.")
        .usually("false");
