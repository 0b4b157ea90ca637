//! go-carbon's `storage-quotas.conf`, as go-carbon reads it.
//!
//! Each section is a glob of directories, and each directory that matches has the limits of the section for itself; `[/]` is the
//! top of the tree. Of several sections that match a directory the last one counts, and a metric is bound by the quotas of all
//! directories above it. Keys that it does not know are skipped with a warning.

use std::path::Path;
use std::sync::Arc;

use super::{Addresses, ConfigError, Origin, Quota, QuotaLimits, Reach};
use plumbago_model::glob::{Component, Glob};

/// The section of the top of the tree.
const ROOT: &str = "/";

/// The keys that are in force.
const KEYS: [&str; 7] = [
    "namespaces",
    "metrics",
    "logical-size",
    "physical-size",
    "data-points",
    "throughput",
    "dropping-policy",
];

/// `[name]` and its last value of each key, in the order of the file.
struct Section<'a> {
    name: &'a str,
    line: usize,
    entries: Vec<(String, &'a str, usize)>,
}

impl Section<'_> {
    /// The value of a key and its line, unless it is empty.
    fn get(&self, key: &str) -> Option<(&str, usize)> {
        let found = self.entries.iter().rev().find(|(known, ..)| known == key);
        found.map(|(_, value, line)| (*value, *line)).filter(|(value, _)| !value.is_empty())
    }
}

/// Reads the quotas of a file, in its order; what is not in force goes to `warnings`.
pub fn read_storage_quotas(
    path: &Arc<Path>,
    text: &str,
    warnings: &mut Vec<String>,
) -> Result<Vec<Quota>, ConfigError> {
    let mut quotas: Vec<(Quota, usize)> = Vec::new();
    for section in sections(path, text)? {
        if let Some(at) = quotas.iter().position(|(quota, _)| quota.name == section.name) {
            let (_, line) = quotas.remove(at);
            let (first, at) = (Origin::line(path, line), section.line);
            warnings
                .push(format!("{first}: section [{}] is not in force: that at line {at} is", section.name));
        }
        quotas.push((quota(path, &section, warnings)?, section.line));
    }
    Ok(quotas.into_iter().map(|(quota, _)| quota).collect())
}

fn quota(path: &Arc<Path>, section: &Section<'_>, warnings: &mut Vec<String>) -> Result<Quota, ConfigError> {
    let refuse = |line, message| ConfigError::BadQuota {
        at: Origin::line(path, line),
        quota: section.name.to_owned(),
        message,
    };
    let limit = |key: &str| match section.get(key) {
        Some((value, line)) => {
            number(value).map_err(|problem| refuse(line, format!("{key} = {value}: {problem}")))
        }
        None => Ok(None),
    };
    warn_of_other_keys(path, section, warnings);
    let dry_run = match section.get("dropping-policy") {
        None | Some(("new", _)) => false,
        Some(("none", _)) => true,
        Some((other, line)) => {
            return Err(refuse(line, format!("dropping-policy = {other}: write `new` or `none`")));
        }
    };
    Ok(Quota {
        name: section.name.to_owned(),
        origin: Origin::line(path, section.line).to_string(),
        reach: reach(section.name).map_err(|message| refuse(section.line, message))?,
        users: Vec::new(),
        from: Addresses::default(),
        limits: QuotaLimits {
            metrics: limit("metrics")?,
            new_metrics_per_minute: None,
            points_per_minute: limit("throughput")?,
            namespaces: limit("namespaces")?,
            data_points: limit("data-points")?,
            logical_bytes: limit("logical-size")?,
            physical_bytes: limit("physical-size")?,
        },
        dry_run,
    })
}

