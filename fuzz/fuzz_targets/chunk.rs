//! Chunks: junk never panics or allocates without bound, and what can be read can be written again and comes back equal.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago::store::embedded::codec::{Chunk, Encoder, MAX_SLOTS, Partials, Samples};

fuzz_target!(|bytes: &[u8]| {
    let Ok(chunk) = Chunk::parse(bytes) else { return };
    assert!(chunk.len() <= MAX_SLOTS);
    let mut window = [f64::NAN; 100];
    let partly = chunk.decode_window(chunk.last_slot().saturating_sub(50), &mut window, None);
    let mut samples = Samples::default();
    if chunk.decode(&mut samples).is_err() {
        return;
    }
    partly.expect("a part of what can be read can be read");

    let partials = chunk.method().map(|method| Partials { method, counts: &samples.counts });
    let mut again = Vec::new();
    Encoder::new()
        .encode(&samples.slots, &samples.values, partials, &mut again)
        .expect("samples can be written");
    let chunk = Chunk::parse(&again).expect("what was written can be read");
    let mut back = Samples::default();
    chunk.decode(&mut back).expect("what was written can be read");
    assert!(back.slots == samples.slots && back.counts == samples.counts);
    assert!(back.values.iter().map(|v| v.to_bits()).eq(samples.values.iter().map(|v| v.to_bits())));
});
