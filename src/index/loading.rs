//! Building the index at a start, with two cores: names on the thread that reads them, tree and tags on another.
//!
//! Both mostly wait for memory, because names arrive in an order that suits neither.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::texts::Texts;
use super::{Index, InsertError, claim};
use plumbago_model::MetricId;

/// Steps handed over in one batch.
const BATCH: usize = 4096;

/// Batches that may wait.
const WAITING: usize = 8;

/// An index that is being built.
#[derive(Debug)]
pub struct Loading {
    names: Texts,
    batch: Batch,
    batches: SyncSender<Batch>,
    placing: JoinHandle<Placed>,
}

/// Changes to apply to tree and tags, in order.
#[derive(Debug, Default)]
struct Batch {
    texts: String,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    what: What,
    id: MetricId,
    /// Where its name ends in the texts; it starts where the previous one ends.
    end: usize,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Place,
    Displace,
}

/// Tree and tags, and the metrics that could not be added.
#[derive(Debug, Default)]
struct Placed {
    index: Index,
    refused: Vec<(MetricId, InsertError)>,
}

impl Loading {
    /// An index without metrics.
    pub fn begin() -> std::io::Result<Self> {
        let (batches, received) = sync_channel::<Batch>(WAITING);
        let placing = std::thread::Builder::new().name("index".to_owned()).spawn(move || {
            let mut placed = Placed::default();
            received.into_iter().for_each(|batch| placed.take(&batch));
            placed
        })?;
        Ok(Self { names: Texts::default(), batch: Batch::default(), batches, placing })
    }

    /// The metric of a name.
    pub fn lookup(&self, name: &[u8]) -> Option<MetricId> {
        self.names.find(name).map(MetricId)
    }

    /// Adds a metric, as [`Index::insert`] does.
    pub fn insert(&mut self, id: MetricId, name: &str) -> Result<(), InsertError> {
        claim(&mut self.names, id, name)?;
        self.step(What::Place, id, name);
        Ok(())
    }

    /// Forgets a metric.
    pub fn remove(&mut self, id: MetricId) {
        if let Some(name) = self.names.get(id.0).map(str::to_owned) {
            self.names.remove(id.0);
            self.step(What::Displace, id, &name);
        }
    }

    /// Gives a metric another name. False if another metric has it.
    pub fn rename(&mut self, id: MetricId, name: &str) -> bool {
        if let Some(owner) = self.lookup(name.as_bytes()) {
            return owner == id;
        }
        self.remove(id);
        self.insert(id, name).is_ok()
    }

    /// The index, and the metrics that could not be added to it.
    pub fn finish(mut self) -> (Index, Vec<(MetricId, InsertError)>) {
        self.hand_over();
        drop(self.batches);
        let Placed { mut index, refused } =
            self.placing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        index.names = self.names;
        for (id, _) in &refused {
            index.names.remove(id.0);
        }
        (index, refused)
    }

    fn step(&mut self, what: What, id: MetricId, name: &str) {
        self.batch.texts.push_str(name);
        self.batch.steps.push(Step { what, id, end: self.batch.texts.len() });
        if self.batch.steps.len() == BATCH {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        // Fails only if the other thread has panicked, which shows when it is joined.
        let _ = self.batches.send(std::mem::take(&mut self.batch));
    }
}

impl Placed {
    fn take(&mut self, batch: &Batch) {
        let mut begin = 0;
        for step in &batch.steps {
            let name = batch.texts.get(begin..step.end).unwrap_or_default();
            begin = step.end;
            match step.what {
                What::Displace => self.index.displace(step.id, name),
                What::Place => {
                    if let Err(error) = self.index.place(step.id, name) {
                        self.refused.push((step.id, error));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{FindLimits, SharedIndex};
    use plumbago_model::Cancel;
    use plumbago_model::glob::Glob;

    fn leaves(index: Index, glob: &str) -> Vec<(MetricId, String)> {
        let glob = Glob::parse(glob).unwrap();
        SharedIndex::new(index).find_leaves(&glob, FindLimits::names(100_000), &Cancel::never()).unwrap()
    }

    #[test]
    fn what_is_loaded_is_what_is_inserted_one_by_one() {
        let name = |id: u32| match id % 7 {
            0 => format!("disk;host=web{id};rack={}", id % 5),
            _ => format!("servers.web{}.cpu{}.load{id}", id % 11, id % 3),
        };
        let (mut loading, mut index) = (Loading::begin().unwrap(), Index::new());
        // Several batches, with removals of what another batch added, and names that return.
        for id in 0..3 * BATCH as u32 {
            loading.insert(MetricId(id), &name(id)).unwrap();
            index.insert(MetricId(id), &name(id)).unwrap();
            if id % 10 == 9 {
                loading.remove(MetricId(id / 2));
                index.remove(MetricId(id / 2));
            }
        }
        let (again, taken) = (MetricId(1_000_000), name(4));
        assert_eq!(loading.lookup(taken.as_bytes()), None);
        loading.insert(again, &taken).unwrap();
        index.insert(again, &taken).unwrap();
        let double = loading.insert(MetricId(1_000_001), &taken).unwrap_err();
        assert_eq!(double, InsertError::NameTaken { name: taken, id: again });

        let (loaded, refused) = loading.finish();
        assert_eq!(refused, []);
        assert_eq!((loaded.len(), loaded.tagged_len()), (index.len(), index.tagged_len()));
        assert_eq!(leaves(loaded, "servers.*.*.*"), leaves(index, "servers.*.*.*"));
    }
}
