//! `delete --from --until` on a cluster.

use std::sync::Arc;

use anyhow::Result;

use super::super::meter;
use super::{Stages, default_policy, has_directories, leaves, names, now_us};
use crate::cli::Delete;
use crate::config::Config;
use crate::http::{DeletedRange, DeletedSlots};
use crate::server::now;
use crate::store::cassandra::names::{Record, identity};
use crate::store::cassandra::{Fetcher, Wanted, erase_stretch};
use plumbago_model::{SlotRange, StageKind, Stretch, Window};

/// Metrics deleted together.
const BATCH: usize = 200;
/// Slots counted at once: two partitions.
const PIECE_SLOTS: usize = 4000;
/// Queries in flight.
const MAX_QUERIES: usize = 64;
/// How far in the future points may be.
const FUTURE_SECS: u32 = 86_400;

/// Deletes the rows of a stretch of time, in batches. The servers are told first: each erases what it holds itself, and makes its part
/// of the slots at the edges again.
pub(in crate::cli::operations) fn delete_range(
    config: &Config,
    arguments: &Delete,
    stretch: Stretch,
) -> Result<DeletedRange> {
    let names = names(config)?;
    let found = leaves(&names, &arguments.glob)?;
    let (stages, default) = (Stages::new(names.cluster())?, default_policy(config));
    let fetcher = Fetcher::new(Arc::clone(names.cluster()), MAX_QUERIES);
    let mut deleted = DeletedRange { deleted: !arguments.dry_run, ..DeletedRange::default() };
    for (done, batch) in found.chunks(BATCH).enumerate() {
        meter::show("deleted", done * BATCH, found.len());
        let records = names.records(batch, &default)?;
        for (name, record) in &records {
            let counted = count(&fetcher, &stages, name, record, stretch)?;
            deleted.metrics.extend((counted.points + counted.aggregates > 0).then_some(counted));
        }
        if !arguments.dry_run {
            let points: Vec<_> =
                records.iter().map(|(name, record)| stages.by_id(name, &record.policy)).collect();
            names.tell_erased(batch, stretch)?;
            erase_stretch(names.cluster(), &points, stretch, now(), now_us())?;
        }
    }
    meter::clear();
    deleted.metrics.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    deleted.only_directories = found.is_empty() && has_directories(&names, &arguments.glob)?;
    Ok(deleted)
}

/// The slots of a metric that lie inside and have something.
fn count(
    fetcher: &Fetcher,
    stages: &Stages,
    name: &str,
    record: &Record,
    stretch: Stretch,
) -> Result<DeletedSlots> {
    let mut counted = DeletedSlots { name: name.to_owned(), ..DeletedSlots::default() };
    for stage in stages.of(&record.policy) {
        let Some((first, end)) = stretch.slots(stage) else { continue };
        let kept = now().saturating_sub(u32::try_from(stage.span_secs()).unwrap_or(u32::MAX));
        let (first, end) = (first.max(stage.floor(kept)), end.min(now().saturating_add(FUTURE_SECS)));
        for piece in SlotRange::between(first, end, stage.step_secs).pieces(PIECE_SLOTS) {
            let wanted = Wanted { metric: identity::id(name), method: record.policy.aggregator, own: None };
            let windows = fetcher.read(stage, &[wanted], piece, None)?;
            let slots: u64 = windows.iter().map(filled).sum();
            *if stage.kind == StageKind::Raw { &mut counted.points } else { &mut counted.aggregates } +=
                slots;
        }
    }
    Ok(counted)
}

fn filled(window: &Window) -> u64 {
    (0..window.range.len).filter(|&at| window.partial(at).count() > 0).count() as u64
}
