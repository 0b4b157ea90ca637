//! The metrics that somebody may see and change.

use std::fmt;

use super::Selection;
use crate::glob::{Branch, Component, GlobError};

/// Some metrics, or all. What is outside of a scope is not there for a caller who has it.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// As they were written.
    texts: Vec<String>,
    /// Nothing here means everything.
    parts: Option<Vec<Selection>>,
}

impl Scope {
    /// The metrics of some selections, each with all below: `servers.web`, `*;dc=ams`. None of them means everything.
    pub fn of<'a>(selections: impl IntoIterator<Item = &'a str>) -> Result<Self, GlobError> {
        let mut scope = Self::default();
        for text in selections {
            let parts = scope.parts.get_or_insert_default();
            // `servers.**` would leave out `servers`, which is not what people mean by it.
            let (path, tags) = text.split_at(text.find(';').unwrap_or(text.len()));
            let path = path.strip_suffix(".**").unwrap_or(path);
            parts.push(Selection::with_all_below(&format!("{path}{tags}"))?);
            scope.texts.push(text.to_owned());
        }
        Ok(scope)
    }

    /// No metrics.
    pub fn nothing() -> Self {
        Self { texts: Vec::new(), parts: Some(Vec::new()) }
    }

    /// Is nothing outside of it?
    pub fn is_everything(&self) -> bool {
        self.parts.is_none()
    }

    /// Is this metric inside, by its canonical name?
    pub fn covers(&self, name: &str) -> bool {
        self.parts.as_ref().is_none_or(|parts| parts.iter().any(|part| part.takes(name)))
    }
}

/// Scopes are the same if they are written the same.
impl PartialEq for Scope {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts && self.parts.is_some() == other.parts.is_some()
    }
}

impl Eq for Scope {}

/// How a path without tags relates to a scope. Its next component can change that.
#[derive(Clone, Debug)]
pub enum Place {
    /// It is inside, and so is all below.
    Inside,
    /// It is not inside, and something below may be.
    Above(Trail),
    /// It is not inside, and nothing below is.
    Outside,
}

/// How far each selection of a scope has been followed.
#[derive(Clone, Debug)]
pub struct Trail(Vec<(usize, usize, u64)>);

impl Scope {
    /// The selections of which one has to take a metric; nothing if all metrics are inside.
    pub fn selections(&self) -> Option<&[Selection]> {
        self.parts.as_deref()
    }

    /// Where the top of the tree stands.
    pub fn top(&self) -> Place {
        let Some(parts) = &self.parts else { return Place::Inside };
        // What asks for tags takes nothing of the tree.
        let untagged = parts.iter().enumerate().filter(|(_, part)| !part.has_tags());
        let starts = untagged.flat_map(|(nth, part)| {
            part.glob().branches().iter().enumerate().map(move |(branch, b)| (nth, branch, b.start()))
        });
        let trail: Vec<_> = starts.collect();
        if trail.is_empty() { Place::Outside } else { Place::Above(Trail(trail)) }
    }

    /// Where a path stands that has one more component.
    pub fn step(&self, trail: &Trail, component: &str) -> Place {
        let mut next = Vec::with_capacity(trail.0.len());
        for &(nth, at, states) in &trail.0 {
            let part = self.parts.as_ref().and_then(|parts| parts.get(nth));
            let Some(branch) = part.and_then(|part| part.glob().branches().get(at)) else { continue };
            let states = advance(branch, states, component);
            if branch.is_match(states) {
                return Place::Inside;
            }
            if branch.goes_on(states) {
                next.push((nth, at, states));
            }
        }
        if next.is_empty() { Place::Outside } else { Place::Above(Trail(next)) }
    }

    /// Where a path stands; the empty one is the top of the tree.
    pub fn place(&self, path: &str) -> Place {
        let mut place = self.top();
        for component in path.split('.').filter(|component| !component.is_empty()) {
            match place {
                Place::Above(trail) => place = self.step(&trail, component),
                Place::Inside | Place::Outside => break,
            }
        }
        place
    }
}

fn advance(branch: &Branch, states: u64, component: &str) -> u64 {
    branch.advance(states, |place| match branch.components().get(place) {
        Some(Component::One(matcher)) => matcher.matches(component),
        _ => false,
    })
}

/// As it was written.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.parts {
            None => f.write_str("everything"),
            Some(parts) if parts.is_empty() => f.write_str("nothing"),
            Some(_) => f.write_str(&self.texts.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(texts: &[&str]) -> Scope {
        Scope::of(texts.iter().copied()).unwrap()
    }

    #[test]
    fn without_selections_it_is_everything() {
        let all = scope(&[]);
        assert!(all.is_everything() && all.covers("a.b") && all.covers("a;b=c"));
        assert_eq!(all.to_string(), "everything");
        let none = Scope::nothing();
        assert!(!none.is_everything() && !none.covers("a.b") && !none.covers(""));
        assert_eq!(none.to_string(), "nothing");
    }

    #[test]
    fn each_selection_covers_a_subtree_or_what_has_its_tags() {
        let some = scope(&["servers.web*", "*;dc=ams", "disk.**;env=prod"]);
        for inside in
            ["servers.web1", "servers.web1.cpu.load", "x;dc=ams", "a.b;dc=ams;host=1", "disk;env=prod"]
        {
            assert!(some.covers(inside), "{inside}");
        }
        for outside in
            ["servers", "servers.db1", "x;dc=fra", "disk", "disk;env=test", "web1", "servers.web1x;a=b"]
        {
            assert_eq!(some.covers(outside), outside.starts_with("servers.web"), "{outside}");
        }
        assert_eq!(some.to_string(), "servers.web* *;dc=ams disk.**;env=prod");
    }

    #[test]
    fn what_is_no_glob_is_an_error() {
        assert!(Scope::of([""]).is_err());
    }

    #[test]
    fn following_a_path_leads_inside_exactly_where_its_name_is_covered() {
        let components = ["a", "b", "web1", "x"];
        let scopes: [&[&str]; 8] = [
            &[],
            &["a"],
            &["a.*.x"],
            &["**.x"],
            &["*.web*", "b"],
            &["*;dc=ams"],
            &["{a.b,web1}.x", "x.x.x"],
            &["a.**.b"],
        ];
        for texts in scopes {
            let scope = scope(texts);
            let mut paths = vec![String::new()];
            for _ in 0..4 {
                let longer = paths.iter().flat_map(|path| {
                    let dot = if path.is_empty() { "" } else { "." };
                    components.iter().map(move |component| format!("{path}{dot}{component}"))
                });
                paths = longer.collect();
                for path in &paths {
                    let inside = matches!(scope.place(path), Place::Inside);
                    assert_eq!(inside, scope.covers(path), "{texts:?}: {path}");
                }
            }
        }
        assert!(matches!(Scope::nothing().top(), Place::Outside));
        assert!(matches!(scope(&["a.b"]).place("b"), Place::Outside));
        assert!(matches!(scope(&["a.b"]).place("a"), Place::Above(_)));
    }
}
