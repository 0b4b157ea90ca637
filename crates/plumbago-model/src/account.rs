//! What a query takes while it runs: memory, time by phase, series and points.

use std::fmt::Debug;

use super::query_error::QueryError;

/// What a query is doing. Each has its own time in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Waits for its turn.
    Wait,
    /// Reads the targets and plans what they need.
    Plan,
    /// Looks for the metrics that match.
    Find,
    /// Reads points.
    Fetch,
    /// Runs the functions.
    Functions,
    /// Writes the answer.
    Write,
    /// Waits for the client to take the answer.
    Send,
}

impl Phase {
    /// All of them, in the order in which a query goes through them.
    pub const ALL: [Phase; 7] =
        [Phase::Wait, Phase::Plan, Phase::Find, Phase::Fetch, Phase::Functions, Phase::Write, Phase::Send];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Wait => "wait",
            Phase::Plan => "plan",
            Phase::Find => "find",
            Phase::Fetch => "fetch",
            Phase::Functions => "functions",
            Phase::Write => "write",
            Phase::Send => "send",
        }
    }
}

/// Where a query writes down what it takes. It refuses memory beyond the limits.
///
/// Ask once for a series or for a batch of them, never for a point.
pub trait Account: Debug + Send + Sync {
    /// Asks for memory before it is used. May wait until other queries have given some back.
    fn take(&self, bytes: usize) -> Result<(), QueryError>;

    /// Gives memory back before the query ends. The rest is given back at its end.
    fn give_back(&self, bytes: usize);

    /// Notes what was read from the store.
    fn note_read(&self, series: usize, points: usize);

    /// Notes that a phase begins, which ends the one before.
    fn begin(&self, phase: Phase);
}
