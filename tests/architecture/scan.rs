//! Reads Rust as text and finds every path that a file names, in whichever form it is written.
//!
//! `use` trees are taken apart, and what they import is remembered, so that `use crate::store as s;` followed by
//! `s::embedded::open()` is seen as `store::embedded`. That is no compiler: what a macro makes is not seen.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

/// A path from its crate's name on: `plumbago`, `store`, `embedded`.
pub(crate) type Names = Vec<String>;

/// Where a file is: `plumbago`, `store`, `embedded` for `src/store/embedded/mod.rs`.
pub(crate) struct Place<'a> {
    pub(crate) module: &'a [String],
    /// Crates that may be named beside the own one.
    pub(crate) crates: &'a [&'a str],
}

/// Every path into this workspace that `text` names.
pub(crate) fn paths(text: &str, place: &Place<'_>) -> BTreeSet<Names> {
    let code = code(text);
    let mut known: BTreeMap<String, Names> = BTreeMap::new();
    let declared = Regex::new(r"\bmod ([a-z_0-9]+);").unwrap();
    for found in declared.captures_iter(&code) {
        known.insert(found[1].to_owned(), [place.module, &[found[1].to_owned()]].concat());
    }
    let mut all = BTreeSet::new();
    let statement = Regex::new(r"\buse\s+([^;]+);").unwrap();
    let mut imports: Vec<(Names, String)> = Vec::new();
    statement.captures_iter(&code).for_each(|found| take_apart(&found[1], &[], &mut imports));
    // A second look finds what an import names by another import.
    for _ in 0..2 {
        for (path, name) in &imports {
            if let Some(path) = resolve(path, place, &known) {
                known.insert(name.clone(), path.clone());
                all.insert(path);
            }
        }
    }
    let path = Regex::new(r"(^|[^\w:])([A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)+)").unwrap();
    let rest = statement.replace_all(&code, "");
    for found in path.captures_iter(&rest) {
        let path: Names = found[2].split("::").map(|name| name.trim().to_owned()).collect();
        all.extend(resolve(&path, place, &known));
    }
    all
}

/// Splits `a::{b, c::{self, d as e}, *}` into paths and the names they are imported as.
fn take_apart(tree: &str, prefix: &[String], into: &mut Vec<(Names, String)>) {
    for branch in branches(tree) {
        let (head, group) = match branch.split_once('{') {
            Some((head, group)) => (head, group.trim_end().strip_suffix('}')),
            None => (branch, None),
        };
        let (path, alias) = match head.split_once(" as ") {
            Some((path, alias)) => (path, Some(alias.trim().to_owned())),
            None => (head, None),
        };
        let names = path.split("::").map(|name| name.trim().to_owned());
        let mut path: Names = prefix.iter().cloned().chain(names.filter(|name| !name.is_empty())).collect();
        if let Some(group) = group {
            take_apart(group, &path, into);
            continue;
        }
        // `{self, …}` and `*` are the module itself.
        let whole = path.len() > 1 && path.last().is_some_and(|last| last == "self" || last == "*");
        if whole {
            path.pop();
        }
        if let Some(name) = alias.or_else(|| path.last().cloned()) {
            into.push((path, name));
        }
    }
}

/// Splits at the commas that are in no braces.
fn branches(tree: &str) -> Vec<&str> {
    let (mut depth, mut start, mut all) = (0, 0, Vec::new());
    for (at, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                all.push(tree[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(tree[start..].trim());
    all.retain(|branch| !branch.is_empty());
    all
}

/// The path from its crate on, or nothing if it is not of this workspace.
fn resolve(path: &[String], place: &Place<'_>, known: &BTreeMap<String, Names>) -> Option<Names> {
    let mut here = place.module.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            here.truncate(1);
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while let Some((_, after)) = rest.split_first().filter(|(first, _)| *first == "super") {
                here.pop()?;
                rest = after;
            }
        }
        first if place.crates.contains(&first) => return Some(path.to_vec()),
        first => {
            here = known.get(first)?.clone();
            rest = &path[1..];
        }
    }
    here.extend(rest.iter().cloned());
    Some(here)
}

/// Cuts off what is for tests alone: `#[cfg(test)]` and the line or the block after it.
pub(crate) fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line != "#[cfg(test)]" {
            kept.push_str(line);
            kept.push('\n');
        } else if let Some(item) = lines.find(|line| !line.starts_with("#["))
            && !item.trim_end().ends_with(';')
        {
            lines.by_ref().find(|line| *line == "}");
        }
    }
    kept
}

