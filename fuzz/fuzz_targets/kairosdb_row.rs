//! Rows of KairosDB: junk never panics, a key that is read is written as it was or means the same, and a column name is within its row.
//!
//! The first byte chooses the type of a value and the unit of times.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago::kairosdb::row::{DataType, Layout, RowKey};

fuzz_target!(|bytes: &[u8]| {
    // In KairosDB's order, a tag may come first that looks like a type. Such a key is not written.
    if let Ok(key) = RowKey::parse(bytes)
        && let Some(written) = key.bytes()
    {
        let mut again = RowKey::parse(&written).expect("what was written can be read");
        let mut once = key.clone();
        once.tags.sort();
        again.tags.sort();
        assert_eq!(again, once);
    }
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let names = [None, Some("kairos_long"), Some("kairos_double"), Some("kairos_histogram_v1"), Some("kairos_histogram_v2_proto"), Some("x")];
    let kind = DataType::named(names[usize::from(choice) % names.len()]);
    let _ = kind.value(rest, choice & 0x80 != 0);
    let units = ["LEGACY", "MILLISECONDS", "SECONDS"];
    let layout = Layout::new(Some(units[usize::from(choice) % units.len()]), None).expect("it is a unit");
    if let Some((column, _)) = rest.split_first_chunk::<4>()
        && let Some((time, _)) = layout.time(0, column)
    {
        let (first, last) = layout.slice(0, time, time + 1).unwrap_or(([0; 4], [0xff; 4]));
        assert!(first <= *column && *column <= last);
    }
});
