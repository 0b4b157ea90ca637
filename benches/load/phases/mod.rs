//! The phases of a run: one file for each thing that is measured.

pub(crate) mod create;
pub(crate) mod doors;
pub(crate) mod find;
pub(crate) mod ingest;
pub(crate) mod moving;
pub(crate) mod overload;
pub(crate) mod page;
pub(crate) mod render;
pub(crate) mod restart;
pub(crate) mod scope;
pub(crate) mod tags;

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::client::Client;

/// The times of one request that one client repeats.
#[derive(Debug)]
pub(crate) struct Latency {
    /// The median in milliseconds.
    pub(crate) p50: f64,
    /// The 99th percentile in milliseconds.
    pub(crate) p99: f64,
}

impl Latency {
    /// From at least one time in milliseconds.
    pub(crate) fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
        Self { p50: at(0.5), p99: at(0.99) }
    }
}

/// Requests `path` for about three seconds, at least ten times, after a few to warm up. Returns the times and one answer.
pub(crate) fn time_get(client: &mut Client, path: &str) -> Result<(Latency, Vec<u8>)> {
    let mut answer = Vec::new();
    for _ in 0..3 {
        answer = client.get(path)?.to_vec();
    }
    let (began, mut times) = (Instant::now(), Vec::new());
    while times.len() < 10 || (times.len() < 2000 && began.elapsed() < Duration::from_secs(3)) {
        let asked = Instant::now();
        client.get(path)?;
        times.push(asked.elapsed().as_secs_f64() * 1e3);
    }
    Ok((Latency::of(times), answer))
}
