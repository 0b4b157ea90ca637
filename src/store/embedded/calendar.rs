//! The calendar: when each metric was created, and the days on which it was last written and read.
//!
//! Ids ascend as metrics are created. So creations take no room by metric: there is one entry for each minute that had any. The days
//! take four bytes a metric. A read or a write stores a number in memory; pages that changed go to the catalogue later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};

use parking_lot::RwLock;
use redb::{ReadTransaction, ReadableTable, TableDefinition};

use super::catalogue::{Catalogue, failed};
use super::transcript::Changes;
use crate::store::{MetricStore, StoreError};
use plumbago_model::{Dates, MetricId};

/// The first id of a minute in which metrics were created, and that minute.
pub(super) const CREATED: TableDefinition<'_, u32, u32> = TableDefinition::new("created");
/// The last days, [`PAGE`] metrics a row.
pub(super) const USED: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("used");

const PAGE: usize = 1024;
const DAY: u32 = 86_400;
const HOUR: u32 = 3600;
/// Creations are kept to the minute for this long, and later to the hour.
const MINUTES_KEPT: u32 = 31 * DAY;
/// Pages in one transaction: a cut may have to wait for it.
const PAGES_AT_ONCE: usize = 256;

/// See the module documentation.
#[derive(Default)]
pub(super) struct Calendar {
    created: RwLock<Created>,
    pages: RwLock<Vec<Arc<Page>>>,
    /// Ids below this are those of metrics that the catalogue has, or had.
    bound: AtomicU32,
    /// Nothing before this was noted.
    since: u32,
}

/// First ids and minutes, ascending.
#[derive(Default)]
struct Created {
    minutes: Vec<(u32, u32)>,
    /// So many of them are in the catalogue.
    recorded: usize,
}

/// Days since 1970; 0 means never.
struct Page {
    updated: [AtomicU16; PAGE],
    read: [AtomicU16; PAGE],
    /// Does it differ from the catalogue?
    is_new: AtomicBool,
}

impl Default for Page {
    fn default() -> Self {
        let zeros = || std::array::from_fn(|_| AtomicU16::new(0));
        Self { updated: zeros(), read: zeros(), is_new: AtomicBool::new(false) }
    }
}

impl Page {
    fn decode(bytes: &[u8]) -> Self {
        let page = Self::default();
        for ((updated, read), pair) in page.updated.iter().zip(&page.read).zip(bytes.as_chunks::<4>().0) {
            updated.store(u16::from_le_bytes([pair[0], pair[1]]), Ordering::Relaxed);
            read.store(u16::from_le_bytes([pair[2], pair[3]]), Ordering::Relaxed);
        }
        page
    }

    /// The days of the first so many metrics, and none of the others.
    fn encode(&self, metrics: usize) -> Vec<u8> {
        let mut bytes = vec![0; PAGE * 4];
        let pairs = self.updated.iter().zip(&self.read).take(metrics);
        for ((updated, read), pair) in pairs.zip(bytes.as_chunks_mut::<4>().0) {
            pair[..2].copy_from_slice(&updated.load(Ordering::Relaxed).to_le_bytes());
            pair[2..].copy_from_slice(&read.load(Ordering::Relaxed).to_le_bytes());
        }
        bytes
    }
}

fn day_of(time: u32) -> u16 {
    u16::try_from(time / DAY).unwrap_or(u16::MAX)
}

fn position(metric: MetricId) -> (usize, usize) {
    (metric.index() / PAGE, metric.index() % PAGE)
}

impl Calendar {
    /// What the catalogue has. Creations that are long ago are kept to the hour from now on.
    pub(super) fn load(catalogue: &Catalogue, now: u32) -> Result<Self, StoreError> {
        let txn = catalogue.read()?;
        let (minutes, spare) = load_minutes(&txn, now)?;
        if !spare.is_empty() {
            catalogue.write(|txn| {
                let mut table = txn.open_table(CREATED).map_err(failed)?;
                spare.iter().try_for_each(|id| table.remove(id).map_err(failed))
            })?;
        }
        let mut pages: Vec<Arc<Page>> = Vec::new();
        for row in txn.open_table(USED).map_err(failed)?.iter().map_err(failed)? {
            let (number, bytes) = row.map_err(failed)?;
            pages.resize_with(number.value() as usize, Arc::default);
            pages.push(Arc::new(Page::decode(bytes.value())));
        }
        Ok(Self {
            created: RwLock::new(Created { recorded: minutes.len(), minutes }),
            pages: RwLock::new(pages),
            bound: AtomicU32::new(catalogue.id_bound()?),
            since: catalogue.dates_since()?,
        })
    }

    /// Nothing before this was noted.
    pub(super) fn since(&self) -> u32 {
        self.since
    }

    /// Metrics are created. Their ids are higher than all before.
    pub(super) fn note_created(&self, first: MetricId, now: u32) {
        let minute = now / 60 * 60;
        let minutes = &mut self.created.write().minutes;
        if minutes.last().is_none_or(|&(id, last)| last != minute && id < first.0) {
            minutes.push((first.0, minute));
        }
    }

    pub(super) fn note_read(&self, metrics: &[MetricId], now: u32) {
        self.make_room(metrics);
        self.note(metrics, day_of(now), |page| &page.read);
    }

    pub(super) fn note_updated(&self, metrics: &[MetricId], now: u32) {
        self.make_room(metrics);
        self.note(metrics, day_of(now), |page| &page.updated);
    }

