//! Damaged files: bytes flipped, files cut short, zeroed, exchanged, missing, and taken from another store.
//!
//! Whatever is done to one file of a data directory, a server starts on it, says what is wrong, serves everything else, and nothing that
//! is not true. `plumbago fsck` finds the damage, too. The damage is done on an overlay, so that one directory serves for all of it.

#[path = "damage/store.rs"]
mod store;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use plumbago::disk::{self, Disk, Folder, Open as Mode, Overlay, real};
use plumbago::store::Headway;
use plumbago::store::embedded::Embedded;
use store::{Open, Truth, checked, write};

/// Flips in each run of the tests, over all files. `scripts/flip` does all.
const SAMPLE: usize = 300;

/// A directory with the store of the tests, and what is true about it.
struct Good {
    dir: tempfile::TempDir,
    truth: Truth,
}

impl Good {
    fn new(prefix: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let truth = write(dir.path(), prefix);
        Self { dir, truth }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The same on a disk where it can be damaged.
    fn overlay(&self) -> Folder {
        Folder::on(Overlay::over(real()), self.path())
    }

    fn files(&self) -> Vec<PathBuf> {
        files_below(self.path())
    }
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// What came of some damage.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing that anybody could see is lost, and nobody said anything: the bytes mean nothing.
    Harmless,
    /// It was said, and nothing is lost.
    Mended,
    /// It was said, and something is lost.
    Lost,
    /// The start was refused, and says which file it is and what to do.
    Refused,
}

/// Starts on a damaged directory, goes on, and starts again.
fn judge(damaged: &Folder, truth: &Truth, with_outdated: bool) -> Result<Outcome, String> {
    let found = checked(damaged);
    let mut open = match Open::of(damaged) {
        Ok(open) => open,
        Err(error) if error.contains(&damaged.path().display().to_string()) => return Ok(Outcome::Refused),
        Err(error) => return Err(format!("the start was refused with `{error}`")),
    };
    let seen = open.seen();
    let lies = seen.lies(truth, with_outdated);
    if !lies.is_empty() {
        return Err(format!("wrong: {lies:?}"));
    }
    let is_whole = seen == truth.now;
    if !is_whole && found.is_empty() && !is_log_shorter(damaged) {
        return Err("something is lost, and fsck found nothing".to_owned());
    }
    if !open.said.is_empty() && found.is_empty() {
        return Err(format!("fsck found nothing, and the start said {:?}", open.said));
    }
    // What was damaged stays so: merges and cuts bring nothing back that is not true.
    open.go_on("added.later");
    drop(open);
    let open = Open::of(damaged).map_err(|error| format!("the second start was refused with `{error}`"))?;
    let lies = open.seen().without("added.later").lies(truth, with_outdated);
    if !lies.is_empty() {
        return Err(format!("wrong after a cut and another start: {lies:?}"));
    }
    Ok(match (is_whole, found.is_empty()) {
        (true, true) => Outcome::Harmless,
        (true, false) => Outcome::Mended,
        (false, _) => Outcome::Lost,
    })
}

/// A log that ends with a record, or is not there, looks like one that never had more.
fn is_log_shorter(damaged: &Folder) -> bool {
    let (log, bytes) =
        (damaged.join("log"), |path: &PathBuf| damaged.disk().about(path).map_or(0, |file| file.len));
    let there = damaged.disk().list(log.path()).unwrap_or_default();
    there.iter().map(bytes).sum::<u64>() <= 12
}

fn flip(damaged: &Folder, path: &Path, at: u64, mask: u8) {
    let file = damaged.disk().open(path, Mode::Write).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_at(&[byte[0] ^ mask], at).unwrap();
}

/// What came of all flips.
#[derive(Default)]
struct Tally {
    counts: [AtomicUsize; 4],
    wrong: std::sync::Mutex<Vec<String>>,
}

impl Tally {
    fn count(&self, outcome: Result<Outcome, String>, what: impl FnOnce() -> String) {
        let at = match outcome {
            Ok(Outcome::Harmless) => 0,
            Ok(Outcome::Mended) => 1,
            Ok(Outcome::Lost) => 2,
            Ok(Outcome::Refused) => 3,
            Err(error) => return self.wrong.lock().unwrap().push(format!("{}: {error}", what())),
        };
        self.counts[at].fetch_add(1, Ordering::Relaxed);
    }

