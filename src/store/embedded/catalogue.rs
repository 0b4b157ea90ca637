//! The catalogue: names, policies, spans, and the list of block files, in one transactional database.
//!
//! Here are its transactions, its settings and the list of blocks; [`metrics`](super::metrics) has what it knows about metrics. The layout
//! is in `docs/format/catalogue.md`.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::calendar::{CREATED, Calendar, USED};
use super::database;
use super::events::EVENTS;
use super::memos::MEMOS;
use super::spans::SPANS;
use super::spool::Parcel;
use super::tables::{self, CHANGES};
use super::transcript::{Changes, Transcript};
use crate::disk::Disk;
use crate::store::{Mark, Position, StoreError};
use plumbago_model::{MetricId, PolicyId};

/// Its name in the data directory.
pub(super) const CATALOGUE_FILE: &str = "catalogue.redb";

/// Pages of names, by the first id in them.
pub(super) const NAMES: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("names");
pub(super) const DELETED: TableDefinition<'_, u32, ()> = TableDefinition::new("deleted");
/// The names of metrics that were renamed; their pages have the first ones.
pub(super) const RENAMED: TableDefinition<'_, u32, &'static str> = TableDefinition::new("renamed");
/// The quotas for which metrics count because of who created them.
pub(super) const OWNERS: TableDefinition<'_, u32, &'static str> = TableDefinition::new("owners");
pub(super) const POLICIES: TableDefinition<'_, u32, &str> = TableDefinition::new("policies");
/// All policies of metrics that have had more than one, oldest first.
pub(super) const POLICY_HISTORY: TableDefinition<'_, u32, Vec<u32>> = TableDefinition::new("policy_history");
/// Block files in use, relative to the data directory.
pub(super) const BLOCKS: TableDefinition<'_, &str, ()> = TableDefinition::new("blocks");
/// Cuts that have to be sent elsewhere: points and the time of the cut.
pub(super) const PARCELS: TableDefinition<'_, u64, (u64, i64)> = TableDefinition::new("parcels");
pub(super) const SETTINGS: TableDefinition<'_, &str, &str> = TableDefinition::new("settings");

/// The format this build writes, and the only one it reads.
pub(super) const FORMAT: &str = "1";
/// Memory for a copy of the catalogue.
const COPY_CACHE: usize = 64 << 20;

/// The setting that says since when there are dates.
pub(super) const DATES_SINCE: &str = "dates_since";
/// The setting that tells this store from every other.
const STORE: &str = "store";

/// The open database.
pub(super) struct Catalogue {
    disk: Arc<dyn Disk>,
    db: Database,
    pub(super) calendar: Calendar,
    /// Tells this store from every other.
    pub(super) store_id: u64,
    /// The second copy of what only the catalogue knows. A catalogue on its own, as in a backup, has none.
    transcript: Mutex<Option<Transcript>>,
}

pub(super) fn failed(error: impl Into<redb::Error>) -> StoreError {
    match error.into() {
        // A read past the end is no failure of the disk.
        redb::Error::Io(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
            StoreError::Io { action: "use", path: CATALOGUE_FILE.into(), source }
        }
        // Neither is damage: these follow from an earlier failure.
        other @ (redb::Error::PreviousIo | redb::Error::DatabaseClosed | redb::Error::LockPoisoned(_)) => {
            let source = std::io::Error::other(other.to_string());
            StoreError::Io { action: "use", path: CATALOGUE_FILE.into(), source }
        }
        other => StoreError::Catalogue(other.to_string()),
    }
}

impl Catalogue {
    /// Opens a catalogue on its own. That of a store is opened by [`super::opening`].
    pub(super) fn open(disk: &Arc<dyn Disk>, path: &Path) -> Result<Self, StoreError> {
        Self::of(disk, database::open(&**disk, path, &Database::builder())?)
    }

    /// The catalogue in an open database.
    pub(super) fn of(disk: &Arc<dyn Disk>, db: Database) -> Result<Self, StoreError> {
        let mut catalogue = Self {
            disk: Arc::clone(disk),
            db,
            calendar: Calendar::default(),
            store_id: 0,
            transcript: Mutex::default(),
        };
        catalogue.prepare()?;
        catalogue.store_id = u64::from_str_radix(&catalogue.setting(STORE)?, 16).unwrap_or(0);
        catalogue.calendar = Calendar::load(&catalogue, catalogue.now())?;
        Ok(catalogue)
    }

