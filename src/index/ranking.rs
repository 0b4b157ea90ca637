//! Which prefixes receive most points, which metrics are new, and which nobody reads.
//!
//! A ranking is shown all metrics one by one, in any order, and keeps only what it is asked for.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::Survey;
use super::cardinality::first_components;
use plumbago_model::Dates;

/// What `top` says. A part that cannot be known is missing. Times are seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Top {
    /// Metrics that were looked at.
    pub metrics: u64,
    /// The points that came in lately.
    pub received: Option<Received>,
    /// The metrics that were created lately.
    pub created: Option<Created>,
    /// The metrics that no query has read.
    pub never_read: Option<NeverRead>,
}

/// The points that came in between two moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Received {
    /// The first.
    pub since: u32,
    /// The second.
    pub until: u32,
    /// How many there were.
    pub points: u64,
    /// How many that is in a second.
    pub per_second: f64,
    /// Where they belong, most first.
    pub prefixes: Vec<Busy>,
}

/// Metrics whose names begin alike, and their points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Busy {
    /// How they begin.
    pub prefix: String,
    /// How many metrics there are.
    pub metrics: u64,
    /// How many points they received.
    pub points: u64,
    /// How many that is in a second.
    pub per_second: f64,
}

/// The metrics that were created lately and are still there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// Minutes in which there were any, the last one first.
    pub minutes: Vec<Minute>,
    /// The newest, the last one first.
    pub newest: Vec<Newest>,
}

/// Metrics of one minute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minute {
    /// When it began.
    pub minute: u32,
    /// How many metrics were created in it.
    pub metrics: u64,
}

/// A metric and when it was created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Newest {
    /// Its name.
    pub name: String,
    /// The minute or the second.
    pub created: u32,
}

/// Metrics that no query has read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeverRead {
    /// Earlier reads are not known.
    pub since: Option<u32>,
    /// How many there are.
    pub metrics: u64,
    /// Where they are, most first.
    pub prefixes: Vec<Unread>,
    /// The oldest of them, the oldest first.
    pub names: Vec<UnreadName>,
}

/// Metrics whose names begin alike, and how many of them nobody reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// How they begin.
    pub prefix: String,
    /// How many were never read.
    pub never_read: u64,
    /// How many there are.
    pub metrics: u64,
}

/// A metric that nobody reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnreadName {
    /// When it was created, if that is known. Others are older.
    pub created: Option<u32>,
    /// Its name.
    pub name: String,
    /// When it last received a point, if that is known.
    pub updated: Option<u32>,
}

/// Metrics whose names begin alike.
#[derive(Default)]
struct Group {
    metrics: u64,
    points: u64,
    unread: u64,
}

/// See the module documentation.
pub struct Ranking {
    /// What the names must begin with.
    start: String,
    depth: usize,
    limit: usize,
    metrics: u64,
    groups: HashMap<String, Group>,
    minutes: BTreeMap<u32, u64>,
    newest: BTreeSet<(u32, Reverse<String>)>,
    unread: BTreeSet<UnreadName>,
}

impl Ranking {
    /// Asks for this.
    pub fn new(survey: &Survey) -> Self {
        let below = survey.below.trim_matches('.');
        Self {
            start: if below.is_empty() { String::new() } else { format!("{below}.") },
            depth: survey.depth,
            limit: survey.limit,
            metrics: 0,
            groups: HashMap::new(),
            minutes: BTreeMap::new(),
            newest: BTreeSet::new(),
            unread: BTreeSet::new(),
        }
    }

    /// Looks at a metric. Each may be shown once.
    pub fn visit(&mut self, name: &str, dates: Dates, points: u64) {
        let path = name.split(';').next().unwrap_or(name);
        if !path.starts_with(&self.start) {
            return;
        }
        self.metrics += 1;
        let prefix = first_components(path, self.start.len(), self.depth);
        let group = match self.groups.get_mut(prefix) {
            Some(group) => group,
            None => self.groups.entry(prefix.to_owned()).or_default(),
        };
        group.metrics += 1;
        group.points += points;
        group.unread += u64::from(dates.read.is_none());
        if let Some(created) = dates.created {
            self.visit_created(name, created);
        }
        if dates.read.is_none() {
            self.visit_unread(name, dates);
        }
    }

    fn visit_created(&mut self, name: &str, created: u32) {
        *self.minutes.entry(created / 60 * 60).or_default() += 1;
        if self.minutes.len() > self.limit {
            self.minutes.pop_first();
        }
        // Most metrics are older than the newest, and need no copy of their name.
        let is_full = self.newest.len() >= self.limit;
        let is_older = |(oldest, Reverse(last)): &(u32, Reverse<String>)| {
            (created, Reverse(name)) < (*oldest, Reverse(last.as_str()))
        };
        if is_full && self.newest.first().is_none_or(is_older) {
            return;
        }
        self.newest.insert((created, Reverse(name.to_owned())));
        if self.newest.len() > self.limit {
            self.newest.pop_first();
        }
    }

    fn visit_unread(&mut self, name: &str, dates: Dates) {
        let is_full = self.unread.len() >= self.limit;
        let is_younger = |last: &UnreadName| (dates.created, name) > (last.created, &*last.name);
        if is_full && self.unread.last().is_none_or(is_younger) {
            return;
        }
        let (created, updated) = (dates.created, dates.updated);
        self.unread.insert(UnreadName { created, name: name.to_owned(), updated });
        if self.unread.len() > self.limit {
            self.unread.pop_last();
        }
    }

    /// How many metrics it has looked at.
    pub fn metrics(&self) -> u64 {
        self.metrics
    }

