//! Bugs on request: tests put them in to prove that the simulation finds such bugs (`tests/simulation`).
//!
//! A release build has none of this: there, a question whether a bug is planted is `false` when it is compiled.

#[cfg(debug_assertions)]
use std::cell::Cell;

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// A record that the log could not take counts as stored.
    FailedAppendStored,
    /// A new policy is not logged.
    PolicyNotLogged,
    /// A replay leaves out the last record of a segment.
    LastRecordDropped,
    /// What a process left unsynced when it was killed is not synced by the next one.
    KilledUnsynced,
    /// A replay begins with the first segment, whatever is in the store already.
    FloorIgnored,
    /// A replay leaves out deletions.
    DeletedNameKept,
    /// A deletion reaches the catalogue before it is durable in the log.
    DeletionNotSynced,
    /// The number of a metric that was deleted is used again.
    NumberReused,
    /// A point that is too old for stage 0 counts twice.
    LatePointTwice,
    /// A late point does not reach the last slot before the mark of a stage.
    EdgeOfStage,
    /// A cut removes the log before it writes the blocks.
    LogRemovedFirst,
    /// A cut records names after its commit.
    NamesAfterCommit,
    /// A cut forgets the points of one that failed.
    FailedCutForgotten,
    /// What a cut writes has points that the next cut writes again.
    LivePointsCut,
    /// A merge lets older slots win.
    OlderSlotWins,
    /// A merge goes on without what it cannot read at the moment.
    UnreadableMerged,
    /// What waits in memory is not erased.
    MemoryNotErased,
    /// A stage expires before the next one is filled in.
    ExpiredUnfilled,
}

#[cfg(debug_assertions)]
thread_local! {
    static PLANTED: Cell<Option<Planted>> = const { Cell::new(None) };
}

/// Is this bug in the program? It is for the thread that planted it.
#[inline]
pub fn is_planted(bug: Planted) -> bool {
    #[cfg(debug_assertions)]
    let planted = PLANTED.get();
    #[cfg(not(debug_assertions))]
    let planted = None;
    planted == Some(bug)
}

/// Plants a bug for this thread, or takes it out again.
#[cfg(debug_assertions)]
pub fn plant(bug: Option<Planted>) {
    PLANTED.set(bug);
}
