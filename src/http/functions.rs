//! `/functions`: what the render functions are called and take, for Grafana's query editor.

use std::collections::BTreeMap;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use super::call::Call;
use super::error::Failure;
use super::gate::Seen;
use super::reply;
use super::reply::Wrapping;
use graphite_render::functions::registry::registry;
use graphite_render::functions::{Default, Param, Row, pie};
use graphite_render::python::number::{push_repr, repr};

/// The module graphite-web names for its own functions; clients group plug-ins by it.
const MODULE: &str = "graphite.render.functions";

/// `GET /functions`: by name, or with `grouped` by group and name; `group` picks one group, `type=pie` the pie functions.
pub(super) async fn all(Seen(_): Seen, call: Call) -> Result<Response, Failure> {
    let params = &call.params;
    let wanted_group = params.get("group");
    let rows = rows_of(&call).iter().filter(|row| wanted_group.is_none_or(|group| row.group == group));
    let mut out = Vec::with_capacity(64 * 1024);
    if params.get("grouped").is_some_and(|value| !matches!(value, "0" | "false")) {
        let mut groups: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        rows.for_each(|row| groups.entry(row.group).or_default().push(row));
        push_object(&mut out, groups.iter(), |out, (group, rows)| {
            push_key(out, group);
            push_rows(out, rows.iter().copied());
        });
    } else {
        push_rows(&mut out, rows);
    }
    answer(&call, StatusCode::OK, out)
}

/// Those of targets, or with `type=pie` those of pies.
fn rows_of(call: &Call) -> &'static [Row] {
    if call.params.get("type") == Some("pie") { pie::rows() } else { registry() }
}

/// `GET /functions/<name>`
pub(super) async fn one(Seen(_): Seen, Path(name): Path<String>, call: Call) -> Result<Response, Failure> {
    let mut out = Vec::new();
    if let Some(row) = rows_of(&call).iter().find(|row| row.name == name) {
        push_row(&mut out, row);
        return answer(&call, StatusCode::OK, out);
    }
    push_object(&mut out, [format!("Function not found: {name}")].into_iter(), |out, text| {
        push_key(out, "error");
        push_text(out, &text);
    });
    answer(&call, StatusCode::NOT_FOUND, out)
}

fn answer(call: &Call, status: StatusCode, json: Vec<u8>) -> Result<Response, Failure> {
    let wrapping = Wrapping::plain(&call.params)?;
    Ok(reply::body(status, wrapping.content_type(), wrapping.apply(json)))
}

// Written by hand, since an infinite default must come out as a number that JSON serialisers refuse to write.

fn push_rows<'a>(out: &mut Vec<u8>, rows: impl Iterator<Item = &'a Row>) {
    push_object(out, rows, |out, row| {
        push_key(out, row.name);
        push_row(out, row);
    });
}

fn push_row(out: &mut Vec<u8>, row: &Row) {
    let signature = signature(row);
    let fields = [
        ("name", row.name),
        ("function", &signature),
        ("description", row.description),
        ("module", MODULE),
        ("group", row.group),
    ];
    out.push(b'{');
    for (key, text) in fields {
        push_key(out, key);
        push_text(out, text);
        out.push(b',');
    }
    push_key(out, "params");
    push_list(out, row.params, push_param);
    out.push(b'}');
}

fn push_param(out: &mut Vec<u8>, param: &Param) {
    out.push(b'{');
    push_key(out, "name");
    push_text(out, param.name);
    out.push(b',');
    push_key(out, "type");
    push_text(out, param.kind.name());
    for (key, set) in [("required", param.required), ("multiple", param.multiple)] {
        if set {
            out.push(b',');
            push_key(out, key);
            out.extend_from_slice(b"true");
        }
    }
    // Graphite does not tell of a default where it says that a value is required.
    if param.default != Default::Nothing && !param.required {
        out.push(b',');
        push_key(out, "default");
        push_default(out, &param.default);
    }
    let words = param.options.iter().map(|&word| Default::Text(word));
    let options: Vec<Default> = param.plain_options.iter().copied().chain(words).collect();
    if !options.is_empty() {
        out.push(b',');
        push_key(out, "options");
        push_list(out, &options, push_default);
    }
    if !param.suggestions.is_empty() {
        out.push(b',');
        push_key(out, "suggestions");
        push_list(out, param.suggestions, push_default);
    }
    out.push(b'}');
}

fn push_default(out: &mut Vec<u8>, default: &Default) {
    match *default {
        Default::Nothing => out.extend_from_slice(b"null"),
        Default::Int(number) => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        Default::Float(number) if number.is_infinite() => out.extend_from_slice(b"1e9999"),
        Default::Float(number) => push_repr(out, number),
        Default::Text(text) => push_text(out, text),
        Default::Bool(yes) => out.extend_from_slice(if yes { b"true" } else { b"false" }),
    }
}

/// As a Python function would be declared: `movingAverage(seriesList, windowSize, xFilesFactor=None)`.
fn signature(row: &Row) -> String {
    let params: Vec<String> = row.params.iter().map(declaration).collect();
    format!("{}({})", row.name, params.join(", "))
}

fn declaration(param: &Param) -> String {
    let name = param.name;
    match param.default {
        _ if param.multiple => format!("*{name}"),
        Default::Nothing if param.required => name.to_owned(),
        Default::Nothing => format!("{name}=None"),
        Default::Int(number) => format!("{name}={number}"),
        Default::Float(number) => format!("{name}={}", repr(number)),
        Default::Text(text) => format!("{name}='{text}'"),
        Default::Bool(true) => format!("{name}=True"),
        Default::Bool(false) => format!("{name}=False"),
    }
}

fn push_object<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, push: impl Fn(&mut Vec<u8>, T)) {
    out.push(b'{');
    push_separated(out, items, push);
    out.push(b'}');
}

fn push_list<T>(out: &mut Vec<u8>, items: &[T], push: impl Fn(&mut Vec<u8>, &T)) {
    out.push(b'[');
    push_separated(out, items.iter(), push);
    out.push(b']');
}

fn push_separated<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, push: impl Fn(&mut Vec<u8>, T)) {
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push(out, item);
    }
}

fn push_key(out: &mut Vec<u8>, key: &str) {
    push_text(out, key);
    out.push(b':');
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    // Writing a string into memory has nothing to fail on.
    let _ = serde_json::to_writer(&mut *out, text);
}
