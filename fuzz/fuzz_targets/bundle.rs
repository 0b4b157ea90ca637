//! Bundles: any bytes are read as metrics or refused, and what is read comes back the same. A checksum keeps most junk out, so the input is
//! also taken as the inside of a bundle.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago::bundle::{Bundles, encode};

fn check(bytes: &[u8]) {
    for bundle in Bundles::new(bytes) {
        let Ok(bundle) = bundle else { break };
        let mut again = Vec::new();
        encode(&bundle, &mut again);
        let back = Bundles::new(&*again).next().expect("a bundle").expect("what was written can be read");
        // A value that is no number is not equal to itself.
        assert_eq!(format!("{back:?}"), format!("{bundle:?}"));
    }
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    let length = u32::try_from(bytes.len()).expect("a short input").to_le_bytes();
    let sum = crc32c::crc32c(bytes).to_le_bytes();
    check(&[b"PLBUNDL1".as_slice(), &length, &sum, bytes].concat());
});
