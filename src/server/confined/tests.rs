use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use tempfile::TempDir;

use super::super::engine::now;
use super::*;
use crate::config::Config;
use crate::http::Node;
use crate::index::{Asked, FindLimits, Survey};
use graphite_render::TimeRange;
use graphite_render::source::TagQuery;
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, TagFilter, Tenants};

const SCOPES: [&str; 9] = ["a", "a.b", "*.c", "**.b", "a.*.c", "{b,c}.a", "*;dc=x", "b;dc=*", "c.**"];
const QUERIES: [&str; 9] = ["*", "**", "a.*", "*.b", "*.*.*", "a.b.c", "{a,b}.**", "**.c", "c"];

/// A store of its own, and what somebody sees of it.
struct House {
    engine: Arc<Engine>,
    seen: Arc<dyn Backend>,
    scope: Arc<Scope>,
    names: Vec<String>,
    _directory: TempDir,
}

impl House {
    fn new(names: &BTreeSet<String>, scopes: &[&str]) -> Self {
        let directory = TempDir::new().unwrap();
        let mut config = Config::default();
        config.store.path = directory.path().join("data");
        config.store.reserve_bytes = 0;
        let engine = Arc::new(Engine::open(config).unwrap());
        let lines: String = names.iter().map(|name| format!("{name} 1 {}\n", now())).collect();
        assert_eq!(engine.write(lines.as_bytes()).unwrap().stored, names.len() as u64);
        let scope = Arc::new(Scope::of(scopes.iter().copied()).unwrap());
        let backend: Arc<dyn Backend> = Arc::<Engine>::clone(&engine);
        let seen = backend.of(&Sender { scope: Arc::clone(&scope), ..Sender::default() });
        Self { engine, seen, scope, names: names.iter().cloned().collect(), _directory: directory }
    }

    /// The names inside that pass a test.
    fn inside(&self, takes: impl Fn(&str) -> bool) -> Vec<String> {
        self.names.iter().filter(|name| self.scope.covers(name) && takes(name)).cloned().collect()
    }

    fn untagged(&self, takes: impl Fn(&str) -> bool) -> Vec<String> {
        self.inside(|name| !name.contains(';') && takes(name))
    }

    fn tagged(&self) -> Vec<String> {
        self.inside(|name| name.contains(';'))
    }

