//! Which quotas apply to a name.

use std::collections::BTreeMap;

use crate::auth::Sender;
use crate::config::{Quota, Reach};
use plumbago_model::glob::Glob;
use plumbago_model::{Scope, name};

/// Characters with which the fixed beginning of a glob ends.
const WILD: [char; 5] = ['*', '?', '[', '{', '\\'];

/// Quotas, prepared for very many names. It speaks of them by their places in the list that it was made from.
#[derive(Clone, Debug, Default)]
pub struct Matching {
    /// Ours, in order.
    own: Vec<Own>,
    /// Those of directories by the number of components, the one that counts first.
    directories: BTreeMap<usize, Vec<(usize, Glob)>>,
    root: Option<usize>,
}

#[derive(Clone, Debug)]
struct Own {
    quota: usize,
    scope: Scope,
    /// Each selection takes only names that begin so; none of them means that it takes all names.
    beginnings: Vec<String>,
    users: Vec<String>,
    from: crate::config::Addresses,
}

/// A directory above a metric that has a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Above<'a> {
    /// The path of the directory.
    pub directory: &'a str,
    /// The place of the quota.
    pub quota: usize,
    /// The directory directly below it that the metric is in, if it is in one.
    pub namespace: Option<&'a str>,
}

/// The part of a name that is in the tree: of a series with tags that is its name.
fn path(name: &str) -> &str {
    if name::is_tagged(name) { name::tag(name, "name") } else { name }
}

/// The directory at the top that holds a metric, if it is in one.
pub(super) fn top(name: &str) -> Option<&str> {
    path(name).split_once('.').map(|(top, _)| top)
}

impl Matching {
    /// Prepares quotas.
    pub fn new(quotas: &[Quota]) -> Self {
        let mut matching = Self::default();
        for (place, quota) in quotas.iter().enumerate() {
            match &quota.reach {
                Reach::Metrics(scope) => matching.own.push(Own::new(place, scope, quota)),
                Reach::Root => matching.root = Some(place),
                Reach::Directories(glob) => {
                    let mut depths: Vec<usize> =
                        glob.branches().iter().map(|branch| branch.components().len()).collect();
                    depths.sort_unstable();
                    depths.dedup();
                    for depth in depths {
                        // Of several that match, the last counts.
                        matching.directories.entry(depth).or_default().insert(0, (place, glob.clone()));
                    }
                }
            }
        }
        matching
    }

    /// The first of our own quotas that applies to what a sender writes under a canonical name.
    pub fn own(&self, name: &str, asked: &Asked) -> Option<usize> {
        let mut quotas = self.own.iter();
        quotas
            .find(|own| (!own.asks() || asked.0.contains(&own.quota)) && own.takes(name))
            .map(|own| own.quota)
    }

    /// The quotas that apply to this name if a certain sender writes it, before the one that applies to all others: each with its
    /// place.
    pub fn asking<'a>(&'a self, name: &'a str) -> impl Iterator<Item = usize> + 'a {
        let before = self.own.iter().take_while(move |own| own.asks() || !own.takes(name));
        before.filter(move |own| own.asks() && own.takes(name)).map(|own| own.quota)
    }

    /// The directories above a metric that have quotas, from the top.
    pub fn above<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Above<'a>> + 'a {
        let path = path(name);
        let mut rest = 0;
        let mut depth = 0;
        self.directories.iter().filter_map(move |(&wanted, quotas)| {
            while depth < wanted {
                let dot = path.get(rest..)?.find('.')?;
                rest += dot + 1;
                depth += 1;
            }
            let directory = path.get(..rest.checked_sub(1)?)?;
            let quota = quotas.iter().find(|(_, glob)| glob.matches(directory))?.0;
            let namespace = path.get(rest..)?.split_once('.').map(|(namespace, _)| namespace);
            Some(Above { directory, quota, namespace })
        })
    }

    /// The quota of all metrics together.
    pub fn root(&self) -> Option<usize> {
        self.root
    }

    /// Those of the quotas that ask for a sender that this one fulfils.
    pub fn asked(&self, sender: &Sender) -> Asked {
        let fulfilled = self.own.iter().filter(|own| own.asks() && own.is_fulfilled(sender));
        Asked(fulfilled.map(|own| own.quota).collect())
    }
}

/// The quotas whose conditions on the sender somebody fulfils. Senders with the same are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Asked(pub(super) Vec<usize>);

impl Own {
    fn new(quota: usize, scope: &Scope, config: &Quota) -> Self {
        let selections = scope.selections().unwrap_or_default();
        let beginnings = selections.iter().map(|selection| beginning(selection.glob().as_str())).collect();
        let (users, from) = (config.users.clone(), config.from.clone());
        Self { quota, scope: scope.clone(), beginnings, users, from }
    }

    fn asks(&self) -> bool {
        !self.users.is_empty() || !self.from.is_empty()
    }

    fn is_fulfilled(&self, sender: &Sender) -> bool {
        let user = sender.user.as_deref();
        let by_user =
            self.users.is_empty() || user.is_some_and(|user| self.users.iter().any(|own| own == user));
        let from = sender.address;
        by_user && (self.from.is_empty() || from.is_some_and(|from| self.from.contains(from)))
    }

