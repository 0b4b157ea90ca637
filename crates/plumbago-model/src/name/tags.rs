//! The two spellings of tagged names: `metric;k=v;k=v`, which is also the stored one, and `metric{k="v",k="v"}`.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::{has_empty_component, without_empty_components};

/// The tag that stands for the metric itself.
const NAME: &str = "name";

/// A tagged name taken apart. Every tag in it is valid.
pub(super) struct Tagged<'a> {
    metric: &'a str,
    tags: Vec<(&'a str, Cow<'a, str>)>,
}

impl<'a> Tagged<'a> {
    /// `None` when the name has no tags or one of them is not valid.
    pub(super) fn parse(raw: &'a str) -> Option<Self> {
        let (metric, tags) = if in_braces(raw) { from_braces(raw)? } else { from_semicolons(raw)? };
        Some(Self { metric, tags })
    }

    /// The stored spelling; `None` when the metric has no component.
    pub(super) fn into_canonical(mut self) -> Option<String> {
        let metric = without_empty_components(self.metric.trim_start_matches(['~', '.']));
        if metric.is_empty() {
            return None;
        }
        // Stable, so that of tags with one key the one sent last stays last.
        self.tags.sort_by(|(a, _), (b, _)| by_text(a, b));
        let mut name = metric.into_owned();
        let mut tags = self.tags.iter().peekable();
        while let Some((key, value)) = tags.next() {
            if *key != NAME && tags.peek().is_none_or(|(next, _)| next != key) {
                name.extend([";", key, "=", value]);
            }
        }
        Some(name)
    }
}

/// The order of `a=…` and `b=…` for two keys: a `=` stands behind the shorter one, and no key holds that.
pub(crate) fn by_text(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    // Usually the first bytes tell.
    if let ([x, ..], [y, ..]) = (a, b)
        && x != y
    {
        return x.cmp(y);
    }
    let shared = a.len().min(b.len());
    let behind = |key: &[u8]| key.get(shared).copied().unwrap_or(b'=');
    a.iter().take(shared).cmp(b.iter().take(shared)).then_with(|| behind(a).cmp(&behind(b)))
}

/// Is this how a name with tags in braces looks? A semicolon can be in neither its metric nor its tags.
pub(crate) fn in_braces(name: &str) -> bool {
    name.ends_with("\"}") && name.contains('{') && !name.contains(';')
}

/// A name with semicolons as metric and list of tags; `None` unless all of its tags are valid.
pub(crate) fn split(name: &str) -> Option<(&str, &str)> {
    let (metric, list) = name.split_once(';')?;
    let valid = is_metric(metric) && list.split(';').all(|tag| pair(tag).is_some());
    valid.then_some((metric, list))
}

/// One valid `key=value`.
pub(super) fn pair(tag: &str) -> Option<(&str, &str)> {
    tag.split_once('=').filter(|(key, value)| is_valid(key, value))
}

/// Is this the stored spelling of a tagged name already? Spares the usual sender all copying.
pub(super) fn is_canonical(name: &str) -> bool {
    let Some((metric, list)) = name.split_once(';') else { return false };
    if metric.starts_with('~') || has_empty_component(metric) {
        return false;
    }
    let mut last: Option<(&str, &str)> = None;
    list.split(';').all(|tag| {
        let Some((key, _)) = pair(tag) else { return false };
        let in_order = last.is_none_or(|(last_key, last_tag)| last_key != key && last_tag < tag);
        last = Some((key, tag));
        in_order && key != NAME
    })
}

type Parts<'a> = (&'a str, Vec<(&'a str, Cow<'a, str>)>);

fn from_semicolons(raw: &str) -> Option<Parts<'_>> {
    let (metric, list) = split(raw)?;
    let tags = list.split(';').filter_map(pair).map(|(key, value)| (key, Cow::Borrowed(value)));
    Some((metric, tags.collect()))
}

fn from_braces(raw: &str) -> Option<Parts<'_>> {
    let (metric, mut rest) = raw.strip_suffix('}')?.split_once('{')?;
    let mut tags = Vec::new();
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"")?;
        let (value, after) = quoted(after)?;
        if !is_valid(key, &value) {
            return None;
        }
        tags.push((key, value));
        rest = match after.strip_prefix(',') {
            Some(next) => next,
            None if after.is_empty() => after,
            None => return None,
        };
    }
    is_metric(metric).then_some((metric, tags))
}

/// The text up to the closing quote, and what follows it. `\"` and `\\` are the only escapes.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let end = text.find(['"', '\\'])?;
    let (plain, rest) = text.split_at(end);
    if let Some(after) = rest.strip_prefix('"') {
        return Some((Cow::Borrowed(plain), after));
    }
    let mut value = plain.to_owned();
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => return Some((Cow::Owned(value), chars.as_str())),
            '\\' => value.push(chars.next().filter(|c| matches!(c, '"' | '\\'))?),
            other => value.push(other),
        }
    }
}

/// Graphite's rules for a tag.
fn is_valid(key: &str, value: &str) -> bool {
    !key.is_empty()
        && !key.contains([';', '!', '^', '='])
        && !value.is_empty()
        && !value.contains(';')
        && !value.starts_with('~')
}

/// The metric must do as the value of the tag `name`, where leading `~` are dropped.
fn is_metric(metric: &str) -> bool {
    !metric.trim_start_matches('~').is_empty()
}
