//! The targets in a dashboard of Grafana.
//!
//! Queries are the objects in lists called `targets`. A query that refers to others (`#A`) has its whole text in `targetFull`.
//! Variables become what the dashboard has selected.

use std::collections::HashMap;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

/// Variables by name.
pub(super) type Variables = HashMap<String, String>;

/// The targets of all Graphite panels. `given` variables replace what the dashboard has selected.
pub(super) fn targets(dashboard: &Value, given: &Variables) -> Vec<String> {
    let mut queries = Vec::new();
    collect(dashboard, true, &mut queries);
    let mut variables = selected(dashboard);
    variables.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
    queries.into_iter().map(|query| filled_in(query, &variables)).collect()
}

/// Walks through rows, panels and what else there is. `graphite` says what the data source around it is, as far as it is known.
fn collect<'a>(value: &'a Value, graphite: bool, queries: &mut Vec<&'a str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, graphite, queries)),
        Value::Object(object) => {
            let graphite = is_graphite(object, graphite);
            for (key, inner) in object {
                match inner.as_array().filter(|_| key == "targets") {
                    Some(items) => queries.extend(items.iter().filter_map(|item| query(item, graphite))),
                    None => collect(inner, graphite, queries),
                }
            }
        }
        _ => {}
    }
}

fn query(item: &Value, graphite: bool) -> Option<&str> {
    let object = item.as_object()?;
    let text = |key: &str| object.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    is_graphite(object, graphite).then(|| text("targetFull").or_else(|| text("target")))?
}

/// Old dashboards name a data source, which says nothing; newer ones have its type.
fn is_graphite(object: &Map<String, Value>, otherwise: bool) -> bool {
    let kind = object.get("datasource").and_then(|source| source.get("type")).and_then(Value::as_str);
    kind.map_or(otherwise, |kind| matches!(kind, "graphite" | "datasource" | "mixed"))
}

/// What is selected of each variable.
fn selected(dashboard: &Value) -> Variables {
    let dashboard = dashboard.get("dashboard").unwrap_or(dashboard);
    let list = dashboard.get("templating").and_then(|templating| templating.get("list"));
    let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let variable = |entry: &Value| {
        let name = entry.get("name")?.as_str()?.to_owned();
        let value = match entry.get("current")?.get("value")? {
            Value::String(text) => text.clone(),
            Value::Array(items) => match items.iter().filter_map(Value::as_str).collect::<Vec<_>>()[..] {
                [] => return None,
                [one] => one.to_owned(),
                ref many => format!("{{{}}}", many.join(",")),
            },
            _ => return None,
        };
        let all = || entry.get("allValue").and_then(Value::as_str).filter(|all| !all.is_empty());
        let value = if value == "$__all" { all().unwrap_or("*").to_owned() } else { value };
        Some((name, value))
    };
    list.iter().filter_map(variable).collect()
}

/// A target with values in place of its variables: `$name`, `${name}`, `${name:format}` and `[[name]]`.
fn filled_in(target: &str, variables: &Variables) -> String {
    let Ok(variable) = Regex::new(r"\$(\w+)|\$\{(\w+)(?:[.:][^}]*)?\}|\[\[(\w+)(?:[.:][^\]]*)?\]\]") else {
        return target.to_owned();
    };
    let value = |found: &Captures<'_>| {
        let name = found.iter().skip(1).flatten().next().map_or("", |name| name.as_str());
        match variables.get(name) {
            Some(value) => value.clone(),
            // Grafana computes these from the width of the graph.
            None if matches!(name, "__interval" | "__rate_interval") => "1min".to_owned(),
            None => "*".to_owned(),
        }
    };
    variable.replace_all(target, value).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(dashboard: &Value) -> Vec<String> {
        targets(dashboard, &Variables::new())
    }

    #[test]
    fn queries_of_graphite_panels_are_found_wherever_they_are() {
        let dashboard = json!({ "dashboard": {
            "rows": [{ "panels": [{ "datasource": "old", "targets": [{ "refId": "A", "target": "a.b" }] }] }],
            "panels": [
                { "datasource": { "type": "graphite" }, "targets": [
                    { "target": "sumSeries(#A)", "targetFull": "sumSeries(c.d)" },
                    { "target": "  " }, { "target": 7 }, "text", { "targetFull": "", "target": "e.f" } ] },
                { "datasource": { "type": "prometheus" }, "targets": [{ "target": "not this" }] },
                { "datasource": { "type": "datasource", "uid": "-- Mixed --" }, "targets": [
                    { "datasource": { "type": "graphite" }, "target": "g" },
                    { "datasource": { "type": "loki" }, "target": "nor this" } ] },
                { "panels": [{ "targets": [{ "target": "in.a.row" }] }], "links": [{ "target": "_blank" }] },
            ],
        } });
        assert_eq!(found(&dashboard), ["a.b", "sumSeries(c.d)", "e.f", "g", "in.a.row"]);
    }

    #[test]
    fn variables_have_what_is_selected_or_given() {
        let dashboard = json!({
            "panels": [{ "targets": [{ "target": "s.$host.${dc}.[[disk]].${rack:glob}.$unknown.$one" },
                                     { "target": "summarize(a, '$__interval', 'sum')" }] }],
            "templating": { "list": [
                { "name": "host", "current": { "value": "web1" } },
                { "name": "dc", "current": { "value": ["$__all"] } },
                { "name": "disk", "current": { "value": "$__all" }, "allValue": "sd*" },
                { "name": "rack", "current": { "value": ["r1", "r2"] } },
                { "name": "one", "current": { "value": ["x"] } },
                { "name": "empty", "current": {} },
            ] },
        });
        assert_eq!(found(&dashboard), ["s.web1.*.sd*.{r1,r2}.*.x", "summarize(a, '1min', 'sum')"]);
        let given = Variables::from([("host".to_owned(), "db*".to_owned())]);
        assert!(targets(&dashboard, &given)[0].starts_with("s.db*.*."));
    }
}
