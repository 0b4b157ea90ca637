//! `[[quota]]`: a quota in our own file.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::settings::one_line;
use super::{Addresses, ConfigError, Origin, Quota, QuotaLimits, Reach};
use plumbago_model::Scope;
use plumbago_model::suggest::did_you_mean;

/// The keys of a quota with their kind and help, for the documentation and the hints.
pub(super) const QUOTA_KEYS: [(&str, &str, &str); 8] = [
    (
        "name",
        "text",
        "What counters, messages and `check-config` call the quota. Each has another one; the default is `quota 1` for the first.",
    ),
    (
        "match",
        "text or list",
        "Which metrics: `servers.web` for that name and all below it, globs, and tags, such as `*;dc=ams`. All metrics if it is left out.",
    ),
    ("user", "text or list", "Only what these users send: the names of logins and of certificates."),
    ("from", "text or list", "Only what comes from these addresses and networks, such as `10.0.0.0/8`."),
    ("metrics", "number", "Most metrics at a time. New ones beyond it are refused."),
    ("new_metrics_per_minute", "number", "Most metrics created in a minute."),
    (
        "points_per_second",
        "number",
        "Most points, on average over a minute. New metrics get what the existing ones leave.",
    ),
    ("dry_run", "true or false", "Count what would be refused, and refuse nothing."),
];

/// What the first quota is written as in the example file.
pub(super) const EXAMPLES: [&str; QUOTA_KEYS.len()] =
    ["\"web\"", "\"servers.web\"", "\"alice\"", "[\"10.0.0.0/8\"]", "100000", "1000", "5000", "true"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawQuota {
    name: Option<Spanned<String>>,
    #[serde(rename = "match")]
    matching: Option<Spanned<OneOrMore>>,
    user: Option<Spanned<OneOrMore>>,
    from: Option<Spanned<OneOrMore>>,
    metrics: Option<Spanned<i64>>,
    new_metrics_per_minute: Option<Spanned<i64>>,
    points_per_second: Option<Spanned<i64>>,
    #[serde(default)]
    dry_run: bool,
}

/// A text, or a list of them.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn texts(&self) -> &[String] {
        match self {
            OneOrMore::One(text) => std::slice::from_ref(text),
            OneOrMore::More(texts) => texts,
        }
    }
}

type OriginOf<'a> = &'a dyn Fn(Range<usize>) -> Origin;

/// Reads the value of `quota`.
pub(super) fn read(value: &Spanned<DeValue<'_>>, origin_of: OriginOf<'_>) -> Result<Vec<Quota>, ConfigError> {
    let wrong = |span| ConfigError::BadValue {
        at: origin_of(span),
        key: "quota".to_owned(),
        message: "expected quotas, each written as a [[quota]] table".to_owned(),
    };
    let items = value.get_ref().as_array().ok_or_else(|| wrong(value.span()))?;
    let mut quotas: Vec<Quota> = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let table = item.get_ref().as_table().ok_or_else(|| wrong(item.span()))?;
        check_keys(table, origin_of)?;
        let quota = read_one(index + 1, item, origin_of)?;
        if let Some(first) = quotas.iter().find(|other| other.name == quota.name) {
            let message = format!("the quota at {} has the same name; give each its own", first.origin);
            return Err(ConfigError::BadQuota { at: origin_of(item.span()), quota: quota.name, message });
        }
        quotas.push(quota);
    }
    Ok(quotas)
}

fn check_keys(table: &DeTable<'_>, origin_of: OriginOf<'_>) -> Result<(), ConfigError> {
    let known = |name: &str| QUOTA_KEYS.iter().any(|(key, ..)| *key == name);
    let unknown = table.keys().filter(|name| !known(name.get_ref())).min_by_key(|name| name.span().start);
    match unknown {
        None => Ok(()),
        Some(name) => Err(ConfigError::UnknownKey {
            at: origin_of(name.span()),
            key: format!("quota.{}", name.get_ref()),
            hint: did_you_mean(name.get_ref(), QUOTA_KEYS.iter().map(|(key, ..)| *key)),
        }),
    }
}