    fn line(&self) -> String {
        let [harmless, mended, lost, refused] =
            [0, 1, 2, 3].map(|at| self.counts[at].load(Ordering::Relaxed));
        format!(
            "{harmless} harmless, {mended} mended, {lost} lost something and said so, {refused} refused by name, {} wrong",
            self.wrong.lock().unwrap().len()
        )
    }

    fn end(self) {
        println!("{}", self.line());
        let wrong = self.wrong.into_inner().unwrap();
        assert!(
            wrong.is_empty(),
            "{} wrong, the first: {:#?}",
            wrong.len(),
            wrong.get(..wrong.len().min(10))
        );
    }
}

/// Flips every `every`th byte of a file from `first` on, one at a time.
fn flip_all(good: &Good, path: &Path, (first, every): (u64, u64), tally: &Tally) {
    let bytes = std::fs::metadata(path).unwrap().len();
    let mut at = first;
    while at < bytes {
        let damaged = good.overlay();
        let mask = 1 << (at.wrapping_mul(0x9e37_79b9) >> 7 & 7);
        flip(&damaged, path, at, mask);
        tally.count(judge_quietly(&damaged, &good.truth, false), || {
            format!("{} byte {at} mask {mask:#x}", path.display())
        });
        at += every;
    }
}

/// A panic is a wrong outcome, too.
fn judge_quietly(damaged: &Folder, truth: &Truth, with_outdated: bool) -> Result<Outcome, String> {
    let judged =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| judge(damaged, truth, with_outdated)));
    judged.unwrap_or_else(|_| Err("it panicked".to_owned()))
}

/// A sample of all bytes, at places that differ each time. With `FLIP_EVERY` all of them, and of files that are not small only so many:
/// `scripts/flip` runs it so.
#[test]
fn a_flipped_byte_is_found_and_nothing_wrong_is_served() {
    let good = Good::new("flips");
    match std::env::var("FLIP_EVERY") {
        Ok(every) => flip_thoroughly(&good, every.parse().unwrap()),
        Err(_) => flip_some(&good),
    }
}

fn flip_some(good: &Good) {
    let seed = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    let files = good.files();
    let tally = Tally::default();
    for path in &files {
        let bytes = std::fs::metadata(path).unwrap().len();
        let every = (bytes * files.len() as u64 / SAMPLE as u64).max(1);
        let first = u64::from(seed) % every;
        println!("{}: {bytes} bytes, every {every} from {first}", path.display());
        flip_all(good, path, (first, every), &tally);
    }
    tally.end();
}

fn flip_thoroughly(good: &Good, every: u64) {
    const SMALL: u64 = 64 << 10;
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get) as u64;
    for path in good.files() {
        let tally = Tally::default();
        let bytes = std::fs::metadata(&path).unwrap().len();
        let every = if bytes > SMALL { every } else { 1 };
        std::thread::scope(|scope| {
            for nth in 0..threads {
                let (path, tally) = (&path, &tally);
                scope.spawn(move || flip_all(good, path, (nth * every, threads * every), tally));
            }
        });
        let shown = path.strip_prefix(good.path()).unwrap().display().to_string();
        println!("{shown}: {} of {bytes} bytes flipped: {}", bytes.div_ceil(every), tally.line());
        tally.end();
    }
}

/// Things that happen to whole files. Each gives the file another content.
fn ruined(bytes: &[u8]) -> Vec<(String, Option<Vec<u8>>)> {
    let mut ways: Vec<(String, Option<Vec<u8>>)> = vec![("missing".to_owned(), None)];
    for len in [0, 1, 11, 12, bytes.len() / 2, bytes.len().saturating_sub(1)] {
        if len < bytes.len() {
            ways.push((format!("cut to {len} bytes"), Some(bytes[..len].to_vec())));
        }
    }
    ways.push(("zeroed".to_owned(), Some(vec![0; bytes.len()])));
    let mut half = bytes.to_vec();
    half[bytes.len() / 2..].fill(0);
    ways.push(("half zeroed".to_owned(), Some(half)));
    let mut sector = bytes.to_vec();
    sector.iter_mut().skip(bytes.len() / 3).take(512).for_each(|byte| *byte = 0);
    ways.push(("a sector zeroed".to_owned(), Some(sector)));
    ways.push(("a byte longer".to_owned(), Some([bytes, &[0]].concat())));
    ways.push(("a page of text".to_owned(), Some(b"<html>".repeat(bytes.len() / 6 + 1))));
    ways
}

