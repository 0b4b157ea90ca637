//! The other half of the seam: where data goes from this machine in the end, and who else writes there.
//!
//! [`Upstream`] is what the server asks of a store besides keeping slots, names and events: to stay in step with other
//! servers, and to deliver what is still here. A store that is this machine alone answers all of it trivially
//! ([`embedded::Standalone`](super::embedded::Standalone)), so nothing above the seam needs to know which kind of store it has.
//! [`LocalMetrics`] is the way back: the little that a shared store needs from the server above it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{BackedUp, Column, Headway, StoreError};
use plumbago_model::glob::Glob;
use plumbago_model::{
    Aggregator, Cancel, Dates, MetricId, Policy, QueryError, Retention, Span, Stage, Stretch,
};

/// Where the data of this machine goes.
pub trait Upstream: Send + Sync {
    /// The server starts. An error means that it must not: it would write where no reader looks.
    fn start(&self) -> Result<(), StoreError>;

    /// Is this server the only one that writes to the store? Then its spans say when a metric has data, and its rules
    /// decide which policy a metric is under.
    fn is_sole_writer(&self) -> bool;

    /// Are all names of the store among the local metrics? If not, names are looked up by [`Upstream::find`] and
    /// [`Upstream::find_leaves`].
    fn knows_all_names(&self) -> bool;

