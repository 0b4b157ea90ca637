//! The metrics that `du` counts: all at or below the matches of a glob, with or without tags.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::cli::UsageError;
use plumbago_model::glob::Glob;
use plumbago_model::name;

/// `servers.*`, or `disk.*;dc=ams*` for metrics with such a tag.
pub(super) struct Selection {
    path: String,
    /// The paths themselves, and everything below them. Nothing can be below a path of the greatest depth.
    globs: Vec<Glob>,
    tags: Vec<(String, Glob)>,
}

impl Selection {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let (path, tags) = split_tags(text).unwrap_or((text, Vec::new()));
        let mut globs = vec![parse(path)?];
        globs.extend(Glob::parse(&format!("{path}.**")));
        let tag = |(tag, value): (&str, &str)| Ok((tag.to_owned(), parse(&undotted(value))?));
        Ok(Self { path: path.to_owned(), globs, tags: tags.into_iter().map(tag).collect::<Result<_>>()? })
    }

    /// Does it include the metric of this canonical name?
    pub(super) fn takes(&self, name: &str) -> bool {
        let is_tagged = name::is_tagged(name);
        let path = if is_tagged { name::tag(name, "name") } else { name };
        let has = |(tag, glob): &(String, Glob)| {
            let value = name::tag(name, tag);
            !value.is_empty() && glob.matches(&undotted(value))
        };
        self.globs.iter().any(|glob| glob.matches(path))
            && (self.tags.is_empty() || is_tagged && self.tags.iter().all(has))
    }

    /// Globs for a cluster, whose tree has tagged names like any other. They find everything it includes, and perhaps more.
    pub(super) fn patterns(&self) -> BTreeSet<String> {
        let path = &self.path;
        BTreeSet::from([path.clone(), format!("{path}.**"), format!("{path};*"), format!("{path};*.**")])
    }
}

/// The path and the tags of `path;tag=value;…`. As in a name, nothing counts as a tag unless all of them have that form.
fn split_tags(text: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let (path, tags) = text.split_once(';')?;
    Some((path, tags.split(';').map(pair).collect::<Option<_>>()?))
}

fn pair(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').filter(|(tag, value)| !tag.is_empty() && !value.is_empty())
}

/// Replaces the dots of a value, which separate nothing there, so that `*` matches them. No name contains this character.
fn undotted(value: &str) -> String {
    value.replace('.', "\u{1}")
}

fn parse(glob: &str) -> Result<Glob> {
    Ok(Glob::parse(glob).map_err(|error| UsageError(error.to_string()))?)
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
        let selection = Selection::parse(text).unwrap();
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
            let globs: Vec<Glob> =
                Selection::parse(text).unwrap().patterns().iter().map(|p| parse(p).unwrap()).collect();
            for name in taken(text) {
                assert!(globs.iter().any(|glob| glob.matches(name)), "{text}: {name}");
            }
        }
    }

    #[test]
    fn a_pattern_of_the_greatest_depth_is_no_mistake() {
        assert!(Selection::parse(&vec!["*"; 63].join(".")).is_ok());
        assert!(Selection::parse("").is_err());
    }
}