#[test]
fn a_file_that_is_cut_short_zeroed_or_missing_is_found_and_nothing_wrong_is_served() {
    let good = Good::new("ruins");
    let tally = Tally::default();
    for path in good.files() {
        for (how, content) in ruined(&std::fs::read(&path).unwrap()) {
            let damaged = good.overlay();
            match content {
                None => damaged.disk().remove(&path).unwrap(),
                Some(bytes) => disk::write(&**damaged.disk(), &path, &bytes).unwrap(),
            }
            tally.count(judge_quietly(&damaged, &good.truth, true), || format!("{} {how}", path.display()));
        }
    }
    tally.end();
}

/// The kinds of files, by the ends of their names.
fn kind(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or("LOCK")
}

#[test]
fn files_that_changed_places_or_are_of_another_store_are_found_and_nothing_wrong_is_served() {
    let (good, other) = (Good::new("ours"), Good::new("strangers"));
    let tally = Tally::default();
    let mut files = good.files();
    // Two of each kind: more would show nothing more.
    let mut seen: Vec<String> = Vec::new();
    files.retain(|path| {
        seen.push(kind(path).to_owned());
        seen.iter().filter(|known| *known == kind(path)).count() <= 2
    });
    for path in &files {
        // The same place in another store.
        let theirs = other.path().join(path.strip_prefix(good.path()).unwrap());
        let damaged = good.overlay();
        disk::write(&**damaged.disk(), path, &std::fs::read(theirs).unwrap()).unwrap();
        tally.count(judge_quietly(&damaged, &good.truth, true), || {
            format!("{} of another store", path.display())
        });
        for with in files.iter().filter(|with| *with > path) {
            let damaged = good.overlay();
            let (a, b) = (std::fs::read(path).unwrap(), std::fs::read(with).unwrap());
            disk::write(&**damaged.disk(), path, &b).unwrap();
            disk::write(&**damaged.disk(), with, &a).unwrap();
            let what = || format!("{} exchanged with {}", path.display(), with.display());
            // Two files of one store that are both damaged may be both that there is of the names.
            let pair = [kind(path), kind(with)];
            if pair.contains(&"redb") && pair.contains(&"transcript") {
                assert_eq!(judge_quietly(&damaged, &good.truth, true), Ok(Outcome::Refused), "{}", what());
                continue;
            }
            tally.count(judge_quietly(&damaged, &good.truth, true), what);
            // And one over the other.
            let damaged = good.overlay();
            disk::write(&**damaged.disk(), path, &b).unwrap();
            tally.count(judge_quietly(&damaged, &good.truth, true), || {
                format!("{} is a copy of {}", path.display(), with.display())
            });
        }
    }
    tally.end();
}

#[test]
fn evidence_is_kept_and_a_repair_leaves_nothing_to_complain_about() {
    let good = Good::new("mended");
    for path in good.files() {
        let bytes = std::fs::read(&path).unwrap();
        // Far enough from the beginning to be within what the file is about.
        for at in [bytes.len() / 3, bytes.len() / 2, bytes.len().saturating_sub(3)] {
            let damaged = good.overlay();
            if bytes.is_empty() {
                continue;
            }
            flip(&damaged, &path, at as u64, 0x20);
            let bad = disk::read(&**damaged.disk(), &path).unwrap();
            if checked(&damaged).is_empty() {
                continue;
            }
            let (store, floor, mut done) = plumbago::store::embedded::inspect::repair(&damaged).unwrap();
            done.extend(plumbago::log::mend(&damaged.join("log"), store, floor).unwrap());
            let what = format!("{} byte {at}: {done:?}", path.display());
            let left: Vec<String> =
                checked(&damaged).into_iter().filter(|line| !line.contains("set aside")).collect();
            assert_eq!(left, [""; 0], "{what}");
            assert!(!done.is_empty(), "{what}");
            let open = Open::of(&damaged).unwrap();
            assert_eq!(open.said, [""; 0], "{what}");
            assert_eq!(open.seen().lies(&good.truth, true), [""; 0], "{what}");
            let aside = all_below(&**damaged.disk(), &good.path().join("aside"));
            let is_kept = aside.iter().any(|path| disk::read(&**damaged.disk(), path).unwrap() == bad);
            assert!(is_kept, "{what}: {aside:?}");
        }
    }
}