fn read_one(
    number: usize,
    item: &Spanned<DeValue<'_>>,
    origin_of: OriginOf<'_>,
) -> Result<Quota, ConfigError> {
    let unnamed = format!("quota {number}");
    let raw = RawQuota::deserialize(ValueDeserializer::from(item.clone())).map_err(|error| {
        let at = origin_of(error.span().unwrap_or_else(|| item.span()));
        ConfigError::BadQuota { at, quota: unnamed.clone(), message: one_line(error.message()) }
    })?;
    let name = raw.name.as_ref().map_or(unnamed, |name| name.get_ref().clone());
    let refuse = |span, message| ConfigError::BadQuota { at: origin_of(span), quota: name.clone(), message };
    if name.is_empty() || name.chars().any(char::is_control) {
        let message = "a name needs at least one character, and no control characters".to_owned();
        return Err(refuse(item.span(), message));
    }
    let texts = |list: &Option<Spanned<OneOrMore>>, key: &str| {
        let Some(list) = list else { return Ok(Vec::new()) };
        let texts = list.get_ref().texts().to_vec();
        if texts.is_empty() {
            return Err(refuse(list.span(), format!("`{key}` is empty; leave it out to mean all")));
        }
        Ok(texts)
    };
    let span = |list: &Option<Spanned<OneOrMore>>| list.as_ref().map_or(item.span(), Spanned::span);
    let amount = |number: &Option<Spanned<i64>>, key: &str| {
        let Some(number) = number else { return Ok(None) };
        let value = *number.get_ref();
        let message = || format!("`{key}` must not be negative, and is {value}; leave it out for no limit");
        u64::try_from(value).map(Some).map_err(|_| refuse(number.span(), message()))
    };
    let scope = texts(&raw.matching, "match")?;
    let scope = Scope::of(scope.iter().map(String::as_str))
        .map_err(|error| refuse(span(&raw.matching), error.to_string()))?;
    let networks = texts(&raw.from, "from")?.iter().map(|text| text.parse()).collect::<Result<_, _>>();
    let from = networks.map_err(|message| refuse(span(&raw.from), message))?;
    let per_second = amount(&raw.points_per_second, "points_per_second")?;
    Ok(Quota {
        origin: origin_of(item.span()).to_string(),
        reach: Reach::Metrics(scope),
        users: texts(&raw.user, "user")?,
        from: Addresses::new(from),
        limits: QuotaLimits {
            metrics: amount(&raw.metrics, "metrics")?,
            new_metrics_per_minute: amount(&raw.new_metrics_per_minute, "new_metrics_per_minute")?,
            points_per_minute: per_second.map(|most| most.saturating_mul(60)),
            ..QuotaLimits::default()
        },
        dry_run: raw.dry_run,
        name,
    })
}

#[cfg(test)]
mod tests {
    use crate::config::{Loaded, Quota, Sources};

    fn quotas(text: &str) -> Result<Vec<Quota>, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("p.toml");
        std::fs::write(&file, text).unwrap();
        let loaded = Loaded::new(&Sources { file: Some(file), ..Sources::default() });
        let here = format!("{}/", dir.path().display());
        loaded.map(|loaded| loaded.config.quotas).map_err(|error| error.to_string().replace(&here, ""))
    }

    #[test]
    fn quotas_are_read_in_order() {
        let found = quotas(
            "[[quota]]\nname = \"web\"\nmatch = \"servers.web\"\nmetrics = 10\nnew_metrics_per_minute = 5\n\
             [[quota]]\nuser = [\"alice\", \"bob\"]\nfrom = \"10.0.0.0/8\"\npoints_per_second = 7\ndry_run = true\n\
             [[quota]]\nmatch = [\"a\", \"*;dc=ams\"]\n",
        )
        .unwrap();
        let shown: Vec<String> = found.iter().map(|q| format!("{}: {}", q.name, q.in_words())).collect();
        assert_eq!(
            shown,
            [
                "web: at most 10 metrics, 5 new metrics per minute",
                "quota 2: at most 7 points per second (dry run: nothing is refused)",
                "quota 3: no limit",
            ]
        );
        assert_eq!((found[1].users.len(), found[1].asks_for_sender()), (2, true));
        assert!(!found[0].asks_for_sender() && found[0].origin.ends_with("p.toml:1"), "{}", found[0].origin);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, expected) in [
            ("metric = 1", "p.toml:2:1: unknown key `quota.metric`; did you mean `metrics`?"),
            (
                "metrics = -1",
                "p.toml:2:11: quota `quota 1`: `metrics` must not be negative, and is -1; leave it out for no limit",
            ),
            ("match = []", "p.toml:2:9: quota `quota 1`: `match` is empty; leave it out to mean all"),
            (
                "match = \"\"",
                "p.toml:2:9: quota `quota 1`: the pattern `` names nothing; ask for `*` to see the top level",
            ),
            (
                "from = \"here\"",
                "p.toml:2:8: quota `quota 1`: `here` is not an address; write one such as \"10.1.2.3\", or a network such as \"10.0.0.0/8\"",
            ),
            (
                "name = \"a\"\n[[quota]]\nname = \"a\"",
                "p.toml:3:1: quota `a`: the quota at p.toml:1 has the same name; give each its own",
            ),
        ] {
            assert_eq!(quotas(&format!("[[quota]]\n{text}\n")).unwrap_err(), expected);
        }
        assert!(quotas("quota = 3\n").unwrap_err().contains("each written as a [[quota]] table"));
        assert!(
            quotas("[[quota]]\nmetrics = \"many\"\n").unwrap_err().contains("p.toml:2:11: quota `quota 1`")
        );
    }
}
