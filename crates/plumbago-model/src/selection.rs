//! Which metrics a person means by a glob with tags behind it.

use std::collections::BTreeSet;

use crate::glob::{Glob, GlobError};
use crate::name;

/// `servers.*`, or `disk.*;dc=ams*` for the metrics that have such a tag.
#[derive(Clone, Debug)]
pub struct Selection {
    path: String,
    /// The paths themselves, and perhaps all below them.
    globs: Vec<Glob>,
    tags: Vec<(String, Glob)>,
}

impl Selection {
    /// What the glob matches, and all below that.
    pub fn with_all_below(text: &str) -> Result<Self, GlobError> {
        let mut selection = Self::exactly(text)?;
        // No path can be below one of the greatest depth.
        selection.globs.extend(Glob::parse(&format!("{}.**", selection.path)));
        Ok(selection)
    }

    /// What the glob matches, and nothing below.
    pub fn exactly(text: &str) -> Result<Self, GlobError> {
        let (path, tags) = split_tags(text).unwrap_or((text, Vec::new()));
        let tag = |(tag, value): (&str, &str)| Ok((tag.to_owned(), Glob::parse(&undotted(value))?));
        let tags = tags.into_iter().map(tag).collect::<Result<_, _>>()?;
        Ok(Self { path: path.to_owned(), globs: vec![Glob::parse(path)?], tags })
    }

    /// The glob before the tags.
    pub fn glob(&self) -> &Glob {
        // Every selection is made with one.
        &self.globs[0]
    }

    /// Does it take metrics that have this name before their tags, as far as that goes?
    pub fn takes_bare(&self, name: &str) -> bool {
        self.globs.iter().any(|glob| glob.matches(name))
    }

    /// The tags that it names.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().map(|(tag, _)| tag.as_str())
    }

    /// Does it take this value of a tag?
    pub fn takes_value(&self, tag: &str, value: &str) -> bool {
        let value = undotted(value);
        !value.is_empty() && self.tags.iter().any(|(own, glob)| own == tag && glob.matches(&value))
    }

    /// Does it name tags?
    pub fn has_tags(&self) -> bool {
        !self.tags.is_empty()
    }

    /// Does it take this metric, by its canonical name?
    pub fn takes(&self, name: &str) -> bool {
        let is_tagged = name::is_tagged(name);
        let path = if is_tagged { name::tag(name, "name") } else { name };
        let has = |(tag, glob): &(String, Glob)| {
            let value = name::tag(name, tag);
            !value.is_empty() && glob.matches(&undotted(value))
        };
        self.globs.iter().any(|glob| glob.matches(path))
            && (self.tags.is_empty() || is_tagged && self.tags.iter().all(has))
    }

    /// Globs that find all it takes, and perhaps more, where a name with tags lies in the tree like any other.
    pub fn patterns(&self) -> BTreeSet<String> {
        let path = &self.path;
        BTreeSet::from([path.clone(), format!("{path}.**"), format!("{path};*"), format!("{path};*.**")])
    }
}

/// The path and the tags of `path;tag=value;…`. A text whose tags are not all of that form has none, as a name has.
fn split_tags(text: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let (path, tags) = text.split_once(';')?;
    Some((path, tags.split(';').map(pair).collect::<Option<_>>()?))
}

fn pair(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').filter(|(tag, value)| !tag.is_empty() && !value.is_empty())
}

/// A dot in a value separates nothing, and `*` takes it like any other character. No name has this one in it.
fn undotted(value: &str) -> String {
    value.replace('.', "\u{1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 8] = [
        "a",
        "a.b",
        "a.b.c",
        "ab",
        "disk.used;dc=ams;host=web1.example.com",
        "disk.used;dc=fra;host=web2",
        "disk.free;dc=ams;host=web2",
        "odd;tag",
    ];

    fn taken(text: &str) -> Vec<&'static str> {
        let selection = Selection::with_all_below(text).unwrap();
        NAMES.into_iter().filter(|name| selection.takes(name)).collect()
    }

    #[test]
    fn a_glob_takes_what_it_matches_and_all_below() {
        assert_eq!(taken("*"), NAMES);
        assert_eq!(taken("a"), ["a", "a.b", "a.b.c"]);
        assert_eq!(taken("a.*"), ["a.b", "a.b.c"]);
        assert_eq!(taken("a.**"), ["a.b", "a.b.c"]);
        assert_eq!(taken("disk"), &NAMES[4..7]);
        assert_eq!(taken("disk.used"), &NAMES[4..6]);
        assert_eq!(taken("odd;tag"), ["odd;tag"]);
        assert_eq!(taken("used"), [""; 0]);
    }

    #[test]
    fn an_exact_selection_takes_nothing_below() {
        let taken = |text| {
            let selection = Selection::exactly(text).unwrap();
            NAMES.into_iter().filter(|name| selection.takes(name)).collect::<Vec<_>>()
        };
        assert_eq!(taken("a"), ["a"]);
        assert_eq!(taken("a.*"), ["a.b"]);
        assert_eq!(taken("disk.*;host=web2"), &NAMES[5..7]);
    }

    #[test]
    fn tags_must_all_match() {
        assert_eq!(taken("*;dc=*"), &NAMES[4..7]);
        assert_eq!(taken("disk.used;dc=ams"), &NAMES[4..5]);
        assert_eq!(taken("disk;host=web1.*"), &NAMES[4..5]);
        assert_eq!(taken("disk.*;host=web*;dc={ams,fra}"), &NAMES[4..7]);
        assert_eq!(taken("*;dc=ams;rack=*"), [""; 0]);
    }

    #[test]
    fn its_patterns_find_all_it_takes() {
        for text in ["*", "a", "a.*", "disk", "disk.used", "disk.used;host=*", "*;dc=ams", "{a.b,disk}"] {
            let globs: Vec<Glob> = Selection::with_all_below(text)
                .unwrap()
                .patterns()
                .iter()
                .map(|p| Glob::parse(p).unwrap())
                .collect();
            for name in taken(text) {
                assert!(globs.iter().any(|glob| glob.matches(name)), "{text}: {name}");
            }
        }
    }

    #[test]
    fn a_pattern_of_the_greatest_depth_is_no_mistake() {
        assert!(Selection::with_all_below(&vec!["*"; 63].join(".")).is_ok());
        assert!(Selection::with_all_below("").is_err());
    }
}
