//! Those who share a server. A tenant has metrics of its own, under names of its own, and nobody else's are there.

use std::borrow::Cow;

use crate::name;

/// Longest name of a tenant.
const MAX_BYTES: usize = 128;

/// Where the metrics of tenants are: names without tags below a directory, and names with tags under one more tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenants {
    directory: String,
    tag: String,
}

/// A text that cannot be the name of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be the name of a tenant: use at most {MAX_BYTES} letters, digits, `-`, `_`, `:` and `@`"
)]
pub struct TenantNameError(String);

impl Tenants {
    /// Tenants whose metrics are in this directory, or have this tag.
    pub fn new(directory: &str, tag: &str) -> Self {
        Self { directory: directory.to_owned(), tag: tag.to_owned() }
    }

    /// The tenant of this name.
    pub fn tenant(&self, name: &str) -> Result<Tenant, TenantNameError> {
        if !is_name(name) {
            return Err(TenantNameError(name.chars().take(MAX_BYTES).collect()));
        }
        Ok(Tenant {
            root: format!("{}.{name}", self.directory),
            tag: self.tag.clone(),
            pair: format!(";{}={name}", self.tag),
            name: name.to_owned(),
        })
    }

    /// Whose a metric is, by its stored name, and what its tenant calls it; nothing if it belongs to no tenant.
    pub fn split<'a>(&self, stored: &'a str) -> Option<(&'a str, Cow<'a, str>)> {
        let tenant = match name::is_tagged(stored) {
            true => name::tag(stored, &self.tag),
            false => stored.strip_prefix(&self.directory)?.strip_prefix('.')?.split('.').next()?,
        };
        let own = self.tenant(tenant).ok()?.shown(stored)?.into_owned();
        Some((tenant, Cow::Owned(own)))
    }
}

impl Default for Tenants {
    fn default() -> Self {
        Self::new("tenants", "tenant")
    }
}

/// The name is a component of paths and the value of a tag, and nobody has to escape it in either.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '@');
    !name.is_empty() && name.len() <= MAX_BYTES && name.chars().all(plain)
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    name: String,
    /// The directory of its metrics without tags.
    root: String,
    /// The tag of the others.
    tag: String,
    /// That tag with its value, as names spell it.
    pair: String,
}

impl Tenant {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The directory of its metrics without tags.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// The tag that its other metrics have. For the tenant it does not exist.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The tag of its events, which is not there for the tenant either.
    pub fn mark(&self) -> &str {
        self.pair.trim_start_matches(';')
    }

    /// A sentence about its metrics in the names that it has for them.
    pub fn worded(&self, text: &str) -> String {
        text.replace(&format!("{}.", self.root), "").replace(&self.pair, "")
    }

    /// The name under which a metric is stored that the tenant calls this; both names are canonical. Nothing if it cannot have such
    /// a metric: one with the tag of another tenant, or a name that would mean something else in the tenant's directory.
    pub fn stored(&self, own: &str) -> Option<String> {
        if name::is_tagged(own) {
            return self.with_tag(own);
        }
        let stored = format!("{}.{own}", self.root);
        // `~;a=b` has no tags, and behind a directory it would.
        let could_be_tagged = own.contains(';') || own.ends_with("\"}");
        let stays = || name::canonical(&stored, usize::MAX).is_ok_and(|name| name == stored);
        (!could_be_tagged || stays() && !name::is_tagged(&stored)).then_some(stored)
    }

    fn with_tag(&self, own: &str) -> Option<String> {
        let begin = format!("{}=", self.tag);
        let mut at = own.find(';')?;
        // Tags are in order.
        for item in own.get(at + 1..)?.split(';') {
            if item.starts_with(&begin) {
                return (item == self.mark()).then(|| own.to_owned());
            }
            if item > begin.as_str() {
                break;
            }
            at += 1 + item.len();
        }
        let (before, behind) = own.split_at_checked(at)?;
        Some([before, &self.pair, behind].concat())
    }

