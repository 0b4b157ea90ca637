//! Chance from a seed: the same seed throws the same numbers.

#![allow(dead_code, reason = "each program that includes this file uses its own part of it")]

use std::ops::Range;
use std::time::{Duration, SystemTime};

/// A small generator (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// From a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// From the seed that the environment names in `TEST_SEED`, or a new one; it is printed, so that a failure can be repeated.
    pub(crate) fn printed(test: &str) -> Self {
        let given = std::env::var("TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(fresh_seed);
        println!("{test}: TEST_SEED={seed}");
        Self::new(seed)
    }

    /// Another generator, for another thread.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number of a range that is not empty.
    pub(crate) fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }

    /// A time of so many milliseconds.
    pub(crate) fn millis(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(self.within(range))
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.within(0..of.len() as u64) as usize]
    }
}

/// A seed that nobody had before.
pub(crate) fn fresh_seed() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(1, |since| since.as_nanos() as u64 >> 10)
}
