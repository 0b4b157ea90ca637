//! Step 2½, if configured: carbon's rules for incoming names.
//!
//! A name is checked against the blacklist and the whitelist, rewritten, added to its aggregates, and rewritten once more. The
//! decision for each name is cached, so a name pays for its regular expressions once. A server without rule files skips all
//! of this.
//!
//! | file          | what it is for                                                   |
//! |---------------|------------------------------------------------------------------|
//! | `lists`       | `blacklist.conf` and `whitelist.conf`                            |
//! | `rewrite`     | `rewrite-rules.conf`                                             |
//! | `aggregation` | `aggregation-rules.conf`                                         |
//! | `ruleset`     | all of them together: what happens to a name                     |
//! | `gathering`   | points of aggregates, until they are due                         |
//! | `files`       | reads the files, and reloads them when they change               |

mod aggregation;
mod files;
mod gathering;
mod lists;
mod rewrite;
mod ruleset;

pub use rewrite::Rewriting;

use std::path::PathBuf;
use std::sync::Arc;

use ahash::AHashMap;
use parking_lot::{Mutex, RwLock};

use crate::config::NameRules;
use crate::telemetry::Telemetry;
use files::Files;
use gathering::Gathering;
use plumbago_model::{Arrival, Batch, Point, Reject};
use ruleset::{Decision, Ruleset};

/// Names whose decision is cached; others are decided again.
const MAX_REMEMBERED: usize = 1_000_000;

/// A line of a rule file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", file.display())]
pub struct RuleError {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1 on; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong, and with what.
    pub message: String,
}

/// The rules of a server.
pub struct Rules {
    files: Mutex<Files>,
    current: RwLock<Arc<Current>>,
    gathering: Mutex<Gathering>,
    telemetry: Arc<Telemetry>,
}

/// Rules, and their decisions so far.
struct Current {
    ruleset: Ruleset,
    decisions: RwLock<AHashMap<Box<str>, Arc<Decision>>>,
}

/// What happened to a batch.
pub struct Ruled<'a> {
    stored: Vec<(Name<'a>, Point)>,
    arrival: Arrival,
    /// The places of the stored points in the batch that was sent.
    pub places: Vec<usize>,
    /// Rejected points, by their place in the batch.
    pub refused: Vec<(usize, Reject)>,
    gathered: Vec<(Arc<Decision>, Point)>,
}

/// What the rules do to one name, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Why its points are rejected, if they are.
    pub refused: Option<&'static str>,
    /// The name they are stored under, if it differs.
    pub renamed: Option<String>,
    /// The metrics they are gathered into.
    pub aggregates: Vec<String>,
}

enum Name<'a> {
    Sent(&'a str),
    Made(Arc<str>),
}

impl Ruled<'_> {
    /// What to store.
    pub fn batch(&self) -> Batch<'_> {
        let entries = self.stored.iter().map(|(name, point)| (name.text(), *point)).collect();
        Batch { entries, arrival: self.arrival }
    }
}

impl Name<'_> {
    fn text(&self) -> &str {
        match self {
            Name::Sent(name) => name,
            Name::Made(name) => name,
        }
    }
}

impl Current {
    fn decide(&self, name: &str) -> Arc<Decision> {
        if let Some(decision) = self.decisions.read().get(name) {
            return Arc::clone(decision);
        }
        let decision = Arc::new(self.ruleset.decide(name));
        let mut decisions = self.decisions.write();
        if decisions.len() >= MAX_REMEMBERED {
            decisions.clear();
        }
        decisions.insert(name.into(), Arc::clone(&decision));
        decision
    }
}

impl Rules {
    /// Reads the files; `None` if there are none to read.
    pub fn open(config: &NameRules, telemetry: Arc<Telemetry>) -> Result<Option<Self>, RuleError> {
        if config.files().next().is_none() {
            return Ok(None);
        }
        let mut files = Files::new(config.clone());
        let current = Arc::new(Current { ruleset: files.read()?, decisions: RwLock::default() });
        let gathering = Mutex::new(Gathering::new(config.max_gathered));
        Ok(Some(Self { files: Mutex::new(files), current: RwLock::new(current), gathering, telemetry }))
    }