fn warn_of_other_keys(path: &Arc<Path>, section: &Section<'_>, warnings: &mut Vec<String>) {
    for (key, value, line) in &section.entries {
        let at = Origin::line(path, *line);
        let known = KEYS.contains(&key.as_str());
        if key == "stat-metric-prefix" && !value.is_empty() {
            warnings.push(format!(
                "{at}: `{key}` in section [{}] is not used: the quotas' numbers are at /internal/metrics and /internal/quotas",
                section.name
            ));
        } else if !known && key != "stat-metric-prefix" {
            warnings.push(format!("{at}: `{key}` in section [{}] is not known and ignored", section.name));
        }
    }
}

fn reach(pattern: &str) -> Result<Reach, String> {
    if pattern == ROOT {
        return Ok(Reach::Root);
    }
    if pattern.contains('/') || pattern.contains(';') {
        return Err(format!(
            "`{pattern}` is no glob of directories; write one such as `sys.app.*`, or `/` for the top"
        ));
    }
    let glob = Glob::parse(pattern).map_err(|error| error.to_string())?;
    let any_depth = |component: &Component| matches!(component, Component::Globstar);
    if glob.branches().iter().any(|branch| branch.components().iter().any(any_depth)) {
        return Err(format!(
            "`{pattern}`: to go-carbon `**` is the same as `*`; write how deep the directories are"
        ));
    }
    Ok(Reach::Directories(glob))
}

/// A number with commas, or `max`. Nothing, zero and less mean no limit.
fn number(text: &str) -> Result<Option<u64>, &'static str> {
    if matches!(text, "max" | "maximum") {
        return Ok(Some(i64::MAX as u64));
    }
    let number: i64 = text.replace(',', "").parse().map_err(|_| "write a whole number, or `max`")?;
    Ok(u64::try_from(number).ok().filter(|number| *number > 0))
}

