//! Opens the catalogue of a data directory: compares it with its transcript, and makes it of the transcript if it is damaged.
//!
//! | catalogue          | transcript    | what happens                                                             |
//! |--------------------|---------------|--------------------------------------------------------------------------|
//! | good               | in step       | it is gone on with                                                       |
//! | good               | behind, none  | it is written again                                                      |
//! | good               | damaged       | it is set aside, and written again                                       |
//! | damaged, missing   | good          | the catalogue is set aside, and made of the transcript                   |
//! | good but older     | good          | the same: a catalogue is never behind its transcript by itself           |
//! | of another store   | good          | the same, if the blocks are of the transcript's store                    |
//! | damaged, missing   | damaged, none | nothing is touched, and the error says how to go on                      |

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::Database;

use super::block::Block;
use super::catalogue::{CATALOGUE_FILE, Catalogue, DATES_SINCE, SETTINGS, failed};
use super::cut::io;
use super::database::{self, Trouble};
use super::points::POINTS_DIR;
use super::recovery::block_files;
use super::tables::{self, CHANGES};
use super::transcript::{self, Read, TRANSCRIPT_FILE, Transcript, Unreadable};
use crate::disk::{self, Disk, Folder, Overlay, set_aside};
use crate::store::{MetricStore as _, StoreError};
use plumbago_model::count;

/// Blocks that are asked which store they are of.
const WITNESSES: usize = 16;

/// A catalogue that is open.
pub(super) struct Opened {
    pub(super) catalogue: Catalogue,
    /// Was it made of its transcript? Then it lacks what a transcript does not keep.
    pub(super) is_rebuilt: bool,
}

/// What there is of a transcript.
enum Second<'a> {
    Missing,
    Good(Read<'a>),
    Damaged(String, Option<Read<'a>>),
}

/// What there is of a catalogue.
enum First {
    Missing,
    Good(Box<Catalogue>),
    Damaged(String),
}

/// Opens the catalogue of a data directory. What was found damaged is added to `damage`. With `partly`, a catalogue is made even of what can
/// be read of a damaged transcript.
pub(super) fn open(dir: &Folder, partly: bool, damage: &mut Vec<String>) -> Result<Opened, StoreError> {
    let opening = Opening {
        dir,
        disk: dir.disk(),
        path: dir.path().join(CATALOGUE_FILE),
        second_path: dir.path().join(TRANSCRIPT_FILE),
    };
    let bytes = opening.transcript();
    let second = opening.second(&bytes)?;
    match (opening.first(&second)?, second) {
        (First::Good(catalogue), Second::Good(read)) => opening.compare(*catalogue, &read, damage),
        (First::Good(catalogue), Second::Missing) => {
            opening.go_on_without(*catalogue).map(|catalogue| Opened { catalogue, is_rebuilt: false })
        }
        (First::Good(catalogue), Second::Damaged(why, _)) => {
            damage.push(opening.put_aside(
                &opening.second_path,
                &why,
                "it was written again from the catalogue",
            )?);
            opening.go_on_without(*catalogue).map(|catalogue| Opened { catalogue, is_rebuilt: false })
        }
        (First::Missing, Second::Missing) => opening.create(),
        (First::Missing, Second::Good(read)) => {
            damage.push(format!("{} is missing; it was made of its transcript", opening.path.display()));
            opening.rebuild(&read)
        }
        (First::Damaged(why), Second::Good(read)) => opening.replace(&why, &read, damage),
        (first, Second::Damaged(second_why, Some(read))) if partly => {
            let why = first.why();
            damage.push(opening.put_aside(
                &opening.second_path,
                &second_why,
                "what could be read of it was used",
            )?);
            match first {
                First::Missing => opening.rebuild(&read),
                _ => opening.replace(&why, &read, damage),
            }
        }
        (first, second) => Err(opening.refused(&first.why(), &second)),
    }
}

impl First {
    fn why(&self) -> String {
        match self {
            First::Missing => "it is missing".to_owned(),
            First::Good(_) => "it is good".to_owned(),
            First::Damaged(why) => why.clone(),
        }
    }
}

struct Opening<'a> {
    dir: &'a Folder,
    disk: &'a Arc<dyn Disk>,
    path: PathBuf,
    second_path: PathBuf,
}

