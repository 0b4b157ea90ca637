//! The rules of the house, checked: what may use what, which library is used where, how long a file may be.
//!
//! The source is read as text (`scan.rs`). That misses nothing that a person would write by accident. To break a rule on
//! purpose, change the table here, where a reviewer sees it.

mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use scan::{Names, Place, code, without_tests};

/// The crates of the workspace: name, folder, and which of the others it may use.
const CRATES: &[(&str, &str, &[&str])] = &[
    ("plumbago_model", "crates/plumbago-model", &[]),
    ("graphite_render", "crates/graphite-render", &["plumbago_model"]),
    ("plumbago", ".", &["plumbago_model", "graphite_render"]),
];

/// A module of the server and what else of it that module may use. Values of `plumbago_model` are for all. `server` and `cli` wire
/// everything and are used by `main` alone.
const MAY_USE: &[(&str, &[&str])] = &[
    ("telemetry", &[]),
    ("pem", &[]),
    ("config", &[]),
    ("parse", &[]),
    ("certificate", &["config", "pem"]),
    ("auth", &["config", "telemetry"]),
    ("receive", &["auth", "parse", "config", "telemetry", "certificate"]),
    ("rules", &["config", "telemetry"]),
    ("quotas", &["auth", "config", "telemetry", "whisper"]),
    ("resolve", &["auth", "config", "index", "quotas", "rollup", "telemetry"]),
    ("disk", &[]),
    ("planted", &[]),
    ("log", &["disk", "planted"]),
    ("rollup", &["disk", "log", "planted", "store"]),
    ("store", &["disk", "pem", "planted", "telemetry"]),
    ("index", &[]),
    ("bundle", &["store"]),
    ("kairosdb", &[]),
    ("whisper", &[]),
    (
        "http",
        &[
            "auth",
            "bundle",
            "certificate",
            "config",
            "graphite_render",
            "index",
            "kairosdb",
            "parse",
            "telemetry",
        ],
    ),
];

/// Modules that may use every other.
const USE_ALL: &[&str] = &["server", "cli", "main", "lib"];

/// A library and the only places that may know it.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("axum", &["src/http"]),
    ("hyper", &["src/http"]),
    ("tower_http", &["src/http"]),
    ("tokio_rustls", &["src/receive", "src/http"]),
    ("redb", &["src/store/embedded"]),
    ("scylla", &["src/store/cassandra"]),
    ("rustls", &["src/pem.rs", "src/certificate.rs", "src/store/cassandra", "src/cli/operations/secure.rs"]),
    ("anyhow", &["src/main.rs", "src/cli", "src/server"]),
    ("clap", &["src/main.rs", "src/cli"]),
    ("mimalloc", &["src/main.rs"]),
    (
        "tokio",
        &[
            "src/main.rs",
            "src/cli",
            "src/server",
            "src/receive",
            "src/http",
            "src/auth",
            "src/store/cassandra",
            "src/store/clustered",
        ],
    ),
    ("tiny_skia", &["crates/graphite-render/src/picture"]),
];

/// Values do no I/O and wait for nothing: all that the model may depend on.
const LIBRARIES_OF_THE_MODEL: &[&str] = &["globset", "regex", "thiserror", "uuid"];

/// What the crates below the server may not call.
const INPUT_AND_OUTPUT: &[&str] =
    &["std::fs", "std::net", "std::process", "std::thread", "std::env", "SystemTime"];

/// The one exception: pictures read fonts of the system for letters that no embedded font could have.
const READS_FONTS: &str = "crates/graphite-render/src/picture/system_fonts.rs";

/// Implementations behind the storage seam: other modules use the traits of the store.
const BEHIND_THE_SEAM: &[&str] = &["embedded", "cassandra", "clustered"];

/// Longest file, without its tests.
const MAX_LINES: usize = 600;

/// Files that are one table and may be longer.
const TABLES: &[&str] = &["crates/graphite-render/src/functions/registry.rs"];

/// Names that say nothing.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "common", "manager", "misc"];

/// Folders with Rust in them.
const FOLDERS: &[&str] = &["src", "crates", "tests", "benches", "examples", "fuzz/fuzz_targets"];

/// A source file without its tests.
struct Source {
    /// `src/store/embedded/blocks.rs`
    path: String,
    /// Path of the module, from the crate's name on.
    module: Names,
    text: String,
}

impl Source {
    /// The module right below the crate.
    fn top(&self) -> &str {
        self.module.get(1).map_or("lib", String::as_str)
    }

