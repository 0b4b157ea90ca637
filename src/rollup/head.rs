//! Points in memory: an append-only arena with one backward list per metric.
//!
//! A point takes sixteen bytes. It is appended to the arena and linked to its metric's previous point. Points in order, late
//! points and second values for a slot all cost the same, and a walk back meets the newest value of a slot first. Sorting and
//! compressing wait until the cut, which does them once for all points.
//!
//! Entries never move and full segments never change. So a reader needs the lock only for the open segment; it walks the full
//! ones, which hold most of the points, without a lock and without delaying senders.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plumbago_model::{MetricId, Point, PolicyId, Span};

const NONE: u32 = u32::MAX;
const SEGMENT_BITS: u32 = 16;
const SEGMENT: usize = 1 << SEGMENT_BITS;

#[derive(Clone, Copy, Debug)]
struct Entry {
    timestamp: u32,
    /// The metric's previous entry.
    previous: u32,
    value: f64,
}

/// It grows by whole segments, so entries never move. A full segment never changes again, and readers share it.
#[derive(Debug, Default)]
struct Arena {
    full: Vec<Arc<Vec<Entry>>>,
    open: Vec<Entry>,
}

impl Arena {
    fn push(&mut self, entry: Entry) -> u32 {
        let at = self.len();
        if self.open.len() == SEGMENT {
            self.full.push(Arc::new(std::mem::take(&mut self.open)));
        }
        if self.open.is_empty() {
            self.open.reserve_exact(SEGMENT);
        }
        self.open.push(entry);
        at
    }

    fn len(&self) -> u32 {
        self.first_open() + self.open.len() as u32
    }

    /// The number of the first entry that is not in a full segment.
    fn first_open(&self) -> u32 {
        (self.full.len() << SEGMENT_BITS) as u32
    }

    /// Walks several lists at once, as far as they lie in the open segment; the walk that is returned continues in the full ones.
    /// `visit` gets the number of the list; the points of one list come newest first.
    fn walk_open(&self, newest: impl Iterator<Item = u32>, visit: impl FnMut(usize, Point)) -> Walk {
        let mut under_way: Vec<(usize, u32)> = newest.enumerate().filter(|&(_, at)| at != NONE).collect();
        let first_open = self.first_open();
        let mut rest = Vec::with_capacity(under_way.len());
        under_way.retain(|&(nth, at)| {
            let is_open = at >= first_open;
            if !is_open {
                rest.push((nth, at));
            }
            is_open
        });
        let entry = |at: u32| self.open[(at - first_open) as usize];
        step_back(under_way, entry, visit, |nth, at| {
            let leaves = at < first_open;
            if leaves {
                rest.push((nth, at));
            }
            leaves
        });
        rest.sort_unstable();
        Walk { under_way: rest, segments: self.full.clone() }
    }
}

/// The rest of a walk through memory. It needs no lock, because full segments do not change.
pub(super) struct Walk {
    under_way: Vec<(usize, u32)>,
    segments: Vec<Arc<Vec<Entry>>>,
}

impl Walk {
    /// Walks on to the oldest point of every list.
    pub(super) fn finish(self, visit: impl FnMut(usize, Point)) {
        let segments = self.segments;
        let entry = |at: u32| segments[(at >> SEGMENT_BITS) as usize][at as usize & (SEGMENT - 1)];
        step_back(self.under_way, entry, visit, |_, _| false);
    }
}

/// Takes one step back in every list in turn. Each step is a cache miss; with one list at a time the misses would follow one
/// another, with many lists they overlap. `leaves` ends a list early, at the entry it is given.
fn step_back(
    mut under_way: Vec<(usize, u32)>,
    entry: impl Fn(u32) -> Entry,
    mut visit: impl FnMut(usize, Point),
    mut leaves: impl FnMut(usize, u32) -> bool,
) {
    while !under_way.is_empty() {
        under_way.retain_mut(|(nth, at)| {
            let found = entry(*at);
            visit(*nth, Point { timestamp: found.timestamp, value: found.value });
            *at = found.previous;
            *at != NONE && !leaves(*nth, *at)
        });
    }
}

/// What ingest needs to know about a metric: a quarter of a cache line.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    newest: u32,
    pub(super) policy: PolicyId,
    pub(super) span: Span,
}

/// A point that is too old for stage 0, and the stage that takes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Direct {
    pub(super) level: usize,
    pub(super) point: Point,
}

/// The points accepted since the last cut.
#[derive(Debug, Default)]
pub(super) struct Head {
    states: Vec<State>,
    arena: Arena,
    /// Not in the arena: they are rare, and a level in every entry would make all other points larger.
    direct: HashMap<MetricId, Vec<Direct>>,
    direct_len: usize,
    /// When the first of the points was accepted.
    accepted_since: Option<u32>,
}

