//! Any bytes as a pickle: read or refused, in memory that the frame bounds, and what is taken keeps the rules.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago_model::Batch;
use plumbago::parse::Limits;
use plumbago::parse::pickle::Pickle;

const LIMITS: Limits = Limits {
    now: 1_700_000_000,
    max_future_secs: 86_400,
    keep_infinite: false,
    max_line_bytes: 256,
    max_name_bytes: 128,
};

fuzz_target!(|bytes: &[u8]| {
    let Ok(pickle) = Pickle::read(bytes) else { return };
    let mut batch = Batch::default();
    let mut refused = 0;
    let elements = pickle.points(&LIMITS, &mut batch, |_, _| refused += 1);
    assert_eq!(elements, batch.len() as u64 + refused);
    assert!(elements <= bytes.len() as u64);
    for (name, point) in &batch.entries {
        assert!(name.len() <= LIMITS.max_name_bytes);
        assert!(point.value.is_finite() && point.timestamp <= LIMITS.now + LIMITS.max_future_secs);
    }
});
