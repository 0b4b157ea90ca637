//! Readers: renders and finds in turn, each timed, and every value compared with what was sent.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::client::Client;
use super::dice::Dice;
use super::feed::number;
use super::ledger::Place;
use super::{World, now, turn};

/// How long answers took while nothing was wrong, in milliseconds.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    renders: Mutex<Vec<f64>>,
    finds: Mutex<Vec<f64>>,
    /// Values that nobody sent.
    pub(crate) wrong: Mutex<Vec<String>>,
}

/// Count, median and 99th percentile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) count: usize,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Latencies {
    pub(crate) fn renders(&self) -> Times {
        times(&self.renders)
    }

    pub(crate) fn finds(&self) -> Times {
        times(&self.finds)
    }
}

fn times(all: &Mutex<Vec<f64>>) -> Times {
    let mut all = all.lock().clone();
    all.sort_by(f64::total_cmp);
    let at = |share: f64| all.get(((all.len() as f64 * share) as usize).min(all.len().max(1) - 1)).copied();
    Times { count: all.len(), p50: at(0.5).unwrap_or(0.0), p99: at(0.99).unwrap_or(0.0) }
}

/// Asks until the end.
pub(crate) fn run(world: &World, reader: u64, mut dice: Dice) {
    let client = Client::new(Duration::from_secs(20));
    while world.goes_on() {
        let server = turn(&world.servers, dice.next());
        let edge = world.fault_edges.load(Ordering::SeqCst);
        let began = Instant::now();
        let (answered, kept) = if dice.once_in(2) {
            let query = *dice.pick(&["soak.*", "soak.*.m1*", "soak.{lines,http}.m?", "churn.*"]);
            let path = format!("/metrics/find?query={}", query.replace('{', "%7B").replace('}', "%7D"));
            (world.judged(query, || client.get(server.http, &path)).is_some(), &world.latencies.finds)
        } else {
            let feed = dice.pick(&world.feeds);
            let until = now();
            let from = until - dice.within(30..600);
            let name =
                feed.metric(dice.within(0..feed.metrics)).trim_end_matches(char::is_numeric).to_owned();
            let plain = format!("{name}{}?", dice.within(1..10));
            let is_plain = dice.once_in(2);
            let target = if is_plain {
                plain
            } else {
                format!("{}({plain})", dice.pick(&["sumSeries", "maxSeries", "derivative", "averageSeries"]))
            };
            let series = world.judged(&target, || client.render(server.http, &target, (from, until)));
            let answered = series.is_some();
            for (name, points) in series.into_iter().flatten().filter(|_| is_plain) {
                let Some(metric) = number(&name) else { continue };
                for (value, second) in points {
                    if !feed.ledger.has_sent(Place { metric, second }, value) {
                        let text = format!("reader {reader}: {name} has {value} at {second}");
                        world.latencies.wrong.lock().push(text);
                    }
                }
            }
            (answered, &world.latencies.renders)
        };
        if answered && world.is_calm_since(edge) {
            kept.lock().push(began.elapsed().as_secs_f64() * 1000.0);
        }
        std::thread::sleep(dice.millis(50..400));
    }
}
