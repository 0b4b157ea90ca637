//! Writing chunks.

use super::counts;
use super::decimal::Scaler;
use super::presence::FormKind;
use super::values;
use super::{ChunkError, MAX_SLOTS, varint};

/// What an aggregated stage keeps besides values.
#[derive(Clone, Copy, Debug)]
pub struct Partials<'a> {
    /// Tag of the aggregation method that made them.
    pub method: u8,
    /// One count per value; any `u32`.
    pub counts: &'a [u32],
}

/// Writes chunks. Reuse one for many chunks: it holds scratch space.
#[derive(Default)]
pub struct Encoder {
    scaler: Scaler,
}

impl Encoder {
    /// An encoder with no scratch space yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends one chunk to `out`: ascending slots, one value for each, and partials for an aggregated stage.
    ///
    /// Fails if the slots are not ascending, if there are none or more than [`MAX_SLOTS`], or if lengths differ; `out` is
    /// then unchanged.
    #[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
    pub fn encode(
        &mut self,
        slots: &[u32],
        values: &[f64],
        partials: Option<Partials<'_>>,
        out: &mut Vec<u8>,
    ) -> Result<(), ChunkError> {
        if slots.len() != values.len() || partials.is_some_and(|p| p.counts.len() != values.len()) {
            return Err(ChunkError::Unwritable("slots, values and counts differ in number"));
        }
        if slots.len() > MAX_SLOTS {
            return Err(ChunkError::Unwritable("it has too many slots"));
        }
        let form = FormKind::of(slots)?;
        let tag_at = out.len();
        out.push(0);
        varint::put(slots.len() as u64, out);
        varint::put(u64::from(slots[0]), out);
        form.write(slots, out);
        let mut counts_tag = counts::NONE;
        if let Some(partials) = partials {
            out.push(partials.method);
            counts_tag = counts::write(partials.counts, out);
        }
        let values_tag = values::write(values, &mut self.scaler, out);
        out[tag_at] = form.tag() | values_tag << 2 | counts_tag << 5;
        Ok(())
    }
}
