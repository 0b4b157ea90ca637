//! A disk in memory. It loses, tears and reorders what was not synced, fails at any call, and halts the machine at any call.
//!
//! All of it follows from seeds and from the order of calls, so a run can be repeated exactly.

mod content;
mod file;
mod tree;
mod trouble;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use plumbago::disk::{About, Disk, DiskFile, Lock, Open};

use crate::dice::{Dice, mixed};
use tree::{Ino, Node, Tree};
use trouble::{Armed, Call, Verdict};
pub(crate) use trouble::{Lie, Trouble};

/// A machine's only disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub(crate) struct SimDisk(Arc<Mutex<Machine>>);

#[derive(Debug)]
struct Machine {
    tree: Tree,
    /// Counts the starts of the process. A file that was opened before the last one is dead.
    boot: u64,
    is_off: bool,
    locks: HashMap<Ino, (Lock, u32)>,
    now: Duration,
    armed: Option<Armed>,
    has_fired: bool,
    dice: Dice,
    lie: Option<Lie>,
    /// Files whose sync a lie has put off.
    late: Vec<Ino>,
    /// A number that tells whether two runs made the same calls.
    trace: u64,
    calls: u64,
}

impl SimDisk {
    pub(crate) fn new(seed: u64, lie: Option<Lie>) -> Self {
        Self(Arc::new(Mutex::new(Machine {
            tree: Tree::default(),
            boot: 0,
            is_off: false,
            locks: HashMap::new(),
            now: Duration::ZERO,
            armed: None,
            has_fired: false,
            dice: Dice::new(seed),
            lie,
            late: Vec::new(),
            trace: 0,
            calls: 0,
        })))
    }

    pub(crate) fn set_clock(&self, secs: u32) {
        self.0.lock().now = Duration::from_secs(secs.into());
    }

    /// Something happens at the call that comes after so many.
    pub(crate) fn arm(&self, trouble: Trouble, after: u32, dice: u64) {
        let mut machine = self.0.lock();
        machine.armed = Some(Armed::new(trouble, after));
        machine.has_fired = false;
        machine.dice = Dice::new(dice);
    }

    /// Nothing more happens. True if something has.
    pub(crate) fn disarm(&self) -> bool {
        let mut machine = self.0.lock();
        machine.armed = None;
        std::mem::take(&mut machine.has_fired)
    }

    /// Did the machine stop?
    pub(crate) fn is_off(&self) -> bool {
        self.0.lock().is_off
    }

    /// The process ends, and with it perhaps the power. What is open is dead.
    pub(crate) fn restart(&self, loses_power: bool, dice: u64) {
        let mut machine = self.0.lock();
        machine.boot += 1;
        machine.is_off = false;
        machine.locks.clear();
        machine.armed = None;
        machine.late.clear();
        if loses_power {
            machine.tree.lose_power(&mut Dice::new(dice));
        }
    }

    /// Takes away a directory with everything in it, as if it had never been.
    pub(crate) fn wipe(&self, path: &Path) {
        self.0.lock().tree.wipe(path);
    }

    /// The calls so far, and a number that depends on all of them.
    pub(crate) fn trace(&self) -> (u64, u64) {
        let machine = self.0.lock();
        (machine.calls, machine.trace)
    }
}

impl Machine {
    /// What becomes of a call that changes something.
    fn judge(&mut self, call: Call, path: &Path) -> Verdict {
        if self.is_off {
            return Verdict::Fail(off());
        }
        self.calls += 1;
        let text = path.as_os_str().as_encoded_bytes();
        self.trace = text
            .iter()
            .fold(mixed(self.trace ^ call as u64), |sum, &byte| sum.rotate_left(7) ^ u64::from(byte));
        let Some(armed) = &mut self.armed else { return Verdict::Do };
        let Some(verdict) = armed.judge(call) else { return Verdict::Do };
        self.has_fired = true;
        match verdict {
            Verdict::Halt => self.is_off = true,
            Verdict::Fail(_) if armed.is_over() => self.armed = None,
            _ => {}
        }
        verdict
    }

