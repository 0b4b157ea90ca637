//! The index against a plain set of names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use proptest::prelude::*;

use super::search::Search;
use super::*;
use graphite_render::source::TagQuery;
use plumbago_model::{Cancel, QueryError};

const NO_LIMIT: FindLimits = FindLimits::NONE;

fn index(names: &[&str]) -> SharedIndex {
    let mut index = Index::new();
    for (id, name) in (0..).zip(names) {
        index.insert(MetricId(id), name).unwrap();
    }
    SharedIndex::new(index)
}

/// A name, its metric, and whether it is a directory.
type Hit = (String, Option<MetricId>, bool);

fn hits(found: &Findings) -> Vec<Hit> {
    found.iter().map(|found| (found.path.to_owned(), found.leaf, found.directory)).collect()
}

fn glob(pattern: &str) -> Glob {
    Glob::parse(pattern).unwrap()
}

fn find(index: &SharedIndex, pattern: &str) -> Vec<Hit> {
    hits(&index.find(&glob(pattern), NO_LIMIT, &Cancel::never()).unwrap())
}

/// Paths as `path`, `path.` for a directory, `path+` for both.
fn paths(index: &SharedIndex, pattern: &str) -> Vec<String> {
    let mark = |leaf: Option<MetricId>, directory| match (leaf, directory) {
        (Some(_), false) => "",
        (None, true) => ".",
        (Some(_), true) => "+",
        (None, false) => "?",
    };
    find(index, pattern).iter().map(|(path, leaf, dir)| format!("{path}{}", mark(*leaf, *dir))).collect()
}

fn names(index: &SharedIndex, chunk: usize) -> Vec<String> {
    walked(NameWalk::new(), index, chunk)
}

fn walked(mut walk: NameWalk, index: &SharedIndex, chunk: usize) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        let next = walk.next_chunk(&index.read(), chunk);
        assert!(next.len() <= chunk);
        if next.is_empty() {
            return names;
        }
        names.extend(next);
    }
}

#[test]
fn finds_metrics_and_directories() {
    let index = index(&["a.b.c", "a.b.d", "a.b", "a.x", "top", "z.b.c"]);
    assert_eq!(paths(&index, "*"), ["a.", "top", "z."]);
    assert_eq!(paths(&index, "a.*"), ["a.b+", "a.x"]);
    assert_eq!(paths(&index, "*.b"), ["a.b+", "z.b."]);
    assert_eq!(paths(&index, "{a,z}.b.[cd]"), ["a.b.c", "a.b.d", "z.b.c"]);
    assert_eq!(paths(&index, "a.b"), ["a.b+"]);
    assert_eq!(paths(&index, "a.b.c.d"), [""; 0]);
    assert_eq!(paths(&index, "nothing"), [""; 0]);
    assert_eq!(paths(&index, "a.**"), ["a.b+", "a.b.c", "a.b.d", "a.x"]);
    assert_eq!(paths(&index, "**.c"), ["a.b.c", "z.b.c"]);
    assert_eq!(paths(&index, "{top,a.b,a.*,**.b}"), ["a.b+", "a.x", "top", "z.b."]);
}

#[test]
fn leaves_only() {
    let index = index(&["a.b.c", "a.b", "x;k=v"]);
    let leaves = |pattern| index.find_leaves(&glob(pattern), NO_LIMIT, &Cancel::never()).unwrap();
    assert_eq!(leaves("**"), [(MetricId(1), "a.b".to_owned()), (MetricId(0), "a.b.c".to_owned())]);
    assert_eq!(leaves("a.b"), [(MetricId(1), "a.b".to_owned())]);
    assert_eq!(leaves("a"), []);
    assert_eq!(leaves("x;k=v"), [(MetricId(2), "x;k=v".to_owned())]);
}

#[test]
fn tagged_names_are_found_by_their_text_alone() {
    let index = index(&["disk;dc=a.b;path=/*{x}", "disk.used", r"m;k=a*"]);
    assert_eq!(paths(&index, "disk;dc=a.b;path=/*{x}"), ["disk;dc=a.b;path=/*{x}"]);
    assert_eq!(paths(&index, r"m;k=a\*"), ["m;k=a*"]);
    assert_eq!(paths(&index, "m;k=a"), [""; 0]);
    assert_eq!(paths(&index, "*"), ["disk."]);
    assert_eq!(paths(&index, "**"), ["disk.", "disk.used"]);
    assert_eq!(paths(&index, "{m;k=v,disk}"), ["disk."]);
    assert_eq!(names(&index, 10), ["disk.used"]);
    assert_eq!(index.read().lookup(b"m;k=a*"), Some(MetricId(2)));
}

