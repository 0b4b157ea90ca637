//! The metrics that somebody may see and change.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Selection, Tenant};
use crate::glob::{Branch, Component, GlobError};

/// Some metrics, or all. What is outside of a scope is not there for a caller who has it.
///
/// The scope of a tenant is its own metrics, or some of them, by the names that they have for the tenant.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// As they were written.
    texts: Vec<String>,
    /// Nothing here means everything, or all that the tenant has.
    parts: Option<Vec<Selection>>,
    /// What names begin with that such a selection takes at once: a path without wildcards, and a dot.
    beginnings: Vec<String>,
    tenant: Option<Arc<Tenant>>,
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
            let part = Selection::with_all_below(&format!("{path}{tags}"))?;
            // In names of senders, what is behind these characters may be a tag, and this one goes.
            let is_plain = |path: &&str| !path.contains([';', '{']) && !path.starts_with('~');
            let literal = part.glob().literal().filter(|path| !part.has_tags() && is_plain(path));
            scope.beginnings.extend(literal.map(|path| format!("{path}.")));
            parts.push(part);
            scope.texts.push(text.to_owned());
        }
        Ok(scope)
    }

    /// No metrics.
    pub fn nothing() -> Self {
        Self { parts: Some(Vec::new()), ..Self::default() }
    }

    /// The same, of what a tenant has.
    pub fn of_tenant(self, tenant: Tenant) -> Self {
        Self { tenant: Some(Arc::new(tenant)), ..self }
    }

    /// Whose metrics it is confined to.
    pub fn tenant(&self) -> Option<&Tenant> {
        self.tenant.as_deref()
    }

    /// Is nothing outside of it?
    pub fn is_everything(&self) -> bool {
        self.tenant.is_none() && self.takes_all()
    }

    /// Is everything inside, or all that the tenant has?
    pub fn takes_all(&self) -> bool {
        self.parts.is_none()
    }

    /// Is this metric inside, by its canonical name in the store?
    pub fn covers(&self, stored: &str) -> bool {
        self.shown(stored).is_some_and(|own| self.takes(&own))
    }

    /// Is a metric inside for certain that is sent under this name, however the store will spell it? A look at the beginning of the name
    /// is enough for most; where this is false, only [`Scope::covers`] knows.
    pub fn surely_covers(&self, raw: &str) -> bool {
        if self.tenant.is_some() {
            return false;
        }
        let is_below = |begin: &String| {
            let below = raw.strip_prefix(begin.as_str());
            below
                .and_then(|below| below.bytes().next())
                .is_some_and(|first| first != b'.' && first != b';' && first != b'{')
        };
        self.parts.is_none() || self.beginnings.iter().any(is_below)
    }

    /// What a metric of this name in the store is called here; nothing if it belongs to another tenant.
    pub fn shown<'a>(&self, stored: &'a str) -> Option<Cow<'a, str>> {
        self.tenant.as_ref().map_or(Some(Cow::Borrowed(stored)), |tenant| tenant.shown(stored))
    }

    /// The name in the store of a metric that has this canonical name here; nothing if none can have it.
    pub fn stored<'a>(&self, own: &'a str) -> Option<Cow<'a, str>> {
        self.tenant.as_ref().map_or(Some(Cow::Borrowed(own)), |tenant| tenant.stored(own).map(Cow::Owned))
    }

    /// The directory that is the top of the tree here; empty for that of the store.
    pub fn root(&self) -> &str {
        self.tenant.as_ref().map_or("", |tenant| tenant.root())
    }

    /// The selections of which one has to take a metric; nothing if all metrics are inside.
    pub fn selections(&self) -> Option<&[Selection]> {
        self.parts.as_deref()
    }

    fn takes(&self, own: &str) -> bool {
        let begins = |begin: &String| own.starts_with(begin.as_str());
        let is_taken = |parts: &Vec<Selection>| {
            self.beginnings.iter().any(begins) || parts.iter().any(|part| part.takes(own))
        };
        self.parts.as_ref().is_none_or(is_taken)
    }
}

