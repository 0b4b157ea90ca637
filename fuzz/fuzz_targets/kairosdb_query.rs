//! Any bytes are read as a query of KairosDB or refused; what is read runs within its limits and makes JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago::kairosdb::{Queried, Query, Read, Sample, Tags, Work, group, write_answer};
use plumbago_model::Cancel;

/// The morning of 19 November 2026.
const NOW: i64 = 1_795_060_000_000;

/// Most points that an aggregator may make.
const MOST: usize = 5_000;

fn series() -> Vec<Read> {
    let read = |host: &str, factor: f64| Read {
        tags: Tags::from([("host".to_owned(), host.to_owned())]),
        samples: (0..50).map(|nth| Sample::point(NOW - 3_000_000 + nth * 60_000, nth as f64 * factor)).collect(),
    };
    vec![read("a", 1.0), read("b", -0.5)]
}

fuzz_target!(|data: &[u8]| {
    let Ok(query) = Query::parse(data, NOW) else { return };
    let cancel = Cancel::never();
    let work = Work::new((query.start, query.end.unwrap_or(NOW)), &query.zone, &cancel, MOST);
    let mut all = Vec::new();
    for metric in query.metrics.iter().take(3) {
        // One that is refused is not wrong.
        let Ok(groups) = group(metric, series(), &work) else { continue };
        all.push(Queried { query: metric, sample_size: 100, groups });
    }
    let mut out = Vec::new();
    write_answer(&all, &mut out);
    // An answer is no query, but it is read as JSON.
    let wrong = Query::parse(&out, NOW).expect_err("it has no metrics");
    assert!(!wrong.to_string().contains("not valid JSON"), "{wrong}");
});
