//! The embedded store under simulation: random operations, faults and crashes from a seed, on a disk that loses what was not synced.
//!
//! After every crash the whole store is compared with a plain model of what was promised. Everything follows from the seed, so what
//! fails can be repeated: `scripts/simulate --replay LINE`. `docs/RELIABILITY.md` says what is promised.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where and stop")]

mod backup;
mod campaign;
mod dice;
mod disk;
mod engine;
mod model;
mod operation;
mod planted;
mod regressions;
mod shrink;
mod world;

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use operation::Case;

/// Seeds of a run of all tests. `scripts/simulate` takes a number.
const FRESH: u64 = 2000;
/// Failures after which a run ends.
const MOST: usize = 5;

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// Every run has others: they begin at a number that grows with the time.
fn first_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() * 1000
}

#[test]
fn fresh_seeds_lose_nothing_and_serve_nothing_wrong() {
    if let Ok(line) = env::var("SIMULATE_REPLAY") {
        let case = Case::replay(&line).expect("a replay line is SEED or SEED:STEP,STEP!,…");
        case.steps.iter().for_each(|step| println!("{step:?}"));
        campaign::try_case(&case, None).unwrap();
    }
    let seeds = number("SIMULATE_SEEDS").unwrap_or(FRESH);
    let first = number("SIMULATE_FIRST").unwrap_or_else(first_seed);
    println!("{seeds} seeds from {first}");
    let report = campaign::run(first, seeds, MOST, None);
    println!(
        "{} seeds, {} calls of the disk, {:.1} s, {:.0} seeds a minute, {} violations",
        report.seeds,
        report.calls,
        report.took.as_secs_f64(),
        report.seeds_per_minute(),
        report.found.len()
    );
    let told: Vec<String> = report.found.iter().map(campaign::told).collect();
    assert!(told.is_empty(), "\n{}\n", told.join("\n"));
    assert_eq!(report.seeds, seeds);
}

#[test]
fn the_same_seed_makes_the_same_calls() {
    for seed in 1..40 {
        let case = Case::new(seed);
        let (one, other) = (campaign::try_case(&case, None), campaign::try_case(&case, None));
        assert_eq!(one, other, "seed {seed}");
        assert_eq!(Case::replay(&case.to_string()), Some(case));
    }
}
