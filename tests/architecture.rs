//! The rules of the house, checked: who may use whom, which library is used where, how long a file may be.
//!
//! The source is read as text. That misses nothing a person would write by accident, and a rule that is broken on purpose
//! is to be changed here, in the table, where a reviewer sees it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// A module of the crate and the modules it may use. `server` and `cli` wire everything and are used by `main` alone.
const MAY_USE: &[(&str, &[&str])] = &[
    ("telemetry", &[]),
    ("pem", &[]),
    ("config", &[]),
    ("parse", &[]),
    ("receive", &["parse", "config", "telemetry", "pem"]),
    ("rules", &["config", "telemetry"]),
    ("resolve", &["config", "index", "rollup", "telemetry"]),
    ("log", &[]),
    ("rollup", &["log", "store"]),
    ("store", &["pem", "telemetry"]),
    ("index", &[]),
    ("http", &["config", "index", "telemetry"]),
];

/// Modules that may use every other.
const USE_ALL: &[&str] = &["server", "cli", "main", "lib"];

/// A library and the only places that may know it.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("axum", &["http"]),
    ("hyper", &["http"]),
    ("tower_http", &["http"]),
    ("tokio_rustls", &["receive"]),
    ("redb", &["store/embedded"]),
    ("scylla", &["store/cassandra"]),
    ("rustls", &["pem.rs", "receive", "store/cassandra"]),
    ("anyhow", &["main.rs", "cli", "server"]),
    ("clap", &["main.rs", "cli"]),
    ("tokio", &["main.rs", "cli", "server", "receive", "http", "store/cassandra"]),
];

/// Implementations behind the storage seam: whoever uses the store uses its traits.
const BEHIND_THE_SEAM: &[&str] = &["embedded", "cassandra", "clustered"];

/// Longest file, without its tests.
const MAX_LINES: usize = 600;

/// Files that are one table and may be longer.
const TABLES: &[&str] = &["crates/graphite-render/src/functions/registry.rs"];

/// Names that say nothing.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "common", "manager", "misc"];

/// A source file without its tests.
struct Source {
    path: PathBuf,
    /// Path of the module: `store`, `embedded`, `blocks`.
    module: Vec<String>,
    text: String,
}

impl Source {
    fn top(&self) -> &str {
        self.module.first().map_or("lib", String::as_str)
    }

