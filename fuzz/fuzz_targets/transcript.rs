//! Transcripts of the catalogue: no bytes make it panic, and no damage to a good one gives other rows than those that are in it.
//!
//! The input is taken twice: as frames behind a good header, and as a list of changes, three bytes each (where, where, what), to a good file.
#![no_main]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use plumbago::disk::{self, Folder, Overlay, real};
use plumbago::store::embedded::{Embedded, transcript};
use plumbago_model::{Event, MetricId, MetricRecord, PolicyId, Span};

/// The transcript of a small store, which is only in memory.
static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let dir = Folder::on(Overlay::over(real()), &std::env::temp_dir().join("plumbago-fuzz-transcript"));
    let store = Embedded::open_in(&dir).expect("a store in memory");
    let metric = |id: u32| MetricRecord {
        id: MetricId(id),
        name: format!("a.b{id}"),
        policies: vec![PolicyId(0)],
        span: Span::EMPTY,
    };
    store.metrics.add_policies(&[(PolicyId(0), "60*1s|sum|0".parse().expect("a policy"))]).expect("memory");
    store.metrics.create(&(0..9).map(metric).collect::<Vec<_>>()).expect("memory");
    store.metrics.delete(&[MetricId(3)]).expect("memory");
    store.metrics.rename(&[(MetricId(4), "c.d".to_owned())]).expect("memory");
    let event = Event { when: 1, what: "deploy".to_owned(), tags: Vec::new(), data: String::new() };
    store.events.add(&event).expect("memory");
    disk::read(&**dir.disk(), &dir.path().join("catalogue.transcript")).expect("it was written")
});

type Rows = BTreeSet<(u8, Vec<u8>, Option<Vec<u8>>)>;

fn rows(bytes: &[u8]) -> Option<Rows> {
    let read = transcript::parse(bytes).ok()?;
    let row = |row: transcript::Row<'_>| (row.table, row.key.to_vec(), row.value.map(<[u8]>::to_vec));
    Some(read.rows().filter_map(Result::ok).map(row).collect())
}

fuzz_target!(|input: &[u8]| {
    let good = &*GOOD;
    let header = good.get(..40).expect("a header");
    let _ = rows(&[header, input].concat());

    let mut bytes = good.clone();
    for change in input.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
        bytes[at] = change[2];
    }
    if let Some(found) = rows(&bytes) {
        assert!(found.is_subset(&rows(good).expect("it is good")));
    }
});
