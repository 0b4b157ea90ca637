//! Any bytes as a message in carbonapi's protocol: as each of the requests that it can be, they are read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago::http::outside;

fuzz_target!(|message: &[u8]| {
    for names in outside::carbonapi(message) {
        match names {
            Ok(names) => assert!(names.iter().map(String::len).sum::<usize>() <= message.len()),
            Err(error) => assert!(!error.is_empty()),
        }
    }
});
