//! Takes metrics to their destination and reads each piece back. Of a metric that was not there before, the slots must be the same
//! ones. What is done is listed in a journal.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::door::Door;
use super::{Carrier, Journal};
use crate::bundle::{Bundle, encode};
use crate::http::Imported;
use crate::server::now;

/// Slots that are about to expire may be gone when they are read back.
const MARGIN_SECS: u32 = 600;
/// No slot lies in it: a metric that is read in this time says only that it is there.
const NO_TIME: (u32, u32) = (u32::MAX - 1, u32::MAX);

/// A delivery under way.
pub(in super::super) struct Delivery<'a> {
    target: &'a Door,
    window: (u32, u32),
    carrier: Carrier<'a>,
    journal: Journal,
    /// What must be read back of the metrics in the piece.
    sums: HashMap<String, Sum>,
    checked: Checked,
}

/// What became of the metrics.
#[derive(Default)]
pub(in super::super) struct Checked {
    /// Read back, and the same.
    pub(in super::super) verified: u64,
    /// There before: what they had stays, so they need not be the same.
    pub(in super::super) merged: u64,
    /// The other end keeps them under another policy.
    pub(in super::super) adapted: u64,
    /// An earlier run brought them.
    pub(in super::super) earlier: u64,
    /// Read back, and not the same.
    pub(in super::super) different: Vec<String>,
}

impl Checked {
    /// Prints for people what the other end has now; `arrived` says how metrics got there: "copied", "imported".
    pub(in super::super) fn print(
        &self,
        done: &Imported,
        arrived: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for (number, what) in [
            (self.verified, "read back, and the same".to_owned()),
            (self.merged, "were there before, and keep what they had".to_owned()),
            (self.adapted, "are kept by other rules there, and were not compared".to_owned()),
            (self.earlier, format!("were {arrived} earlier")),
            (done.there, "slots were there already and stay".to_owned()),
        ] {
            if number > 0 {
                writeln!(out, "{number} {what}")?;
            }
        }
        self.different.iter().try_for_each(|name| writeln!(out, "different when read back: {name}"))?;
        done.refused.iter().try_for_each(|(name, why)| writeln!(out, "refused: {name}: {why}"))
    }
}

/// A metric in few bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sum {
    policy: String,
    slots: u64,
    checksum: u32,
    /// The time at which it was taken.
    at: u32,
}

impl Sum {
    /// Leaves out slots that are about to expire and those that are not over: both may change until they are read back.
    fn new(mut bundle: Bundle, at: u32) -> Self {
        for archive in &mut bundle.archives {
            let from = archive.reach(at).saturating_add(MARGIN_SECS);
            archive.column.keep(from, at.saturating_sub(archive.step_secs));
        }
        let mut bytes = Vec::new();
        encode(&bundle, &mut bytes);
        let checksum = crc32c::crc32c(&bytes);
        Self { policy: bundle.policy.to_string(), slots: bundle.slots(), checksum, at }
    }
}

impl<'a> Delivery<'a> {
    /// Delivers to `target` with `carrier`. What is in the journal is done.
    pub(in super::super) fn new(
        target: &'a Door,
        window: (u32, u32),
        carrier: Carrier<'a>,
        journal: Journal,
    ) -> Self {
        Self { target, window, carrier, journal, sums: HashMap::new(), checked: Checked::default() }
    }

    /// Did an earlier run bring this metric? It is counted then.
    pub(in super::super) fn is_done(&mut self, name: &str) -> bool {
        let is_done = self.journal.has(Path::new(name));
        self.checked.earlier += u64::from(is_done);
        is_done
    }

    /// How many metrics earlier runs brought.
    pub(in super::super) fn earlier(&self) -> u64 {
        self.checked.earlier
    }

    /// Adds a metric.
    pub(in super::super) fn take(&mut self, mut bundle: Bundle) -> Result<()> {
        // A slot of a coarse stage may begin before the time that is asked for.
        for archive in &mut bundle.archives {
            archive.column.keep(self.window.0, self.window.1);
        }
        self.sums.insert(bundle.name.clone(), Sum::new(bundle.clone(), now()));
        if self.carrier.take(bundle) { self.hand_on() } else { Ok(()) }
    }

    /// Hands the piece on, and reads it back.
    pub(in super::super) fn hand_on(&mut self) -> Result<()> {
        let mut sums = std::mem::take(&mut self.sums);
        let mut names: Vec<String> = sums.keys().cloned().collect();
        names.sort_unstable();
        let mut there = HashSet::new();
        self.target.export(&names, NO_TIME, |bundle| {
            there.insert(bundle.name);
            Ok(())
        })?;
        for refused in self.carrier.hand_on()? {
            sums.remove(&refused);
        }
        names.retain(|name| sums.contains_key(name));
        let mut found = HashMap::new();
        self.target.export(&names, self.window, |bundle| {
            if let Some(sum) = sums.get(&bundle.name) {
                found.insert(bundle.name.clone(), Sum::new(bundle, sum.at));
            }
            Ok(())
        })?;
        let mut done = Vec::with_capacity(names.len());
        for name in names {
            if self.check(there.contains(&name), sums.get(&name), found.get(&name)) {
                done.push(PathBuf::from(name));
            } else {
                self.checked.different.push(name);
            }
        }
        self.journal.add(&done)
    }

    /// Is a metric at the other end what it should be?
    fn check(&mut self, was_there: bool, sent: Option<&Sum>, found: Option<&Sum>) -> bool {
        let (Some(sent), Some(found)) = (sent, found) else { return false };
        let count = if was_there {
            &mut self.checked.merged
        } else if sent.policy != found.policy {
            &mut self.checked.adapted
        } else if sent == found {
            &mut self.checked.verified
        } else {
            return false;
        };
        *count += 1;
        true
    }

    /// Hands the rest on. A store on a cluster delivers all of it now.
    pub(in super::super) fn finish(mut self) -> Result<(Imported, Checked, Journal)> {
        self.hand_on()?;
        self.target.hand_over()?;
        Ok((self.carrier.done(), self.checked, self.journal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::Archive;
    use crate::store::Column;

    #[test]
    fn a_changed_slot_changes_the_sum_and_one_about_to_change_does_not() {
        let policy: plumbago_model::Policy = "1000*10s|average|0.5".parse().unwrap();
        let sum = |slots: &[(u32, f64)]| {
            let (times, values) = slots.iter().copied().unzip();
            let column = Column { times, values, counts: Vec::new() };
            let archives = vec![Archive { step_secs: 10, points: 1000, column }];
            Sum::new(Bundle { name: "a".to_owned(), policy: policy.clone(), archives }, 100_000)
        };
        let usual = sum(&[(95_000, 1.0), (95_010, 2.0)]);
        assert_eq!(usual.slots, 2);
        assert_ne!(usual, sum(&[(95_000, 1.0), (95_010, 2.5)]));
        assert_ne!(usual, sum(&[(95_000, 1.0)]));
        assert_eq!(usual, sum(&[(90_010, 7.0), (95_000, 1.0), (95_010, 2.0), (99_995, 3.0)]));
    }
}
