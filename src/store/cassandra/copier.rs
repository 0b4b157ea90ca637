//! Copies the points of one metric to another, in all stages, while servers write.
//!
//! A row of stage 0 is copied unchanged. The rows of an aggregated slot cannot be: each is stored under the number of its
//! writer, and a server treats rows under its own number as its own. It ignores them when it reads, because its blocks are more
//! current, and replaces them when a late point arrives. So the copy adds up the writers of each replica and writes one row per
//! replica, under a number that no server has. A reader adds that row to what servers write for the new name: after a rename in
//! the middle of an hour, both halves of the hour are there. Copying again replaces the row.
//!
//! Aggregates of the last minutes are not in the tables yet, and a slot that is still running gets its final value when it is over,
//! under the old name. They are computed from the finer stage, as a reader does.

use std::sync::Arc;

use uuid::Uuid;

use super::fetch::{REPLICAS, UNSETTLED_SECS};
use super::lease::COPY_WRITER;
use super::{Cluster, Delivery, Fetcher, Sender, Wanted};
use crate::store::{Column, StoreError};
use plumbago_model::{Policy, SlotRange, Stage, StageKind, Window};

/// Slots to read at once: eight partitions.
const PIECE_SLOTS: usize = 16_000;
/// How far in the future points may be.
const FUTURE_SECS: u32 = 86_400;
/// Queries in flight.
const MAX_QUERIES: usize = 32;
/// Batches in flight.
const MAX_IN_FLIGHT: usize = 64;

/// What to copy.
#[derive(Clone, Debug)]
pub struct CopyJob {
    /// The metric to read.
    pub source: Uuid,
    /// The metric to write.
    pub target: Uuid,
    /// The policy of both.
    pub policy: Arc<Policy>,
    /// Copy slots that start at this time or later.
    pub from: u32,
    /// Copy slots that start before this time.
    pub until: u32,
}

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Points of stage 0.
    pub points: u64,
    /// Aggregated slots, over all stages.
    pub aggregates: u64,
}

/// Copies metrics.
pub struct Copier {
    fetcher: Fetcher,
    sender: Sender,
    /// The replica for aggregates of a metric that has none yet.
    replica: usize,
    /// The time of the copy: earlier deletions do not hide it, and later writes replace it.
    now: u32,
    now_us: i64,
}

impl Copier {
    /// Copies as of `now_us`, in microseconds since 1970.
    pub fn new(cluster: &Arc<Cluster>, replica: u8, now_us: i64) -> Self {
        Self {
            fetcher: Fetcher::new(Arc::clone(cluster), MAX_QUERIES),
            sender: Sender::new(Arc::clone(cluster), MAX_IN_FLIGHT),
            replica: usize::from(replica) % REPLICAS,
            now: u32::try_from(now_us / 1_000_000).unwrap_or(u32::MAX),
            now_us,
        }
    }

    /// Copies everything; a dry run only counts. Safe to repeat.
    pub fn copy(&self, job: &CopyJob, trial: bool) -> Result<Copied, StoreError> {
        let mut copied = Copied::default();
        for (level, stage) in job.policy.retention.stages().iter().enumerate() {
            let stage_copy = StageCopy { copier: self, job, deliveries: self.deliveries(trial) };
            match stage.kind {
                StageKind::Raw => copied.points += stage_copy.copy_raw(*stage)?,
                StageKind::Aggregated => copied.aggregates += stage_copy.copy_aggregated(level)?,
            }
            stage_copy.finish()?;
        }
        Ok(copied)
    }

    /// One for each replica; none for a dry run.
    fn deliveries(&self, trial: bool) -> Vec<Delivery<'_>> {
        let replicas = if trial { 0..0 } else { 0..REPLICAS as u16 };
        let shard = |replica: u16| ((replica << 14) | COPY_WRITER.cast_unsigned()).cast_signed();
        replicas.map(|replica| self.sender.begin(shard(replica), self.now_us)).collect()
    }
}

/// Copies one stage for one job.
struct StageCopy<'a> {
    copier: &'a Copier,
    job: &'a CopyJob,
    deliveries: Vec<Delivery<'a>>,
}

