//! What `/api/v1/features` says is what the parser takes.

use serde_json::{Map, Value, json};

use crate::kairosdb::*;

fn read(kind: &str, feature: &Value) -> Result<Query, Wrong> {
    let query = json!({ "start_absolute": 1, "metrics": [{ "name": "m", kind: [feature] }] });
    Query::parse(query.to_string().as_bytes(), 1_795_000_000_000)
}

/// A value that a property may have: its default, or one that its type and its rule allow.
fn value(property: &Value) -> Value {
    let usual = property["defaultValue"].as_str().unwrap_or_default();
    let inner = property["properties"].as_array();
    match (property["type"].as_str().unwrap(), usual) {
        ("Object", _) => inner.unwrap().iter().map(|one| (name(one), value(one))).collect(),
        ("array", _) if property["name"] == "bins" => json!([1, 2]),
        ("array", _) => json!(["host"]),
        ("Map", _) => json!({}),
        ("enum", "") => property["options"][0].clone(),
        ("String" | "enum", usual) if !usual.is_empty() => json!(usual),
        ("String", _) => json!("text"),
        ("boolean", usual) => json!(usual == "true"),
        (_, "") => json!(1),
        (_, usual) => usual.parse::<f64>().unwrap().into(),
    }
}

fn name(one: &Value) -> String {
    one["name"].as_str().unwrap().to_owned()
}

/// Kind, feature, and its properties.
fn each(mut look: impl FnMut(&str, &str, &[Value])) {
    for kind in features().as_array().unwrap() {
        assert_eq!(Some(&kind["properties"]), features_of(&name(kind)).as_ref());
        for feature in kind["properties"].as_array().unwrap() {
            look(&name(kind), &name(feature), feature["properties"].as_array().unwrap());
        }
    }
}

#[test]
fn every_feature_is_read_with_the_properties_it_shows_and_with_no_others() {
    let mut seen = Vec::new();
    each(|kind, feature, properties| {
        seen.push(format!("{kind} {feature}"));
        let mut all: Map<String, Value> = properties.iter().map(|one| (name(one), value(one))).collect();
        all.insert("name".to_owned(), json!(feature));
        read(kind, &Value::Object(all.clone())).unwrap_or_else(|wrong| panic!("{all:?}: {wrong}"));
        all.insert("bogus".to_owned(), json!(1));
        let wrong = read(kind, &Value::Object(all)).unwrap_err().to_string();
        assert!(wrong.contains("'bogus'") && wrong.contains(feature), "{wrong}");
    });
    for known in ["aggregators avg", "aggregators save_as", "group_by bin", "group_by tag"] {
        assert!(seen.iter().any(|feature| feature == known), "{known}: {seen:?}");
    }
    assert_eq!(seen.len(), 22 + 4);
}

#[test]
fn a_default_is_what_counts_without_the_property_and_the_others_are_needed() {
    each(|kind, feature, properties| {
        let with = |left_out: Option<&Value>| {
            let others = properties.iter().filter(|one| Some(*one) != left_out);
            let mut all: Map<String, Value> = others.map(|one| (name(one), value(one))).collect();
            all.insert("name".to_owned(), json!(feature));
            read(kind, &Value::Object(all))
        };
        let asked = |query: Query| query.metrics[0].clone();
        for property in properties.iter().filter(|one| one["type"] != "Object") {
            let place = format!("{feature}.{}", name(property));
            match (property["optional"].as_bool().unwrap(), with(Some(property))) {
                (true, Ok(without)) => assert_eq!(
                    format!("{:?}", asked(without)),
                    format!("{:?}", asked(with(None).unwrap())),
                    "{place}"
                ),
                (false, Err(_)) => {}
                (optional, read) => panic!("{place} is optional: {optional}, yet {read:?}"),
            }
        }
    });
}

#[test]
fn every_option_is_read_and_shown_in_kairosdbs_form() {
    each(|kind, feature, properties| {
        for property in properties.iter().filter(|one| one["type"] == "enum") {
            for option in property["options"].as_array().unwrap() {
                let asked = json!({ "name": feature, name(property): option });
                read(kind, &asked).unwrap_or_else(|wrong| panic!("{asked}: {wrong}"));
            }
        }
    });
    let aggregators = features_of("aggregators").unwrap();
    let rate = aggregators.as_array().unwrap().iter().find(|one| one["name"] == "rate").unwrap();
    let unit = rate["properties"].as_array().unwrap().iter().find(|one| one["name"] == "unit").unwrap();
    let expected = json!({
        "name": "unit",
        "label": "Unit",
        "description": "The unit of time.",
        "optional": true,
        "type": "enum",
        "options": ["MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS", "WEEKS", "MONTHS", "YEARS"],
        "defaultValue": "MILLISECONDS",
        "autocomplete": "",
        "multiline": false,
        "validations": []
    });
    assert_eq!(*unit, expected);
    assert_eq!(features_of("bogus"), None);
}
