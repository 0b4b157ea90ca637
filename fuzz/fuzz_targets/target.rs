//! Any text is read as a target or refused, and what is read can be evaluated without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use graphite_render::grammar;

#[path = "../everything.rs"]
mod everything;

fuzz_target!(|text: &str| {
    let _ = grammar::first_path(text);
    if grammar::parse(text).is_ok() {
        everything::evaluate(text);
    }
});