impl Head {
    /// Makes room for a metric.
    pub(super) fn add_metric(&mut self, id: MetricId, policy: PolicyId, span: Span) {
        let vacant = State { newest: NONE, policy: PolicyId(u32::MAX), span: Span::EMPTY };
        if self.states.len() <= id.index() {
            self.states.resize(id.index() + 1, vacant);
        }
        let state = &mut self.states[id.index()];
        state.policy = policy;
        state.span = span;
    }

    #[inline]
    pub(super) fn state(&self, id: MetricId) -> Option<&State> {
        self.states.get(id.index()).filter(|s| s.policy.0 != u32::MAX)
    }

    pub(super) fn set_policy(&mut self, id: MetricId, policy: PolicyId) {
        if let Some(state) = self.states.get_mut(id.index()) {
            state.policy = policy;
        }
    }

    /// Extends the span of a metric by that of another.
    pub(super) fn cover(&mut self, id: MetricId, span: Span) -> Span {
        let Some(state) = self.states.get_mut(id.index()) else { return span };
        if span != Span::EMPTY {
            state.span.cover(span.first);
            state.span.cover(span.last);
        }
        state.span
    }

    /// Forgets a metric: no list leads to its points any more.
    pub(super) fn remove_metric(&mut self, id: MetricId) {
        if let Some(state) = self.states.get_mut(id.index()) {
            *state = State { newest: NONE, policy: PolicyId(u32::MAX), span: Span::EMPTY };
        }
        self.direct.remove(&id);
    }

    /// Are there no points of this metric?
    pub(super) fn is_empty_of(&self, id: MetricId) -> bool {
        self.states.get(id.index()).is_none_or(|state| state.newest == NONE) && self.direct(id).is_empty()
    }

    /// The spans of the metrics of a range of ids; of those that are not there it is empty.
    pub(super) fn spans(&self, ids: Range<u32>) -> impl Iterator<Item = Span> + '_ {
        let states = self.states.get(ids.start as usize..(ids.end as usize).min(self.states.len()));
        states.unwrap_or_default().iter().map(|state| state.span)
    }

    /// No metric has this id or a higher one.
    pub(super) fn id_bound(&self) -> u32 {
        self.states.len() as u32
    }

    pub(super) fn push(&mut self, id: MetricId, point: Point) {
        let state = &mut self.states[id.index()];
        let entry = Entry { timestamp: point.timestamp, previous: state.newest, value: point.value };
        state.newest = self.arena.push(entry);
        state.span.cover(point.timestamp);
    }

    pub(super) fn push_direct(&mut self, id: MetricId, direct: Direct) {
        self.states[id.index()].span.cover(direct.point.timestamp);
        self.direct.entry(id).or_default().push(direct);
        self.direct_len += 1;
    }

    /// The points that are pushed next were accepted at this time.
    pub(super) fn note_accepted(&mut self, now: u32) {
        self.accepted_since = Some(self.accepted_since.map_or(now, |since| since.min(now)));
    }

    /// When the first of the points was accepted; `None` without points.
    pub(super) fn accepted_since(&self) -> Option<u32> {
        self.accepted_since
    }

    /// Number of points held.
    pub(super) fn len(&self) -> usize {
        self.arena.len() as usize + self.direct_len
    }

    /// The newest points of several metrics with the metric's place in `ids`, newest first. The walk that is returned visits
    /// the other points, and needs no lock on this head.
    pub(super) fn walk_many(&self, ids: &[MetricId], visit: impl FnMut(usize, Point)) -> Walk {
        let newest = ids.iter().map(|id| self.states.get(id.index()).map_or(NONE, |state| state.newest));
        self.arena.walk_open(newest, visit)
    }

    /// Takes out the points of a metric that entered a coarser stage directly.
    pub(super) fn take_direct(&mut self, id: MetricId) -> Vec<Direct> {
        let taken = self.direct.remove(&id).unwrap_or_default();
        self.direct_len -= taken.len();
        taken
    }

    pub(super) fn direct(&self, id: MetricId) -> &[Direct] {
        self.direct.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Takes the points out for a cut; the metrics stay.
    pub(super) fn freeze(&mut self, cut: u64, log_floor: u64) -> Frozen {
        let mut newest = Vec::with_capacity(self.states.len());
        for state in &mut self.states {
            newest.push(std::mem::replace(&mut state.newest, NONE));
        }
        self.direct_len = 0;
        Frozen {
            cut: AtomicU64::new(cut),
            log_floor,
            newest,
            arena: std::mem::take(&mut self.arena),
            direct: std::mem::take(&mut self.direct),
            accepted_since: self.accepted_since.take(),
        }
    }
}

