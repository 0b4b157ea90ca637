//! Points of several items, with the names of their series and where each was sent.

use plumbago_model::{Arrival, Batch, Point, labelled};

/// Points in one batch.
const MOST_POINTS: usize = 10_000;

/// Bytes of names in one batch.
const MOST_BYTES: usize = 1 << 20;

/// Points that become a batch.
#[derive(Debug, Default)]
pub struct Gathered {
    arrival: Arrival,
    /// All names, one behind the other.
    names: String,
    series: Vec<Series>,
    points: Vec<Sent>,
    /// Values that a double does not hold exactly.
    pub rounded: u64,
}

/// Points of one item that follow each other.
#[derive(Debug)]
struct Series {
    item: usize,
    /// Where its name begins and ends.
    name: (usize, usize),
}

/// A point, and where it was sent.
#[derive(Debug)]
struct Sent {
    series: u32,
    /// Its place in the item's list; none if it was not in a list.
    place: Option<u32>,
    point: Point,
}

impl Gathered {
    /// The points as a batch.
    pub fn batch(&self) -> Batch<'_> {
        self.batch_in(Batch::default())
    }

    /// The same in the memory of another batch.
    pub fn batch_in<'a>(&'a self, mut memory: Batch<'a>) -> Batch<'a> {
        memory.entries.clear();
        memory.entries.extend(self.points.iter().map(|sent| (self.name(sent), sent.point)));
        Batch { arrival: self.arrival, ..memory }
    }

    /// Where the point at a place of the batch was sent: number of the item, its metric, and the place in its list of points.
    pub fn origin(&self, at: usize) -> Option<(usize, String, Option<u32>)> {
        let sent = self.points.get(at)?;
        let metric = labelled::parts(self.name(sent)).0.into_owned();
        Some((self.series.get(sent.series as usize)?.item, metric, sent.place))
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.points.len() >= MOST_POINTS || self.names.len() >= MOST_BYTES
    }

    /// Can a point that came in like this be in the same batch?
    pub(super) fn takes(&self, arrival: Arrival) -> bool {
        self.is_empty() || self.arrival == arrival
    }

    pub(super) fn push(
        &mut self,
        arrival: Arrival,
        item: usize,
        place: Option<usize>,
        name: &str,
        point: Point,
    ) {
        self.arrival = arrival;
        if self.series.last().is_none_or(|last| last.item != item) {
            let begin = self.names.len();
            self.names.push_str(name);
            self.series.push(Series { item, name: (begin, self.names.len()) });
        }
        let place = place.map(|place| u32::try_from(place).unwrap_or(u32::MAX));
        self.points.push(Sent { series: self.series.len() as u32 - 1, place, point });
    }

    /// Adds the point of an item of its own, whose name `write` puts behind the others. Nothing is added if it cannot.
    pub(super) fn push_new(
        &mut self,
        arrival: Arrival,
        item: usize,
        point: Point,
        write: impl FnOnce(&mut String) -> Option<()>,
    ) -> Option<()> {
        let begin = self.names.len();
        if write(&mut self.names).is_none() {
            self.names.truncate(begin);
            return None;
        }
        self.arrival = arrival;
        self.points.push(Sent { series: self.series.len() as u32, place: None, point });
        self.series.push(Series { item, name: (begin, self.names.len()) });
        Some(())
    }

    /// Forgets the points, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.series.clear();
        self.points.clear();
        self.rounded = 0;
    }

    fn name(&self, sent: &Sent) -> &str {
        let series = self.series.get(sent.series as usize);
        series.and_then(|series| self.names.get(series.name.0..series.name.1)).unwrap_or_default()
    }
}