/// The same file as another version would write it.
fn newer(path: &Path, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = bytes.to_vec();
    bytes.get_mut(8..12)?.copy_from_slice(&2_u32.to_le_bytes());
    match kind(path) {
        // A header of a later version is longer.
        "log" | "transcript" => drop(bytes.splice(12..12, *b"more")),
        "blk" => {
            let sum = crc32c::crc32c(&bytes[..48]);
            bytes[48..52].copy_from_slice(&sum.to_le_bytes());
        }
        _ => return None,
    }
    Some(bytes)
}

#[test]
fn a_newer_format_is_refused_by_name_and_nothing_is_touched() {
    let good = Good::new("newer");
    let mut refused = Vec::new();
    for path in good.files() {
        let Some(newer) = newer(&path, &std::fs::read(&path).unwrap()) else { continue };
        // On the real disk: what must not be touched is there.
        let dir = copied(good.path());
        let path = dir.path().join(path.strip_prefix(good.path()).unwrap());
        std::fs::write(&path, newer).unwrap();
        refused.push(kind(&path).to_owned());
        must_be_refused(dir.path(), &path.display().to_string());
    }
    // The catalogue says in one of its rows which format it has.
    let dir = copied(good.path());
    {
        let db = redb::Database::open(dir.path().join("catalogue.redb")).unwrap();
        let txn = db.begin_write().unwrap();
        let settings: redb::TableDefinition<'_, &str, &str> = redb::TableDefinition::new("settings");
        txn.open_table(settings).unwrap().insert("format", "2").unwrap();
        txn.commit().unwrap();
    }
    must_be_refused(dir.path(), "format 2");
    refused.dedup();
    assert_eq!(refused, ["transcript", "log", "blk"]);
}

/// A directory opens like a file, and fails when it is read.
#[test]
fn a_block_that_the_disk_cannot_read_stops_a_start_by_name_and_rescue_serves_the_rest() {
    let good = Good::new("unreadable");
    let dir = copied(good.path());
    let blocks = files_below(&dir.path().join("points"));
    let path = blocks.iter().find(|path| path.to_string_lossy().contains("10s-360-raw")).unwrap();
    let bytes = std::fs::read(path).unwrap();
    std::fs::remove_file(path).unwrap();
    std::fs::create_dir(path).unwrap();
    let Err(error) = Open::of(&dir.path().into()) else { panic!("it was opened") };
    assert!(error.contains(path.to_str().unwrap()) && error.contains("--read-only"), "{error}");
    let rescue = Embedded::look_at(&dir.path().into()).unwrap();
    let said = rescue.damage();
    assert!(matches!(said, [line] if line.contains("left out")), "{said:?}");
    // All others are there and good.
    let problems = rescue.points.verify(&Headway::default()).unwrap().problems;
    assert!(matches!(&*problems, [line] if line.contains(path.to_str().unwrap())), "{problems:?}");
    drop(rescue);
    std::fs::remove_dir(path).unwrap();
    std::fs::write(path, bytes).unwrap();
    let open = Open::of(&dir.path().into()).unwrap();
    assert_eq!((open.seen(), open.said), (good.truth.now, Vec::new()));
}

fn must_be_refused(dir: &Path, says: &str) {
    let contents = |dir: &Path| {
        files_below(dir).iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect::<Vec<_>>()
    };
    let before = contents(dir);
    let Err(error) = Open::of(&dir.into()) else { panic!("{says} was opened") };
    assert!(error.contains(says) && (error.contains("upgrade") || error.contains("newer")), "{error}");
    assert!(contents(dir) == before, "{says}: something was changed");
}

fn copied(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for path in files_below(from) {
        let target = to.path().join(path.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(path, target).unwrap();
    }
    to
}

fn all_below(disk: &dyn Disk, dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in disk.list(dir).unwrap_or_default() {
        if disk.about(&path).unwrap().is_dir {
            found.extend(all_below(disk, &path))
        } else {
            found.push(path)
        }
    }
    found
}