impl Opening<'_> {
    /// A read that fails may succeed a moment later.
    fn transcript(&self) -> std::io::Result<Vec<u8>> {
        let read = || disk::read(&**self.disk, &self.second_path);
        read().or_else(|error| if error.kind() == ErrorKind::NotFound { Err(error) } else { read() })
    }

    fn second<'b>(&self, bytes: &'b std::io::Result<Vec<u8>>) -> Result<Second<'b>, StoreError> {
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Second::Missing),
            Err(error) => return Ok(Second::Damaged(format!("it cannot be read: {error}"), None)),
        };
        match transcript::parse(bytes) {
            Ok(read) if read.problems.is_empty() => Ok(Second::Good(read)),
            Ok(read) => Ok(Second::Damaged(read.problems.join("; "), Some(read))),
            Err(Unreadable::Damaged(why)) => Ok(Second::Damaged(why.to_owned(), None)),
            Err(Unreadable::Version(found)) => Err(StoreError::Refused(format!(
                "{} was written by format version {found}; this build reads {}: use the version of Plumbago that wrote it, or newer",
                self.second_path.display(),
                transcript::VERSION
            ))),
        }
    }

    /// Nothing is changed in a catalogue of another format, and nothing made where none is.
    fn first(&self, second: &Second<'_>) -> Result<First, StoreError> {
        match self.disk.about(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(First::Missing),
            Err(error) => return Err(io("find", &self.path)(error)),
            // The database takes an empty file for a new one.
            Ok(about) if about.len == 0 => return Ok(First::Damaged("it is empty".to_owned())),
            Ok(_) => {}
        }
        // What is damaged is so a second time; what failed once may have been the disk.
        match self.try_out().or_else(|_| self.try_out()) {
            Ok(()) => Ok(First::Good(Box::new(Catalogue::open(self.disk, &self.path)?))),
            Err(Trouble::Damaged(why)) => Ok(First::Damaged(why)),
            Err(Trouble::Other(StoreError::Io { source, .. })) if matches!(second, Second::Good(_)) => {
                Err(StoreError::Refused(format!(
                    "{} cannot be read: {source}. The disk may read it again at the next start. If it never will, move the file away: it is \
                     made of {} then",
                    self.path.display(),
                    self.second_path.display()
                )))
            }
            Err(Trouble::Other(error)) => Err(error),
        }
    }

    /// The database library does not expect every kind of damage.
    fn try_out(&self) -> Result<(), Trouble> {
        let tried = catch_unwind(AssertUnwindSafe(|| self.open_whole()));
        tried.unwrap_or_else(|_| {
            Err(Trouble::Damaged("the database library cannot make sense of it".to_owned()))
        })
    }

    /// Opens the catalogue without writing to it, as the library does even to one that is damaged, and reads all of it.
    fn open_whole(&self) -> Result<(), Trouble> {
        let overlay = Overlay::over(Arc::clone(self.disk));
        let db = database::open_checked(&*overlay, &self.path)?;
        let catalogue = Catalogue::of(&overlay, db)?;
        catalogue.policies()?;
        catalogue.blocks()?;
        Ok(())
    }

    /// Both are good.
    fn compare(
        &self,
        catalogue: Catalogue,
        read: &Read<'_>,
        damage: &mut Vec<String>,
    ) -> Result<Opened, StoreError> {
        let (id, changes) = (catalogue.store_id(), catalogue.changes()?);
        if id != read.store {
            let why = "it is of another store";
            if self.store_of_blocks()? == Some(tag(read.store)) {
                drop(catalogue);
                return self.replace(why, read, damage);
            }
            damage.push(self.put_aside(&self.second_path, why, "it was written again from the catalogue")?);
            let catalogue = self.go_on_without(catalogue)?;
            return Ok(Opened { catalogue, is_rebuilt: false });
        }
        if read.number > changes {
            drop(catalogue);
            let missing = count(read.number - changes, "change");
            return self.replace(&format!("it is older than its transcript, by {missing}"), read, damage);
        }
        let mut transcript = Transcript::missing(self.disk, &self.second_path, id);
        if read.number == changes {
            transcript.go_on(read).map_err(io("open", &self.second_path))?;
        }
        catalogue.attach(transcript);
        Ok(Opened { catalogue, is_rebuilt: false })
    }

    fn go_on_without(&self, catalogue: Catalogue) -> Result<Catalogue, StoreError> {
        catalogue.attach(Transcript::missing(self.disk, &self.second_path, catalogue.store_id()));
        Ok(catalogue)
    }

    /// A directory without a catalogue is a new one only if there is nothing that a catalogue would have known.
    fn create(&self) -> Result<Opened, StoreError> {
        let points = self.dir.join(POINTS_DIR);
        let has_blocks = disk::exists(&**self.disk, points.path()) && !block_files(&points)?.is_empty();
        let log = self.disk.list(self.dir.join("log").path()).unwrap_or_default();
        if has_blocks || log.iter().any(|path| path.extension().is_some_and(|e| e == "log")) {
            return Err(self.refused("it is missing", &Second::Missing));
        }
        let tmp = self.unused_tmp()?;
        drop(Catalogue::open(self.disk, &tmp)?);
        Ok(Opened { catalogue: self.put_in_place(&tmp)?, is_rebuilt: false })
    }

    fn replace(&self, why: &str, read: &Read<'_>, damage: &mut Vec<String>) -> Result<Opened, StoreError> {
        damage.push(self.put_aside(&self.path, why, "it was made of its transcript")?);
        self.rebuild(read)
    }

    /// Makes a catalogue of its transcript.
    fn rebuild(&self, read: &Read<'_>) -> Result<Opened, StoreError> {
        let tmp = self.unused_tmp()?;
        let db = database::open(&**self.disk, &tmp, &Database::builder())?;
        let now = self.disk.now().as_secs().to_string();
        let filled = catch_unwind(AssertUnwindSafe(|| fill(&db, read, &now)));
        filled.unwrap_or_else(|_| {
            Err(StoreError::Catalogue("a row of the transcript makes no sense".to_owned()))
        })?;
        drop(db);
        Ok(Opened { catalogue: self.put_in_place(&tmp)?, is_rebuilt: true })
    }

    /// Where a new catalogue is made: nobody may take half of one for the whole.
    fn unused_tmp(&self) -> Result<PathBuf, StoreError> {
        let mut tmp = self.path.clone().into_os_string();
        tmp.push(".tmp");
        let tmp = PathBuf::from(tmp);
        if disk::exists(&**self.disk, &tmp) {
            self.disk.remove(&tmp).map_err(io("remove", &tmp))?;
        }
        Ok(tmp)
    }

    fn put_in_place(&self, tmp: &Path) -> Result<Catalogue, StoreError> {
        self.disk.rename(tmp, &self.path).map_err(io("write", &self.path))?;
        self.disk.sync_dir(self.dir.path()).map_err(io("sync", self.dir.path()))?;
        self.go_on_without(Catalogue::open(self.disk, &self.path)?)
    }

    /// Sets a file aside, and says so.
    fn put_aside(&self, path: &Path, why: &str, then: &str) -> Result<String, StoreError> {
        let place = set_aside(&**self.disk, self.dir.path(), path).map_err(io("set aside", path))?;
        Ok(format!("{} is damaged: {why}; it is at {} now, and {then}", path.display(), place.display()))
    }

    fn refused(&self, why: &str, second: &Second<'_>) -> StoreError {
        let (second_why, repair) = match second {
            Second::Damaged(why, Some(_)) => {
                (why.as_str(), "; `plumbago fsck --repair` makes a catalogue of the part that can be read")
            }
            Second::Damaged(why, None) => (why.as_str(), ""),
            _ => ("it is missing", ""),
        };
        StoreError::Refused(format!(
            "{} cannot be used: {why}. Neither can {}, of which it could be made: {second_why}. Without names there is nothing to serve. \
             Nothing was changed{repair}. If you have a backup, move {} away and run `plumbago restore`",
            self.path.display(),
            self.second_path.display(),
            self.dir.path().display(),
        ))
    }

    /// The store of most blocks, as far as they say.
    fn store_of_blocks(&self) -> Result<Option<u32>, StoreError> {
        let points = self.dir.join(POINTS_DIR);
        if !disk::exists(&**self.disk, points.path()) {
            return Ok(None);
        }
        let files = block_files(&points)?;
        let tags = files.iter().filter_map(|path| Block::open(&**self.disk, path).ok());
        let mut tags: Vec<u32> =
            tags.map(|block| block.store()).filter(|&tag| tag != 0).take(WITNESSES).collect();
        tags.sort_unstable();
        Ok(tags.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).and_then(|same| same.first().copied()))
    }
}

