//! The queries that run, what each of them takes, and who asked.
//!
//! | file       | what it is                                                       |
//! |------------|------------------------------------------------------------------|
//! | `question` | what is asked, and by whom                                       |
//! | `query`    | one query while it runs: its memory, its time by phase           |
//! | `memory`   | the memory that all queries share                                |
//! | `report`   | what an operator sees of a query while it runs and afterwards    |
//! | `ranking`  | the slowest and the most frequent queries                        |
//! | `slow_log` | a line in the log for each slow query                            |
//! | `calls`    | `/internal/queries`                                              |

pub(super) mod calls;
pub(super) mod memory;
mod query;
mod question;
mod ranking;
mod report;
mod slow_log;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

pub(super) use query::Query;
pub(super) use question::{Origin, Question};
use ranking::Ranking;
use report::Report;
pub(super) use report::{MEMORY, MILLIS, POINTS, SERIES};
use slow_log::SlowLog;

use crate::config;
use crate::telemetry::{Refusal, Telemetry};
use memory::Memory;

/// The register of all queries. A query enters it before it waits for its turn, and leaves when nothing of it is left.
#[derive(Debug)]
pub(super) struct Queries {
    memory: Arc<Memory>,
    slow: Duration,
    active: Mutex<BTreeMap<u64, Weak<Query>>>,
    ranking: Mutex<Ranking>,
    log: SlowLog,
    telemetry: Arc<Telemetry>,
}

impl Queries {
    /// An empty register. It must be made within the runtime that serves requests.
    pub(super) fn new(config: &config::Query, telemetry: Arc<Telemetry>) -> Self {
        Self {
            memory: Arc::new(Memory::new(config, Arc::clone(&telemetry))),
            slow: config.slow,
            active: Mutex::default(),
            ranking: Mutex::default(),
            log: SlowLog::default(),
            telemetry,
        }
    }

    /// The memory that they share.
    pub(super) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Enters a query.
    pub(super) fn enter(self: &Arc<Self>, question: &Arc<Question>) -> Arc<Query> {
        let query = Arc::new(Query::new(Arc::clone(question), Arc::clone(self)));
        self.active.lock().insert(query.id(), Arc::downgrade(&query));
        self.telemetry.queries_active.add(1);
        query
    }

    /// Cancels a query. False if none of this number runs.
    fn cancel(&self, id: u64) -> bool {
        let query = self.active.lock().get(&id).and_then(Weak::upgrade);
        query.inspect(|query| query.cancel_by_call()).is_some()
    }

    /// Those that run, the oldest first.
    fn active(&self) -> Vec<Report> {
        // A query that ends takes the lock: its last reference must not go while it is held.
        let active: Vec<Arc<Query>> = self.active.lock().values().filter_map(Weak::upgrade).collect();
        active.iter().map(|query| query.report()).collect()
    }

    /// Takes a query out. Only its end calls this.
    fn leave(&self, report: Report) {
        self.active.lock().remove(&report.id);
        self.telemetry.queries_active.sub(1);
        if report.outcome == Some(Refusal::Abandoned.label()) {
            self.telemetry.refuse(Refusal::Abandoned);
        }
        if !self.slow.is_zero() && report.took() >= self.slow {
            self.telemetry.queries_slow.add(1);
            self.log.write(&report);
        }
        self.ranking.lock().add(report);
    }
}