    fn takes(&self, name: &str) -> bool {
        let may = self.beginnings.is_empty() || self.beginnings.iter().any(|text| name.starts_with(text));
        may && self.scope.covers(name)
    }
}

/// What every name that a glob matches begins with.
fn beginning(glob: &str) -> String {
    let fixed = glob.split(WILD).next().unwrap_or_default();
    // Empty components are dropped, so such a text is not how a name begins; and a tagged name may have lost a `~`.
    let is_plain = !fixed.contains("..") && !fixed.starts_with(['.', '~']) && fixed.len() == glob.len()
        || fixed.ends_with('.') && !fixed.contains("..") && !fixed.starts_with(['.', '~']);
    if is_plain { fixed.trim_end_matches('.').to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Addresses, QuotaLimits};

    fn quota(reach: Reach, users: &[&str], from: &[&str]) -> Quota {
        Quota {
            name: String::new(),
            origin: String::new(),
            reach,
            users: users.iter().map(|user| (*user).to_owned()).collect(),
            from: Addresses::new(from.iter().map(|text| text.parse().unwrap()).collect()),
            limits: QuotaLimits::default(),
            dry_run: false,
        }
    }

    fn metrics(texts: &[&str]) -> Reach {
        Reach::Metrics(Scope::of(texts.iter().copied()).unwrap())
    }

    #[test]
    fn the_first_that_matches_applies() {
        let quotas = [
            quota(metrics(&["servers.web1"]), &[], &[]),
            quota(metrics(&["servers.*.cpu", "db"]), &[], &[]),
            quota(metrics(&["*;dc=ams"]), &[], &[]),
        ];
        let matching = Matching::new(&quotas);
        let own = |name: &str| matching.own(name, &Asked::default());
        assert_eq!(own("servers.web1.cpu.load"), Some(0));
        assert_eq!(own("servers.web10.cpu.load"), Some(1));
        assert_eq!((own("servers"), own("servers.web2.mem"), own("dbx")), (None, None, None));
        assert_eq!((own("db"), own("db;dc=fra"), own("x;dc=ams")), (Some(1), Some(1), Some(2)));
    }

    #[test]
    fn some_ask_who_sends() {
        let quotas = [
            quota(metrics(&["a"]), &["alice", "bob"], &[]),
            quota(metrics(&[]), &[], &["10.0.0.0/8"]),
            quota(metrics(&["a.b"]), &[], &[]),
            quota(metrics(&[]), &["carol"], &[]),
        ];
        let matching = Matching::new(&quotas);
        let own = |name: &str, user: Option<&str>, from: &str| {
            let sender = Sender {
                user: user.map(Into::into),
                address: Some(from.parse().unwrap()),
                ..Sender::default()
            };
            matching.own(name, &matching.asked(&sender))
        };
        assert_eq!(own("a.x", Some("bob"), "10.1.1.1"), Some(0));
        assert_eq!(own("b.x", Some("bob"), "10.1.1.1"), Some(1));
        assert_eq!(own("a.b.c", Some("carol"), "192.0.2.1"), Some(2));
        assert_eq!(own("c", Some("carol"), "192.0.2.1"), Some(3));
        assert_eq!(own("a.x", None, "192.0.2.1"), None);
        assert_eq!(matching.asking("a.b").collect::<Vec<_>>(), [0, 1]);
        assert_eq!(matching.asking("c").collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn directories_have_the_last_quota_that_matches_them() {
        let directories = |text: &str| Reach::Directories(Glob::parse(text).unwrap());
        let quotas = [
            quota(directories("*"), &[], &[]),
            quota(directories("sys.*"), &[], &[]),
            quota(directories("sys.{app,db.x}"), &[], &[]),
            quota(Reach::Root, &[], &[]),
        ];
        let matching = Matching::new(&quotas);
        let above = |name: &'static str| -> Vec<(&'static str, usize)> {
            matching
                .above(name)
                .map(|above| (above.directory.to_owned().leak() as &str, above.quota))
                .collect()
        };
        assert_eq!(above("sys.app.web.load"), [("sys", 0), ("sys.app", 2)]);
        assert_eq!(above("sys.net.load"), [("sys", 0), ("sys.net", 1)]);
        assert_eq!(above("sys.db.x.load"), [("sys", 0), ("sys.db", 1), ("sys.db.x", 2)]);
        assert_eq!(above("sys.app"), [("sys", 0)], "a metric is no directory");
        assert_eq!(above("load"), []);
        assert_eq!(above("sys.app;host=a.b.c"), [("sys", 0)]);
        assert_eq!(matching.root(), Some(3));
    }

    proptest::proptest! {
        /// A glob matches no name that does not begin as we think it must.
        #[test]
        fn beginnings_leave_out_nothing(glob in "[ab.*{},~]{1,6}", name in "[ab.]{1,6}") {
            if let (Ok(scope), Ok(name)) = (Scope::of([glob.as_str()]), name::canonical(&name, 100)) {
                let own = Own::new(0, &scope, &quota(Reach::Root, &[], &[]));
                proptest::prop_assert_eq!(own.takes(&name), scope.covers(&name));
            }
        }
    }
}
