//! Many seeds: on all cores, with what goes wrong shrunk and printed so that it can be repeated.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::operation::Case;
use crate::planted::Bug;
use crate::shrink::shrink;
use crate::world;

/// Runs that a shrinking may take.
const TRIES: u32 = 400;

/// A seed that failed.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) seed: u64,
    pub(crate) wrong: String,
}

/// What became of many seeds.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) seeds: u64,
    pub(crate) calls: u64,
    pub(crate) found: Vec<Found>,
    pub(crate) took: Duration,
}

impl Report {
    pub(crate) fn seeds_per_minute(&self) -> f64 {
        self.seeds as f64 * 60.0 / self.took.as_secs_f64().max(1e-9)
    }
}

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs one case. A panic is a mistake like any other.
pub(crate) fn try_case(case: &Case, bug: Option<&Bug>) -> Result<(u64, u64), String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANIC.with_borrow_mut(|text| *text = info.to_string().replace('\n', " "));
            // Those of the threads below are told with their seed.
            if std::thread::current().name() != Some("seeds") {
                loud(info);
            }
        }));
    });
    let run = || world::run(case, bug.and_then(Bug::lie));
    let run = || bug.map_or_else(run, |bug| bug.plant(run));
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = PANIC.with_borrow_mut(std::mem::take);
    let plain = panic.downcast_ref::<&str>().map_or("a panic", |text| *text);
    format!("it panicked: {}", if text.is_empty() { plain } else { &text })
}

/// Runs seeds from one on, until the end or until so many have failed.
pub(crate) fn run(first: u64, seeds: u64, most: usize, bug: Option<&Bug>) -> Report {
    let began = Instant::now();
    let (next, calls, is_over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let found: Mutex<Vec<Found>> = Mutex::default();
    let done = AtomicU64::new(0);
    let body = || {
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            if nth >= seeds || is_over.load(Ordering::Relaxed) {
                return;
            }
            let seed = first.wrapping_add(nth);
            match try_case(&Case::new(seed), bug) {
                Ok((made, _)) => drop(calls.fetch_add(made, Ordering::Relaxed)),
                Err(wrong) => {
                    let mut found = found.lock();
                    found.push(Found { seed, wrong });
                    is_over.fetch_or(found.len() >= most, Ordering::Relaxed);
                }
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let thread = std::thread::Builder::new().name("seeds".to_owned());
            thread.spawn_scoped(scope, body).unwrap();
        }
    });
    let mut found = found.into_inner();
    found.sort_by_key(|found| found.seed);
    Report { seeds: done.into_inner(), calls: calls.into_inner(), found, took: began.elapsed() }
}

/// How to repeat what went wrong, as short as it can be made.
pub(crate) fn told(found: &Found) -> String {
    let fails = |case: &Case| try_case(case, None).err();
    let (case, wrong) = shrink(&Case::new(found.seed), found.wrong.clone(), TRIES, fails);
    let steps: Vec<String> = case.steps.iter().map(|step| format!("    {step:?}")).collect();
    format!(
        "seed {}: {wrong}\n  to repeat it: scripts/simulate --replay {case}\n  begin: {:?}\n{}",
        found.seed,
        case.begin,
        steps.join("\n")
    )
}