#[test]
fn tagged_names_are_found_by_what_is_in_them() {
    let many: Vec<String> = (0..3000).map(|i| format!("cpu;host=h{:04}", 2999 - i)).collect();
    let mut all: Vec<&str> = many.iter().map(String::as_str).collect();
    all.extend(["disk.used", "disk;host=h0001"]);
    let index = index(&all);
    let query = TagQuery::new(&["host=~.*1$"]).unwrap();
    let found = |max_hits: usize, cancel: &Cancel| {
        let asked = Asked { text: "the query", conditions: &query.conditions() };
        index.find_tagged(asked, FindLimits::names(max_hits), cancel)
    };
    let never = Cancel::never();
    let names: Vec<String> = found(1000, &never).unwrap().into_iter().map(|(_, name)| name).collect();
    assert_eq!((names.len(), names[0].as_str()), (301, "cpu;host=h0001"));
    assert!(names.is_sorted() && names.last().is_some_and(|name| name == "disk;host=h0001"));
    assert!(matches!(found(300, &never), Err(QueryError::Limit(text)) if text.contains("300 names")));
    let gone = Cancel::never();
    gone.cancel();
    assert!(matches!(found(1000, &gone), Err(QueryError::Abandoned)));
    let id = index.read().lookup(b"disk;host=h0001").unwrap();
    assert!(index.write().remove(id));
    assert_eq!(found(1000, &never).unwrap().len(), 300);
}

#[test]
fn paths_sort_by_their_bytes() {
    let index =
        index(&["a.b", "a-b", "a", "a-b.c", "a/b", "a.b-c.d", "a.b.d", "longer.than-8.b", "longer.than-8"]);
    let sorted = ["a", "a-b", "a-b.c", "a.b", "a.b-c.d", "a.b.d", "a/b", "longer.than-8", "longer.than-8.b"];
    for chunk in [1, 2, 100] {
        assert_eq!(names(&index, chunk), sorted);
    }
    let found = paths(&index, "**");
    assert!(find(&index, "**").is_sorted_by(|a, b| a.0 < b.0), "{found:?}");
}

#[test]
fn inserting_twice_is_refused_and_changes_nothing() {
    let shared = index(&["a.b"]);
    let mut index = shared.write();
    let taken = InsertError::NameTaken { name: "a.b".to_owned(), id: MetricId(0) };
    assert_eq!(index.insert(MetricId(1), "a.b"), Err(taken));
    assert_eq!(index.insert(MetricId(0), "a.c"), Err(InsertError::IdTaken(MetricId(0))));
    assert_eq!(index.insert(MetricId(u32::MAX), "a.c"), Err(InsertError::Full));
    let long = "x".repeat(70_000);
    assert_eq!(index.insert(MetricId(1), &long), Err(InsertError::TooLong { bytes: 70_000 }));
    assert_eq!(index.len(), 1);
    drop(index);
    assert_eq!(paths(&shared, "**"), ["a.", "a.b"]);
}

#[test]
fn a_removed_metric_is_gone_everywhere() {
    let shared = index(&["a.b", "a.c", "t;k=v"]);
    let mut index = shared.write();
    assert!(index.remove(MetricId(0)) && index.remove(MetricId(2)));
    assert!(!index.remove(MetricId(0)) && !index.remove(MetricId(77)));
    assert_eq!((index.lookup(b"a.b"), index.lookup(b"t;k=v"), index.name(MetricId(0))), (None, None, None));
    assert_eq!(index.len(), 1);
    drop(index);
    assert_eq!(paths(&shared, "**"), ["a.", "a.c"]);
    let mut index = shared.write();
    index.insert(MetricId(9), "a.b").unwrap();
    assert_eq!((index.lookup(b"a.b"), index.name(MetricId(9))), (Some(MetricId(9)), Some("a.b")));
}

