//! The slowest and the most frequent queries.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::report::{Report, millis};

/// Slow queries that are kept.
const SLOWEST: usize = 25;

/// For how long.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(1);

/// Questions that are counted. What is asked often stays among them, however many others there are.
const COUNTED: usize = 500;

/// Questions that are listed.
const LISTED: usize = 50;

/// The slowest queries of the last hour, and how often the same was asked since the start.
#[derive(Debug, Default)]
pub(super) struct Ranking {
    /// The slowest first.
    slowest: Vec<Report>,
    asked: HashMap<Box<str>, Asked, ahash::RandomState>,
}

/// The same question, asked many times.
#[derive(Clone, Debug)]
struct Asked {
    count: u64,
    took: Duration,
    longest: Duration,
    /// The last time.
    last: Report,
}

impl Ranking {
    /// Adds a query that has ended.
    pub(super) fn add(&mut self, report: Report) {
        self.count(&report);
        let Ok(oldest) = report.started.checked_sub(REMEMBERED) else { return };
        self.slowest.retain(|kept| kept.started >= oldest);
        let took = report.took();
        let at = self.slowest.partition_point(|kept| kept.took() >= took);
        if at < SLOWEST {
            self.slowest.truncate(SLOWEST - 1);
            self.slowest.insert(at, report);
        }
    }

    /// A question that is not among the counted ones takes the place of the rarest, and its count, which is then at most so much too
    /// high. So a question that makes up more than one in `COUNTED` is never missed.
    fn count(&mut self, report: &Report) {
        let took = report.took();
        let key = [&*report.question.endpoint, " ", &report.question.text].concat();
        if let Some(asked) = self.asked.get_mut(&*key) {
            asked.count += 1;
            asked.took += took;
            asked.longest = asked.longest.max(took);
            asked.last = report.clone();
            return;
        }
        let mut count = 0;
        if self.asked.len() >= COUNTED {
            let rarest = self.asked.iter().min_by_key(|(_, asked)| asked.count).map(|(key, _)| key.clone());
            count = rarest.and_then(|key| self.asked.remove(&key)).map_or(0, |asked| asked.count);
        }
        let asked = Asked { count: count + 1, took, longest: took, last: report.clone() };
        self.asked.insert(key.into(), asked);
    }

    /// The slowest, the slowest first.
    pub(super) fn slowest(&self) -> Vec<Value> {
        let oldest = Timestamp::now().checked_sub(REMEMBERED).unwrap_or(Timestamp::MIN);
        self.slowest.iter().filter(|kept| kept.started >= oldest).map(Report::json).collect()
    }

    /// The most frequent, the most frequent first.
    pub(super) fn most_frequent(&self) -> Vec<Value> {
        let mut asked: Vec<&Asked> = self.asked.values().collect();
        asked.sort_by(|a, b| b.count.cmp(&a.count).then(b.took.cmp(&a.took)));
        asked.truncate(LISTED);
        let shown = |asked: &Asked| {
            json!({
                "count": asked.count,
                "ms": millis(asked.took),
                "longest_ms": millis(asked.longest),
                "last": asked.last.json(),
            })
        };
        asked.into_iter().map(shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Question;
    use super::*;
    use plumbago_model::Phase;

    fn report(text: &str, millis: u64) -> Report {
        let mut spent = [Duration::ZERO; Phase::ALL.len()];
        spent[Phase::Fetch as usize] = Duration::from_millis(millis);
        spent[Phase::Send as usize] = Duration::from_secs(100);
        Report {
            id: millis,
            question: Arc::new(Question { text: text.to_owned(), ..Question::default() }),
            started: Timestamp::now(),
            phase: Phase::Send,
            outcome: Some("answered"),
            spent,
            series: 1,
            points: 2,
            bytes: 3,
            memory: 4,
        }
    }

    #[test]
    fn the_slowest_of_the_last_hour_are_kept() {
        let mut ranking = Ranking::default();
        let old = Timestamp::now() - SignedDuration::from_hours(2);
        ranking.add(Report { started: old, ..report("old", 1_000_000) });
        for millis in (0..100).chain(50..60) {
            ranking.add(report("a", millis));
        }
        let slowest: Vec<f64> = ranking.slowest().iter().map(|one| one["ms"].as_f64().unwrap()).collect();
        let expected: Vec<f64> = (0..SLOWEST as u64).map(|nth| (99 - nth) as f64).collect();
        assert_eq!(slowest, expected, "the time in which the client takes the answer does not count");
    }

    #[test]
    fn what_is_asked_often_is_not_lost_among_many_others() {
        let mut ranking = Ranking::default();
        for nth in 0..10_000 {
            ranking.add(report(&format!("rare{nth}"), 1));
            if nth % 10 == 0 {
                ranking.add(report("frequent", nth));
            }
        }
        let frequent = ranking.most_frequent();
        assert_eq!((ranking.asked.len(), frequent.len()), (COUNTED, LISTED));
        assert_eq!(frequent[0]["last"]["query"], "frequent");
        assert!(frequent[0]["count"].as_u64().unwrap() >= 1000);
        assert_eq!(frequent[0]["longest_ms"], 9990.0);
    }
}