    /// Does something to names, or half of it if the machine stops meanwhile: that is, all or nothing.
    fn change<T>(
        &mut self,
        call: Call,
        path: &Path,
        change: impl FnOnce(&mut Tree) -> io::Result<T>,
    ) -> io::Result<T> {
        match self.judge(call, path) {
            Verdict::Do => change(&mut self.tree),
            Verdict::Fail(error) => Err(error),
            Verdict::Halt => {
                if self.dice.percent(50) {
                    let _ = change(&mut self.tree);
                }
                Err(off())
            }
        }
    }

    fn sync_late(&mut self) {
        for ino in std::mem::take(&mut self.late) {
            if let Ok(file) = self.tree.file(ino) {
                file.sync();
            }
        }
    }

    fn about(&self, ino: Ino) -> About {
        let (is_dir, len, modified_ns) = match self.tree.node(ino) {
            Node::File(file) => (false, file.current().len(), file.modified_ns),
            Node::Dir(_) => (true, 0, 0),
        };
        About { is_dir, len, modified_ns: Some(modified_ns), identity: (1, ino as u64) }
    }
}

fn off() -> io::Error {
    io::Error::other("the machine is off")
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn DiskFile>> {
        let mut machine = self.0.lock();
        if machine.is_off {
            return Err(off());
        }
        let ino = match (machine.tree.find(path), how) {
            (Ok(ino), Open::Read | Open::Write | Open::Keep) => ino,
            (Ok(ino), Open::Fresh) => {
                machine.change(Call::Cut, path, |tree| {
                    tree.file(ino)?.set_len(0);
                    Ok(())
                })?;
                ino
            }
            (Err(_), Open::Keep | Open::Fresh) => {
                machine.change(Call::Make, path, |tree| tree.make_file(path))?
            }
            (Err(error), Open::Read | Open::Write) => return Err(error),
        };
        machine.tree.file(ino)?;
        Ok(Box::new(self.handle(&machine, ino, path, false)))
    }

    fn lock(&self, path: &Path, how: Lock) -> io::Result<Option<Box<dyn DiskFile>>> {
        let mut machine = self.0.lock();
        if machine.is_off {
            return Err(off());
        }
        let ino = match (machine.tree.find(path), how) {
            (Ok(ino), _) => ino,
            (Err(_), Lock::Alone) => machine.change(Call::Make, path, |tree| tree.make_file(path))?,
            (Err(error), Lock::Shared) => return Err(error),
        };
        let held = machine.locks.entry(ino).or_insert((how, 0));
        if held.1 > 0 && (held.0 == Lock::Alone || how == Lock::Alone) {
            return Ok(None);
        }
        *held = (how, held.1 + 1);
        Ok(Some(Box::new(self.handle(&machine, ino, path, true))))
    }

    fn create_dirs(&self, dir: &Path) -> io::Result<()> {
        let mut machine = self.0.lock();
        let mut above: Vec<&Path> = dir.ancestors().collect();
        above.reverse();
        for dir in above.into_iter().skip(1) {
            if machine.is_off {
                return Err(off());
            }
            if machine.tree.find(dir).is_err() {
                machine.change(Call::Make, dir, |tree| tree.make_dir(dir))?;
            }
        }
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let machine = self.0.lock();
        if machine.is_off {
            return Err(off());
        }
        Ok(machine.tree.names(dir)?.into_iter().map(|name| dir.join(name)).collect())
    }

    fn about(&self, path: &Path) -> io::Result<About> {
        let machine = self.0.lock();
        if machine.is_off {
            return Err(off());
        }
        Ok(machine.about(machine.tree.find(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut machine = self.0.lock();
        machine.change(Call::Rename, to, |tree| tree.rename(from, to))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut machine = self.0.lock();
        machine.change(Call::Make, to, |tree| tree.link(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.0.lock();
        machine.tree.find(path)?;
        machine.change(Call::Remove, path, |tree| tree.remove(path))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.0.lock();
        machine.change(Call::Remove, path, |tree| tree.remove_dir(path))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut machine = self.0.lock();
        let is_skipped = machine.lie.is_some_and(|lie| lie.skips_dir(dir));
        machine.change(Call::SyncDir, dir, |tree| if is_skipped { Ok(()) } else { tree.sync_dir(dir) })
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.lock().tree.find(path).map(|_| path.to_owned())
    }

    fn now(&self) -> Duration {
        self.0.lock().now
    }
}

impl SimDisk {
    fn handle(&self, machine: &Machine, ino: Ino, path: &Path, is_locked: bool) -> SimFile {
        SimFile { disk: self.clone(), boot: machine.boot, ino, path: path.to_owned(), is_locked }
    }
}

/// An open file.
#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    boot: u64,
    ino: Ino,
    path: PathBuf,
    is_locked: bool,
}

impl SimFile {
    fn machine(&self) -> io::Result<parking_lot::MutexGuard<'_, Machine>> {
        let machine = self.disk.0.lock();
        if machine.is_off || machine.boot != self.boot { Err(off()) } else { Ok(machine) }
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut machine = self.disk.0.lock();
        if self.is_locked
            && machine.boot == self.boot
            && let Some(held) = machine.locks.get_mut(&self.ino)
        {
            held.1 -= 1;
        }
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let mut machine = self.machine()?;
        let machine = &mut *machine;
        let mut most = buffer.len();
        if let Some(armed) = &mut machine.armed
            && let Some(read) = armed.judge_read(most)
        {
            machine.has_fired = true;
            if armed.is_over() {
                machine.armed = None;
            }
            most = read?;
        }
        Ok(machine.tree.file(self.ino)?.current().read(&mut buffer[..most], at))
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut machine = self.machine()?;
        let verdict = machine.judge(Call::Write, &self.path);
        let part = machine.dice.below(bytes.len() as u64 + 1) as usize;
        let stamp = machine.now.as_nanos() as u64 + machine.calls;
        let file = machine.tree.file(self.ino)?;
        file.modified_ns = stamp;
        match verdict {
            Verdict::Do => {
                file.write(bytes, at);
                Ok(())
            }
            Verdict::Fail(error) => {
                // A write of which everything is there does not fail.
                file.write(&bytes[..part.min(bytes.len().saturating_sub(1))], at);
                Err(error)
            }
            Verdict::Halt => {
                file.write(&bytes[..part], at);
                Err(off())
            }
        }
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut machine = self.machine()?;
        let ino = self.ino;
        let grows = bytes > machine.tree.file(ino)?.current().len();
        machine.change(if grows { Call::Make } else { Call::Cut }, &self.path, |tree| {
            tree.file(ino)?.set_len(bytes);
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut machine = self.machine()?;
        let machine = &mut *machine;
        let verdict = machine.judge(Call::Sync, &self.path);
        let lie = machine.lie.and_then(|lie| lie.about_sync(&self.path));
        let ino = match lie {
            Some(Lie::Another(name)) => {
                machine.tree.find(&self.path.with_file_name(name)).unwrap_or(self.ino)
            }
            _ => self.ino,
        };
        match verdict {
            Verdict::Do | Verdict::Halt if matches!(lie, Some(Lie::Skip(_))) => {}
            Verdict::Do if matches!(lie, Some(Lie::Late(_))) => {
                machine.sync_late();
                machine.late.push(ino);
            }
            Verdict::Do => machine.tree.file(ino)?.sync(),
            Verdict::Fail(error) => {
                // The catalogue's database cannot tell what a failed sync dropped. Of others that is asked for.
                let drops = self.path.extension().is_none_or(|e| e != "redb") && machine.dice.percent(50);
                if drops {
                    machine.tree.file(ino)?.fail_sync(&mut machine.dice);
                }
                return Err(error);
            }
            Verdict::Halt => {
                if machine.dice.percent(50) {
                    machine.tree.file(ino)?.sync();
                }
            }
        }
        if machine.is_off { Err(off()) } else { Ok(()) }
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn about(&self) -> io::Result<About> {
        Ok(self.machine()?.about(self.ino))
    }

    fn set_modified(&self, ns: u64) -> io::Result<()> {
        self.machine()?.tree.file(self.ino)?.modified_ns = ns;
        Ok(())
    }
}