#[test]
fn a_renamed_metric_is_found_under_its_new_name_alone() {
    let index = index(&["a.b.c", "a.d", "disk;host=x"]);
    index.write().rename(MetricId(0), "z.c").unwrap();
    index.write().rename(MetricId(2), "disk;host=y").unwrap();
    assert_eq!(paths(&index, "*"), ["a.", "z."]);
    assert_eq!(paths(&index, "a.*"), ["a.d"], "the empty directory is gone");
    assert_eq!(paths(&index, "z.*"), ["z.c"]);
    assert_eq!(index.read().lookup(b"disk;host=y"), Some(MetricId(2)));
    assert_eq!(index.read().lookup(b"disk;host=x"), None);
    assert_eq!((index.read().name(MetricId(0)), index.read().len()), (Some("z.c"), 3));
    // The old name may belong to somebody else now, and a name that is taken stays taken.
    index.write().insert(MetricId(7), "a.b.c").unwrap();
    let taken = index.write().rename(MetricId(1), "z.c").unwrap_err();
    assert_eq!(taken, InsertError::NameTaken { name: "z.c".to_owned(), id: MetricId(0) });
    assert_eq!(index.read().lookup(b"a.d"), Some(MetricId(1)));
}

#[test]
fn too_many_hits_name_the_limit_and_the_key() {
    let index = index(&["a.b", "a.c", "a.d"]);
    let limited =
        |pattern: &str, max_hits| index.find(&glob(pattern), FindLimits::names(max_hits), &Cancel::never());
    assert_eq!(limited("a.*", 3).unwrap().len(), 3);
    let text = limited("a.*", 2).unwrap_err().to_string();
    assert_eq!(text, "`a.*` matches more than 2 names; narrow it, or raise query.max_find_hits");
    assert_eq!(limited("{a.*,a.b}", 3).unwrap().len(), 3, "a name counts once");
    assert!(matches!(limited("{a.b,a.c,a.d}", 2), Err(QueryError::Limit(text)) if text.contains("2 names")));
}

#[test]
fn a_find_stops_when_nobody_waits() {
    let index = index(&["a.b"]);
    let gone = Cancel::never();
    gone.cancel();
    assert!(matches!(index.find(&glob("*"), NO_LIMIT, &gone), Err(QueryError::Abandoned)));
    let late = Cancel::at(Instant::now());
    assert!(matches!(index.find(&glob("*"), NO_LIMIT, &late), Err(QueryError::Deadline)));
}

#[test]
fn a_find_that_began_stops_at_its_next_look() {
    let names: Vec<String> = (0..5000).map(|i| format!("a.n{i}")).collect();
    let index = index(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let cancel = Cancel::never();
    let accept = |_| {
        cancel.cancel();
        true
    };
    let stopped = index.all().search(&glob("a.*"), Collect::All, NO_LIMIT, &accept, &cancel);
    assert!(matches!(stopped, Err(QueryError::Abandoned)));
}

#[test]
fn a_walk_survives_changes_between_chunks() {
    let shared = index(&["a.a", "a.b", "a.c", "b.a", "b.b"]);
    let mut index = shared.write();
    let mut walk = NameWalk::new();
    assert_eq!(walk.next_chunk(&index, 2), ["a.a", "a.b"]);
    index.remove(MetricId(4));
    for id in 10..2000 {
        index.insert(MetricId(id), &format!("a.b.n{id}")).unwrap();
    }
    let mut rest = Vec::new();
    while let Some(name) = walk.next_chunk(&index, 1).pop() {
        rest.push(name);
    }
    assert!(rest.is_sorted() && rest.contains(&"a.c".to_owned()) && rest.contains(&"b.a".to_owned()));
    assert!(!rest.contains(&"b.b".to_owned()));
}

#[test]
fn a_writer_gets_in_during_a_find() {
    let shared = SharedIndex::default();
    for id in 0..20_000 {
        shared.write().insert(MetricId(id), &format!("a.n{}.m{id}", id % 100)).unwrap();
    }
    let (begun, written) = (AtomicBool::new(false), AtomicBool::new(false));
    let seen = AtomicBool::new(false);
    let accept = |_: MetricId| {
        if !begun.swap(true, Ordering::AcqRel) {
            // Nobody new can read once the writer stands at the lock. From here on only a pause lets it in.
            while shared.index.try_read().is_some() {
                std::thread::yield_now();
            }
        }
        seen.fetch_or(written.load(Ordering::Acquire), Ordering::AcqRel);
        true
    };
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !begun.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            shared.write().insert(MetricId(20_000), "z.new").unwrap();
            written.store(true, Ordering::Release);
        });
        shared.all().search(&glob("**"), Collect::All, NO_LIMIT, &accept, &Cancel::never()).unwrap()
    });
    assert!(seen.into_inner(), "the write had to wait for the whole find");
    assert!(found.len() >= 20_101 && hits(&found).is_sorted_by(|a, b| a.0 < b.0));
}

