//! Step 1: sockets. Bytes arrive here; limits and back-pressure, no meaning.
//!
//! A connection reads into its own buffer, has it parsed, and hands the batch to a [`Sink`] before it reads again: what
//! the server cannot take stays in the sender's socket instead of in a queue of ours.

use crate::model::Batch;

/// Where received points go. Implemented by the server over resolve, log and rollup.
pub trait Sink: Send + Sync + 'static {
    /// Takes the whole batch, or none of it. Points in it that are refused one by one (too old, over a limit) are
    /// counted by the sink. When this returns `Ok` every point taken survives a kill of the process.
    fn accept(&self, batch: &Batch<'_>) -> Result<(), Busy>;
}

/// The batch cannot be taken now (disk full, log failing): try the same batch again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;