impl StageCopy<'_> {
    fn copy_raw(&self, stage: Stage) -> Result<u64, StoreError> {
        let mut points = 0;
        for piece in self.range(stage).pieces(PIECE_SLOTS) {
            let column = column(&self.read(stage, piece)?);
            points += column.times.len() as u64;
            self.put(0, stage, &column)?;
        }
        Ok(points)
    }

    fn copy_aggregated(&self, level: usize) -> Result<u64, StoreError> {
        let CopyJob { source, policy, .. } = self.job;
        let stage = policy.retention.stages()[level];
        let all = self.range(stage);
        let settled =
            SlotRange::between(all.start, self.settled_until(stage).min(all.end()), stage.step_secs);
        let mut slots = 0;
        let mut is_used = [false; REPLICAS];
        for piece in settled.pieces(PIECE_SLOTS) {
            let replicas = self.copier.fetcher.read_replicas(stage, (*source, policy.aggregator), piece)?;
            let columns =
                replicas.iter().enumerate().filter_map(|(nth, window)| Some((nth, column(window.as_ref()?))));
            let mut most = 0;
            for (nth, column) in columns {
                is_used[nth] = true;
                most = most.max(column.times.len());
                self.put(nth, stage, &column)?;
            }
            slots += most as u64;
        }
        if !is_used.contains(&true) {
            is_used[self.copier.replica] = true;
        }
        let open = SlotRange::between(settled.end().max(all.start), all.end(), stage.step_secs);
        for piece in open.pieces(PIECE_SLOTS) {
            let column = column(&self.complete(level, piece)?);
            slots += column.times.len() as u64;
            for (nth, _) in is_used.iter().enumerate().filter(|(_, used)| **used) {
                self.put(nth, stage, &column)?;
            }
        }
        Ok(slots)
    }

    /// The slots of a stage. Those that may be incomplete in the tables are computed from the finer stage.
    fn complete(&self, level: usize, range: SlotRange) -> Result<Window, StoreError> {
        let stages = self.job.policy.retention.stages();
        let mut window = self.read(stages[level], range)?;
        if level == 0 {
            return Ok(window);
        }
        let from = self.settled_until(stages[level]).max(range.start);
        let open = SlotRange::between(from, range.end(), range.step);
        if open.len == 0 {
            return Ok(window);
        }
        let step = stages[level - 1].step_secs;
        let finer = SlotRange { start: open.start, step, len: open.len * (open.step / step) as usize };
        let made = self.complete(level - 1, finer)?.aggregate(open, self.job.policy.aggregator);
        for at in 0..open.len {
            // Keep a stored slot that has more points than are left of the finer stage.
            if let Some(place) = range.position(open.time(at))
                && made.partial(at).count() >= window.partial(place).count()
            {
                window.set(place, made.partial(at));
            }
        }
        Ok(window)
    }

    fn read(&self, stage: Stage, range: SlotRange) -> Result<Window, StoreError> {
        let CopyJob { source, policy, .. } = self.job;
        let wanted = Wanted { metric: *source, method: policy.aggregator, own: None };
        let windows = self.copier.fetcher.read(stage, &[wanted], range, None)?;
        let empty = || Window::empty(range, stage.kind == StageKind::Aggregated);
        Ok(windows.into_iter().next().unwrap_or_else(empty))
    }

    fn put(&self, replica: usize, stage: Stage, column: &Column) -> Result<(), StoreError> {
        match self.deliveries.get(replica) {
            Some(delivery) => delivery.put(stage, self.job.target, self.job.policy.aggregator, column),
            None => Ok(()),
        }
    }

    fn finish(self) -> Result<(), StoreError> {
        self.deliveries.into_iter().try_for_each(|delivery| delivery.finish().map(drop))
    }

    /// The requested slots of a stage that can contain something.
    fn range(&self, stage: Stage) -> SlotRange {
        let span = u32::try_from(stage.span_secs()).unwrap_or(u32::MAX);
        let from = self.job.from.max(self.copier.now.saturating_sub(span));
        let until = self.job.until.min(self.copier.now.saturating_add(FUTURE_SECS));
        SlotRange::between(from, until, stage.step_secs)
    }

    /// Slots before this are complete in the tables.
    fn settled_until(&self, stage: Stage) -> u32 {
        stage.floor(self.copier.now.saturating_sub(UNSETTLED_SECS))
    }
}

/// The slots that contain something.
fn column(window: &Window) -> Column {
    let mut column = Column::default();
    for at in (0..window.range.len).filter(|&at| window.partial(at).count() > 0) {
        let partial = window.partial(at);
        column.times.push(window.range.time(at));
        column.values.push(partial.value);
        if !window.counts.is_empty() {
            column.counts.push(partial.count);
        }
    }
    column
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_what_is_there() {
        let range = SlotRange { start: 0, step: 10, len: 3 };
        let mut window = Window::empty(range, true);
        window.set(1, plumbago_model::Partial { value: 7.0, count: 2 });
        let found = column(&window);
        assert_eq!((found.times, found.values, found.counts), (vec![10], vec![7.0], vec![2]));
        let raw = Window { range, values: vec![1.0, f64::NAN, f64::INFINITY], counts: Vec::new() };
        let found = column(&raw);
        assert_eq!((found.times, found.counts), (vec![0, 20], vec![]));
    }
}