#[test]
fn the_index_is_shared_and_a_walk_moves_between_threads() {
    fn shared<T: Send + Sync>() {}
    fn moves<T: Send>() {}
    shared::<SharedIndex>();
    moves::<NameWalk>();
}

/// Every metric and directory by path, as the definition has it.
fn model_find(names: &BTreeMap<String, u32>, pattern: &Glob) -> Vec<Hit> {
    let mut paths: BTreeSet<&str> = names.keys().map(String::as_str).collect();
    for name in names.keys() {
        paths.extend(name.match_indices('.').map(|(at, _)| &name[..at]));
    }
    let below =
        |path: &str| names.keys().any(|name| name.strip_prefix(path).is_some_and(|r| r.starts_with('.')));
    let found = |path: &str| (path.to_owned(), names.get(path).copied().map(MetricId), below(path));
    paths.into_iter().filter(|path| pattern.matches(path)).map(found).collect()
}

#[derive(Clone, Debug)]
enum Op {
    Insert(String),
    Remove(prop::sample::Index),
    Find(String),
}

fn op() -> impl Strategy<Value = Op> {
    let name = "[ab-]{1,2}(\\.([ab-]{1,2}|longname[ab])){0,3}";
    let pattern = "([ab*?]{1,2}|\\*\\*|\\{[ab]\\*?,[ab-]{1,2}\\}|\\[ab\\]|longname[ab*]|\\{a\\.b,\\*\\*\\})";
    let pattern =
        prop::collection::vec(pattern.prop_map(|p: String| p), 1..4).prop_map(|parts| parts.join("."));
    prop_oneof![
        4 => name.prop_map(Op::Insert),
        2 => any::<prop::sample::Index>().prop_map(Op::Remove),
        3 => pattern.prop_map(Op::Find),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn find_agrees_with_a_set_of_names(
        ops in prop::collection::vec(op(), 1..120),
        budget in 1_usize..40,
        begin in "[ab-]{0,2}(\\.[abl-]{0,2}){0,2}",
    ) {
        let shared = SharedIndex::default();
        let mut model: BTreeMap<String, u32> = BTreeMap::new();
        for (id, op) in (0..).zip(ops) {
            match op {
                Op::Insert(name) => {
                    let fresh = !model.contains_key(&name);
                    prop_assert_eq!(shared.write().insert(MetricId(id), &name).is_ok(), fresh);
                    model.entry(name).or_insert(id);
                }
                Op::Remove(which) if !model.is_empty() => {
                    let name = which.get(&model.keys().cloned().collect::<Vec<_>>()).clone();
                    let id = model.remove(&name).unwrap();
                    prop_assert!(shared.write().remove(MetricId(id)));
                }
                Op::Remove(_) => prop_assert!(!shared.write().remove(MetricId(id))),
                Op::Find(pattern) => {
                    let glob = glob(&pattern);
                    let expected = model_find(&model, &glob);
                    prop_assert_eq!(&find(&shared, &pattern), &expected, "{}", pattern);
                    let mut search = Search::new(&glob, Collect::All, NO_LIMIT, &Arc::default());
                    while !search.step(&shared.read(), &|_| true, &Cancel::never(), budget).unwrap() {}
                    prop_assert_eq!(hits(&search.take_hits()), expected, "{} in small steps", pattern);
                }
            }
            prop_assert_eq!(shared.read().len(), model.len());
        }
        let all: Vec<String> = model.keys().cloned().collect();
        prop_assert_eq!(names(&shared, budget), all);
        let some: Vec<String> = model.keys().filter(|name| name.starts_with(&begin)).cloned().collect();
        prop_assert_eq!(walked(NameWalk::beginning(&Arc::default(), &begin), &shared, budget), some, "{}", begin);
        for (name, id) in &model {
            prop_assert_eq!(shared.read().lookup(name.as_bytes()), Some(MetricId(*id)));
        }
    }
}
