//! The library called as a library, and the checkout it comes from: everything that needs neither the running program nor a cluster.
//!
//! One test binary: to build one costs about as much as all that is in it. `tests/server` has what needs the program, and
//! `tests/cassandra` what needs a cluster.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where and stop")]

// What a fuzz target calls `libfuzzer_sys` is this crate; see `fuzz_smoke.rs`.
extern crate self as libfuzzer_sys;
pub(crate) use fuzz_smoke::fuzz_target;

mod architecture;
mod checkout;
mod containers;
mod counters;
mod damage;
mod differential;
mod documents;
mod features;
mod fuzz_smoke;
mod golden;
mod pictures;
mod points_model;
mod reliability;
#[path = "server/skip.rs"]
mod skip;
mod whisper;