/// The lines as go-carbon takes them: no line continues another, `=` alone separates, and quotes around a value are dropped.
fn sections<'a>(path: &Arc<Path>, text: &'a str) -> Result<Vec<Section<'a>>, ConfigError> {
    let mut sections: Vec<Section<'a>> = Vec::new();
    for (index, raw) in text.trim_start_matches('\u{feff}').split('\n').enumerate() {
        let (line, content) = (index + 1, raw.trim());
        let refuse = |message: String| ConfigError::Syntax { at: Origin::line(path, line), message };
        if content.is_empty() || content.starts_with([';', '#']) {
            continue;
        }
        if let Some(rest) = content.strip_prefix('[') {
            let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| refuse(format!("`{content}` is no section; write `[pattern]`")))?;
            sections.push(Section { name, line, entries: Vec::new() });
            continue;
        }
        let Some((key, value)) = content.split_once('=').filter(|(key, _)| !key.trim().is_empty()) else {
            return Err(refuse(format!("`{content}` is neither `[pattern]` nor `key = value`")));
        };
        let Some(section) = sections.last_mut() else {
            return Err(refuse(format!("`{content}` comes before the first [pattern]")));
        };
        section.entries.push((key.trim().to_lowercase(), value.trim().trim_matches(['"', '\'']), line));
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Result<Vec<Quota>, String>, Vec<String>) {
        let mut warnings = Vec::new();
        let path: Arc<Path> = Arc::from(Path::new("q.conf"));
        let quotas = read_storage_quotas(&path, text, &mut warnings).map_err(|error| error.to_string());
        (quotas, warnings)
    }

    fn shown(text: &str) -> Vec<String> {
        let show = |q: &Quota| format!("[{}] {} {}", q.name, q.origin, q.in_words());
        read(text).0.unwrap().iter().map(show).collect()
    }

    #[test]
    fn sections_become_quotas_in_the_order_of_the_file() {
        let text = "# all\n[*]\nmetrics       =       3,000,000\nthroughput = 600\n\
                    [ sys.app.* ]\n; no\nMetrics = \"1,000\"\ndropping-policy = none\n\n[/]\r\nmetrics = 10,000,000\r\ndropping-policy = new\r\n";
        assert_eq!(
            shown(text),
            [
                "[*] q.conf:2 at most 3000000 metrics, 10 points per second",
                "[sys.app.*] q.conf:5 at most 1000 metrics (dry run: nothing is refused)",
                "[/] q.conf:10 at most 10000000 metrics",
            ]
        );
        assert_eq!(read(text).1, [""; 0]);
        assert_eq!(shown(""), [""; 0]);
    }

    #[test]
    fn nothing_zero_and_less_are_no_limit_and_the_last_value_of_a_key_counts() {
        assert_eq!(
            shown("[a]\nmetrics =\nthroughput = 0\n[b]\nmetrics = -1\n"),
            ["[a] q.conf:1 no limit", "[b] q.conf:4 no limit"]
        );
        assert_eq!(shown("[a]\nmetrics = 1\nmetrics = 2\n"), ["[a] q.conf:1 at most 2 metrics"]);
        assert_eq!(shown("[a]\nmetrics = max\n"), ["[a] q.conf:1 at most 9223372036854775807 metrics"]);
    }

    #[test]
    fn every_limit_of_go_carbon_is_read() {
        let text = "[/]\nnamespaces = 20\nmetrics = 10,000,000\nlogical-size = 2,500,000,000,000\n\
                    physical-size = 250,000\ndata-points = 200,000,000,000\nthroughput = max\n";
        assert_eq!(
            shown(text),
            ["[/] q.conf:1 at most 10000000 metrics, 9223372036854775807 points per minute, 20 namespaces, \
              200000000000 data points, 2500000000000 bytes as whisper files, 250000 bytes on disk"]
        );
        assert_eq!(read(text).1, [""; 0]);
    }

    #[test]
    fn what_is_not_in_force_is_warned_of_with_its_line() {
        let (quotas, warnings) =
            read("[a]\nstat-metric-prefix = \"x.\"\nmetric = 5\n[b]\n[a]\nmetrics = 3\n");
        assert_eq!(quotas.unwrap().len(), 2);
        assert_eq!(
            warnings,
            [
                "q.conf:2: `stat-metric-prefix` in section [a] is not used: the quotas' numbers are at /internal/metrics and /internal/quotas",
                "q.conf:3: `metric` in section [a] is not known and ignored",
                "q.conf:1: section [a] is not in force: that at line 5 is",
            ]
        );
    }

    #[test]
    fn what_go_carbon_refuses_is_refused_with_its_line() {
        for (text, expected) in [
            ("metrics = 1\n", "q.conf:1: `metrics = 1` comes before the first [pattern]"),
            ("[a\n", "q.conf:1: `[a` is no section; write `[pattern]`"),
            ("[ ]\n", "q.conf:1: `[ ]` is no section; write `[pattern]`"),
            ("[a]\nmetrics\n", "q.conf:2: `metrics` is neither `[pattern]` nor `key = value`"),
            ("[a]\n = 3\n", "q.conf:2: `= 3` is neither `[pattern]` nor `key = value`"),
            ("[a]\nmetrics = 3k\n", "q.conf:2: quota `a`: metrics = 3k: write a whole number, or `max`"),
            (
                "[a]\ndropping-policy = old\n",
                "q.conf:2: quota `a`: dropping-policy = old: write `new` or `none`",
            ),
            (
                "[a.**]\n",
                "q.conf:1: quota `a.**`: `a.**`: to go-carbon `**` is the same as `*`; write how deep the directories are",
            ),
            (
                "[a/b]\n",
                "q.conf:1: quota `a/b`: `a/b` is no glob of directories; write one such as `sys.app.*`, or `/` for the top",
            ),
        ] {
            assert_eq!(read(text).0.unwrap_err(), expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\[|\\]|=|[a-z*/,{} \n0-9-])*") {
            let (quotas, _) = read(&text);
            for quota in quotas.unwrap_or_default() {
                let names = text.matches('[').count();
                proptest::prop_assert!(names > 0 && !quota.name.is_empty());
            }
        }
    }
}
