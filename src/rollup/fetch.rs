//! Reads for queries: chooses the stage that answers a window, and turns its slots into values.

use std::collections::HashMap;
use std::sync::Arc;

use super::points::Points;
use super::view::View;
use plumbago_model::{
    Aggregator, Cancel, MetricId, Policy, PolicyId, QueryError, Reading, SlotRange, Window,
};

/// Metrics read together: enough to read a page of a block only once, few enough to split over two cores.
const READ_BATCH: usize = 64;

/// Slots read together at most, unless one metric has more. A query looks after each batch whether somebody still waits for it.
const READ_SLOTS: usize = 1 << 19;

/// Bytes of a slot while it is read: a value and a count. The caller counts the values that come out.
const SLOT_BYTES: usize = 16;

/// Values of one metric over a window; NaN where a slot is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The slots.
    pub range: SlotRange,
    /// One value per slot.
    pub values: Vec<f64>,
}

impl Points {
    /// Values in `(from, until]` of each metric, by the finest stage that reaches back to `from`.
    ///
    /// `None` for a metric that cannot have data in the window, because it is in the future or before all of its stages.
    pub fn fetch(
        &self,
        ids: &[MetricId],
        from: i64,
        until: i64,
        now: i64,
        cancel: &Cancel,
    ) -> Result<Vec<Option<Series>>, QueryError> {
        self.fetch_as(Reading::Value, ids, (from, until), now, cancel)
    }

    /// The same, with another reading of the slots. A sum is not known of a method that keeps none.
    pub fn fetch_as(
        &self,
        reading: Reading,
        ids: &[MetricId],
        (from, until): (i64, i64),
        now: i64,
        cancel: &Cancel,
    ) -> Result<Vec<Option<Series>>, QueryError> {
        let mut groups: HashMap<PolicyId, Vec<usize>> = HashMap::new();
        {
            let memory = self.memory();
            for (i, &id) in ids.iter().enumerate() {
                if let Some(state) = memory.live.state(id) {
                    groups.entry(state.policy).or_default().push(i);
                }
            }
        }
        let mut jobs = Vec::new();
        for (policy_id, members) in groups {
            let Some(policy) = self.policies().get(policy_id) else { continue };
            if let Some((level, range)) = stage_and_range(&policy, from, until, now) {
                for batch in members.chunks((READ_SLOTS / range.len.max(1)).clamp(1, READ_BATCH)) {
                    jobs.push(Job {
                        policy_id,
                        policy: Arc::clone(&policy),
                        level,
                        range,
                        batch: batch.to_vec(),
                    });
                }
            }
        }
        let mut result: Vec<Option<Series>> = ids.iter().map(|_| None).collect();
        for (i, series) in in_two(&jobs, cancel, |job| self.run_job(ids, job, reading, cancel))? {
            result[i] = Some(series);
        }
        Ok(result)
    }

    /// How many values [`Points::fetch`] would return. It reads nothing.
    pub fn estimate(&self, ids: &[MetricId], from: i64, until: i64, now: i64) -> usize {
        let memory = self.memory();
        let mut by_policy: HashMap<PolicyId, usize> = HashMap::new();
        for &id in ids {
            if let Some(state) = memory.live.state(id) {
                *by_policy.entry(state.policy).or_default() += 1;
            }
        }
        let slots = |policy| {
            let policy: Arc<Policy> = self.policies().get(policy)?;
            stage_and_range(&policy, from, until, now).map(|(_, range)| range.len)
        };
        by_policy.into_iter().map(|(policy, n)| n * slots(policy).unwrap_or(0)).sum()
    }

    fn run_job(
        &self,
        ids: &[MetricId],
        job: &Job,
        reading: Reading,
        cancel: &Cancel,
    ) -> Result<Vec<(usize, Series)>, QueryError> {
        let working = job.batch.len() * job.range.len * SLOT_BYTES;
        cancel.take(working)?;
        let metrics = job.batch.iter().map(|&i| ids[i]).collect();
        let bounds = (job.range.start, job.range.end());
        let view = View::open_shared(self, (job.policy_id, Arc::clone(&job.policy)), metrics, bounds);
        let windows = view.read(job.level, job.range)?;
        let finish = |window: Window| Series {
            range: window.range,
            values: read_as(reading, window, &job.policy, job.level),
        };
        let done = job.batch.iter().copied().zip(windows.into_iter().map(finish)).collect();
        cancel.give_back(working);
        Ok(done)
    }
}

/// Does each job, with two threads if there are several.
pub(super) fn in_two<J: Sync, T: Send>(
    jobs: &[J],
    cancel: &Cancel,
    run: impl Fn(&J) -> Result<Vec<T>, QueryError> + Sync,
) -> Result<Vec<T>, QueryError> {
    let run = |jobs: &[J]| -> Result<Vec<T>, QueryError> {
        let mut done = Vec::new();
        for job in jobs {
            cancel.check()?;
            done.extend(run(job)?);
        }
        Ok(done)
    };
    if jobs.len() < 2 {
        return run(jobs);
    }
    let (left, right) = jobs.split_at(jobs.len() / 2);
    let (left, right) = std::thread::scope(|scope| {
        let other = scope.spawn(|| run(right));
        let left = run(left);
        (left, other.join())
    });
    let mut done = left?;
    match right {
        Ok(right) => done.extend(right?),
        Err(panic) => std::panic::resume_unwind(panic),
    }
    Ok(done)
}

/// Metrics of one policy, read together.
struct Job {
    policy_id: PolicyId,
    policy: Arc<Policy>,
    level: usize,
    range: SlotRange,
    batch: Vec<usize>,
}

/// Whisper's rule: the request's `from` chooses the stage, and the window is then limited to what that stage keeps.
fn stage_and_range(policy: &Policy, from: i64, until: i64, now: i64) -> Option<(usize, SlotRange)> {
    let oldest = now - i64::try_from(policy.retention.span_secs()).unwrap_or(i64::MAX);
    if from > now || until < oldest {
        return None;
    }
    let (from, until) = (from.max(oldest).max(0), until.min(now));
    let level = policy.retention.level_for_age(u64::try_from(now - from).unwrap_or(0));
    let step = i64::from(policy.retention.stages()[level].step_secs);
    let start = from - from % step + step;
    let end = until - until % step + step;
    let start_slot = u32::try_from(start).ok()?;
    let len = usize::try_from((end - start).max(step) / step).ok()?;
    Some((level, SlotRange { start: start_slot, step: step as u32, len }))
}

fn read_as(reading: Reading, window: Window, policy: &Policy, level: usize) -> Vec<f64> {
    let is_known = |at: &usize| window.partial(*at).count() > 0;
    let all = 0..window.values.len();
    match reading {
        Reading::Value => finish(window, policy, level),
        Reading::Count => {
            let count = |at| if is_known(&at) { f64::from(window.partial(at).count()) } else { f64::NAN };
            all.map(count).collect()
        }
        Reading::Sum if level == 0 => window.values,
        Reading::Sum => match policy.aggregator {
            Aggregator::Average | Aggregator::Sum | Aggregator::AvgZero => {
                all.map(|at| if is_known(&at) { window.partial(at).value } else { f64::NAN }).collect()
            }
            _ => vec![f64::NAN; window.values.len()],
        },
    }
}

fn finish(window: Window, policy: &Policy, level: usize) -> Vec<f64> {
    if level == 0 {
        return window.values;
    }
    let slots = policy.slots_at(level);
    let finished = |at| policy.aggregator.finish(window.partial(at), slots, policy.x_files_factor);
    (0..window.values.len()).map(|at| finished(at).unwrap_or(f64::NAN)).collect()
}
