//! The pages are one book: every link leads somewhere, the table of contents has every page, and docs/FUNCTIONS.md says what the function
//! table and the goldens say. `UPDATE_DOCS=1 cargo test --test library documents` writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use regex::Regex;

use graphite_render::functions::{Default, Param, Row, registry};

const HEAD: &str = "\
# Render functions

<!-- Generated from crates/graphite-render/src/functions/registry.rs and the goldens by `UPDATE_DOCS=1 cargo test --test library documents`. -->

Every function of graphite-web, with the same parameters. `name?` is optional, `name = value` shows the default, and `name…` may
be repeated. You can write each function as `f(series, 2)` or as `series|f(2)`, and pass parameters by name. As in graphite-web, a
path that is passed by name is not fetched: it has series only if a positional argument of the same request fetches that path, too.
A running server has the same list at `/functions`.
";

const DIFFERENCES: &str = "\
## Differences from graphite-web 1.1.10

All of these are deliberate. The tests check that these answers really differ, and that no others do.

If some targets of a request cannot be parsed, the answer leaves them out, names them in the header
`X-Plumbago-Broken-Target` and logs a warning. graphite-web searches for them as paths, or draws the part that it could parse.
If no target can be parsed, the answer is 400. Regular expressions may use look-around and backreferences, with a limit on
backtracking for each name. `format=pdf` is refused; use `svg` or `png`.

| query | why the answer differs |
|---|---|
";

/// Where answers of graphite-web are kept.
const GOLDENS: [&str; 2] = ["crates/graphite-render/tests/golden", "tests/golden"];

#[test]
fn the_list_of_functions_is_current() {
    let path = root().join("docs/FUNCTIONS.md");
    let text = format!("{HEAD}\n{}{DIFFERENCES}{}", functions(), differences());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).expect("docs/FUNCTIONS.md can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/FUNCTIONS.md is out of date: UPDATE_DOCS=1 cargo test --test library documents"
    );
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn functions() -> String {
    let mut groups: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    registry::registry().iter().for_each(|row| groups.entry(row.group).or_default().push(row));
    let mut out = String::new();
    for (group, rows) in groups {
        let _ = write!(out, "## {group}\n\n| function | what it does |\n|---|---|\n");
        for row in rows {
            let _ = writeln!(out, "| `{}` | {} |", signature(row), cell(row.description));
        }
        out.push('\n');
    }
    out
}

fn signature(row: &Row) -> String {
    let params: Vec<String> = row.params.iter().map(parameter).collect();
    cell(&format!("{}({})", row.name, params.join(", ")))
}

fn parameter(param: &Param) -> String {
    let many = if param.multiple { "…" } else { "" };
    let text = match param.default {
        Default::Nothing if param.required => String::new(),
        Default::Nothing => "?".to_owned(),
        Default::Int(n) => format!(" = {n}"),
        Default::Float(x) => format!(" = {x}"),
        Default::Text(text) => format!(" = \"{text}\""),
        Default::Bool(value) => format!(" = {value}"),
    };
    format!("{}{many}{text}", param.name)
}

/// The questions marked `differs` and their reasons.
fn differences() -> String {
    let entries = |folder: &&str| std::fs::read_dir(root().join(folder)).expect("the goldens are there");
    let mut files: Vec<PathBuf> = GOLDENS
        .iter()
        .flat_map(entries)
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "test"))
        .collect();
    files.sort_by(|a, b| a.file_name().cmp(&b.file_name()).then_with(|| b.cmp(a)));
    let mut out = String::new();
    for file in files {
        write_differences(&file, &mut out);
    }
    out
}

fn write_differences(file: &Path, out: &mut String) {
    let text = std::fs::read_to_string(file).expect("a golden can be read");
    let mut question = "";
    for line in text.lines() {
        match line.strip_prefix("  differs ") {
            Some(reason) => {
                let asked = question.split_once(' ').map_or(question, |(_, asked)| asked);
                let _ = writeln!(out, "| `{}` | {} |", cell(asked), cell(reason));
            }
            None if !line.starts_with(' ') => question = line,
            None => {}
        }
    }
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Folders with pages.
const PAGES: [&str; 9] = [
    ".",
    "docs",
    "docs/format",
    "docker",
    "docker/helm/plumbago",
    "schema",
    "examples",
    "graphite-web-plugin",
    "crates/graphite-render",
];

/// Lines of the README, which is read on one screen and a half.
const README_LINES: usize = 120;

fn pages() -> Vec<PathBuf> {
    let of =
        |folder: &&str| std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let is_page = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md");
    PAGES.iter().flat_map(of).filter(is_page).collect()
}

/// A page without its code, in which nothing is a link or a heading.
fn prose(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        !is_code && !fence
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// What a heading is called in links, as the forges do it.
fn anchors(path: &Path) -> BTreeSet<String> {
    let link = Regex::new(r"\[([^\]]*)\]\([^)]*\)").unwrap();
    let text = prose(path);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let text = link.replace_all(line.trim_start_matches('#').trim(), "$1").to_lowercase();
            let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.collect::<String>().replace(' ', "-")
        })
        .collect()
}

/// Where the links of a page lead that stay in the checkout, as they are written.
fn links(path: &Path) -> Vec<String> {
    let (code, link) = (Regex::new("`[^`]*`").unwrap(), Regex::new(r"\]\(([^)\s]+)\)").unwrap());
    let text = prose(path);
    let text = code.replace_all(&text, "");
    let found = link.captures_iter(&text).map(|found| found[1].to_owned());
    found.filter(|link| !link.contains("://") && !link.starts_with("mailto:")).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let (mut broken, mut seen) = (Vec::new(), 0);
    for page in pages() {
        for link in links(&page) {
            seen += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let is_page = target.extension().is_some_and(|ending| ending == "md");
            if !target.exists() || is_page && !anchor.is_empty() && !anchors(&target).contains(anchor) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert_eq!(broken, [""; 0]);
    assert!(seen > 200, "only {seen} links were found");
}

#[test]
fn the_table_of_contents_has_every_page() {
    let contents = root().join("docs/README.md");
    let docs = root().join("docs").canonicalize().unwrap();
    let listed: BTreeSet<PathBuf> = links(&contents)
        .iter()
        .filter_map(|link| docs.join(link.split('#').next().unwrap()).canonicalize().ok())
        .collect();
    let unlisted: Vec<PathBuf> = pages()
        .into_iter()
        .map(|page| page.canonicalize().unwrap())
        .filter(|page| page.starts_with(&docs) && !page.ends_with("docs/README.md") && !listed.contains(page))
        .collect();
    assert!(unlisted.is_empty(), "docs/README.md does not lead to {unlisted:?}");
    let chapters: Vec<String> =
        prose(&contents).lines().filter_map(|line| line.strip_prefix("## ").map(str::to_owned)).collect();
    assert_eq!(chapters, ["Start", "Install", "Migrate", "Operate", "Query", "Reference", "Internals"]);
}

#[test]
fn the_readme_is_short_and_leads_into_the_book() {
    let readme = root().join("README.md");
    let lines = std::fs::read_to_string(&readme).unwrap().lines().count();
    assert!(lines < README_LINES, "README.md has {lines} lines");
    assert!(links(&readme).iter().any(|link| link == "docs/README.md"));
}