    /// Every path into the workspace that it names.
    fn paths(&self) -> BTreeSet<Names> {
        let crates: Vec<&str> = CRATES.iter().map(|(name, ..)| *name).collect();
        scan::paths(&self.text, &Place { module: &self.module, crates: &crates })
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A path as it is written here.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
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

/// Every file of every crate that is not a test.
fn sources() -> Vec<Source> {
    CRATES.iter().flat_map(|(name, folder, _)| sources_of(name, folder)).collect()
}

fn sources_of(name: &str, folder: &str) -> Vec<Source> {
    let src = root().join(folder).join("src").components().collect::<PathBuf>();
    let source = |path: PathBuf| {
        let relative = path.strip_prefix(&src).unwrap().with_extension("");
        let parts = relative.iter().map(|part| part.to_string_lossy().into_owned());
        let inner = parts.filter(|part| part != "mod" && part != "lib");
        let module = std::iter::once(name.to_owned()).chain(inner).collect();
        let text = without_tests(&fs::read_to_string(&path).unwrap());
        Source { path: shown(&path), module, text }
    };
    let all = rust_files(&src).into_iter().map(source);
    // `testing` is what several test modules share.
    all.filter(|source| !source.module.iter().any(|part| part == "tests" || part == "testing")).collect()
}

fn report(broken: Vec<String>) {
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

/// What each module of the server uses, and one place where it does.
fn uses() -> BTreeMap<String, BTreeMap<String, String>> {
    let sources = sources_of("plumbago", ".");
    let modules: BTreeSet<&str> = sources.iter().map(Source::top).collect();
    let mut all: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !USE_ALL.contains(&source.top())) {
        let uses = all.entry(source.top().to_owned()).or_default();
        for path in source.paths() {
            let used = match path.first().map(String::as_str) {
                Some("plumbago") => path.get(1).filter(|used| modules.contains(used.as_str())),
                other => path.first().filter(|_| other == Some("graphite_render")),
            };
            if let Some(used) = used.filter(|used| *used != source.top()) {
                uses.entry(used.clone()).or_insert_with(|| format!("{}: `{}`", source.path, path.join("::")));
            }
        }
    }
    all
}

fn granted(module: &str) -> Option<&'static [&'static str]> {
    MAY_USE.iter().find(|(name, _)| *name == module).map(|(_, allowed)| *allowed)
}

#[test]
fn modules_use_only_what_the_table_allows() {
    let mut broken = Vec::new();
    for (module, uses) in uses() {
        let Some(allowed) = granted(&module) else {
            broken.push(format!("module `{module}` is not in the table of tests/architecture.rs"));
            continue;
        };
        let forbidden = uses.iter().filter(|(used, _)| !allowed.contains(&used.as_str()));
        broken.extend(forbidden.map(|(used, place)| format!("`{module}` may not use `{used}`: {place}")));
    }
    report(broken);
}

#[test]
fn the_table_grants_nothing_that_is_unused() {
    let uses = uses();
    let unused = |(module, allowed): &(&str, &[&str])| {
        let own = uses.get(*module);
        let idle = |used: &&&str| own.is_none_or(|own| !own.contains_key(**used));
        allowed
            .iter()
            .filter(idle)
            .map(|used| format!("`{module}` does not use `{used}`"))
            .collect::<Vec<_>>()
    };
    report(MAY_USE.iter().flat_map(unused).collect());
}

#[test]
fn crates_use_only_what_the_table_allows() {
    let mut broken = Vec::new();
    let mut idle = Vec::new();
    for (name, folder, allowed) in CRATES {
        let used: BTreeMap<String, String> = sources_of(name, folder)
            .iter()
            .flat_map(|source| source.paths().into_iter().map(|path| (path[0].clone(), source.path.clone())))
            .filter(|(used, _)| used != name)
            .collect();
        let forbidden = used.iter().filter(|(used, _)| !allowed.contains(&used.as_str()));
        broken.extend(forbidden.map(|(used, place)| format!("{place}: `{name}` may not use `{used}`")));
        idle.extend(
            allowed
                .iter()
                .filter(|other| !used.contains_key(**other))
                .map(|other| format!("{name}: {other}")),
        );
    }
    report(broken);
    assert_eq!(idle, [""; 0], "granted and unused");
}

#[test]
fn the_seam_hides_its_stores() {
    let mut broken = Vec::new();
    for source in sources_of("plumbago", ".").iter().filter(|source| !USE_ALL.contains(&source.top())) {
        for path in source.paths() {
            let [_, first, second, ..] = &path[..] else { continue };
            // What puts two stores together knows both.
            let own = source.top() == "store"
                && source.module.get(2).is_none_or(|own| own == second || own == "clustered");
            if first == "store" && BEHIND_THE_SEAM.contains(&second.as_str()) && !own {
                broken.push(format!("{}: uses `{}` instead of the traits", source.path, path.join("::")));
            }
        }
    }
    report(broken);
}

#[test]
fn libraries_stay_in_their_places() {
    let mut broken = Vec::new();
    for source in sources() {
        let text = code(&source.text);
        for (library, places) in LIBRARIES {
            let named = Regex::new(&format!(r"(^|[^\w:.]){library}::|use {library}\b")).unwrap();
            let within = |place: &&str| {
                let path = source.path.as_str();
                path == *place || path == format!("{place}.rs") || path.starts_with(&format!("{place}/"))
            };
            if named.is_match(&text) && !places.iter().any(within) {
                broken.push(format!("{}: `{library}` belongs in {}", source.path, places.join(", ")));
            }
        }
    }
    report(broken);
}

#[test]
fn the_model_and_the_render_language_touch_nothing_outside() {
    let mut broken = Vec::new();
    let inside = |source: &&Source| source.module[0] != "plumbago" && source.path != READS_FONTS;
    for source in sources().iter().filter(inside) {
        let text = code(&source.text);
        let touched = INPUT_AND_OUTPUT.iter().filter(|name| text.contains(**name));
        broken.extend(touched.map(|name| format!("{}: `{name}`", source.path)));
    }
    report(broken);
    let manifest = fs::read_to_string(root().join("crates/plumbago-model/Cargo.toml")).unwrap();
    let manifest: toml::Value = toml::from_str(&manifest).unwrap();
    let libraries: Vec<&String> = manifest["dependencies"].as_table().unwrap().keys().collect();
    assert_eq!(libraries, LIBRARIES_OF_THE_MODEL);
}

#[test]
fn files_are_short() {
    let mut broken = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > MAX_LINES && !TABLES.contains(&source.path.as_str()) {
            broken.push(format!("{}: {lines} lines without tests, {MAX_LINES} are the limit", source.path));
        }
    }
    report(broken);
}

