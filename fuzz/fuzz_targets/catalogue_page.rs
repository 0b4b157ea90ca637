//! Pages of names in the catalogue: any bytes are names in ascending order of their ids, or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago::store::embedded::names::decode;

fuzz_target!(|bytes: &[u8]| {
    let mut last = None;
    let mut found = 0;
    let _ = decode(7, bytes, |id, _, _| {
        assert!(id >= 7 && last < Some(id));
        last = Some(id);
        found += 1;
    });
    assert!(found * 4 <= bytes.len(), "a metric takes four bytes at least");
});
