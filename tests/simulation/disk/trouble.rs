//! What goes wrong with a disk: faults that are armed for a call, and lies that programs with a planted bug tell.

use std::io::{self, Error};
use std::path::Path;

/// A call that changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Make = 1,
    Write,
    Cut,
    Sync,
    SyncDir,
    Rename,
    Remove,
}

/// What becomes of it.
#[derive(Debug)]
pub(super) enum Verdict {
    Do,
    /// It fails, and may be done in part.
    Fail(Error),
    /// The machine stops in the middle of it.
    Halt,
}

/// What goes wrong from a call on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The machine stops.
    Halt,
    /// So many changes fail.
    Broken(u32),
    /// So many changes that take room fail.
    Full(u32),
    /// So many reads fail.
    Unreadable(u32),
    /// So many reads give a part of what is there.
    Short(u32),
}

/// A trouble that waits for its call.
#[derive(Debug)]
pub(super) struct Armed {
    trouble: Trouble,
    after: u32,
    done: u32,
}

impl Armed {
    pub(super) fn new(trouble: Trouble, after: u32) -> Self {
        Self { trouble, after, done: 0 }
    }

    /// `None` if nothing happens to this call.
    pub(super) fn judge(&mut self, call: Call) -> Option<Verdict> {
        let concerns = match self.trouble {
            Trouble::Halt | Trouble::Broken(_) => true,
            Trouble::Full(_) => matches!(call, Call::Make | Call::Write),
            Trouble::Unreadable(_) | Trouble::Short(_) => false,
        };
        if !concerns || self.waits() {
            return None;
        }
        Some(match self.trouble {
            Trouble::Halt => Verdict::Halt,
            Trouble::Full(_) => Verdict::Fail(Error::from_raw_os_error(28)),
            _ => Verdict::Fail(Error::from_raw_os_error(5)),
        })
    }

    /// How much of a read is done, or why it fails. `None` if nothing happens to it.
    pub(super) fn judge_read(&mut self, most: usize) -> Option<io::Result<usize>> {
        let fails = match self.trouble {
            Trouble::Unreadable(_) => true,
            Trouble::Short(_) => false,
            _ => return None,
        };
        if self.waits() {
            return None;
        }
        Some(if fails { Err(Error::from_raw_os_error(5)) } else { Ok(most.div_ceil(2)) })
    }

    fn waits(&mut self) -> bool {
        if self.after > 0 {
            self.after -= 1;
            return true;
        }
        self.done += 1;
        false
    }

    /// Has it happened as often as it should?
    pub(super) fn is_over(&self) -> bool {
        match self.trouble {
            Trouble::Halt => false,
            Trouble::Broken(n) | Trouble::Full(n) | Trouble::Unreadable(n) | Trouble::Short(n) => {
                self.done >= n
            }
        }
    }
}

/// What a program that has a bug would do wrong, done by the disk instead. Names are ends of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// Such a file is not synced.
    Skip(&'static str),
    /// Instead of such a file, another one beside it is synced.
    Another(&'static str),
    /// Such a file gets its name before it is synced, which happens when the next one comes.
    Late(&'static str),
    /// Such a directory is not synced: one whose path has so many parts and contains this.
    SkipDir(&'static str, usize),
}

impl Lie {
    pub(super) fn about_sync(self, path: &Path) -> Option<Self> {
        let path = path.to_string_lossy();
        let concerns = match self {
            Lie::Skip(end) | Lie::Late(end) => path.ends_with(end),
            Lie::Another(_) => path.ends_with(".log"),
            Lie::SkipDir(..) => false,
        };
        concerns.then_some(self)
    }

    pub(super) fn skips_dir(self, dir: &Path) -> bool {
        let Lie::SkipDir(name, parts) = self else { return false };
        dir.to_string_lossy().contains(name) && dir.components().count() == parts
    }
}