/// What blocks have of the id of their store.
pub(super) fn tag(store: u64) -> u32 {
    (store as u32).max(1)
}

fn fill(db: &Database, read: &Read<'_>, now: &str) -> Result<(), StoreError> {
    let txn = db.begin_write().map_err(failed)?;
    for row in read.rows() {
        let row = row.map_err(|detail| StoreError::Catalogue(format!("its transcript: {detail}")))?;
        tables::put(&row, &txn)?;
    }
    {
        let mut settings = txn.open_table(SETTINGS).map_err(failed)?;
        settings.insert(CHANGES, read.number.to_string().as_str()).map_err(failed)?;
        // The days of the last use are not in a transcript.
        settings.insert(DATES_SINCE, now).map_err(failed)?;
    }
    txn.commit().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::super::Embedded;
    use super::*;
    use crate::store::{EventStore, MemoStore, MetricStore};
    use plumbago_model::{Event, MemoPlace, MetricId, MetricRecord, PolicyId, Span};

    const MEMO: MemoPlace<'_> = MemoPlace { keeper: ".", service: "s", service_key: "k", key: "m" };

    fn in_memory(name: &str) -> Folder {
        Folder::on(Overlay::over(disk::real()), &std::env::temp_dir().join(format!("plumbago-{name}")))
    }

    fn metrics(ids: std::ops::Range<u32>) -> Vec<MetricRecord> {
        let name = |id: u32| format!("servers.web{:04}.disk.sda{}.{}", id / 50, id % 50 / 10, id % 10);
        let metric = |id| MetricRecord {
            id: MetricId(id),
            name: name(id),
            policies: vec![PolicyId(0)],
            span: Span::EMPTY,
        };
        ids.map(metric).collect()
    }

    /// Everything that the catalogue knows, as text.
    fn known(store: &Embedded) -> Vec<String> {
        let catalogue = &store.blocks.catalogue;
        let mut lines = vec![
            format!("{:?}", catalogue.policies().unwrap()),
            format!("{:?}", catalogue.owners().unwrap()),
            format!("{:?}", catalogue.deleted().unwrap()),
            format!("{:?}", catalogue.blocks().unwrap()),
            format!("{:?}", catalogue.id_bound().unwrap()),
            format!("{:?}", catalogue.store_id()),
            format!("{:?}", EventStore::get(&**catalogue, plumbago_model::EventId(7 << 20)).unwrap()),
            format!("{:?}", MemoStore::read(&**catalogue, MEMO).unwrap()),
            format!("{:?}", store.note("a").unwrap()),
            format!("{:?}", store.dates(&[MetricId(1)])[0].created),
        ];
        catalogue.load(&mut |metric| lines.push(format!("{metric:?}"))).unwrap();
        lines
    }

    #[test]
    fn a_catalogue_made_of_its_transcript_knows_all_that_the_first_one_knew() {
        let dir = in_memory("rebuilt");
        let store = Embedded::open_in(&dir).unwrap();
        let catalogue = &store.blocks.catalogue;
        catalogue.add_policies(&[(PolicyId(0), "60*1s|sum|0".parse().unwrap())]).unwrap();
        catalogue.announce(&[(MetricId(0), "a")], 1_700_000_000);
        catalogue.create(&metrics(0..40)).unwrap();
        catalogue.add_policies(&[(PolicyId(1), "60*1s|max|0".parse().unwrap())]).unwrap();
        catalogue.set_policies(&[(MetricId(3), vec![PolicyId(0), PolicyId(1)])]).unwrap();
        catalogue.rename(&[(MetricId(4), "other".to_owned()), (MetricId(5), "gone".to_owned())]).unwrap();
        catalogue.own(&[(MetricId(6), "quota".to_owned())]).unwrap();
        MetricStore::delete(&**catalogue, &[MetricId(5), MetricId(50)]).unwrap();
        let event = Event { when: 7, what: "w".to_owned(), tags: Vec::new(), data: String::new() };
        catalogue.add(&event).unwrap();
        MemoStore::write(&**catalogue, MEMO, "text", 9).unwrap();
        store.set_note("a", "note").unwrap();
        let want = known(&store);
        drop(store);

        dir.disk().remove(&dir.path().join(CATALOGUE_FILE)).unwrap();
        let store = Embedded::open_in(&dir).unwrap();
        assert_eq!(store.damage().len(), 1, "{:?}", store.damage());
        assert_eq!(known(&store), want);
        // From here on the two are in step again.
        store.set_note("a", "later").unwrap();
        drop(store);
        let store = Embedded::open_in(&dir).unwrap();
        assert_eq!(store.damage(), [""; 0]);
        assert_eq!(store.note("a").unwrap().as_deref(), Some("later"));
    }

    #[test]
    fn an_old_copy_of_the_catalogue_is_not_believed() {
        let dir = in_memory("old-copy");
        let path = dir.path().join(CATALOGUE_FILE);
        let store = Embedded::open_in(&dir).unwrap();
        store.set_note("a", "first").unwrap();
        drop(store);
        let old = disk::read(&**dir.disk(), &path).unwrap();
        let store = Embedded::open_in(&dir).unwrap();
        store.set_note("a", "second").unwrap();
        drop(store);
        disk::write(&**dir.disk(), &path, &old).unwrap();
        let store = Embedded::open_in(&dir).unwrap();
        assert_eq!(store.note("a").unwrap().as_deref(), Some("second"));
        assert!(store.damage()[0].contains("older than its transcript, by 1 change"), "{:?}", store.damage());
    }

    /// The transcript may cost a metric as much as the catalogue's names do, and no more.
    #[test]
    fn a_metric_takes_few_bytes_in_the_transcript() {
        let dir = in_memory("cost");
        let store = Embedded::open_in(&dir).unwrap();
        let bytes = || dir.disk().about(&dir.path().join(TRANSCRIPT_FILE)).unwrap().len;
        let before = bytes();
        for batch in metrics(0..100_000).chunks(10_000) {
            store.metrics.create(batch).unwrap();
        }
        let per_metric = (bytes() - before) as f64 / 100_000.0;
        println!("{per_metric} bytes for a metric");
        assert!(per_metric < 12.0, "{per_metric}");
    }
}
