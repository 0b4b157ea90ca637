//! Spans: the first and last hour in which each metric has data.

use redb::{ReadableTable as _, TableDefinition};

use super::catalogue::failed;
use super::codec::Chunk;
use super::merge::advance;
use super::state::State;
use super::transcript::Kept;
use crate::store::StoreError;
use plumbago_model::{MetricId, Span};

/// First and last hour with data, [`SPAN_PAGE`] metrics a row.
pub(super) const SPANS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("spans");

const SPAN_PAGE: u32 = 1024;
const SPAN_BYTES: usize = 8;
const HOUR: u32 = 3600;

/// Extends the spans of metrics, by ascending id.
pub(super) fn touch(
    table: &mut Kept<'_, u32, &'static [u8]>,
    touched: &[(MetricId, Span)],
) -> Result<(), StoreError> {
    for page in touched.chunk_by(|a, b| a.0.0 / SPAN_PAGE == b.0.0 / SPAN_PAGE) {
        let Some((first, _)) = page.first() else { continue };
        let number = first.0 / SPAN_PAGE;
        let mut bytes = table.get(number).map_err(failed)?.map_or_else(Vec::new, |b| b.value().to_vec());
        bytes.resize(SPAN_PAGE as usize * SPAN_BYTES, 0);
        for (id, span) in page {
            let at = (id.0 % SPAN_PAGE) as usize * SPAN_BYTES;
            let old = span_at(&bytes, at);
            bytes[at..at + 4].copy_from_slice(&old.first.min(span.first).to_le_bytes());
            bytes[at + 4..at + 8].copy_from_slice(&old.last.max(span.last).to_le_bytes());
        }
        table.insert(number, bytes.as_slice()).map_err(failed)?;
    }
    Ok(())
}

/// The row of spans read last.
#[derive(Default)]
pub(super) struct SpanPage {
    number: Option<u32>,
    bytes: Vec<u8>,
}

impl SpanPage {
    pub(super) fn get(
        &mut self,
        table: &redb::ReadOnlyTable<u32, &'static [u8]>,
        id: u32,
    ) -> Result<Span, StoreError> {
        let number = id / SPAN_PAGE;
        if self.number != Some(number) {
            self.bytes = table.get(number).map_err(failed)?.map_or_else(Vec::new, |b| b.value().to_vec());
            self.number = Some(number);
        }
        Ok(span_at(&self.bytes, (id % SPAN_PAGE) as usize * SPAN_BYTES))
    }
}

/// A metric without a record has never been cut: only the log has it.
fn span_at(bytes: &[u8], at: usize) -> Span {
    let word = |at: usize| bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    match (word(at), word(at + 4)) {
        (0, 0) => Span::EMPTY,
        (first, last) => Span { first, last },
    }
}

/// The spans of all metrics, as their blocks have them: a transcript does not keep them.
pub(super) fn measure(state: &State) -> Vec<(MetricId, Span)> {
    let mut spans: std::collections::BTreeMap<u32, Span> = std::collections::BTreeMap::new();
    for block in state.blocks() {
        let meta = block.info().meta;
        let time = |slot: u32| meta.partition_start.saturating_add(slot.saturating_mul(meta.stage.step_secs));
        let mut cursor = block.cursor();
        while advance(&mut cursor) {
            let Some((metric, bytes)) = cursor.current() else { continue };
            let Ok(chunk) = Chunk::parse(bytes) else { continue };
            let first = time(chunk.first_slot()) / HOUR * HOUR;
            let last = time(chunk.last_slot().saturating_add(1)).div_ceil(HOUR).saturating_mul(HOUR);
            let span = spans.entry(metric).or_insert(Span { first, last });
            *span = Span { first: span.first.min(first), last: span.last.max(last) };
        }
    }
    spans.into_iter().map(|(metric, span)| (MetricId(metric), span)).collect()
}