/// Scopes are the same if they are written the same, for the same tenant.
impl PartialEq for Scope {
    fn eq(&self, other: &Self) -> bool {
        let written =
            |scope: &Self| (scope.parts.is_some(), scope.tenant().map(|tenant| tenant.name().to_owned()));
        self.texts == other.texts && written(self) == written(other)
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
    /// Where the top of the tree stands, which is that of the tenant if there is one.
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

    /// Where a path stands, as it is called here; the empty one is the top of the tree.
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
            None if self.tenant.is_none() => f.write_str("everything"),
            None => Ok(()),
            Some(parts) if parts.is_empty() => f.write_str("nothing"),
            Some(_) => f.write_str(&self.texts.join(" ")),
        }?;
        let Some(tenant) = &self.tenant else { return Ok(()) };
        let of = if self.takes_all() { "" } else { " of " };
        write!(f, "{of}the tenant {}", tenant.name())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn a_tenant_is_confined_to_its_own_and_to_a_scope_within() {
        let tenant = || crate::Tenants::default().tenant("t-1").unwrap();
        let all = scope(&[]).of_tenant(tenant());
        let some = scope(&["servers.web", "*;dc=ams"]).of_tenant(tenant());
        for (stored, in_all, in_some) in [
            ("tenants.t-1.servers.web.load", true, true),
            ("tenants.t-1.servers.db", true, false),
            ("cpu;dc=ams;tenant=t-1", true, true),
            ("cpu;dc=fra;tenant=t-1", true, false),
            ("servers.web.load", false, false),
            ("cpu;dc=ams", false, false),
            ("cpu;dc=ams;tenant=t-2", false, false),
        ] {
            assert_eq!((all.covers(stored), some.covers(stored)), (in_all, in_some), "{stored}");
        }
        assert!(!all.is_everything() && all.takes_all() && !some.takes_all());
        assert!(matches!(all.top(), Place::Inside) && matches!(some.place("servers.web"), Place::Inside));
        assert_eq!(all.root(), "tenants.t-1");
        assert_eq!(all.to_string(), "the tenant t-1");
        assert_eq!(some.to_string(), "servers.web *;dc=ams of the tenant t-1");
    }

    proptest! {
        /// Compared with what the selections say of the name as it is stored.
        #[test]
        fn what_begins_as_a_subtree_is_inside_however_it_is_spelled(
            texts in prop::sample::subsequence(
                vec!["a", "a.b", "b.**", "ab", "a;x=y", "*;x=y", "a.*", "~a", r"a\{b", "a{b", "x.", r"a\;b", "{a,b}"], 0..4),
            raw in "[ab]{0,2}[.~]{0,2}[ab{]{0,2}[.;]{0,2}([ab]{1,2}[.;={]){0,2}(x=y|x=\"y\"\\}|[ab.]{0,2}|name=a|;)",
        ) {
            let scope = scope(&texts);
            let is_taken = |name: &str| {
                scope.selections().is_none_or(|parts| parts.iter().any(|part| part.takes(name)))
            };
            if let Ok(name) = crate::name::canonical(&raw, 100) {
                prop_assert_eq!(scope.covers(&name), is_taken(&name), "{:?}: {}", texts, name);
                if scope.surely_covers(&raw) {
                    prop_assert!(is_taken(&name), "{:?}: {} as {}", texts, raw, name);
                }
            }
        }
    }

    #[test]
    fn the_usual_name_below_a_subtree_is_surely_inside() {
        let some = scope(&["servers.web", "disk;dc=ams", "db.**"]);
        for (name, surely) in [
            ("servers.web.cpu", true),
            ("db.x;dc=ams", true),
            ("servers.web", false),
            ("servers.webs", false),
            ("servers..web.cpu", false),
            ("db.;a=b", false),
            ("disk.x;dc=ams", false),
        ] {
            assert_eq!(some.surely_covers(name), surely, "{name}");
        }
        assert!(scope(&[]).surely_covers("any") && !Scope::nothing().surely_covers("any"));
        let own = scope(&[]).of_tenant(crate::Tenants::default().tenant("t").unwrap());
        assert!(!own.surely_covers("tenants.t.x") && !own.surely_covers("x"));
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
