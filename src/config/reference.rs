//! Documentation made from the table of keys: `docs/CONFIG.md` and `docs/plumbago.toml`.

use std::fmt::Write as _;

use super::inline_quota::{self, QUOTA_KEYS};
use super::inline_rule::RULE_KEYS;
use super::keys::{KEYS, Key, SECTIONS, Section};

const INTRODUCTION: &str = r#"# Configuration

<!-- Generated from src/config/raw.rs by `UPDATE_DOCS=1 cargo test --lib config::reference`. -->

Plumbago runs without any configuration. You can set a key in three places; the first in this list wins:

1. a flag: `--set section.key=value`, repeatable;
2. an environment variable: `PLUMBAGO_SECTION__KEY=value` (two underscores for each dot);
3. a TOML file: `--config FILE`, else the file `PLUMBAGO_CONFIG` names, else `plumbago.toml` in the working directory,
   else `/etc/plumbago/plumbago.toml`, where packages put it.

`plumbago check-config` prints every key with its value and where it was set. `plumbago check-config NAME` says which retention,
aggregation and quota a metric gets, and from which rule. An unknown key is an error in all three places.
[plumbago.toml](plumbago.toml) has all keys with their defaults, ready to copy.

**Values.** In flags and variables, a value is a TOML value or a string without quotes: `--set listen.http=0.0.0.0:8080`,
`PLUMBAGO_RETENTION__DEFAULT=10s:7d`. Durations are strings such as `"200ms"`, `"10s"`, `"5m"`, `"2h"`, `"1d"`, `"1w"`, or
a number of seconds. Sizes are strings such as `"64KiB"`, `"1GiB"` (1024) or `"500MB"` (1000), or a number of bytes.

**Addresses.** A listener takes `host:port` or `"off"`. The host is an IP address (IPv6 in brackets: `"[::1]:8080"`), a name, or
nothing: `":8080"` listens on every IPv4 address of the machine, `"[::]:8080"` on those of IPv6 too. A name is resolved when
the configuration is read, and `check-config` prints the address it has; of several addresses the first of IPv4 is used.

**Paths.** A relative path in the file is relative to that file's directory. In a flag or a variable it is relative to the
working directory, and so is the default of `store.path`. The default rule files are searched for next to the configuration
file, or in the working directory if there is none.
"#;

const RULES: &str = r#"### Rules

Each name gets the first retention rule and the first aggregation rule that match it. Rules are tried in this order:

1. `[[retention.rule]]` tables, in file order. A rule may set `retentions`, `aggregation` (and `x_files_factor`), or both;
2. the sections of carbon's `storage-schemas.conf` and `storage-aggregation.conf`, in file order;
3. `retention.default`, and `average` with an xFilesFactor of 0.5. (Carbon keeps names without
   a match for 7 days at 60 s. To override `retention.default`, end `storage-schemas.conf` with a section whose pattern is
   `.*`.)

Plumbago reads carbon's files as carbon does: keys in any case, `=` or `:`, comments with `#` or `;` at the start of a line,
and indented lines that continue a value. It skips a section without `pattern` or `retentions`, with a warning. With an
invalid retention or aggregation method it does not start; the error names file and line.

A pattern is a regular expression that may match anywhere in the name, including tags. Python's syntax is accepted, except
look-around and backreferences, which are an error. Methods are `average`, `sum`, `last`, `max`, `min`, `avg_zero`, `absmax`
and `absmin`. `median` and percentiles are an error, because they cannot be computed from aggregates.

A retention is a list of `precision:length`, from fine to coarse: `10s:1d,1m:30d,1h:2y`. The units are s, m, h, d, w and
y (365 days); a length without a unit is a number of points. Each coarser precision must be a multiple of the finer one and
reach further back.

```toml
[[retention.rule]]
name = "web servers"
pattern = '^servers\.web'
retentions = "10s:7d,1m:90d"

[[retention.rule]]
name = "counters"
pattern = '\.count$'
aggregation = "sum"
x_files_factor = 0
```

"#;

const QUOTAS: &str = r#"
## [[quota]]

How much of the server some metrics or some senders may take: [QUOTAS.md](QUOTAS.md) explains it. Quotas are tried in the order of the
file, and the first whose conditions all hold applies. A quota without limits lets everything through.

```toml
[[quota]]
name = "web"
match = "servers.web"
metrics = 100000
new_metrics_per_minute = 1000
```