    /// From now on every change goes to a transcript, too. One that is not open yet is written from the beginning.
    pub(super) fn attach(&self, transcript: Transcript) {
        *self.transcript.lock() = Some(transcript);
        self.keep_transcript();
    }

    /// Makes the transcript durable, and writes it from the beginning if it is time to. Without one nothing is lost as long as the catalogue
    /// is good, so that this fails only in the log.
    fn keep_transcript(&self) {
        let mut transcript = self.transcript.lock();
        let Some(transcript) = transcript.as_mut() else { return };
        let kept = if transcript.is_due() {
            // Nobody changes anything while the transcript is locked.
            let mut write = || {
                let (number, txn) = (self.changes()?, self.read()?);
                transcript.write_all(number, |filling| tables::fill(&txn, filling))
            };
            write()
        } else {
            transcript.sync().map_err(|error| failed(redb::StorageError::Io(error)))
        };
        if let Err(error) = kept {
            tracing::warn!(%error, "the transcript of the catalogue could not be written; the next cut tries again");
        }
    }

    /// Reads the transcript to its end. Gives what is wrong with it.
    pub(super) fn check_transcript(&self) -> Result<Vec<String>, StoreError> {
        let transcript = self.transcript.lock();
        transcript.as_ref().map_or(Ok(Vec::new()), |transcript| Ok(transcript.check(self.changes()?)))
    }

    /// The number of the last change that is kept in a transcript.
    pub(super) fn changes(&self) -> Result<u64, StoreError> {
        Ok(self.setting(CHANGES)?.parse().unwrap_or(0))
    }

    fn setting(&self, key: &str) -> Result<String, StoreError> {
        let txn = self.read()?;
        let settings = txn.open_table(SETTINGS).map_err(failed)?;
        let text = settings.get(key).map_err(failed)?;
        Ok(text.map(|text| text.value().to_owned()).unwrap_or_default())
    }

    /// Creates the tables, and rejects a database of another format.
    fn prepare(&self) -> Result<(), StoreError> {
        self.write(|txn| {
            txn.open_table(NAMES).map_err(failed)?;
            txn.open_table(DELETED).map_err(failed)?;
            txn.open_table(RENAMED).map_err(failed)?;
            txn.open_table(OWNERS).map_err(failed)?;
            txn.open_table(POLICIES).map_err(failed)?;
            txn.open_table(POLICY_HISTORY).map_err(failed)?;
            txn.open_table(SPANS).map_err(failed)?;
            txn.open_table(BLOCKS).map_err(failed)?;
            txn.open_table(PARCELS).map_err(failed)?;
            txn.open_table(EVENTS).map_err(failed)?;
            txn.open_table(MEMOS).map_err(failed)?;
            txn.open_table(CREATED).map_err(failed)?;
            txn.open_table(USED).map_err(failed)?;
            let mut settings = txn.open_table(SETTINGS).map_err(failed)?;
            if settings.get(DATES_SINCE).map_err(failed)?.is_none() {
                settings.insert(DATES_SINCE, self.now().to_string().as_str()).map_err(failed)?;
            }
            if settings.get(STORE).map_err(failed)?.is_none() {
                settings.insert(STORE, format!("{:016x}", self.new_id()).as_str()).map_err(failed)?;
            }
            let found = settings.get("format").map_err(failed)?.map(|f| f.value().to_owned());
            match found.as_deref() {
                None => {
                    settings.insert("format", FORMAT).map_err(failed)?;
                    Ok(())
                }
                Some(FORMAT) => Ok(()),
                Some(other) => Err(StoreError::Refused(format!(
                    "the catalogue failed: it has format {other}; this build reads format {FORMAT}: use the version that wrote it, or newer"
                ))),
            }
        })
    }

    /// Seconds since 1970.
    fn now(&self) -> u32 {
        u32::try_from(self.disk.now().as_secs()).unwrap_or(u32::MAX)
    }

