//! Log segments: no bytes make a replay panic, and no damage to a good segment gives records that are not in it.
//!
//! The input is taken three times: as a segment behind a good header, as the content of a record whose checksum is right, and as a list of
//! changes, three bytes each (where, where, what), to a good segment.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use plumbago::disk::{self, Folder, Overlay, real};
use plumbago::log::{
    Log, Record, encode_deleted, encode_metrics, encode_owned, encode_points, encode_policies, encode_renamed, replay,
};
use plumbago_model::{MetricId, Point, PolicyId};

const HEADER: usize = 12;

fn folder() -> Folder {
    Folder::on(Overlay::over(real()), &std::env::temp_dir().join("plumbago-fuzz-log"))
}

static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let dir = folder();
    let mut log = Log::open(&dir, 0).expect("memory").of_store(9);
    let mut frames = Vec::new();
    encode_policies(&[(PolicyId(0), "60*1s|sum|0".parse().expect("a policy"))], &mut frames);
    encode_metrics([(MetricId(0), PolicyId(0), "a.b"), (MetricId(1), PolicyId(0), "c.d")], &mut frames);
    encode_owned(&[(MetricId(1), "quota".to_owned())], &mut frames);
    let point = |nth: u32| (MetricId(nth % 2), Point { timestamp: 1_700_000_000 + nth, value: f64::from(nth) });
    for nth in 0..5 {
        encode_points(&(nth * 7..nth * 7 + 7).map(point).collect::<Vec<_>>(), 1_700_000_100, &mut frames);
    }
    encode_renamed(&[(MetricId(1), "e.f".to_owned())], &mut frames);
    encode_deleted(&[MetricId(0)], &mut frames);
    log.append(&frames).expect("memory");
    disk::read(&**dir.disk(), &dir.path().join("00000001.log")).expect("it was written")
});

fn records(bytes: &[u8]) -> Vec<Record> {
    let dir = folder();
    dir.disk().create_dirs(dir.path()).expect("memory");
    disk::write(&**dir.disk(), &dir.path().join("00000001.log"), bytes).expect("memory");
    let mut found = Vec::new();
    let _ = replay(&dir, 0, |record| found.push(record));
    found
}

fuzz_target!(|input: &[u8]| {
    let good = &*GOOD;
    let header = good.get(..HEADER).expect("a header");
    records(&[header, input].concat());

    let sum = crc32c::crc32c(input).to_le_bytes();
    let length = u32::try_from(input.len()).expect("a short input").to_le_bytes();
    assert!(records(&[header, &length, &sum, input].concat()).len() <= 1);

    let mut bytes = good.clone();
    for change in input.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
        bytes[at] = change[2];
    }
    let all = records(good);
    let mut rest = all.iter();
    for record in records(&bytes) {
        assert!(rest.any(|one| *one == record), "{record:?}");
    }
});
