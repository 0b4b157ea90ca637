//! A file: what is in it, what of that is durable, and what a loss of power leaves.

use super::content::Content;
use crate::dice::{Dice, mixed};

/// What a disk writes as a whole or not at all.
pub(crate) const SECTOR: u64 = 512;

/// Something that was done to a file since it was synced.
#[derive(Clone, Debug)]
enum Change {
    Write { at: u64, bytes: Vec<u8> },
    SetLen(u64),
}

/// See the module documentation.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    current: Content,
    durable: Content,
    changes: Vec<Change>,
    /// A sync failed, and the system dropped pages that readers still see. No later sync writes them.
    is_torn: bool,
    pub(crate) modified_ns: u64,
}

impl File {
    pub(crate) fn current(&self) -> &Content {
        &self.current
    }

    pub(crate) fn write(&mut self, bytes: &[u8], at: u64) {
        self.current.write(bytes, at);
        self.changes.push(Change::Write { at, bytes: bytes.to_vec() });
    }

    pub(crate) fn set_len(&mut self, len: u64) {
        if len != self.current.len() {
            self.current.set_len(len);
            self.changes.push(Change::SetLen(len));
        }
    }

    /// Makes everything durable, except what a failed sync dropped.
    pub(crate) fn sync(&mut self) {
        if self.is_torn {
            for change in &self.changes {
                match change {
                    Change::Write { at, bytes } => {
                        self.durable.take_pages(&self.current, *at, bytes.len());
                    }
                    Change::SetLen(len) => self.durable.set_len(*len),
                }
            }
        } else {
            self.durable = self.current.clone();
        }
        self.changes.clear();
    }

    /// A sync fails. Some systems write what they can, mark the rest as written, and say so once.
    pub(crate) fn fail_sync(&mut self, dice: &mut Dice) {
        self.durable = self.left(dice);
        self.changes.clear();
        self.is_torn = true;
    }

    /// The power goes: what is durable is left, and any part of the rest.
    pub(crate) fn lose_power(&mut self, dice: &mut Dice) {
        if !self.changes.is_empty() || self.is_torn {
            self.current = self.left(dice);
            self.durable = self.current.clone();
            self.changes.clear();
            self.is_torn = false;
        }
    }

    /// What is durable, and a random part of what changed since.
    fn left(&self, dice: &mut Dice) -> Content {
        let all = self.changes.len() as u64;
        let salt = dice.roll();
        let mut left = self.durable.clone();
        match dice.below(5) {
            // Nothing, or everything, or the first of it.
            0 => {}
            1 => self.apply(&mut left, |_| all),
            2 => {
                let first = dice.below(all + 1);
                self.apply(&mut left, |_| first);
            }
            // The first of it, and of the next change some sectors.
            3 => {
                let first = dice.below(all + 1);
                self.apply(&mut left, |sector| first + (mixed(salt ^ sector) & 1));
            }
            // Each sector as it was at any moment since.
            _ => self.apply(&mut left, |sector| mixed(salt ^ sector) % (all + 1)),
        }
        left
    }

    /// Does the changes to each sector up to a number; the length is that of a sector of its own.
    fn apply(&self, content: &mut Content, until: impl Fn(u64) -> u64) {
        const OF_LENGTH: u64 = u64::MAX;
        let mut len = content.len();
        for (number, change) in (0..).zip(&self.changes) {
            match change {
                Change::Write { at, bytes } => {
                    for (from, part) in sectors(*at, bytes) {
                        if number < until(from / SECTOR) {
                            content.write(part, from);
                        }
                    }
                    if number < until(OF_LENGTH) {
                        len = len.max(at + bytes.len() as u64);
                    }
                }
                Change::SetLen(new) => {
                    if number < until(OF_LENGTH) {
                        // What a longer file had behind this is zeros if it grows again.
                        content.set_len((*new).min(content.len()));
                        len = *new;
                    }
                }
            }
        }
        content.set_len(len);
    }
}

/// The parts of a write that fall into one sector each.
fn sectors(at: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let from = at + done as u64;
        let part = ((SECTOR - from % SECTOR) as usize).min(bytes.len() - done);
        let piece = &bytes[done..done + part];
        done += part;
        (part > 0).then_some((from, piece))
    })
}
