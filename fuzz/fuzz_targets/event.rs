//! Any body of an event is read or refused, and what is read has a time and tags without blanks.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago::http::outside;

fuzz_target!(|body: &[u8]| {
    match outside::event(body) {
        Ok(event) => assert!(event.tags.iter().all(|tag| !tag.is_empty() && !tag.contains(' '))),
        Err(error) => assert!(!error.is_empty()),
    }
});