#[test]
fn every_file_says_what_it_is_for() {
    let mut broken = Vec::new();
    for path in FOLDERS.iter().flat_map(|folder| rust_files(&root().join(folder))) {
        let text = fs::read_to_string(&path).unwrap();
        let is_tests = path.file_stem().is_some_and(|stem| stem == "tests");
        // A library's first page is its README.
        let says = text.starts_with("//! ") || text.starts_with("#![doc = include_str!");
        if !says && !is_tests {
            broken.push(format!("{}: does not begin with a `//!` line", shown(&path)));
        }
    }
    report(broken);
}

#[test]
fn names_say_something() {
    let mut broken = Vec::new();
    for path in FOLDERS.iter().flat_map(|folder| rust_files(&root().join(folder))) {
        let relative = PathBuf::from(shown(&path)).with_extension("");
        if relative.iter().any(|part| EMPTY_NAMES.contains(&part.to_string_lossy().as_ref())) {
            broken.push(format!("{}: a name that says nothing", shown(&path)));
        }
    }
    report(broken);
}

/// Test binaries are listed in Cargo.toml, so a file that no module names would never be compiled.
#[test]
fn every_test_file_is_part_of_a_test_binary() {
    let mut broken = Vec::new();
    for path in rust_files(&root().join("tests")) {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let folder = path.parent().unwrap();
        if stem == "main" || shown(&path) == "tests/library.rs" {
            continue;
        }
        let (name, folder) = match stem.as_str() {
            "mod" => (folder.file_name().unwrap().to_string_lossy().into_owned(), folder.parent().unwrap()),
            _ => (stem, folder),
        };
        let beside = [
            folder.join("mod.rs"),
            folder.join("main.rs"),
            folder.join("library.rs"),
            folder.with_extension("rs"),
        ];
        let named = Regex::new(&format!(r"\bmod {name};")).unwrap();
        let is_named = |parent: &PathBuf| fs::read_to_string(parent).is_ok_and(|text| named.is_match(&text));
        if !beside.iter().any(is_named) {
            broken.push(format!("{}: no module names it", shown(&path)));
        }
    }
    report(broken);
}

/// The text of every test function of a file, with its name.
fn test_functions(text: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(indent) = line.strip_suffix("#[test]").filter(|indent| indent.trim().is_empty()) else {
            continue;
        };
        let end = format!("{indent}}}");
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
        let signature = body.iter().find_map(|line| line.trim_start().strip_prefix("fn "));
        let name = signature.and_then(|rest| rest.split('(').next()).unwrap_or_default();
        found.push((name, body.join("\n")));
    }
    found
}

/// A test that gives up must be counted as skipped: it hands its name to what skips, or calls the skip helper itself.
#[test]
fn a_test_that_returns_early_says_so() {
    let early = Regex::new(r"(?m)\breturn(;| \}| Ok\(\(\)\)|$)").unwrap();
    let (mut broken, mut seen) = (Vec::new(), 0);
    for path in FOLDERS.iter().flat_map(|folder| rust_files(&root().join(folder))) {
        let text = fs::read_to_string(&path).unwrap();
        for (name, body) in test_functions(&text) {
            seen += 1;
            let says = [&format!("\"{name}\""), "skip(", "note(", "can_fail("]
                .iter()
                .any(|part| body.contains(*part));
            if early.is_match(&body) && !says {
                broken.push(format!("{}: `{name}` returns early without a skip", shown(&path)));
            }
        }
    }
    assert!(seen > 500, "only {seen} tests were found");
    report(broken);
}

#[test]
fn the_table_is_about_modules_that_exist() {
    let modules: BTreeSet<String> = sources().iter().map(|source| source.top().to_owned()).collect();
    let missing: Vec<&str> =
        MAY_USE.iter().map(|(module, _)| *module).filter(|m| !modules.contains(*m)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}
