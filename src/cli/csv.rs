//! CSV from the JSON of a report, so that every command has both.
//!
//! A list is a table: a column for each key, a line for each entry. A report with single values begins with them, as a table of one line,
//! and each of its lists follows after an empty line. A list inside of an entry repeats the entry for each of its own.

use std::io::{self, Write};

use serde_json::{Map, Value};

/// A line of a table: columns with their values, in order.
type Row = Vec<(String, String)>;

/// Prints a report.
pub(super) fn write(report: &Value, out: &mut dyn Write) -> io::Result<()> {
    let mut tables = Vec::new();
    collect("value", report, &mut tables);
    for (number, rows) in tables.iter().filter(|rows| !rows.is_empty()).enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        write_table(rows, out)?;
    }
    Ok(())
}

fn write_table(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let mut columns: Vec<&str> = Vec::new();
    for (column, _) in rows.iter().flatten() {
        if !columns.contains(&column.as_str()) {
            columns.push(column);
        }
    }
    writeln!(out, "{}", columns.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(","))?;
    for row in rows {
        let cell = |column: &&str| row.iter().find(|(own, _)| own == *column).map_or("", |(_, cell)| cell);
        let cells: Vec<String> = columns.iter().map(|column| quoted(cell(column))).collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}

/// Adds the tables of a value that is called `name`.
fn collect(name: &str, value: &Value, tables: &mut Vec<Vec<Row>>) {
    match value {
        Value::Array(entries) => {
            tables.push(entries.iter().flat_map(|entry| rows(name, entry)).collect());
        }
        Value::Object(fields) if is_list_of_objects(fields) => {
            let named = |(name, value): (&String, &Value)| {
                rows("value", value).into_iter().map(|row| with("name", name, row)).collect::<Vec<_>>()
            };
            tables.push(fields.iter().flat_map(named).collect());
        }
        Value::Object(fields) => {
            let (lists, single): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| has_list(value));
            let row: Row = single.iter().flat_map(|(name, value)| cells(name, value)).collect();
            if !row.is_empty() {
                tables.push(vec![row]);
            }
            lists.into_iter().for_each(|(name, value)| collect(name, value, tables));
        }
        single => tables.push(vec![cells(name, single)]),
    }
}

/// Objects under names of their own, such as the tables of a cluster.
fn is_list_of_objects(fields: &Map<String, Value>) -> bool {
    fields.len() > 1 && fields.values().all(Value::is_object)
}

fn has_list(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(fields) => is_list_of_objects(fields) || fields.values().any(has_list),
        _ => false,
    }
}

/// The lines that an entry of a list makes.
fn rows(name: &str, entry: &Value) -> Vec<Row> {
    let Value::Object(fields) = entry else { return vec![cells(name, entry)] };
    let objects = |value: &Value| value.as_array().is_some_and(|list| list.iter().any(Value::is_object));
    let (lists, single): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| objects(value));
    let own: Row = single.iter().flat_map(|(name, value)| cells(name, value)).collect();
    let inner = lists
        .iter()
        .flat_map(|(name, value)| value.as_array().into_iter().flatten().zip([*name].into_iter().cycle()));
    let repeated: Vec<Row> =
        inner.flat_map(|(entry, name)| rows(name, entry)).map(|row| [own.clone(), row].concat()).collect();
    if repeated.is_empty() { vec![own] } else { repeated }
}

fn with(column: &str, cell: &str, row: Row) -> Row {
    [vec![(column.to_owned(), cell.to_owned())], row].concat()
}

/// The cells of a value without lists of objects: several if it is an object itself.
fn cells(name: &str, value: &Value) -> Row {
    match value {
        Value::Object(fields) => {
            fields.iter().flat_map(|(inner, value)| cells(&format!("{name}_{inner}"), value)).collect()
        }
        Value::Array(entries) => {
            vec![(name.to_owned(), entries.iter().map(text).collect::<Vec<_>>().join(" "))]
        }
        single => vec![(name.to_owned(), text(single))],
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// As RFC 4180 has it: quotes around what would end the cell.
pub(super) fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn csv(report: &Value) -> String {
        let mut out = Vec::new();
        write(report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_list_is_a_table_with_a_column_for_each_key() {
        let list = json!([{"tag": "dc", "values": 2}, {"tag": "a,\"b\"", "values": null, "more": true}]);
        assert_eq!(csv(&list), "tag,values,more\ndc,2,\n\"a,\"\"b\"\"\",,true\n");
        assert_eq!(csv(&json!({"metrics": ["a.b", "c"]})), "metrics\na.b\nc\n");
        assert_eq!(csv(&json!([])), "");
    }

    #[test]
    fn single_values_come_first_and_lists_after_an_empty_line() {
        let report = json!({
            "metrics": 7, "size": {"disk": 1, "memory": 2},
            "tags": [{"tag": "dc"}], "none": [], "received": {"points": 5, "prefixes": [{"prefix": "a"}]},
        });
        assert_eq!(
            csv(&report),
            "metrics,size_disk,size_memory\n7,1,2\n\ntag\ndc\n\npoints\n5\n\nprefix\na\n"
        );
    }

    #[test]
    fn a_list_inside_of_an_entry_repeats_the_entry() {
        let months = json!({"months": [
            {"month": "2026-01", "metrics": [{"metric": "a"}, {"metric": "b"}]},
            {"month": "2026-02", "metrics": []},
        ]});
        assert_eq!(csv(&months), "month,metric,metrics\n2026-01,a,\n2026-01,b,\n2026-02,,\n");
        let users = json!([{"name": "ann", "tokens": ["x", null]}]);
        assert_eq!(csv(&users), "name,tokens\nann,x \n");
    }

    #[test]
    fn objects_under_names_of_their_own_are_a_table() {
        let tables = json!({"ok": true, "tables": {"ks.a": {"bytes": 1}, "ks.b": {"bytes": 2}}});
        assert_eq!(csv(&tables), "ok\ntrue\n\nname,bytes\nks.a,1\nks.b,2\n");
    }
}
