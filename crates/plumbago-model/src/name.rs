//! Metric names: the rules a name must keep, and the one spelling under which it is stored.
//!
//! * Untagged: `a.b.c`. Empty components are dropped, so `a..b`, `.a.b` and `a.b.` all mean `a.b` (BigGraphite's rule;
//!   carbon gets the same effect from the file system).
//! * Tagged: `a.b;k=v;k2=v2`, or `a.b{k="v",k2="v2"}`. Stored as the first, with tags in the order of their `k=v` text; of
//!   two tags with one key the later wins; a `name` tag gives way to the metric; a leading `~` of the metric goes. A name
//!   whose tags are broken is stored as it came, like carbon does, and is then an ordinary untagged name.

mod tags;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use uuid::Uuid;

use super::Reject;
use tags::Tagged;
pub(crate) use tags::{by_text, in_braces, split};

/// Most components a name may have: the tables of the Cassandra store have 64 columns for them and an end marker.
pub const MAX_COMPONENTS: usize = 63;

/// The namespace of BigGraphite's metric ids.
const BIGGRAPHITE_NAMESPACE: Uuid = Uuid::from_u128(0x00000000_1111_2222_3333_444444444444);

/// How much of a refused name is shown.
const SHOWN_CHARS: usize = 80;

/// Why a name cannot be stored. Names in it are shortened and escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Nothing is left after dropping empty components.
    #[error("the name \"{name}\" has no component: send at least one that is not empty")]
    Empty {
        /// The name.
        name: String,
    },
    /// Over the configured length.
    #[error("the name \"{name}\" has {bytes} bytes: at most {limit} are allowed (ingest.max_name_bytes)")]
    TooLong {
        /// The name.
        name: String,
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// More than [`MAX_COMPONENTS`].
    #[error("the name \"{name}\" has {components} components: at most {MAX_COMPONENTS} are allowed")]
    TooManyComponents {
        /// The name.
        name: String,
        /// How many it has.
        components: usize,
    },
    /// A control character.
    #[error("the name \"{name}\" has the control character U+{code:04X}: send printable characters only")]
    ControlCharacter {
        /// The name.
        name: String,
        /// The character.
        code: u32,
    },
}

impl From<&NameError> for Reject {
    fn from(error: &NameError) -> Self {
        match error {
            NameError::Empty { .. } => Reject::EmptyName,
            NameError::TooLong { .. } => Reject::NameTooLong,
            NameError::TooManyComponents { .. } => Reject::TooManyComponents,
            NameError::ControlCharacter { .. } => Reject::ControlCharacter,
        }
    }
}

/// The spelling under which a name is stored, borrowed when it is that already. Doing it twice changes nothing.
pub fn canonical(raw: &str, max_bytes: usize) -> Result<Cow<'_, str>, NameError> {
    // As it was sent: no spelling is stored longer, and nobody can make us look through a name of megabytes.
    if raw.len() > max_bytes {
        return Err(NameError::TooLong { name: shorten(raw), bytes: raw.len(), limit: max_bytes });
    }
    let seen = Scan::of(raw);
    if seen.in_order && !tags::in_braces(raw) {
        return check_components(raw, seen.dots + 1).map(|()| Cow::Borrowed(raw));
    }
    if let Some(control) = raw.chars().find(|c| c.is_control()) {
        return Err(NameError::ControlCharacter { name: shorten(raw), code: control.into() });
    }
    let mut name = respell(raw)?;
    // What was dropped may have hidden tags in braces: `a{k="v"}.` and `a{k="v"};name=x`.
    if let Cow::Owned(changed) = &name
        && tags::in_braces(changed)
    {
        name = Cow::Owned(respell(changed)?.into_owned());
    }
    check_components(raw, metric_of(&name).split('.').count())?;
    Ok(name)
}

/// Has this canonical name tags?
pub fn is_tagged(name: &str) -> bool {
    tags::split(name).is_some()
}

/// The tags of a canonical name, with `name` for the metric itself; an untagged one has that tag alone.
pub fn tags(name: &str) -> BTreeMap<&str, &str> {
    let mut found: BTreeMap<&str, &str> = match tags::split(name) {
        Some((_, list)) => list.split(';').filter_map(tags::pair).collect(),
        None => BTreeMap::new(),
    };
    let metric = metric_of(name);
    let bare = metric.trim_start_matches('~');
    found.insert("name", if bare.is_empty() { metric } else { bare });
    found
}

/// The value of one tag of a canonical tagged name, with `name` for the metric itself; empty if it has no such tag.
pub fn tag<'a>(name: &'a str, tag: &str) -> &'a str {
    let Some((metric, list)) = name.split_once(';') else { return "" };
    match tag {
        "name" => metric.trim_start_matches('~'),
        _ => list.split(';').find_map(|pair| pair.strip_prefix(tag)?.strip_prefix('=')).unwrap_or(""),
    }
}

/// The id BigGraphite gives a metric: a UUID of version 5 over the canonical name.
pub fn biggraphite_id(name: &str) -> Uuid {
    Uuid::new_v5(&BIGGRAPHITE_NAMESPACE, name.as_bytes())
}

/// The part of a canonical name that has components: all of it when there are no tags.
fn metric_of(name: &str) -> &str {
    tags::split(name).map_or(name, |(metric, _)| metric)
}

fn respell(raw: &str) -> Result<Cow<'_, str>, NameError> {
    let empty = || NameError::Empty { name: shorten(raw) };
    if tags::is_canonical(raw) {
        return Ok(Cow::Borrowed(raw));
    }
    match Tagged::parse(raw) {
        Some(tagged) => tagged.into_canonical().map(Cow::Owned).ok_or_else(empty),
        None => {
            let name = without_empty_components(raw);
            if name.is_empty() { Err(empty()) } else { Ok(name) }
        }
    }
}

fn without_empty_components(name: &str) -> Cow<'_, str> {
    if !has_empty_component(name) {
        return Cow::Borrowed(name);
    }
    let mut kept = String::with_capacity(name.len());
    for component in name.split('.').filter(|c| !c.is_empty()) {
        if !kept.is_empty() {
            kept.push('.');
        }
        kept.push_str(component);
    }
    Cow::Owned(kept)
}

fn has_empty_component(name: &str) -> bool {
    let bytes = name.as_bytes();
    let dotted = |b: Option<&u8>| b.is_none_or(|&b| b == b'.');
    dotted(bytes.first()) || dotted(bytes.last()) || bytes.windows(2).any(|pair| pair == b"..")
}

fn check_components(raw: &str, components: usize) -> Result<(), NameError> {
    if components > MAX_COMPONENTS {
        return Err(NameError::TooManyComponents { name: shorten(raw), components });
    }
    Ok(())
}

/// What one pass over a name tells. Most names need no other.
struct Scan {
    /// No tag after a semicolon, no empty component, no control character.
    in_order: bool,
    dots: usize,
}

impl Scan {
    fn of(name: &str) -> Self {
        let mut last = b'.';
        let mut dots = 0;
        let mut odd = false;
        for byte in name.bytes() {
            // Control characters are U+0000–U+001F and U+007F, one byte each, and U+0080–U+009F, which begin with 0xC2.
            odd |= (byte < b' ')
                | (byte == 0x7f)
                | (byte == 0xc2)
                | (byte == b';')
                | (byte == b'.' && last == b'.');
            dots += usize::from(byte == b'.');
            last = byte;
        }
        Self { in_order: !odd && last != b'.', dots }
    }
}

fn shorten(name: &str) -> String {
    let mut shown: String = name.chars().take(SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if name.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    shown
}
