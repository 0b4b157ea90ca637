//! Everything that is kept of one metric, as it travels between stores, servers and files.
//!
//! An importer makes bundles from whatever it reads (from single points by a [`Cascade`]), a server makes them from its store ([`crate::rollup`]), and both hand them
//! on in the form of [`codec`]. [`fit()`] turns one into what the stages of another policy hold. Nothing here reads or writes a
//! file or a socket.

mod cascade;
mod codec;
mod fit;

pub use cascade::Cascade;
pub use codec::{BundleError, Bundles, encode};
pub use fit::fit;

use crate::store::Column;
use plumbago_model::Policy;

/// One metric with its policy and its slots.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// Its name.
    pub name: String,
    /// How it was kept where it comes from.
    pub policy: Policy,
    /// Its slots, from the finest stage to the coarsest; stages without slots may be left out.
    pub archives: Vec<Archive>,
}

/// The slots of one resolution.
///
/// With counts they are partial aggregates, as Plumbago stores them. Without counts they are finished values, as a reader sees
/// them and as whisper stores them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Archive {
    /// Seconds per slot.
    pub step_secs: u32,
    /// Slots that were kept. It says how far back the archive reaches, whatever it holds.
    pub points: u32,
    /// What it holds.
    pub column: Column,
}

impl Archive {
    /// The first second that the archive reaches.
    pub fn reach(&self, now: u32) -> u32 {
        let span = u64::from(self.step_secs) * u64::from(self.points);
        u32::try_from(u64::from(now).saturating_sub(span)).unwrap_or(0)
    }
}

impl Bundle {
    /// Slots in all archives.
    pub fn slots(&self) -> u64 {
        self.archives.iter().map(|archive| archive.column.times.len() as u64).sum()
    }
}
