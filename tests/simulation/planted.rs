//! Bugs that are put in on purpose. That each of them is found proves that the simulation finds such bugs.

use crate::disk::Lie;
use plumbago::planted::Planted;

/// One bug.
#[derive(Debug)]
pub(crate) enum Bug {
    /// The disk does what a program with the bug would do.
    Disk(&'static str, Lie),
    /// The program does it.
    Code(Planted),
}

impl Bug {
    fn name(&self) -> String {
        match self {
            Bug::Disk(name, _) => (*name).to_owned(),
            Bug::Code(bug) => format!("{bug:?}"),
        }
    }

    pub(crate) fn lie(&self) -> Option<Lie> {
        match self {
            Bug::Disk(_, lie) => Some(*lie),
            Bug::Code(_) => None,
        }
    }

    /// Runs something with the bug in it. A release build cannot have those of the program.
    #[cfg(debug_assertions)]
    pub(crate) fn plant<T>(&self, run: impl FnOnce() -> T) -> T {
        if let Bug::Code(bug) = self {
            plumbago::planted::plant(Some(*bug));
        }
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        plumbago::planted::plant(None);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    #[cfg(not(debug_assertions))]
    pub(crate) fn plant<T>(&self, run: impl FnOnce() -> T) -> T {
        run()
    }
}

/// All of them.
pub(crate) const BUGS: &[Bug] = &[
    Bug::Disk("the log is not synced", Lie::Skip(".log")),
    Bug::Disk("another segment of the log is synced", Lie::Another("00000001.log")),
    Bug::Disk("the directory of the log is not synced", Lie::SkipDir("/log", 4)),
    Bug::Disk("a block is not synced", Lie::Skip(".blk.tmp")),
    Bug::Disk("the directory of a partition is not synced", Lie::SkipDir("/points/", 6)),
    Bug::Disk("the directory of the stages is not synced", Lie::SkipDir("/points", 4)),
    Bug::Disk("the catalogue is not synced", Lie::Skip("catalogue.redb")),
    Bug::Disk("a backup's list of files has its name before it is synced", Lie::Late("manifest.tmp")),
    Bug::Disk("the directory of the backups is not synced", Lie::SkipDir("/backups", 2)),
    Bug::Code(Planted::FailedAppendStored),
    Bug::Code(Planted::PolicyNotLogged),
    Bug::Code(Planted::LastRecordDropped),
    Bug::Code(Planted::KilledUnsynced),
    Bug::Code(Planted::FloorIgnored),
    Bug::Code(Planted::DeletedNameKept),
    Bug::Code(Planted::DeletionNotSynced),
    Bug::Code(Planted::NumberReused),
    Bug::Code(Planted::LatePointTwice),
    Bug::Code(Planted::EdgeOfStage),
    Bug::Code(Planted::LogRemovedFirst),
    Bug::Code(Planted::NamesAfterCommit),
    Bug::Code(Planted::FailedCutForgotten),
    Bug::Code(Planted::OlderSlotWins),
    Bug::Code(Planted::UnreadableMerged),
    Bug::Code(Planted::LivePointsCut),
    Bug::Code(Planted::MemoryNotErased),
    Bug::Code(Planted::ExpiredUnfilled),
];

/// Each of them is found within so many seeds. A release build has none of those in the program.
#[cfg(debug_assertions)]
#[test]
fn every_planted_bug_is_found() {
    const SEEDS: u64 = 2000;
    let mut missed = Vec::new();
    for bug in BUGS {
        let report = crate::campaign::run(1, SEEDS, 1, Some(bug));
        match report.found.first() {
            Some(found) => {
                let took = report.took.as_secs_f64();
                println!("{}: seed {}, {took:.1} s: {}", bug.name(), found.seed, found.wrong);
            }
            None => missed.push(bug.name()),
        }
    }
    assert!(missed.is_empty(), "not found within {SEEDS} seeds: {missed:?}");
}
