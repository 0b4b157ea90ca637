//! Any text is read as a tag expression or refused, and the index finds by it what a look at every name finds.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use plumbago::index::{Asked, FindLimits, Index, SharedIndex};
use plumbago_model::{Cancel, MetricId};
use graphite_render::source::TagQuery;

const NAMES: [&str; 8] = [
    "cpu;dc=east;host=a1",
    "cpu;dc=east;host=a2",
    "cpu;dc=west",
    "mem;dc=ea;env=prod",
    "a.b.c;rack=a1",
    "~x;k=v",
    "broken;tag",
    "plain.name",
];

static INDEX: LazyLock<SharedIndex> = LazyLock::new(|| {
    let mut index = Index::new();
    for (id, name) in (0..).zip(NAMES) {
        index.insert(MetricId(id), name).expect("a new name");
    }
    SharedIndex::new(index)
});

fuzz_target!(|text: &str| {
    let expressions: Vec<&str> = text.split('\n').collect();
    let Ok(query) = TagQuery::new(&expressions) else { return };
    let asked = Asked { text, conditions: &query.conditions() };
    let found = INDEX.find_tagged(asked, FindLimits::names(100), &Cancel::never()).expect("few names");
    let found: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
    let mut expected: Vec<&str> = NAMES.into_iter().filter(|name| query.matches(name)).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
});