| key of a quota | kind | |
|---|---|---|
"#;

/// `docs/CONFIG.md`.
pub fn markdown() -> String {
    let mut out = INTRODUCTION.to_owned();
    for section in sections() {
        let _ = write!(out, "\n## [{}]\n\n{}\n\n", section.name, section.help);
        out.push_str("| key | kind | default | |\n|---|---|---|---|\n");
        for key in keys_of(section) {
            let _ = writeln!(out, "| `{}` | {} | `{}` | {} |", key.name, key.kind, key.default, key.help);
        }
    }
    out.push('\n');
    out.push_str(RULES);
    out.push_str("| key of a rule | kind | |\n|---|---|---|\n");
    for (name, kind, help) in RULE_KEYS {
        let _ = writeln!(out, "| `{name}` | {kind} | {help} |");
    }
    out.push_str(QUOTAS);
    for (name, kind, help) in QUOTA_KEYS {
        let _ = writeln!(out, "| `{name}` | {kind} | {help} |");
    }
    out
}

/// `docs/plumbago.toml`: every key, commented out, with its default.
pub fn example_file() -> String {
    let mut out = "# Plumbago's configuration: every key with its default and what it does. Uncomment what you change.\n\
                   # docs/CONFIG.md has more.\n"
        .to_owned();
    for section in sections() {
        let _ = write!(out, "\n# {}\n[{}]\n", section.help.replace('`', ""), section.name);
        for key in keys_of(section).filter(|key| key.to_string() != RULE_KEY) {
            let _ = writeln!(out, "# {}\n#{} = {}", key.help.replace('`', ""), key.name, key.default);
        }
    }
    out.push_str("\n# A rule in this file. Repeat as needed; the first that matches wins.\n");
    out.push_str("#[[retention.rule]]\n");
    let examples = ["\"counters\"", r"'\.count$'", "\"1m:30d,1h:2y\"", "\"sum\"", "0.0"];
    for ((name, _, help), example) in RULE_KEYS.iter().zip(examples) {
        let _ = writeln!(out, "# {help}\n#{name} = {example}");
    }
    out.push_str("\n# A quota. Repeat as needed; the first that matches applies.\n");
    out.push_str("#[[quota]]\n");
    for ((name, _, help), example) in QUOTA_KEYS.iter().zip(inline_quota::EXAMPLES) {
        let _ = writeln!(out, "# {}\n#{name} = {example}", help.replace('`', ""));
    }
    out
}

/// The sections with a heading of their own; what stands above all of them is written at the end.
fn sections() -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().filter(|section| !section.name.is_empty())
}

/// The one key that is written as tables of its own.
const RULE_KEY: &str = "retention.rule";

fn keys_of(section: &Section) -> impl Iterator<Item = &'static Key> {
    let name = section.name;
    KEYS.iter().filter(move |key| key.section == name)
}

/// Compares a generated file with the one in the repository, or writes it when `UPDATE_DOCS=1`.
#[cfg(test)]
pub(crate) fn assert_current(path: &str, generated: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE_DOCS").is_some_and(|v| v == "1") {
        std::fs::write(&path, generated).expect("docs/ can be written");
    }
    let present = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(present == generated, "{} is out of date: run UPDATE_DOCS=1 cargo test --lib", path.display());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Loaded, Sources};

    #[test]
    fn the_configuration_reference_is_current() {
        assert_current("docs/CONFIG.md", &markdown());
    }

    #[test]
    fn the_example_file_is_current() {
        assert_current("docs/plumbago.toml", &example_file());
    }

    /// Every commented-out key of the example is read when its `#` is removed.
    #[test]
    fn the_example_file_works() {
        let live: String = example_file()
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(rest) if !rest.starts_with(' ') => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plumbago.toml");
        std::fs::write(
            &file,
            live.replace("storage-schemas.conf", "").replace("storage-aggregation.conf", ""),
        )
        .unwrap();
        let loaded = Loaded::new(&Sources { file: Some(file), ..Sources::default() }).unwrap();
        assert_eq!(loaded.config.retention.schemas.len(), 1);
        assert_eq!(loaded.config.retention.aggregation.len(), 1);
        assert_eq!(loaded.config.quotas.len(), 1);
        let unset: Vec<_> =
            loaded.settings.iter().filter(|s| s.origin == crate::config::Origin::Default).collect();
        assert!(unset.is_empty(), "{unset:?}");
    }
}
