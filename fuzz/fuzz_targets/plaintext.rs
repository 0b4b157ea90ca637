//! Any bytes as plaintext lines: each line is taken or refused, and what is taken keeps the rules.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago_model::Batch;
use plumbago::parse::{Limits, plaintext};

const LIMITS: Limits = Limits {
    now: 1_700_000_000,
    max_future_secs: 86_400,
    keep_infinite: false,
    max_line_bytes: 256,
    max_name_bytes: 128,
};

fuzz_target!(|bytes: &[u8]| {
    let mut batch = Batch::default();
    let mut refused = 0;
    let lines = plaintext::parse_lines(bytes, &LIMITS, &mut batch, |_, line| {
        assert!(!line.contains(&b'\n'));
        refused += 1;
    });
    assert_eq!(lines, batch.len() as u64 + refused);
    for (name, point) in &batch.entries {
        assert!(!name.is_empty() && !name.contains(|c: char| c.is_ascii_whitespace()));
        assert!(point.value.is_finite() && point.timestamp <= LIMITS.now + LIMITS.max_future_secs);
        // What was read means the same when it is written plainly.
        let line = format!("{name} {:?} {}", point.value, point.timestamp);
        if line.len() <= LIMITS.max_line_bytes {
            assert_eq!(plaintext::parse_line(line.as_bytes(), &LIMITS), Ok((*name, *point)));
        }
    }
});