    /// Metrics were deleted.
    pub(super) fn forget(&self, metrics: &[MetricId]) {
        self.note(metrics, 0, |page| &page.read);
        self.note(metrics, 0, |page| &page.updated);
    }

    fn note(&self, metrics: &[MetricId], day: u16, days: impl Fn(&Page) -> &[AtomicU16; PAGE]) {
        let pages = self.pages.read();
        for &metric in metrics {
            let (number, at) = position(metric);
            let Some(page) = pages.get(number) else { continue };
            let noted = &days(page)[at];
            // Most are noted already, and reading a number that nobody changes is cheap on every core.
            if noted.load(Ordering::Relaxed) != day {
                noted.store(day, Ordering::Relaxed);
                page.is_new.store(true, Ordering::Release);
            }
        }
    }

    fn make_room(&self, metrics: &[MetricId]) {
        let Some(last) = metrics.iter().max() else { return };
        let needed = position(*last).0 + 1;
        if self.pages.read().len() < needed {
            let mut pages = self.pages.write();
            let needed = needed.max(pages.len());
            pages.resize_with(needed, Arc::default);
        }
    }

    pub(super) fn dates(&self, metrics: &[MetricId]) -> Vec<Dates> {
        let (created, pages) = (self.created.read(), self.pages.read());
        let dates = |metric: &MetricId| {
            let (number, at) = position(*metric);
            let of = |days: fn(&Page) -> &[AtomicU16; PAGE]| {
                let day = pages.get(number).map_or(0, |page| days(page)[at].load(Ordering::Relaxed));
                (day > 0).then(|| u32::from(day) * DAY)
            };
            let minute = created.minutes.partition_point(|&(first, _)| first <= metric.0).checked_sub(1);
            Dates {
                created: minute.and_then(|at| created.minutes.get(at)).map(|&(_, minute)| minute),
                updated: of(|page| &page.updated),
                read: of(|page| &page.read),
            }
        };
        metrics.iter().map(dates).collect()
    }

    /// Writes the creations of metrics below `bound`, which the same transaction records. Gives a number for [`Calendar::recorded`].
    pub(super) fn record_created(&self, txn: &Changes<'_>, bound: u32) -> Result<usize, StoreError> {
        let created = self.created.read();
        let known = created.minutes.partition_point(|&(first, _)| first < bound);
        if known > created.recorded {
            let mut table = txn.open_table(CREATED).map_err(failed)?;
            for (first, minute) in &created.minutes[created.recorded..known] {
                table.insert(first, minute).map_err(failed)?;
            }
        }
        Ok(known)
    }

    /// The transaction is committed: metrics below `bound` and so many minutes are in the catalogue.
    pub(super) fn recorded(&self, minutes: usize, bound: u32) {
        let mut created = self.created.write();
        created.recorded = created.recorded.max(minutes);
        self.bound.fetch_max(bound, Ordering::AcqRel);
    }

    /// How many metrics of a page the catalogue has.
    fn known_of(&self, page: usize) -> usize {
        (self.bound.load(Ordering::Acquire) as usize).saturating_sub(page * PAGE).min(PAGE)
    }
}

/// The minutes to keep, and the first ids of those that are spare.
#[allow(clippy::type_complexity, reason = "two lists")]
fn load_minutes(txn: &ReadTransaction, now: u32) -> Result<(Vec<(u32, u32)>, Vec<u32>), StoreError> {
    let (mut kept, mut spare): (Vec<(u32, u32)>, Vec<u32>) = Default::default();
    for row in txn.open_table(CREATED).map_err(failed)?.iter().map_err(failed)? {
        let (first, minute) = row.map_err(failed).map(|(first, minute)| (first.value(), minute.value()))?;
        let is_old = now.saturating_sub(minute) > MINUTES_KEPT;
        match kept.last() {
            Some((_, last)) if is_old && last / HOUR == minute / HOUR => spare.push(first),
            _ => kept.push((first, minute)),
        }
    }
    Ok((kept, spare))
}

impl Catalogue {
    /// Writes the days that are new. Those of metrics that the catalogue does not have yet wait: after a loss of power, other metrics
    /// may get their ids.
    pub(super) fn record_days(&self) -> Result<(), StoreError> {
        let all = self.calendar().pages.read().clone();
        let is_new = |(_, page): &(usize, Arc<Page>)| page.is_new.swap(false, Ordering::AcqRel);
        let changed: Vec<(usize, Arc<Page>)> = all.into_iter().enumerate().filter(is_new).collect();
        let written = changed.chunks(PAGES_AT_ONCE).try_for_each(|batch| self.record_pages(batch));
        if written.is_err() {
            changed.iter().for_each(|(_, page)| page.is_new.store(true, Ordering::Release));
        }
        written
    }

    fn record_pages(&self, pages: &[(usize, Arc<Page>)]) -> Result<(), StoreError> {
        self.write(|txn| {
            let mut table = txn.open_table(USED).map_err(failed)?;
            for (number, page) in pages {
                let known = self.calendar().known_of(*number);
                table.insert(*number as u32, page.encode(known).as_slice()).map_err(failed)?;
                if known < PAGE {
                    // The rest is written when the catalogue has those metrics.
                    let is_set = |day: &AtomicU16| day.load(Ordering::Relaxed) > 0;
                    let waits = page.updated[known..].iter().chain(&page.read[known..]).any(is_set);
                    page.is_new.fetch_or(waits, Ordering::AcqRel);
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;