    /// No two stores have the same: it is made of the moment and the process.
    fn new_id(&self) -> u64 {
        let mut id = self.disk.now().as_nanos() as u64 ^ u64::from(std::process::id()) << 40;
        // Every bit of it should depend on every bit of these (the finish of splitmix64).
        id = (id ^ id >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        id = (id ^ id >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (id ^ id >> 31).max(1)
    }

    /// Metrics were read just now.
    pub(super) fn note_read(&self, metrics: &[MetricId]) {
        self.calendar.note_read(metrics, self.now());
    }

    /// Metrics received points just now.
    pub(super) fn note_updated(&self, metrics: &[MetricId]) {
        self.calendar.note_updated(metrics, self.now());
    }

    /// When metrics were created and used.
    pub(super) fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    /// When the calendar began.
    pub(super) fn dates_since(&self) -> Result<u32, StoreError> {
        let txn = self.read()?;
        let settings = txn.open_table(SETTINGS).map_err(failed)?;
        let since = settings.get(DATES_SINCE).map_err(failed)?;
        Ok(since.and_then(|text| text.value().parse().ok()).unwrap_or(0))
    }

    /// The block files in use and the position of the last commit.
    pub(super) fn blocks(&self) -> Result<(Vec<String>, Position), StoreError> {
        blocks_in(&self.read()?)
    }

    /// Adds block files to those in use and removes others, in one transaction.
    pub(super) fn replace_blocks(
        &self,
        add: &[String],
        remove: &[String],
        position: Option<&Position>,
        parcel: Option<Parcel>,
    ) -> Result<(), StoreError> {
        self.write(|txn| {
            let mut blocks = txn.open_table(BLOCKS).map_err(failed)?;
            for path in remove {
                blocks.remove(path.as_str()).map_err(failed)?;
            }
            for path in add {
                blocks.insert(path.as_str(), ()).map_err(failed)?;
            }
            if let Some(position) = position {
                let mut settings = txn.open_table(SETTINGS).map_err(failed)?;
                settings.insert("position", position_text(position).as_str()).map_err(failed)?;
            }
            if let Some(Parcel { cut, points, cut_at_us }) = parcel {
                txn.open_table(PARCELS).map_err(failed)?.insert(cut, (points, cut_at_us)).map_err(failed)?;
            }
            Ok(())
        })?;
        self.keep_transcript();
        Ok(())
    }

    /// Cuts that have to be sent, and the time of the last that was.
    pub(super) fn parcels(&self) -> Result<(Vec<Parcel>, i64), StoreError> {
        let txn = self.read()?;
        let mut parcels = Vec::new();
        for row in txn.open_table(PARCELS).map_err(failed)?.iter().map_err(failed)? {
            let (cut, row) = row.map_err(failed)?;
            let (points, cut_at_us) = row.value();
            parcels.push(Parcel { cut: cut.value(), points, cut_at_us });
        }
        let settings = txn.open_table(SETTINGS).map_err(failed)?;
        let last = settings.get("delivered_us").map_err(failed)?.and_then(|text| text.value().parse().ok());
        Ok((parcels, last.unwrap_or(0)))
    }

    /// Forgets a parcel that was delivered, but not its time.
    pub(super) fn remove_parcel(&self, parcel: &Parcel) -> Result<(), StoreError> {
        self.write(|txn| {
            txn.open_table(PARCELS).map_err(failed)?.remove(parcel.cut).map_err(failed)?;
            let mut settings = txn.open_table(SETTINGS).map_err(failed)?;
            settings.insert("delivered_us", parcel.cut_at_us.to_string().as_str()).map_err(failed)?;
            Ok(())
        })
    }

    /// The note stored under a name.
    pub(super) fn note(&self, key: &str) -> Result<Option<String>, StoreError> {
        let txn = self.read()?;
        let settings = txn.open_table(SETTINGS).map_err(failed)?;
        Ok(settings.get(format!("note:{key}").as_str()).map_err(failed)?.map(|text| text.value().to_owned()))
    }

    /// Stores a note under a name.
    pub(super) fn set_note(&self, key: &str, text: &str) -> Result<(), StoreError> {
        self.write(|txn| {
            let mut settings = txn.open_table(SETTINGS).map_err(failed)?;
            settings.insert(format!("note:{key}").as_str(), text).map_err(failed)?;
            Ok(())
        })
    }

    /// Metrics that were deleted; blocks may still hold their slots.
    pub(super) fn deleted(&self) -> Result<Vec<u32>, StoreError> {
        let txn = self.read()?;
        let table = txn.open_table(DELETED).map_err(failed)?;
        let ids = table.iter().map_err(failed)?.map(|row| row.map(|(id, _)| id.value()).map_err(failed));
        ids.collect()
    }

    /// Reads the database in one consistent transaction.
    pub(super) fn read(&self) -> Result<redb::ReadTransaction, StoreError> {
        self.db.begin_read().map_err(failed)
    }

    /// Runs `body` in a transaction that is on disk when this returns.
    pub(super) fn write<T>(
        &self,
        body: impl FnOnce(&Changes<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // Changes reach the transcript in the order in which they are committed.
        let mut transcript = self.transcript.lock();
        let txn = self.db.begin_write().map_err(failed)?;
        let changes = Changes::of(&txn);
        let result = body(&changes)?;
        let rows = changes.into_rows();
        let number = if rows.is_empty() { None } else { Some(count_change(&txn)?) };
        txn.commit().map_err(failed)?;
        if let (Some(transcript), Some(number)) = (transcript.as_mut(), number) {
            transcript.append(number, &rows);
        }
        Ok(result)
    }
}

/// Gives the change that a transaction makes a number, and records it.
fn count_change(txn: &redb::WriteTransaction) -> Result<u64, StoreError> {
    let mut settings = txn.open_table(SETTINGS).map_err(failed)?;
    let last = settings.get(CHANGES).map_err(failed)?.and_then(|text| text.value().parse().ok());
    let number = last.unwrap_or(0_u64) + 1;
    settings.insert(CHANGES, number.to_string().as_str()).map_err(failed)?;
    Ok(number)
}

/// The block files in use and the position of the last commit, as a transaction sees them.
pub(super) fn blocks_in(txn: &redb::ReadTransaction) -> Result<(Vec<String>, Position), StoreError> {
    let blocks = txn.open_table(BLOCKS).map_err(failed)?;
    let mut paths = Vec::new();
    for row in blocks.iter().map_err(failed)? {
        paths.push(row.map_err(failed)?.0.value().to_owned());
    }
    let settings = txn.open_table(SETTINGS).map_err(failed)?;
    let position = match settings.get("position").map_err(failed)? {
        Some(text) => parse_position(text.value())?,
        None => Position::default(),
    };
    Ok((paths, position))
}

/// Copies everything that a transaction sees into a new database at `path`. An older file there is overwritten.
pub(super) fn copy(from: &redb::ReadTransaction, disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    match disk.remove(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(StoreError::Io { action: "remove", path: path.to_owned(), source: error });
        }
        _ => {}
    }
    let db = database::open(disk, path, Database::builder().set_cache_size(COPY_CACHE))?;
    tables::copy_all(from, &db).map_err(|error| match error {
        redb::Error::Io(source) => StoreError::Io { action: "write", path: path.to_owned(), source },
        other => failed(other),
    })
}

fn position_text(position: &Position) -> String {
    let marks: Vec<_> = position.marks.iter().map(|m| (m.policy.0, m.level, m.until)).collect();
    serde_json::json!({ "cut": position.cut, "log_floor": position.log_floor, "marks": marks }).to_string()
}

fn parse_position(text: &str) -> Result<Position, StoreError> {
    #[derive(serde::Deserialize)]
    struct Stored {
        cut: u64,
        log_floor: u64,
        marks: Vec<(u32, u32, u32)>,
    }
    let stored: Stored =
        serde_json::from_str(text).map_err(|e| StoreError::Catalogue(format!("position `{text}`: {e}")))?;
    let mark = |(policy, level, until)| Mark { policy: PolicyId(policy), level, until };
    let marks = stored.marks.into_iter().map(mark).collect();
    Ok(Position { cut: stored.cut, log_floor: stored.log_floor, marks })
}
