//! Any bytes of an HTTP connection: what the HTTP library sees is the same whatever pieces they arrive in, and differs from what was sent
//! only by percent signs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago::http::outside::mended;

fuzz_target!(|bytes: &[u8]| {
    let whole = mended(bytes, usize::MAX);
    for piece in [1, 3, 64] {
        assert_eq!(mended(bytes, piece), whole);
    }
    assert!(whole.len() >= bytes.len() && whole.len() <= bytes.len() * 3);
    if whole.len() == bytes.len() {
        assert_eq!(whole, bytes);
    }
});
