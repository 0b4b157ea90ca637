//! What is measured, one file per question.

pub(crate) mod create;
pub(crate) mod find;
pub(crate) mod ingest;
pub(crate) mod page;
pub(crate) mod render;
pub(crate) mod restart;
pub(crate) mod tags;

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::client::Client;

/// Times of one request, asked again and again by one client.
#[derive(Debug)]
pub(crate) struct Latency {
    /// Half of them were faster, in milliseconds.
    pub(crate) p50: f64,
    /// All but one in a hundred were faster.
    pub(crate) p99: f64,
}

impl Latency {
    /// Of times in milliseconds, at least one.
    pub(crate) fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
        Self { p50: at(0.5), p99: at(0.99) }
    }
}

/// Asks for `path` for about three seconds, at least ten times, after a few to warm up. Gives the times and an answer.
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