/// The points of one cut on their way into the store. Views read them together with the store until the cut is committed.
#[derive(Debug)]
pub(super) struct Frozen {
    /// The cut that will hold them: a snapshot with this number or a later one has them already.
    cut: AtomicU64,
    /// Once the cut is committed, the log segments before this one can be removed.
    pub(super) log_floor: u64,
    newest: Vec<u32>,
    arena: Arena,
    direct: HashMap<MetricId, Vec<Direct>>,
    /// As in the head that the points come from.
    pub(super) accepted_since: Option<u32>,
}

impl Frozen {
    pub(super) fn cut(&self) -> u64 {
        self.cut.load(Ordering::SeqCst)
    }

    /// Gives the cut the next number, because another commit went first.
    pub(super) fn renumber(&self, cut: u64) {
        self.cut.store(cut, Ordering::SeqCst);
    }

    /// The points of several metrics with the metric's place in `ids`; those of one metric come newest first.
    pub(super) fn walk_many(&self, ids: &[MetricId], mut visit: impl FnMut(usize, Point)) {
        let newest = ids.iter().map(|id| self.newest.get(id.index()).copied().unwrap_or(NONE));
        self.arena.walk_open(newest, &mut visit).finish(visit);
    }

    pub(super) fn direct(&self, id: MetricId) -> &[Direct] {
        self.direct.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Are there no points of this metric?
    pub(super) fn is_empty_of(&self, id: MetricId) -> bool {
        self.newest.get(id.index()).is_none_or(|&newest| newest == NONE) && self.direct(id).is_empty()
    }

    /// Metrics that have points here, ascending.
    pub(super) fn metrics(&self) -> impl Iterator<Item = MetricId> + '_ {
        let has = |(i, &newest): (usize, &u32)| {
            let id = MetricId(i as u32);
            (newest != NONE || self.direct.contains_key(&id)).then_some(id)
        };
        self.newest.iter().enumerate().filter_map(has)
    }

    pub(super) fn len(&self) -> usize {
        self.arena.len() as usize + self.direct.values().map(Vec::len).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(timestamp: u32, value: f64) -> Point {
        Point { timestamp, value }
    }

    #[test]
    fn a_metric_sees_its_own_points_newest_first_across_a_freeze() {
        let mut head = Head::default();
        for id in [0, 3] {
            head.add_metric(MetricId(id), PolicyId(0), Span::EMPTY);
        }
        head.push(MetricId(3), point(10, 1.0));
        head.push(MetricId(0), point(10, 9.0));
        head.push(MetricId(3), point(5, 2.0));
        let frozen = head.freeze(1, 2);
        head.push(MetricId(3), point(20, 3.0));

        let mut old = Vec::new();
        frozen.walk_many(&[MetricId(3), MetricId(1), MetricId(0)], |nth, p| old.push((nth, p.value)));
        let mut new = Vec::new();
        head.walk_many(&[MetricId(3)], |nth, p| new.push((nth, p.value)))
            .finish(|_, _| unreachable!("one segment is not full yet"));
        assert_eq!((old, new), (vec![(0, 2.0), (2, 9.0), (0, 1.0)], vec![(0, 3.0)]));
        assert_eq!(frozen.metrics().collect::<Vec<_>>(), [MetricId(0), MetricId(3)]);
        assert_eq!(head.state(MetricId(3)).unwrap().span, Span { first: 5, last: 20 });
        assert!(head.state(MetricId(1)).is_none());
    }

    #[test]
    fn a_walk_goes_on_in_full_segments_while_the_head_grows() {
        let mut head = Head::default();
        let (often, seldom) = (MetricId(0), MetricId(1));
        [often, seldom].into_iter().for_each(|id| head.add_metric(id, PolicyId(0), Span::EMPTY));
        let n = 2 * SEGMENT as u32 + 10;
        head.push(seldom, point(0, 0.5));
        for t in 0..n {
            head.push(often, point(t, f64::from(t)));
        }
        let mut seen = [Vec::new(), Vec::new()];
        let walk = head.walk_many(&[often, seldom], |nth, p| seen[nth].push(p.timestamp));
        assert_eq!(seen[0].len(), 11, "the open segment has ten points and the one that did not fit before");
        for t in n..n + SEGMENT as u32 {
            head.push(often, point(t, 0.0));
        }
        walk.finish(|nth, p| seen[nth].push(p.timestamp));
        assert_eq!(seen[0], (0..n).rev().collect::<Vec<_>>());
        assert_eq!(seen[1], [0]);
        assert_eq!(head.len(), n as usize + SEGMENT + 1);
    }
}