    /// What the tenant calls a metric that is stored under this name; nothing if it is not one of its metrics.
    pub fn shown<'a>(&self, stored: &'a str) -> Option<Cow<'a, str>> {
        if !name::is_tagged(stored) {
            return stored.strip_prefix(&self.root)?.strip_prefix('.').map(Cow::Borrowed);
        }
        let is_whole = |(_, rest): &(&str, &str)| rest.is_empty() || rest.starts_with(';');
        let around = |(at, pair): (usize, &str)| Some((stored.get(..at)?, stored.get(at + pair.len()..)?));
        let (before, behind) = stored.match_indices(&self.pair).filter_map(around).find(is_whole)?;
        Some(if behind.is_empty() { Cow::Borrowed(before) } else { Cow::Owned([before, behind].concat()) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tenant(name: &str) -> Tenant {
        Tenants::default().tenant(name).unwrap()
    }

    #[test]
    fn a_metric_is_stored_below_a_directory_or_under_a_tag() {
        let t1 = tenant("t-1");
        for (own, stored) in [
            ("servers.web.load", "tenants.t-1.servers.web.load"),
            ("tenants.t-2.x", "tenants.t-1.tenants.t-2.x"),
            ("n;broken", "tenants.t-1.n;broken"),
            ("cpu;host=a", "cpu;host=a;tenant=t-1"),
            ("cpu;host=a;zone=x", "cpu;host=a;tenant=t-1;zone=x"),
            ("cpu;zone=x", "cpu;tenant=t-1;zone=x"),
            ("cpu;tenants=x", "cpu;tenant=t-1;tenants=x"),
            ("cpu;tenan=x", "cpu;tenan=x;tenant=t-1"),
        ] {
            assert_eq!(t1.stored(own).as_deref(), Some(stored), "{own}");
            assert_eq!(t1.shown(stored).as_deref(), Some(own), "{stored}");
            assert_eq!(name::canonical(stored, 1000).unwrap(), stored);
            let tenants = Tenants::default();
            let (whose, shown) = tenants.split(stored).unwrap();
            assert_eq!((whose, &*shown), ("t-1", own));
        }
    }

    #[test]
    fn nothing_of_another_tenant_has_a_name() {
        let t1 = tenant("t-1");
        for stored in [
            "servers.web",
            "tenants.t-1",
            "tenants.t-10.x",
            "tenants.t-1x",
            "cpu;tenant=t-2",
            "cpu;tenant=t-10",
            "cpu;xtenant=t-1",
            "tenants.t-1.cpu;host=a",
            "n;broken;tenant=t-1",
        ] {
            assert_eq!(t1.shown(stored), None, "{stored}");
        }
        assert_eq!(t1.stored("cpu;host=a;tenant=t-2"), None);
        assert_eq!(t1.stored("cpu;tenant=t-10"), None);
        assert_eq!(t1.stored("cpu;host=a;tenant=t-1").as_deref(), Some("cpu;host=a;tenant=t-1"));
        assert_eq!(t1.stored("~;a=b"), None, "it would be tagged there");
        assert_eq!(t1.stored("{a=\"b\"}"), None);
        assert_eq!(Tenants::default().split("servers.web"), None);
        assert_eq!(Tenants::default().split("cpu;host=a"), None);
    }

    #[test]
    fn a_name_is_one_plain_word() {
        for name in ["t-1", "acme_eu", "hybrid:123", "Größe", "a@b"] {
            assert_eq!(tenant(name).name(), name);
        }
        for name in ["", "a.b", "a*", "a;b", "a b", "a=b", "{a}", "../x", &"x".repeat(129)] {
            assert!(Tenants::default().tenant(name).is_err(), "{name}");
        }
    }

    proptest! {
        /// No two metrics of tenants share a stored name, and each comes back as what its tenant calls it.
        #[test]
        fn each_name_comes_back_to_its_tenant_alone(
            raw in "[a-c~.;={}\" \\[t]{1,14}",
            pairs in prop::collection::btree_map("[a-z]{1,7}", "[a-z.]{1,3}", 0..4),
            whose in 0..2_usize,
        ) {
            let tagged: String = pairs.iter().map(|(tag, value)| format!(";{tag}={value}")).collect();
            let own = name::canonical(&format!("{raw}{tagged}"), 1000).map_or("a".to_owned(), Cow::into_owned);
            let both = [tenant("t"), tenant("tt")];
            if let Some(stored) = both[whose].stored(&own) {
                prop_assert_eq!(name::canonical(&stored, 1000).unwrap(), stored.as_str());
                prop_assert_eq!(name::is_tagged(&stored), name::is_tagged(&own));
                if name::tag(&own, "tenant").is_empty() {
                    let shown = both[whose].shown(&stored);
                    prop_assert_eq!(shown.as_deref(), Some(&*own));
                }
                prop_assert_eq!(both[1 - whose].shown(&stored), None);
            }
        }
    }
}
