//! From the archives of a bundle to the stages of a policy.
//!
//! Each stage is filled on its own, so nothing counts twice: a reader takes a slot from one stage only. A stage takes
//!
//! 1. the archive of its own step as it is, so that a query answers what it answered where the metric comes from;
//! 2. for time that this archive does not reach, the finest archive that does, and for time after its last slot the finer ones:
//!    go-carbon's compressed files aggregate late;
//! 3. without an archive of its own step, the finest archive that has data. Where a finer one has none, a coarser one fills the gap.
//!
//! A slot of a coarser archive lies at its start in a finer stage, and counts as many points as it spans.

use super::{Archive, Bundle};
use crate::store::Column;
use plumbago_model::{Aggregator, Partial, Policy, Stage};

/// What each stage of `policy` holds of a bundle, from the finest to the coarsest.
pub fn fit(bundle: &Bundle, policy: &Policy, now: u32) -> Vec<Column> {
    let sources = sources(bundle, policy, now);
    let stages = policy.retention.stages();
    let mut columns: Vec<Column> = Vec::with_capacity(stages.len());
    for (level, &stage) in stages.iter().enumerate() {
        let own = sources.iter().position(|source| source.step_secs == stage.step_secs);
        let chosen = choose(&sources, own, stage, now);
        let column = match columns.first() {
            None => raw_column(&chosen, stage, policy.aggregator),
            Some(raw) => {
                let known = Known { raw, from: sources.first().map_or(now, |finest| finest.reach) };
                aggregated_column(&chosen, policy, level, &known)
            }
        };
        columns.push(column);
    }
    columns
}

/// An archive in terms of the policy it goes to.
struct Source {
    step_secs: u32,
    /// The first second it reaches.
    reach: u32,
    /// By ascending time.
    slots: Vec<Slot>,
}

#[derive(Clone, Copy)]
struct Slot {
    time: u32,
    step_secs: u32,
    partial: Partial,
    /// A finished value that answers for its slot, however few points it was made of.
    finished: bool,
}

/// The archives, from the finest to the coarsest, as partials of the policy's method.
fn sources(bundle: &Bundle, policy: &Policy, now: u32) -> Vec<Source> {
    let raw_step = policy.retention.raw().step_secs;
    let mut archives: Vec<&Archive> =
        bundle.archives.iter().filter(|archive| archive.step_secs > 0).collect();
    archives.sort_by_key(|archive| archive.step_secs);
    let source = |archive: &&Archive| {
        let slots = slots(archive, bundle, policy.aggregator, raw_step, now);
        let reach = archive.reach(now);
        if archive.step_secs < raw_step {
            Source { step_secs: raw_step, reach, slots: coarsened(&slots, raw_step, policy.aggregator) }
        } else {
            Source { step_secs: archive.step_secs, reach, slots }
        }
    };
    archives.iter().map(source).collect()
}

fn slots(archive: &Archive, bundle: &Bundle, method: Aggregator, raw_step: u32, now: u32) -> Vec<Slot> {
    let column = &archive.column;
    let weight = (archive.step_secs / raw_step).max(1);
    let own_raw = bundle.archives.iter().map(|other| other.step_secs).min().unwrap_or(1).max(1);
    let own_slots = (archive.step_secs / own_raw).max(1);
    let partial = |at: usize, value: f64| match column.counts.get(at) {
        None => method.unfinish(value, weight, weight),
        Some(&count) if method == bundle.policy.aggregator => Partial { value, count },
        Some(&count) => {
            let counted = Partial { value, count };
            let seen = bundle.policy.aggregator.finish(counted, own_slots, 0.0).unwrap_or(value);
            method.unfinish(seen, counted.count(), weight)
        }
    };
    let finished = column.counts.is_empty();
    let here = column.times.iter().zip(&column.values).enumerate();
    here.filter(|(_, (time, value))| **time <= now && !value.is_nan())
        .map(|(at, (&time, &value))| Slot {
            time,
            step_secs: archive.step_secs,
            partial: partial(at, value),
            finished,
        })
        .filter(|slot| slot.partial.count() > 0)
        .collect()
}

/// Slots of an archive that is finer than stage 0, as slots of stage 0.
fn coarsened(slots: &[Slot], step: u32, method: Aggregator) -> Vec<Slot> {
    let slot_of = |slot: &Slot| slot.time - slot.time % step;
    let alike = slots.chunk_by(|a, b| slot_of(a) == slot_of(b));
    alike
        .filter_map(|alike| {
            let whole = merged(alike, method);
            let value = method.finish(whole, whole.count(), 0.0)?;
            Some(Slot {
                time: slot_of(alike.first()?),
                step_secs: step,
                partial: Partial::point(value),
                finished: true,
            })
        })
        .collect()
}

fn merged(slots: &[Slot], method: Aggregator) -> Partial {
    slots.iter().fold(Partial::EMPTY, |whole, slot| method.merge(whole, slot.partial))
}