    /// Decides what happens to the points of a batch. Gathers nothing yet: see [`Rules::gather`].
    pub fn apply<'a>(&self, batch: &Batch<'a>) -> Ruled<'a> {
        let current = Arc::clone(&self.current.read());
        let mut ruled = Ruled {
            stored: Vec::with_capacity(batch.len()),
            arrival: batch.arrival,
            places: Vec::with_capacity(batch.len()),
            refused: Vec::new(),
            gathered: Vec::new(),
        };
        for (at, &(name, point)) in batch.entries.iter().enumerate() {
            let decision = current.decide(name);
            match &*decision {
                Decision::Refused(reason) => ruled.refused.push((at, *reason)),
                Decision::Taken { stored, renamed, aggregates } => {
                    if *stored {
                        let name =
                            renamed.as_ref().map_or(Name::Sent(name), |new| Name::Made(Arc::clone(new)));
                        ruled.stored.push((name, point));
                        ruled.places.push(at);
                    }
                    if !aggregates.is_empty() {
                        ruled.gathered.push((Arc::clone(&decision), point));
                    }
                }
            }
        }
        ruled
    }

    /// Adds the points to their aggregates. Call it once per batch, after the rest of the batch is stored: a batch that is
    /// retried must not count twice.
    pub fn gather(&self, ruled: &Ruled<'_>) {
        if ruled.gathered.is_empty() {
            return;
        }
        let mut gathering = self.gathering.lock();
        for (decision, point) in &ruled.gathered {
            let Decision::Taken { stored, aggregates, .. } = &**decision else { continue };
            self.telemetry.points_gathered.add(u64::from(!stored));
            for aggregate in aggregates {
                if !gathering.add(aggregate, *point) {
                    self.telemetry.gathered_dropped.add(1);
                }
            }
        }
        self.telemetry.gathered_intervals.set(gathering.len() as u64);
    }

    /// Aggregates that are due, or all of them before the server stops.
    pub fn due(&self, now: u32, all: bool) -> Vec<(Arc<str>, Point)> {
        let due = {
            let mut gathering = self.gathering.lock();
            let due = gathering.due(now, all);
            self.telemetry.gathered_intervals.set(gathering.len() as u64);
            due
        };
        let current = Arc::clone(&self.current.read());
        due.into_iter().map(|(name, point)| (current.ruleset.after(&name).unwrap_or(name), point)).collect()
    }

    /// What happens to points of a name.
    pub fn outcome(&self, name: &str) -> Outcome {
        let current = Arc::clone(&self.current.read());
        match &*current.decide(name) {
            Decision::Refused(reason) => Outcome { refused: Some(reason.label()), ..Outcome::default() },
            Decision::Taken { renamed, aggregates, .. } => Outcome {
                refused: None,
                renamed: renamed.as_ref().map(ToString::to_string),
                aggregates: aggregates
                    .iter()
                    .map(|aggregate| {
                        current.ruleset.after(&aggregate.name).unwrap_or_else(|| Arc::clone(&aggregate.name))
                    })
                    .map(|name| name.to_string())
                    .collect(),
            },
        }
    }

    /// Reads the files again if one of them changed.
    pub fn reload_if_changed(&self) {
        if self.files.lock().have_changed() {
            // What is wrong is logged and counted.
            let _ = self.reload();
        }
    }

    /// Reads the files again. After an error the old rules stay in force.
    pub fn reload(&self) -> Result<(), RuleError> {
        let read = self.files.lock().read();
        self.telemetry.rules_trouble.set(u64::from(read.is_err()));
        match read {
            Ok(ruleset) => {
                *self.current.write() = Arc::new(Current { ruleset, decisions: RwLock::default() });
                tracing::info!("name rules reloaded");
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, "the changed name rules are invalid; the old rules stay in force");
                Err(error)
            }
        }
    }
}