    /// The points that came in between two moments.
    pub fn received(&self, since: u32, until: u32) -> Received {
        let secs = f64::from(until.saturating_sub(since).max(1));
        let per_second = |points: u64| points as f64 / secs;
        let busy = |(prefix, group): (&String, &Group)| Busy {
            prefix: prefix.clone(),
            metrics: group.metrics,
            points: group.points,
            per_second: per_second(group.points),
        };
        let prefixes = self.groups.iter().filter(|(_, group)| group.points > 0).map(busy);
        let prefixes = self.first(prefixes.collect(), |busy: &Busy| (busy.points, &busy.prefix));
        let points = self.groups.values().map(|group| group.points).sum();
        Received { since, until, points, per_second: per_second(points), prefixes }
    }

    /// The metrics that were created lately.
    pub fn created(&self) -> Created {
        let minute = |(&minute, &metrics): (&u32, &u64)| Minute { minute, metrics };
        let newest = |(created, Reverse(name)): &(u32, Reverse<String>)| Newest {
            name: name.clone(),
            created: *created,
        };
        Created {
            minutes: self.minutes.iter().rev().map(minute).collect(),
            newest: self.newest.iter().rev().map(newest).collect(),
        }
    }

    /// The metrics that no query has read since then.
    pub fn never_read(&self, since: Option<u32>) -> NeverRead {
        let unread = |(prefix, group): (&String, &Group)| Unread {
            prefix: prefix.clone(),
            never_read: group.unread,
            metrics: group.metrics,
        };
        let prefixes = self.groups.iter().filter(|(_, group)| group.unread > 0).map(unread);
        NeverRead {
            since,
            metrics: self.groups.values().map(|group| group.unread).sum(),
            prefixes: self.first(prefixes.collect(), |unread: &Unread| (unread.never_read, &unread.prefix)),
            names: self.unread.iter().cloned().collect(),
        }
    }

    /// The first of a list: most first, and equal ones by name.
    fn first<T>(&self, mut list: Vec<T>, key: impl Fn(&T) -> (u64, &String)) -> Vec<T> {
        list.sort_unstable_by(|a, b| {
            let ((a, first), (b, second)) = (key(a), key(b));
            b.cmp(&a).then_with(|| first.cmp(second))
        });
        list.truncate(self.limit);
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u32 = 86_400;

    fn ranking(below: &str, depth: usize, limit: usize) -> Ranking {
        let mut ranking = Ranking::new(&Survey { below: below.to_owned(), depth, limit });
        let metrics = [
            ("a.b.one", None, Some(DAY), 100),
            ("a.b.two", Some(60), None, 20),
            ("a.c", Some(125), None, 0),
            ("ab.c", Some(130), Some(2 * DAY), 30),
            ("a.b;host=one", Some(300), None, 7),
            ("old", None, None, 30),
        ];
        for (name, created, read, points) in metrics {
            ranking.visit(name, Dates { created, updated: Some(DAY), read }, points);
        }
        ranking
    }

    #[test]
    fn the_busiest_prefixes_come_first() {
        let received = |below: &str, depth, limit| {
            let received = ranking(below, depth, limit).received(1000, 1010);
            let rows = received.prefixes.iter().map(|busy| format!("{} {}", busy.prefix, busy.points));
            (received.points, rows.collect::<Vec<_>>())
        };
        let rows = |rows: &[&str]| rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>();
        assert_eq!(received("", 1, 9), (187, rows(&["a 127", "ab 30", "old 30"])), "equal ones by name");
        assert_eq!(received("", 1, 1), (187, rows(&["a 127"])), "all count, one is shown");
        assert_eq!(
            received("", 2, 9),
            (187, rows(&["a.b 127", "ab.c 30", "old 30"])),
            "no row without points"
        );
        assert_eq!(received("a", 1, 9), (127, rows(&["a.b 127"])));
        assert_eq!(received("a.", 2, 9), (127, rows(&["a.b.one 100", "a.b.two 20", "a.b 7"])));
        assert_eq!(received("nothing", 1, 9), (0, rows(&[])));
        let busy = &ranking("", 1, 1).received(1000, 1010).prefixes[0];
        assert_eq!((busy.metrics, busy.per_second), (4, 12.7));
        assert_eq!(ranking("", 1, 1).received(1000, 1000).per_second, 187.0, "a second at least");
    }

    #[test]
    fn the_newest_come_first_and_creations_are_counted_by_minute() {
        let created = ranking("", 1, 3).created();
        let newest: Vec<&str> = created.newest.iter().map(|newest| &*newest.name).collect();
        assert_eq!(newest, ["a.b;host=one", "ab.c", "a.c"]);
        let minutes: Vec<_> = created.minutes.iter().map(|minute| (minute.minute, minute.metrics)).collect();
        assert_eq!(minutes, [(300, 1), (120, 2), (60, 1)]);
        let below = ranking("a.b", 1, 9).created();
        assert_eq!(below.newest.len(), 1);
        assert!(ranking("", 1, 0).created().newest.is_empty());
    }

    #[test]
    fn of_those_never_read_the_oldest_come_first() {
        let unread = ranking("", 1, 2).never_read(Some(7));
        assert_eq!((unread.since, unread.metrics), (Some(7), 4));
        let names: Vec<&str> = unread.names.iter().map(|unread| &*unread.name).collect();
        assert_eq!(names, ["old", "a.b.two"], "nobody knows when `old` was created");
        let prefixes: Vec<_> = unread
            .prefixes
            .iter()
            .map(|u| format!("{} {} of {}", u.prefix, u.never_read, u.metrics))
            .collect();
        assert_eq!(prefixes, ["a 3 of 4", "old 1 of 1"]);
    }
}
