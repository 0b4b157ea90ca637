//! Checks a whole block, for `plumbago fsck`.

use super::{Block, BlockError};
use crate::store::embedded::codec::{Chunk, Samples};
use plumbago_model::StageKind;

impl Block {
    /// Reads everything: checksums, order, every value of every chunk, and the sums in the trailer. The error lists
    /// everything that is wrong.
    pub fn verify(&self) -> Result<(), Vec<BlockError>> {
        let mut errors = Vec::new();
        let mut found = Found::default();
        let mut buf = Vec::new();
        for number in 0..self.pages() {
            if let Err(error) = self.verify_page(number, &mut buf, &mut found) {
                errors.push(error);
            }
        }
        let info = self.info();
        let told = Found {
            chunks: info.chunks,
            metrics: (info.chunks > 0).then_some((info.first_metric, info.last_metric)),
            slots: (info.chunks > 0).then_some((info.first_slot, info.last_slot)),
        };
        // Without a page the sums cannot match, and the missing page was already reported.
        if errors.is_empty() && found != told {
            let detail = "the number of chunks, metrics or slots is not the one in its trailer".to_owned();
            errors.push(BlockError::Damaged { path: info.path.clone(), detail });
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn verify_page(&self, number: usize, buf: &mut Vec<u8>, found: &mut Found) -> Result<(), BlockError> {
        let aggregated = self.info().meta.stage.kind == StageKind::Aggregated;
        let mut samples = Samples::default();
        for entry in self.page(number, buf)? {
            let (metric, bytes) = entry.map_err(|detail| self.damaged_page(number, detail))?;
            if found.metrics.is_some_and(|(_, last)| metric <= last) {
                return Err(self.damaged_page(number, format!("metric {metric} is out of order")));
            }
            let chunk = Chunk::parse(bytes).and_then(|chunk| chunk.decode(&mut samples).map(|()| chunk));
            let chunk =
                chunk.map_err(|error| self.damaged_page(number, format!("metric {metric}: {error}")))?;
            if chunk.method().is_some() != aggregated {
                let detail = format!("metric {metric}: counts in a raw stage, or none in an aggregated one");
                return Err(self.damaged_page(number, detail));
            }
            found.add(metric, &chunk);
        }
        Ok(())
    }
}

/// What the pages contain, to be compared with the trailer.
#[derive(Default, PartialEq, Eq)]
struct Found {
    chunks: u64,
    /// Lowest and highest.
    metrics: Option<(u32, u32)>,
    /// Lowest and highest.
    slots: Option<(u32, u32)>,
}

impl Found {
    fn add(&mut self, metric: u32, chunk: &Chunk<'_>) {
        self.chunks += 1;
        self.metrics = Some((self.metrics.map_or(metric, |(first, _)| first), metric));
        let (first, last) = self.slots.unwrap_or((chunk.first_slot(), chunk.last_slot()));
        self.slots = Some((first.min(chunk.first_slot()), last.max(chunk.last_slot())));
    }
}