/// The slots that a stage is made of, by time: see the rules at the top.
fn choose(sources: &[Source], own: Option<usize>, stage: Stage, now: u32) -> Vec<Slot> {
    let oldest = u64::from(now).saturating_sub(stage.span_secs());
    let oldest = u32::try_from(oldest).unwrap_or(0);
    let Some(at) = own else { return finest_first(sources, oldest) };
    let (finer, own_and_coarser) = sources.split_at(at);
    let [own, coarser @ ..] = own_and_coarser else { return Vec::new() };
    let mut chosen: Vec<Slot> = own.slots.iter().filter(|slot| slot.time >= oldest).copied().collect();
    let newer_from = chosen.last().map_or(oldest, |last| last.time.saturating_add(own.step_secs));
    let mut served_from = own.reach;
    for source in finer.iter().chain(coarser) {
        let kept = source.slots.iter().filter(|slot| slot.time >= oldest);
        add_coarser(&mut chosen, kept, source.step_secs, served_from, true);
        served_from = served_from.min(source.reach);
    }
    chosen.extend(finest_first(finer, newer_from));
    chosen
}

/// Slots from a time on: the finest there are, and coarser ones where those have gaps or do not reach.
fn finest_first(sources: &[Source], from: u32) -> Vec<Slot> {
    let Some((finest, coarser)) = sources.split_first() else { return Vec::new() };
    let kept = |source: &Source| -> Vec<Slot> {
        source.slots.iter().filter(|slot| slot.time >= from).copied().collect()
    };
    let mut chosen = kept(finest);
    let mut served_from = finest.reach;
    for source in coarser {
        add_coarser(&mut chosen, kept(source).iter(), source.step_secs, served_from, false);
        served_from = served_from.min(source.reach);
    }
    chosen
}

/// Adds slots of a coarser archive where the chosen ones, which begin at `served_from`, have nothing.
fn add_coarser<'a>(
    chosen: &mut Vec<Slot>,
    coarser: impl Iterator<Item = &'a Slot>,
    step: u32,
    served_from: u32,
    has_own: bool,
) {
    let mut added = Vec::new();
    // Chosen slots that give way to a coarse one, which knows the time before `served_from` too.
    let mut outdone: Option<(u32, u32)> = None;
    for slot in coarser {
        let end = slot.time.saturating_add(step);
        let begin = chosen.partition_point(|other| other.time < slot.time);
        let overlaps = chosen.get(begin).is_some_and(|other| other.time < end);
        if end <= served_from || (!overlaps && !has_own) {
            added.push(*slot);
        } else if slot.time < served_from && !has_own {
            outdone = Some((slot.time, end));
            added.push(*slot);
        }
    }
    if let Some((begin, end)) = outdone {
        chosen.retain(|slot| slot.time < begin || slot.time >= end);
    }
    if !added.is_empty() {
        chosen.extend(added);
        chosen.sort_by_key(|slot| slot.time);
    }
}

fn raw_column(chosen: &[Slot], stage: Stage, method: Aggregator) -> Column {
    let mut column = Column::default();
    for alike in chosen.chunk_by(|a, b| stage.floor(a.time) == stage.floor(b.time)) {
        let whole = merged(alike, method);
        let Some(first) = alike.first() else { continue };
        if let Some(value) = method.finish(whole, whole.count(), 0.0) {
            column.times.push(stage.floor(first.time));
            column.values.push(value);
        }
    }
    column
}

/// The points of stage 0, for counting.
struct Known<'a> {
    raw: &'a Column,
    /// The first second from which all of them are known.
    from: u32,
}

impl Known<'_> {
    /// How many lie in a slot, if that is known.
    fn count(&self, begin: u32, step: u32) -> Option<u32> {
        let times = &self.raw.times;
        let first = times.partition_point(|&time| time < begin);
        let last = times.partition_point(|&time| time < begin.saturating_add(step));
        let count = u32::try_from(last - first).unwrap_or(u32::MAX);
        (begin >= self.from && count > 0).then_some(count)
    }
}

fn aggregated_column(chosen: &[Slot], policy: &Policy, level: usize, known: &Known<'_>) -> Column {
    let (method, slots) = (policy.aggregator, policy.slots_at(level));
    let Some(&stage) = policy.retention.stages().get(level) else { return Column::default() };
    let mut column = Column::default();
    for alike in chosen.chunk_by(|a, b| stage.floor(a.time) == stage.floor(b.time)) {
        let [first, rest @ ..] = alike else { continue };
        let begin = stage.floor(first.time);
        let mut whole = merged(alike, method);
        // One point of a finer archive is no value of the slot: the xFilesFactor decides about it.
        if first.finished && rest.is_empty() && first.step_secs >= stage.step_secs {
            // The value stays as it was. Its count is that of its points, so that a late point can make the slot again.
            if let (Some(count), Some(value)) =
                (known.count(begin, stage.step_secs), method.finish(whole, whole.count(), 0.0))
            {
                whole = method.unfinish(value, count, slots);
            }
            if method.finish(whole, slots, policy.x_files_factor).is_none() {
                whole.count |= Partial::DIRECT;
            }
        }
        column.push_partial(begin, whole);
    }
    column
}

#[cfg(test)]
mod tests;