    /// The metrics and directories that match, sorted by path.
    fn find(
        &self,
        local: &dyn LocalMetrics,
        glob: &Glob,
        max_hits: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Hit>, QueryError>;

    /// The metrics that match, sorted by name. All of them are local metrics afterwards.
    fn find_leaves(
        &self,
        local: &dyn LocalMetrics,
        glob: &Glob,
        max_hits: usize,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError>;

    /// Metrics were read just now.
    fn note_read(&self, metrics: &[MetricId]);

    /// When metrics were created, written and read; `None` if the store notes that away from this machine.
    fn dates(&self, _metrics: &[MetricId]) -> Option<Vec<Dates>> {
        None
    }

    /// Nothing that happened before this is noted in [`Upstream::dates`].
    fn dates_since(&self) -> Option<u32> {
        None
    }

    /// Deletes metrics for all who share the store. `own` makes this machine forget some of them, and is called for all.
    fn delete(&self, metrics: &[Doomed], now: u32, own: Forgetter<'_>) -> Result<(), StoreError>;

    /// Deletes the points of metrics in a stretch of time for all who share the store; slots that lie only partly inside stay with those
    /// who wrote them. `own` erases them on this machine. Gives the number of deletions that a cluster got.
    fn erase(
        &self,
        metrics: &[Doomed],
        stretch: Stretch,
        now: u32,
        own: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<u64, StoreError>;

    /// Can metrics have these retentions? Fails with what has to be done first.
    fn admit(&self, retentions: &[Retention]) -> Result<(), StoreError>;

    /// Puts metrics under other policies for all who share the store. This machine follows afterwards.
    fn change_policies(&self, changes: &[(String, Arc<Policy>)]) -> Result<(), StoreError>;

    /// Is a cut due, this long after the last one?
    fn wants_cut(&self, since_last: Duration) -> bool;

    /// Points that are not delivered yet; `None` if data stays on this machine.
    fn spooled_points(&self) -> Option<u64>;

    /// Has the spool reached its limit?
    fn is_spool_full(&self) -> bool;

    /// Fails with a sentence for the operator while points or queries have to wait.
    fn check(&self) -> Result<(), String>;

    /// Delivers everything, and returns when it has arrived.
    fn deliver_all(&self, local: &dyn LocalMetrics) -> Result<(), String>;

    /// Copies everything that is committed into a directory of this machine. A store that this machine does not hold refuses.
    fn back_up(&self, dir: &Path, headway: &Headway) -> Result<BackedUp, StoreError>;

    /// The background work of the store.
    fn chores(&self) -> Vec<Arc<dyn Chore>>;

    /// The server stops: chores end soon, even if the spool is not empty.
    fn stop(&self);

    /// The server has stopped, and all its points are in blocks: the last thing it does here.
    fn leave(&self, local: &dyn LocalMetrics);
}

/// Work that a store repeats on its own thread.
pub trait Chore: Send + Sync {
    /// The name of its thread.
    fn name(&self) -> &'static str;

    /// Does what is due. Returns how long to wait before the next call.
    fn run(&self, local: &dyn LocalMetrics) -> Duration;
}

/// What a store may ask of the server above it: the metrics this machine knows.
pub trait LocalMetrics: Send + Sync {
    /// No metric has this id or a greater one.
    fn id_bound(&self) -> u32;

    /// The metric of a name.
    fn lookup(&self, name: &str) -> Option<MetricId>;

    /// What is known of some metrics, in the order asked for.
    fn describe(&self, metrics: &[MetricId]) -> Vec<Described>;

    /// The local metrics and directories that match, sorted by path.
    fn find(&self, glob: &Glob, max_hits: usize, cancel: &Cancel) -> Result<Vec<Hit>, QueryError>;

    /// The local metrics that match, sorted by name.
    fn find_leaves(
        &self,
        glob: &Glob,
        max_hits: usize,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError>;

    /// Adds metrics that exist in the store. Returns the ids of those that were new here.
    fn learn(&self, metrics: &[(String, Arc<Policy>)]) -> Result<Vec<MetricId>, StoreError>;

    /// The policy that a metric is under.
    fn policy(&self, id: MetricId) -> Option<Arc<Policy>>;

    /// Puts metrics under the policies that somebody gave them. What was stored under the old ones stays readable.
    fn follow_policies(&self, changes: &[(MetricId, Arc<Policy>)]) -> Result<(), StoreError>;

    /// Puts metrics under the policies that the store had for them from the beginning.
    fn change_policies(&self, changes: &[(MetricId, Arc<Policy>)]) -> Result<(), StoreError>;

    /// Forgets metrics, their names and their points, on this machine.
    fn forget(&self, metrics: &[MetricId]) -> Result<(), StoreError>;

    /// Erases a stretch of time of metrics on this machine, given by ascending id: what was accepted before this call.
    fn erase(&self, metrics: &[MetricId], stretch: Stretch) -> Result<(), StoreError>;

    /// Visits the aggregated slots of some metrics that no cut has written yet, the running ones included, as they follow from
    /// the cuts so far. Stages with shorter slots than `least_step_secs` are left out, and so are metrics that are gone.
    fn visit_running(
        &self,
        metrics: &[MetricId],
        least_step_secs: u32,
        visit: &mut RunningVisitor<'_>,
    ) -> Result<(), StoreError>;
}

/// Makes this machine forget metrics, given by ascending id.
pub type Forgetter<'a> = &'a mut dyn FnMut(&[MetricId]) -> Result<(), StoreError>;

/// Gets some slots of a metric; the method is how their partials were made.
pub type RunningVisitor<'a> = dyn FnMut(Stage, MetricId, Aggregator, &Column) -> Result<(), StoreError> + 'a;

/// What is known here of a metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Described {
    /// It was deleted.
    Gone,
    /// It is being created at this moment and has no name yet.
    Unnamed,
    /// It is there.
    Known {
        /// Its name.
        name: String,
        /// The policy it is under.
        policy: Arc<Policy>,
        /// When this server has data of it.
        span: Span,
    },
}

/// A name that matches: a metric, a directory, or both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// The name.
    pub path: String,
    /// Is there a metric of this name?
    pub leaf: bool,
    /// Is there a directory of this name?
    pub directory: bool,
}

/// The ids of metrics, ascending.
pub(crate) fn ids_of(metrics: &[Doomed]) -> Vec<MetricId> {
    let mut ids: Vec<MetricId> = metrics.iter().map(|doomed| doomed.id).collect();
    ids.sort_unstable();
    ids
}

/// A metric to be deleted.
#[derive(Clone, Debug)]
pub struct Doomed {
    /// Its id on this machine.
    pub id: MetricId,
    /// Its name.
    pub name: String,
    /// Every stage it has or had points in.
    pub stages: Vec<Stage>,
}
