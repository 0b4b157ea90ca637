//! Documentation made from the table of endpoints: the answer to a wrong path, and the tables of `docs/HTTP.md`.

use std::fmt::Write as _;

use super::endpoints::{Endpoint, GROUPS, Subject, endpoints};

/// One line for each endpoint, for somebody who typed another path.
pub(super) fn listing() -> String {
    let mut out = String::new();
    for Endpoint { path, about, takes, .. } in endpoints() {
        let takes = if takes.is_empty() { String::new() } else { format!("; takes {takes}") };
        let _ = writeln!(out, "{path:<27} {}", plain(&format!("{about}{takes}")));
    }
    out
}

/// Without what Markdown adds to a text.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// The part of `docs/HTTP.md` between its two marks.
pub fn endpoint_tables() -> String {
    let mut out = String::new();
    for group in GROUPS {
        let _ = write!(out, "\n### {}\n\n", group.name);
        out.push_str(
            "| call | role | parameters | what it does | limits | fails with |\n|---|---|---|---|---|---|\n",
        );
        for endpoint in group.endpoints {
            out.push_str(&row(endpoint));
        }
    }
    out.push('\n');
    out
}

fn row(endpoint: &Endpoint) -> String {
    let Endpoint { path, role, about, takes, fails, .. } = endpoint;
    let methods: Vec<&str> = endpoint.methods.iter().map(|method| method.as_str()).collect();
    let limits: Vec<String> = endpoint.limits.iter().map(|key| format!("`{key}`")).collect();
    let cells = [
        format!("`{} {path}`", methods.join("\\|")),
        match endpoint.subject {
            Subject::Metrics => role.to_string(),
            Subject::Tenant => format!("{role}, no scope but a tenant's"),
            Subject::Server => format!("{role}, no scope"),
        },
        cell(takes),
        cell(about),
        limits.join(", "),
        cell(fails),
    ];
    format!("| {} |\n", cells.join(" | "))
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::KEYS;

    const BEGIN: &str = "<!-- Generated from src/http/endpoints.rs by `UPDATE_DOCS=1 cargo test --lib http::reference`. -->\n";
    const END: &str = "<!-- End of the generated part. -->\n";

    #[test]
    fn the_page_of_endpoints_is_current() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/HTTP.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (head, rest) = page.split_once(BEGIN).expect("the mark before the tables");
        let (_, tail) = rest.split_once(END).expect("the mark behind the tables");
        let text = format!("{head}{BEGIN}{}{END}{tail}", endpoint_tables());
        crate::config::assert_current("docs/HTTP.md", &text);
    }

    #[test]
    fn every_row_says_what_it_does_and_names_keys_that_exist() {
        for Endpoint { path, about, limits, .. } in endpoints() {
            assert!(path.starts_with('/') && !about.is_empty() && !about.ends_with('.'), "{path}: {about}");
            for limit in *limits {
                assert!(KEYS.iter().any(|key| key.to_string() == *limit), "{path}: {limit}");
            }
        }
    }

    #[test]
    fn a_call_has_one_row() {
        let mut calls: Vec<String> = endpoints()
            .flat_map(|endpoint| endpoint.methods.iter().map(|method| format!("{method} {}", endpoint.path)))
            .collect();
        let all = calls.len();
        calls.sort();
        calls.dedup();
        assert_eq!(calls.len(), all);
    }
}