    fn check_finds(&self, query: &str) -> Result<(), TestCaseError> {
        let glob = Glob::parse(query).unwrap();
        let never = Cancel::never();
        let (mut leaves, mut directories) = (Vec::new(), Vec::new());
        self.seen
            .find(query, None, &never, &mut |node: Node<'_>| {
                leaves.extend(node.leaf.then(|| node.path.to_owned()));
                directories.extend(node.directory.then(|| node.path.to_owned()));
            })
            .unwrap();
        let expected = self.untagged(|name| glob.matches(name));
        prop_assert_eq!(&leaves, &expected);
        for directory in directories {
            let below = format!("{directory}.");
            prop_assert!(
                !self.untagged(|name| name.starts_with(&below)).is_empty(),
                "{} in {}",
                directory,
                query
            );
        }
        let (until, range) = (i64::from(now()) + 1, 60);
        let range = TimeRange { from: until - range, until };
        let wanted = [FetchRequest::path(query, range, until)];
        let fetched = self.seen.source().fetch(&wanted, &never).unwrap();
        let fetched: Vec<&str> = fetched[0].iter().map(|series| &*series.name).collect();
        prop_assert_eq!(fetched, expected.clone());
        let care = self.seen.care().unwrap();
        prop_assert_eq!(&care.delete_matching(query, true, &Cancel::never()).unwrap().metrics, &expected);
        let ranged = care.delete_range(query, (0, u32::MAX), true, &Cancel::never()).unwrap().metrics;
        prop_assert_eq!(ranged.into_iter().map(|m| m.name).collect::<Vec<_>>(), expected);
        for name in care.names(query, &Cancel::never()).unwrap() {
            prop_assert!(self.scope.covers(&name), "{}", name);
        }
        let used = care.usage(query, &Cancel::never()).unwrap().metrics as usize;
        prop_assert!(used <= self.inside(|_| true).len());
        Ok(())
    }

    fn check_lists(&self) -> Result<(), TestCaseError> {
        let never = Cancel::never();
        let mut stream = self.seen.names("");
        let mut all = Vec::new();
        loop {
            let some = stream(2);
            if some.is_empty() {
                break;
            }
            all.extend(some);
        }
        prop_assert_eq!(&all, &self.untagged(|_| true));
        let survey = Survey { below: String::new(), depth: 1, limit: 100 };
        let counted = self.seen.index().unwrap().cardinality(&survey, &never).unwrap();
        prop_assert_eq!(counted.metrics as usize, self.inside(|_| true).len());
        prop_assert_eq!(counted.tagged as usize, self.tagged().len());
        prop_assert_eq!(counted.prefixes.iter().map(|(_, n)| *n as usize).sum::<usize>(), all.len());
        let health = self.seen.browse().health();
        prop_assert_eq!(health.metrics as usize, self.inside(|_| true).len());
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let wanted = PageRequest { after: "", limit: 100 };
            let page = self.seen.browse().list(Folder::Directory(&folder), wanted, &never).unwrap();
            for node in page.nodes {
                let dot = if folder.is_empty() { "" } else { "." };
                let path = format!("{folder}{dot}{}", node.name);
                let below = self.untagged(|name| name.starts_with(&format!("{path}."))).len();
                prop_assert_eq!(node.below, Some(below as u64), "{}", &path);
                prop_assert_eq!(node.metric, self.untagged(|name| name == path).len() == 1, "{}", &path);
                prop_assert!(node.metric || below > 0, "{}", &path);
                if below > 0 {
                    folders.push(path);
                }
            }
        }
        for word in ["a", "b", "c", "dc", "a.b"] {
            for node in self.seen.browse().search(word, 100, &never).unwrap().nodes {
                let below = self.untagged(|name| name.starts_with(&format!("{}.", node.name))).len();
                let own = self.inside(|name| name == node.name).len();
                prop_assert!(own + below > 0, "{} by {}", node.name, word);
                prop_assert_eq!(node.below, Some(below as u64));
            }
        }
        Ok(())
    }

    fn check_tags(&self) -> Result<(), TestCaseError> {
        let never = Cancel::never();
        let sight = self.seen.index().unwrap();
        let tagged = self.tagged();
        let pairs = || tagged.iter().flat_map(|name| name::tags(name));
        let tags: BTreeSet<&str> = pairs().map(|(tag, _)| tag).collect();
        prop_assert_eq!(
            sight.tags(&|_| true, 100, &never).unwrap(),
            tags.iter().copied().collect::<Vec<_>>()
        );
        for tag in ["dc", "name", "nosuch"] {
            let mut expected = std::collections::BTreeMap::<String, u64>::new();
            pairs()
                .filter(|(own, _)| *own == tag)
                .for_each(|(_, value)| *expected.entry(value.to_owned()).or_default() += 1);
            let got = sight.tag_values(tag, "", &|_| true, 100, &never).unwrap().unwrap_or_default();
            prop_assert_eq!(got, expected.into_iter().collect::<Vec<_>>(), "{}", tag);
        }
        let query = TagQuery::new(&["dc!="]).unwrap();
        let asked = Asked { text: "", conditions: &query.conditions() };
        let found = sight.find_tagged(asked, FindLimits::NONE, &never).unwrap();
        let found: Vec<String> = found.into_iter().map(|(_, name)| name).collect();
        prop_assert_eq!(&found, &tagged);
        let values = sight.complete_values(asked, "dc", "", 100, &never).unwrap();
        let expected: BTreeSet<&str> =
            pairs().filter(|(tag, _)| *tag == "dc").map(|(_, value)| value).collect();
        prop_assert_eq!(values, expected.into_iter().collect::<Vec<_>>());
        for name in &self.names {
            let literal = TagQuery::new(&[format!("name={name}").as_str()]);
            let Ok(query) = literal else { continue };
            let asked = Asked { text: "", conditions: &query.conditions() };
            for (_, found) in sight.find_tagged(asked, FindLimits::NONE, &never).unwrap() {
                prop_assert!(self.scope.covers(&found), "{}", found);
            }
        }
        Ok(())
    }

    /// Each name by itself: what is inside is there, and what is outside is not and cannot be changed.
    fn check_names(&self) -> Result<(), TestCaseError> {
        let never = Cancel::never();
        for name in &self.names {
            let covered = self.scope.covers(name);
            let mut found = 0;
            self.seen
                .find(name, None, &never, &mut |node: Node<'_>| found += usize::from(node.leaf))
                .unwrap();
            prop_assert_eq!(found == 1, covered, "{}", name);
            prop_assert_eq!(self.seen.policies(&[name])[0].is_some(), covered);
            prop_assert_eq!(self.seen.browse().describe(name, &never).unwrap().is_some(), covered);
            prop_assert_eq!(self.seen.care().unwrap().describe_metric(name).unwrap().is_some(), covered);
            let mut exported = 0;
            let mut count = |_| {
                exported += 1;
                ControlFlow::Continue(())
            };
            self.seen.moving().unwrap().export(&[name], (0, u32::MAX), &mut count).unwrap();
            prop_assert_eq!(exported == 1, covered);
            let verdict = self.seen.write(format!("{name} 2 {}\n", now()).as_bytes()).unwrap();
            prop_assert_eq!(verdict.stored == 1, covered);
            prop_assert_eq!(self.seen.tag_series(&[name]).is_ok(), covered);
            let copied = self.seen.care().unwrap().copy_metric(name, "a.b.c", (0, u32::MAX), true);
            prop_assert!(covered || !matches!(copied, Ok(Some(_))), "{} was copied", name);
        }
        prop_assert_eq!(self.engine.index.read().len(), self.names.len(), "nothing was made");
        Ok(())
    }
}

