//! Reads for queries that want points, not a series of even steps: stage 0 as far back as it reaches, and before that the aggregated
//! slots of the finest stage that does, with their counts.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::fetch::in_two;
use super::points::Points;
use super::view::View;
use plumbago_model::{Aggregator, Cancel, MetricId, Policy, PolicyId, QueryError, SlotRange, Span, Window};

/// Metrics read together: enough to read a page of a block only once.
const TOGETHER: usize = 64;

/// Slots in memory at once, over the metrics that are read together: 16 MB with their counts.
const WORKING_SLOTS: usize = 1 << 20;

/// Bytes of a slot while it is read: a value and a count.
const SLOT_BYTES: usize = 16;

/// Bytes of a slot that is given out, and of what a query makes of it.
const FOUND_BYTES: usize = size_of::<Slot>() + 32;

/// What a metric has in one slot: a point of stage 0, or an aggregate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot {
    /// When it starts.
    pub start: u32,
    /// How many points it stands for.
    pub count: u32,
    /// What it shows.
    pub value: f64,
    /// The sum of its points; where only one of them is known, that of as many like it.
    pub sum: f64,
}

/// A stretch of time that is read.
#[derive(Clone, Copy, Debug)]
pub struct Seconds {
    /// The first second; the slot that it falls into is read.
    pub from: u32,
    /// The last one.
    pub until: u32,
    /// The time at which it is read.
    pub now: u32,
    /// Does this server know when each metric has data? Not if others write to the same store.
    pub spans_known: bool,
}

/// How many slots a query may read.
#[derive(Debug)]
pub struct PointLimit {
    most: usize,
    read: AtomicUsize,
}

impl PointLimit {
    /// So many.
    pub fn new(most: usize) -> Self {
        Self { most, read: AtomicUsize::new(0) }
    }

    /// How many were read.
    pub fn read(&self) -> usize {
        self.read.load(Ordering::Relaxed)
    }

    fn count(&self, slots: usize) -> Result<(), QueryError> {
        let read = self.read.fetch_add(slots, Ordering::Relaxed) + slots;
        if read <= self.most {
            return Ok(());
        }
        Err(QueryError::Limit(format!(
            "the query reads more than {} points; query.max_points allows no more: ask for fewer series or a shorter time, or raise it",
            self.most
        )))
    }
}

/// Metrics of one policy, read together.
struct Job {
    policy_id: PolicyId,
    policy: Arc<Policy>,
    members: Vec<usize>,
    windows: Vec<(usize, SlotRange)>,
}

impl Points {
    /// How many stretches of stages answer for some time, over all policies.
    pub fn windows(&self, seconds: Seconds) -> usize {
        self.policies().all().iter().map(|(_, policy)| windows_of(policy, seconds).len()).sum()
    }

    /// What each of some metrics has in some time, in order.
    pub fn read_slots(
        &self,
        ids: &[MetricId],
        seconds: Seconds,
        limit: &PointLimit,
        cancel: &Cancel,
    ) -> Result<Vec<Vec<Slot>>, QueryError> {
        let mut jobs = Vec::new();
        for (policy_id, members) in self.members_by_policy(ids) {
            let Some(policy) = self.policies().get(policy_id) else { continue };
            for batch in members.chunks(TOGETHER) {
                let windows = windows_of(&policy, within_spans(batch, seconds));
                let members = batch.iter().map(|(at, _)| *at).collect();
                jobs.push(Job { policy_id, policy: Arc::clone(&policy), members, windows });
            }
        }
        let mut found = vec![Vec::new(); ids.len()];
        for (at, slots) in in_two(&jobs, cancel, |job| self.read_job(ids, job, limit, cancel))? {
            if let Some(found) = found.get_mut(at) {
                *found = slots;
            }
        }
        Ok(found)
    }

    /// The places of metrics in a list, by their policies, with their spans.
    fn members_by_policy(&self, ids: &[MetricId]) -> HashMap<PolicyId, Vec<(usize, Span)>> {
        let memory = self.memory();
        let mut groups: HashMap<PolicyId, Vec<(usize, Span)>> = HashMap::new();
        for (at, &id) in ids.iter().enumerate() {
            if let Some(state) = memory.live.state(id) {
                groups.entry(state.policy).or_default().push((at, state.span));
            }
        }
        groups
    }