    /// `store/embedded/blocks.rs`
    fn below_src(&self) -> String {
        self.path.strip_prefix(root().join("src")).unwrap().display().to_string()
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .flat_map(|path| {
            if path.is_dir() {
                rust_files(&path)
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                vec![path]
            } else {
                Vec::new()
            }
        })
        .collect()
}

/// Every file below `src` that is not a test.
fn sources() -> Vec<Source> {
    let src = root().join("src");
    rust_files(&src)
        .into_iter()
        .map(|path| {
            let relative = path.strip_prefix(&src).unwrap().with_extension("");
            let mut module: Vec<String> = relative
                .iter()
                .map(|part| part.to_string_lossy().into_owned())
                .filter(|part| part != "mod")
                .collect();
            module.retain(|part| part != "lib");
            let text = without_tests(&fs::read_to_string(&path).unwrap());
            Source { path, module, text }
        })
        .filter(|source| !source.module.iter().any(|part| part == "tests"))
        .collect()
}

/// Cuts off inline test modules: from `#[cfg(test)]` before a `mod … {` to the brace in the first column that closes it.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let begins = line == "#[cfg(test)]"
            && lines.peek().is_some_and(|next| next.contains("mod ") && next.trim_end().ends_with('{'));
        if begins {
            lines.by_ref().find(|line| *line == "}");
        } else {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Code without comments: a rule is not broken by a link in a doc comment.
fn code(text: &str) -> String {
    text.lines()
        .map(|line| line.split_once("//").map_or(line, |(code, _)| code))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Paths from the crate's root that `text` mentions, for a module `depth` levels below it: `store::embedded`.
fn used_paths(text: &str, depth: usize) -> BTreeSet<String> {
    let text = code(text);
    let start = format!(r"\b(?:crate::|(?:super::){{{depth}}})");
    let single = Regex::new(&format!(r"{start}([a-z_]+(?:::[a-z_]+)*)")).unwrap();
    let group = Regex::new(&format!(r"{start}\{{")).unwrap();
    let not_super = |path: &str| !path.starts_with("super");
    let mut paths: BTreeSet<String> = single.captures_iter(&text).map(|found| found[1].to_owned()).collect();
    for found in group.find_iter(&text) {
        paths.extend(members(&text[found.end()..]));
    }
    paths.into_iter().filter(|path| not_super(path)).collect()
}

/// The first names in a `{a, b::{c, d}}` list whose opening brace was read already.
fn members(list: &str) -> Vec<String> {
    let (mut depth, mut flat) = (0, String::new());
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            c if depth == 0 => flat.push(c),
            _ => {}
        }
    }
    flat.split(',')
        .map(|name| name.trim().trim_end_matches(':').to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

fn report(broken: Vec<String>) {
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn modules_use_only_what_the_table_allows() {
    let mut broken = Vec::new();
    let modules: BTreeSet<String> = sources().iter().map(|source| source.top().to_owned()).collect();
    for source in sources() {
        let top = source.top();
        if USE_ALL.contains(&top) {
            continue;
        }
        let Some((_, allowed)) = MAY_USE.iter().find(|(module, _)| *module == top) else {
            broken.push(format!(
                "{}: module `{top}` is not in the table of tests/architecture.rs",
                source.below_src()
            ));
            continue;
        };
        for path in used_paths(&source.text, source.module.len()) {
            let used = path.split("::").next().unwrap();
            // Only modules: macros and types at the root belong to nobody.
            if used != top && modules.contains(used) && !allowed.contains(&used) {
                broken.push(format!("{}: `{top}` may not use `{path}`", source.below_src()));
            }
        }
    }
    report(broken);
}

#[test]
fn the_seam_hides_its_stores() {
    let mut broken = Vec::new();
    for source in sources().iter().filter(|source| !USE_ALL.contains(&source.top())) {
        for path in used_paths(&source.text, source.module.len()) {
            let parts: Vec<&str> = path.split("::").collect();
            let [first, second, ..] = parts[..] else { continue };
            // What puts two stores together knows both.
            let own = source.top() == "store"
                && source.module.get(1).is_none_or(|own| own == second || own == "clustered");
            if first == "store" && BEHIND_THE_SEAM.contains(&second) && !own {
                broken.push(format!("{}: uses `{path}` instead of the traits", source.below_src()));
            }
        }
    }
    report(broken);
}

#[test]
fn libraries_stay_in_their_places() {
    let mut broken = Vec::new();
    for source in sources() {
        let (path, text) = (source.below_src(), code(&source.text));
        for (library, places) in LIBRARIES {
            let named = Regex::new(&format!(r"(^|[^\w:.]){library}::|use {library}\b")).unwrap();
            let within = |place: &&str| {
                path == **place || path == format!("{place}.rs") || path.starts_with(&format!("{place}/"))
            };
            if named.is_match(&text) && !places.iter().any(within) {
                broken.push(format!("{path}: `{library}` belongs in {}", places.join(", ")));
            }
        }
    }
    report(broken);
}

#[test]
fn files_are_short() {
    let mut broken = Vec::new();
    for source in sources() {
        let (path, lines) = (format!("src/{}", source.below_src()), source.text.lines().count());
        if lines > MAX_LINES && !TABLES.contains(&path.as_str()) {
            broken.push(format!("{path}: {lines} lines without tests, {MAX_LINES} are the limit"));
        }
    }
    report(broken);
}

#[test]
fn every_file_says_what_it_is_for() {
    let mut broken = Vec::new();
    for directory in ["src", "tests", "benches", "fuzz/fuzz_targets"] {
        for path in rust_files(&root().join(directory)) {
            let text = fs::read_to_string(&path).unwrap();
            let is_tests = path.file_stem().is_some_and(|stem| stem == "tests");
            if !text.starts_with("//! ") && !is_tests {
                broken.push(format!("{}: does not begin with a `//!` line", path.display()));
            }
        }
    }
    report(broken);
}

#[test]
fn names_say_something() {
    let mut broken = Vec::new();
    for path in ["src", "tests", "benches"].iter().flat_map(|directory| rust_files(&root().join(directory))) {
        let relative = path.strip_prefix(root()).unwrap().with_extension("");
        if relative.iter().any(|part| EMPTY_NAMES.contains(&part.to_string_lossy().as_ref())) {
            broken.push(format!("{}: a name that says nothing", path.display()));
        }
    }
    report(broken);
}

#[test]
fn the_scan_sees_what_people_write() {
    let paths = |text: &str, depth| used_paths(text, depth).into_iter().collect::<Vec<_>>();
    assert_eq!(paths("use crate::store::embedded::Blocks;", 1), ["store::embedded"]);
    assert_eq!(paths("let x = crate::index::find(a);", 2), ["index::find"]);
    assert_eq!(paths("use crate::{store::{Cut, Snapshot}, parse};", 1), ["parse", "store"]);
    assert_eq!(paths("use super::super::store::Cut;", 2), ["store"]);
    assert_eq!(paths("use super::store::Cut; use super::Own;", 2), Vec::<String>::new());
    assert_eq!(paths("/// See [`crate::http`].\n// crate::render\n", 1), Vec::<String>::new());
    let text = "a\n#[cfg(test)]\nmod tests {\n    use crate::http;\n}\nb\n#[cfg(test)]\nmod tests;\n";
    assert_eq!(without_tests(text), "a\nb\n#[cfg(test)]\nmod tests;\n");
}

#[test]
fn the_table_is_about_modules_that_exist() {
    let modules: BTreeSet<String> = sources().iter().map(|source| source.top().to_owned()).collect();
    let missing: Vec<&str> =
        MAY_USE.iter().map(|(module, _)| *module).filter(|m| !modules.contains(*m)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}