/// Code without comments: a rule is not broken by a link in a doc comment.
pub(crate) fn code(text: &str) -> String {
    let line = |line| str::split_once(line, "//").map_or(line, |(code, _)| code);
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a file `store/embedded/…` names, without the crate's own name.
    fn named(text: &str) -> Vec<String> {
        let module = ["plumbago", "store", "embedded", "cut"].map(str::to_owned);
        let place = Place { module: &module, crates: &["plumbago_model", "graphite_render"] };
        let short = |path: Names| path.join("::").trim_start_matches("plumbago::").to_owned();
        paths(text, &place).into_iter().map(short).collect()
    }

    #[test]
    fn a_path_from_the_root_is_seen() {
        assert_eq!(named("use crate::index::Index;"), ["index::Index"]);
        assert_eq!(named("let x = crate::index::find(a);"), ["index::find"]);
        assert_eq!(named("pub use crate::index;"), ["index"]);
    }

    #[test]
    fn any_number_of_supers_is_seen() {
        assert_eq!(named("use super::block::Block;"), ["store::embedded::block::Block"]);
        assert_eq!(named("use super::super::cassandra::Cluster;"), ["store::cassandra::Cluster"]);
        assert_eq!(named("use super::super::super::http::Reply;"), ["http::Reply"]);
        assert_eq!(named("super::super::cassandra::connect()"), ["store::cassandra::connect"]);
    }

    #[test]
    fn a_path_from_here_is_seen() {
        assert_eq!(named("use self::parts::Part;"), ["store::embedded::cut::parts::Part"]);
        assert_eq!(named("use self::super::super::cassandra::X;").len(), 1);
    }

    #[test]
    fn groups_are_taken_apart() {
        let text = "use crate::{store::{Cut, cassandra::{self, Cluster}}, parse};";
        assert_eq!(named(text), ["parse", "store::Cut", "store::cassandra", "store::cassandra::Cluster"]);
        assert_eq!(
            named("use super::{super::cassandra::X, block::*};"),
            ["store::cassandra::X", "store::embedded::block"]
        );
        assert_eq!(named("use crate::{\n    parse,\n    rules::Rules,\n};"), ["parse", "rules::Rules"]);
    }

    #[test]
    fn renamed_imports_are_followed() {
        let found = named("use super::super as s;\nfn f() { s::cassandra::connect() }");
        assert_eq!(found, ["store", "store::cassandra::connect"]);
        assert_eq!(
            named("use crate::store;\nuse store::cassandra as c;\nc::X::new()"),
            ["store", "store::cassandra", "store::cassandra::X::new"]
        );
    }

    #[test]
    fn modules_of_the_file_and_crates_of_the_workspace_are_known() {
        assert_eq!(named("mod parts;\nuse parts::Part;"), ["store::embedded::cut::parts::Part"]);
        assert_eq!(
            named("use graphite_render::{grammar, time as t};"),
            ["graphite_render::grammar", "graphite_render::time"]
        );
        assert_eq!(named("fn f() -> plumbago_model::Point {}"), ["plumbago_model::Point"]);
    }

    #[test]
    fn what_is_not_ours_is_left_out() {
        let text = "/// See [`crate::http`].\n// crate::http\nuse std::fs;\nlet x = fs::read(y); Own::new()";
        assert_eq!(named(text), [""; 0]);
        let text = "a\n#[cfg(test)]\nmod tests {\n    use crate::http;\n}\nb\n#[cfg(test)]\nmod tests;\nc\n";
        assert_eq!(without_tests(text), "a\nb\nc\n");
        let text = "#[cfg(test)]\n#[path = \"x.rs\"]\nuse crate::http;\nd\n";
        assert_eq!(without_tests(text), "d\n");
    }
}