    fn read_job(
        &self,
        ids: &[MetricId],
        job: &Job,
        limit: &PointLimit,
        cancel: &Cancel,
    ) -> Result<Vec<(usize, Vec<Slot>)>, QueryError> {
        let (Some((_, first)), Some((_, last))) = (job.windows.first(), job.windows.last()) else {
            return Ok(Vec::new());
        };
        let metrics = job.members.iter().map(|&at| ids[at]).collect();
        let bounds = (first.start, last.end());
        let view = View::open_shared(self, (job.policy_id, Arc::clone(&job.policy)), metrics, bounds);
        let mut found: Vec<(usize, Vec<Slot>)> = job.members.iter().map(|&at| (at, Vec::new())).collect();
        for &(level, range) in &job.windows {
            for piece in range.pieces(WORKING_SLOTS / job.members.len()) {
                cancel.check()?;
                let working = job.members.len() * piece.len * SLOT_BYTES;
                cancel.take(working)?;
                for ((_, found), window) in found.iter_mut().zip(view.read(level, piece)?) {
                    let before = found.len();
                    gather(&window, &job.policy, level, found);
                    limit.count(found.len() - before)?;
                    cancel.take((found.len() - before) * FOUND_BYTES)?;
                }
                cancel.give_back(working);
            }
        }
        Ok(found)
    }
}

/// Adds the slots of a window that have something.
fn gather(window: &Window, policy: &Policy, level: usize, found: &mut Vec<Slot>) {
    let slots = policy.slots_at(level);
    for at in 0..window.range.len {
        let partial = window.partial(at);
        if partial.count() == 0 {
            continue;
        }
        let (start, count) = (window.range.time(at), partial.count());
        if level == 0 {
            found.push(Slot { start, count, value: partial.value, sum: partial.value });
        } else if let Some(value) = policy.aggregator.finish(partial, slots, policy.x_files_factor) {
            let sum = match policy.aggregator {
                Aggregator::Average | Aggregator::Sum | Aggregator::AvgZero => partial.value,
                _ => value * f64::from(count),
            };
            found.push(Slot { start, count, value, sum });
        }
    }
}

/// What is left of a stretch of time where some of the metrics have data.
fn within_spans(metrics: &[(usize, Span)], seconds: Seconds) -> Seconds {
    if !seconds.spans_known {
        return seconds;
    }
    let first = metrics.iter().map(|(_, span)| span.first).min().unwrap_or(u32::MAX);
    let last = metrics.iter().map(|(_, span)| span.last).max().unwrap_or(0);
    Seconds { from: seconds.from.max(first), until: seconds.until.min(last), ..seconds }
}

/// The parts of stages that answer for some time, the oldest first: what a finer stage does not reach comes from the next one.
fn windows_of(policy: &Policy, Seconds { from, until, now, .. }: Seconds) -> Vec<(usize, SlotRange)> {
    let stages = policy.retention.stages();
    let mut windows = Vec::new();
    let mut end = u64::from(until) + 1;
    for (level, stage) in stages.iter().enumerate() {
        let reach = u64::from(now).saturating_sub(stage.span_secs());
        let is_enough = reach <= u64::from(from);
        // A slot of the next stage ends where this one takes over.
        let step =
            stages.get(level + 1).filter(|_| !is_enough).map_or(1, |coarser| u64::from(coarser.step_secs));
        let edge = |at: u64| u32::try_from(at).unwrap_or(u32::MAX);
        let begin = stage.floor(edge(u64::from(from).max(reach).div_ceil(step) * step));
        if u64::from(begin) < end {
            let range = SlotRange::between(begin, edge(end), stage.step_secs);
            windows.extend((range.len > 0).then_some((level, range)));
            end = u64::from(begin);
        }
        if is_enough {
            break;
        }
    }
    windows.reverse();
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u32 = 1_000_000;

    fn windows(policy: &str, from: u32, until: u32) -> Vec<(usize, u32, u32)> {
        let policy: Policy = policy.parse().unwrap();
        let found = windows_of(&policy, Seconds { from, until, now: NOW, spans_known: false });
        found.iter().map(|(level, range)| (*level, range.start, range.end())).collect()
    }

    #[test]
    fn each_part_comes_from_the_finest_stage_that_reaches_it() {
        let policy = "100*1s:100*60s:100*600s|average|0";
        // Stage 0 reaches back to 999,900, and stage 1 to 994,000.
        assert_eq!(windows(policy, NOW - 50, NOW), [(0, 999_950, 1_000_001)]);
        assert_eq!(windows(policy, NOW - 101, NOW), [(1, 999_840, 999_900), (0, 999_900, 1_000_001)]);
        assert_eq!(
            windows(policy, 0, NOW),
            [(2, 939_600, 994_200), (1, 994_200, 999_900), (0, 999_900, 1_000_001)]
        );
        assert_eq!(windows(policy, 950_000, 960_000), [(2, 949_800, 960_600)]);
        assert_eq!(windows("100*10s|average|0", NOW - 55, NOW - 41), [(0, 999_940, 999_960)]);
        assert_eq!(windows(policy, NOW - 10, NOW - 20), []);
        assert_eq!(windows(policy, 0, 10), []);
    }

    #[test]
    fn parts_touch_and_never_overlap() {
        for from in (900_000..NOW).step_by(977) {
            let parts = windows("100*1s:100*60s:100*600s|average|0", from, NOW);
            assert!(parts.windows(2).all(|pair| pair[0].2 == pair[1].1), "{from}: {parts:?}");
        }
    }
}
