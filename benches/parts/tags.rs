//! The index of tags: the memory of a million tagged series, and how long it takes to find them.

use std::time::{Duration, Instant};

use graphite_render::source::TagQuery;
use plumbago::index::{Asked, FindLimits, Index, SharedIndex};
use plumbago_model::{Cancel, MetricId};

const SERIES: usize = 1_000_000;
const RUNS: usize = 21;

/// Twenty metrics of fifty thousand hosts in four data centres.
fn names() -> Vec<String> {
    let dcs = ["amsterdam", "dublin", "paris", "tokyo"];
    let name = |i: usize| {
        let (metric, host) = (i % 20, i / 20);
        format!("metric{metric:02};dc={};env={};host=host-{host:05}", dcs[host % 4], host % 2)
    };
    (0..SERIES).map(name).collect()
}

fn build(names: &[String]) -> Index {
    let mut index = Index::new();
    for (id, name) in (0..).zip(names) {
        index.insert(MetricId(id), name).unwrap();
    }
    index
}

/// The median of several runs.
fn median(mut work: impl FnMut() -> usize) -> (Duration, usize) {
    let mut hits = 0;
    let mut took: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let began = Instant::now();
            hits = work();
            began.elapsed()
        })
        .collect();
    took.sort_unstable();
    (took[RUNS / 2], hits)
}

pub(crate) fn run() {
    let names = names();
    let began = Instant::now();
    let index = build(&names);
    let bytes = index.memory_bytes();
    println!("{SERIES} tagged series built in {:.2?}, {} bytes each", began.elapsed(), bytes / SERIES);
    let shared = SharedIndex::new(index);
    for expressions in [
        &["name=metric07", "host=host-12345"][..],
        &["name=metric07", "dc=paris"],
        &["name=metric07", "host=~host-123"],
        &["name=metric07", "host=~.*45$"],
        &["host=~host-123.*", "name=~metric0[1-3]"],
        &["name=metric07", "dc!=paris"],
        &["name=metric07", "host!=~host-0.*"],
        &["dc=paris", "env=1"],
    ] {
        let query = TagQuery::new(expressions).unwrap();
        let text = expressions.join(" ");
        let asked = Asked { text: &text, conditions: &query.conditions() };
        let limits = FindLimits::names(SERIES);
        let (took, hits) = median(|| shared.find_tagged(asked, limits, &Cancel::never()).unwrap().len());
        println!("{text:<44} {:>8.2} ms, {hits} series", took.as_secs_f64() * 1e3);
    }
    let query = TagQuery::new(&["name=metric07"]).unwrap();
    let asked = Asked { text: "", conditions: &query.conditions() };
    let (took, hits) = median(|| shared.all().complete_tags(asked, "", 100, &Cancel::never()).unwrap().len());
    println!("complete tags of name=metric07 {:>8.2} ms, {hits} tags", took.as_secs_f64() * 1e3);
    let complete =
        |prefix| shared.all().complete_values(asked, "host", prefix, 100, &Cancel::never()).unwrap().len();
    for prefix in ["", "host-4"] {
        let (took, hits) = median(|| complete(prefix));
        println!("complete values of host `{prefix}` {:>8.2} ms, {hits} values", took.as_secs_f64() * 1e3);
    }
}
