//! The page with the verdict, in Markdown.

use std::fmt::Write as _;
use std::time::Duration;

use super::faults::Faults;
use super::server::Sample;
use super::{Arguments, World};

/// Examples of what was lost or wrong that are shown.
const EXAMPLES: usize = 10;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    pub(crate) lost: u64,
    pub(crate) wrong: u64,
    examples: Vec<String>,
}

impl Page {
    pub(crate) fn new(seed: u64, arguments: &Arguments, took: Duration) -> Self {
        let what = if arguments.cassandra {
            format!("two servers on {} Cassandra nodes", arguments.nodes)
        } else {
            "one server on its own disk".to_owned()
        };
        let minutes = took.as_secs_f64() / 60.0;
        let text = format!("{what}, {minutes:.1} minutes, seed {seed}\n\n| what | figure |\n|---|---|\n");
        Self { text, lost: 0, wrong: 0, examples: Vec::new() }
    }

    pub(crate) fn row(&mut self, what: &str, figure: impl std::fmt::Display) {
        let _ = writeln!(self.text, "| {what} | {figure} |");
    }

    pub(crate) fn lose(&mut self, points: u64, example: impl FnOnce() -> String) {
        self.lost += points;
        self.example(example);
    }

    pub(crate) fn find_wrong(&mut self, example: impl FnOnce() -> String) {
        self.wrong += 1;
        self.example(example);
    }

    fn example(&mut self, example: impl FnOnce() -> String) {
        if self.examples.len() < EXAMPLES {
            self.examples.push(example());
        }
    }

    /// What was sent and stored, by way.
    pub(crate) fn load(&mut self, world: &World) {
        let (mut all, mut all_sure) = (0, 0);
        let mut by_way = Vec::new();
        for feed in &world.feeds {
            let (sent, sure) = feed.ledger.totals();
            all += sent;
            all_sure += sure;
            by_way.push(format!("{} {sent}", feed.name));
        }
        self.row("points sent", format!("{all} ({})", by_way.join(", ")));
        self.row("points seen or acknowledged as stored", all_sure);
        self.row("metrics that were written, renamed and deleted besides", world.churn.len());
    }

    pub(crate) fn faults(&mut self, faults: &Faults<'_>) {
        let each: Vec<String> = faults
            .tolls
            .iter()
            .map(|(fault, toll)| {
                format!("{fault:?} {} (ready after {:.1} s at most)", toll.times, toll.longest.as_secs_f64())
            })
            .collect();
        let times: u32 = faults.tolls.values().map(|toll| toll.times).sum();
        self.row("faults", format!("{times}: {}", each.join(", ")));
        for lacking in &faults.lacking {
            self.row("not had", lacking);
        }
    }

    /// What the readers and the watchers saw.
    pub(crate) fn finish(&mut self, world: &World) {
        for (what, times) in [("renders", world.latencies.renders()), ("finds", world.latencies.finds())] {
            let figure = format!("{} / {:.1} ms / {:.1} ms", times.count, times.p50, times.p99);
            self.row(&format!("{what} in calm times: number, p50, p99"), figure);
        }
        for server in &world.servers {
            let samples = server.samples();
            let rss = drift(&samples, |sample| sample.rss as f64 / 1e6);
            let descriptors = drift(&samples, |sample| sample.descriptors as f64);
            let figure = |(first, last): (f64, f64), unit: &str| {
                format!("{first:.0}{unit} → {last:.0}{unit} ({:+.1} %)", (last / first - 1.0) * 100.0)
            };
            self.row(&format!("memory of `{}`, first → last third", server.name), figure(rss, " MB"));
            self.row(
                &format!("descriptors of `{}`, first → last third", server.name),
                figure(descriptors, ""),
            );
        }
        let wrong = std::mem::take(&mut *world.latencies.wrong.lock());
        wrong.into_iter().for_each(|text| self.find_wrong(|| text));
        let unexpected = world.unexpected.lock();
        self.row("calls that failed although there was no fault", unexpected.len());
        let (lost, wrong) = (self.lost, self.wrong);
        self.row("**lost**", format!("**{lost}**"));
        self.row("**wrong**", format!("**{wrong}**"));
        for text in self.examples.iter().chain(unexpected.iter().take(EXAMPLES)) {
            let _ = write!(self.text, "\n- {}", text.replace('\n', " "));
        }
    }

    pub(crate) fn text(&self) -> String {
        format!("{}\n", self.text)
    }

    pub(crate) fn is_bad(&self) -> bool {
        self.lost > 0 || self.wrong > 0
    }
}

/// The median of the first third of a run, and of the last.
fn drift(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> (f64, f64) {
    let end = samples.last().map_or(Duration::ZERO, |sample| sample.since_begin);
    let median = |third: u32| {
        let range = end * (third - 1) / 3..=end * third / 3;
        let mut found: Vec<f64> =
            samples.iter().filter(|sample| range.contains(&sample.since_begin)).map(&of).collect();
        found.sort_by(f64::total_cmp);
        found.get(found.len() / 2).copied().unwrap_or(f64::NAN)
    };
    (median(1), median(3))
}