prop_compose! {
    fn any_name()(
        components in prop::collection::vec(select(vec!["a", "b", "c"]), 1..4),
        tags in select(vec!["", "", ";dc=x", ";dc=y", ";dc=x;host=1"]),
    ) -> String {
        format!("{}{tags}", components.join("."))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Through every door of the backend, and compared with a look at every name.
    #[test]
    fn nothing_outside_of_a_scope_comes_through_any_door(
        names in prop::collection::btree_set(any_name(), 1..25),
        scopes in subsequence(SCOPES.to_vec(), 1..4),
    ) {
        let house = House::new(&names, &scopes);
        for query in QUERIES {
            house.check_finds(query)?;
        }
        house.check_lists()?;
        house.check_tags()?;
        house.check_names()?;
    }
}

fn house(names: &[&str], scopes: &[&str]) -> House {
    House::new(&names.iter().map(|&name| name.to_owned()).collect(), scopes)
}

#[test]
fn events_are_inside_by_a_tag_that_names_something_inside() {
    let house = house(&["a.b"], &["servers.web", "*;dc=ams"]);
    let event = |tags: &[&str]| Event {
        when: now(),
        what: "deploy".to_owned(),
        tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
        data: String::new(),
    };
    for (tags, inside) in [
        (&["servers.web"][..], true),
        (&["deploy", "servers.web.web1"], true),
        (&["deploy", "dc=ams"], true),
        (&["deploy"], false),
        (&["servers"], false),
        (&["dc=fra"], false),
        (&[], false),
    ] {
        let before = house.seen.add_event(&event(tags));
        assert_eq!(before.is_ok(), inside, "{tags:?}");
        let id = house.engine.add_event(&event(tags)).unwrap();
        assert_eq!(house.seen.event(id).unwrap().is_some(), inside, "{tags:?}");
    }
    let all = EventFilter::between(0, i64::from(now()) + 1, TagFilter::Whatever);
    assert_eq!(house.seen.events(&all, &Cancel::never()).unwrap().len(), 6);
    assert_eq!(house.seen.source().event_times(&all, &Cancel::never()).unwrap().len(), 6);
}

#[test]
fn what_is_about_the_whole_server_is_refused() {
    let house = house(&["a.b"], &["a"]);
    let care = house.seen.care().unwrap();
    assert!(matches!(care.stats(), Err(QueryError::Forbidden(_))));
    assert!(matches!(care.reload(), Err(QueryError::Forbidden(_))));
    assert!(matches!(care.clean(None, false), Err(QueryError::Forbidden(_))));
    assert!(matches!(care.check_files(), Err(QueryError::Forbidden(_))));
    assert!(matches!(care.plan_retention(), Err(QueryError::Forbidden(_))));
    assert!(matches!(care.rename("a.b", "b", false), Err(QueryError::Forbidden(_))));
    assert!(matches!(care.rename("c", "a.c", true), Err(QueryError::Forbidden(_))));
    let renamed = care.rename("a.b", "a.c", false).unwrap();
    assert_eq!(renamed.metrics, [("a.b".to_owned(), "a.c".to_owned())]);
    assert!(house.seen.backups().unwrap().back_up(Path::new("/nowhere")).is_err());
}

#[test]
fn what_a_tenant_names_is_its_own() {
    let names = ["a.b", "tenants.t-1.a.b", "tenants.t-2.a.b", "m;x=1;tenant=t-1", "m;x=1;tenant=t-2"];
    let engine = house(&names, &["a"]);
    let scope = Scope::default().of_tenant(Tenants::default().tenant("t-1").unwrap());
    let sender = Sender { scope: Arc::new(scope), ..Sender::default() };
    let seen = Confined::new(Arc::clone(&engine.engine), sender);
    // Cache queries.
    assert_eq!((seen.recent("a.b").len(), seen.recent("m;x=1").len()), (1, 1));
    for stored in names.iter().filter(|name| name.contains("t-")) {
        let is_found = !seen.recent(stored).is_empty();
        assert_eq!(is_found, stored.ends_with("t-1"), "{stored}");
    }
    assert!(seen.aggregation("a.b").is_some() && seen.aggregation("tenants.t-1.a.b").is_none());
    // What is known of a metric.
    assert_eq!(seen.describe_metric("a.b").unwrap().unwrap().name, "a.b");
    assert_eq!(seen.browse().describe("a.b", &Cancel::never()).unwrap().unwrap().name, "a.b");
    assert!(seen.describe_metric("tenants.t-1.a.b").unwrap().is_none());
    // Moving in and out.
    let mut bundles = Vec::new();
    let all = (0, u32::MAX);
    seen.export(&["a.b", "m;x=1", "tenants.t-2.a.b"], all, &mut |bundle| {
        bundles.push(bundle);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(bundles.iter().map(|bundle| &*bundle.name).collect::<Vec<_>>(), ["a.b", "m;x=1"]);
    bundles.iter_mut().for_each(|bundle| bundle.name.insert_str(0, "new."));
    let imported = seen.import(bundles, ImportOptions { keep_policy: true, window: all }).unwrap();
    assert_eq!((imported.created, imported.refused), (2, Vec::new()));
    assert!(seen.copy_metric("a.b", "d", all, false).unwrap().is_some());
    // Renaming, and what is said when that cannot be.
    let renamed = seen.rename("a", "c", false).unwrap();
    assert_eq!(renamed.metrics, [("a.b".to_owned(), "c.b".to_owned())]);
    let refused = seen.rename("c", "c.d", false).unwrap_err().to_string();
    assert!(refused.contains("`c`") && !refused.contains("tenants"), "{refused}");
    let index = engine.engine.index.read();
    for name in ["tenants.t-1.c.b", "tenants.t-1.d", "tenants.t-1.new.a.b", "new.m;tenant=t-1;x=1", "a.b"] {
        assert!(index.lookup(name.as_bytes()).is_some(), "{name}");
    }
}
