//! Backups in a run: whatever happens while one is made, the place holds the last complete one.

use std::path::{Path, PathBuf};

use plumbago::disk;
use plumbago::store::Headway;
use plumbago::store::embedded::backup::Verified;

use crate::engine::{Engine, folder};
use crate::model::Model;
use crate::world::{Failure, World, clean};

const PLACE: &str = "/backups";

/// What the place of the backups may hold.
#[derive(Default)]
pub(crate) struct Backups {
    /// One of these, unless there may be none at all.
    held: Vec<Model>,
    may_be_none: bool,
    restores: u32,
    /// Where a restore was not finished.
    unfinished: Option<PathBuf>,
}

impl World {
    pub(crate) fn back_up(&mut self) -> Result<(), Failure> {
        clean(self.engine().points.cut_all())?;
        self.everything_is_durable();
        // A restore goes on only with the backup that it began with.
        if let Some(dir) = self.backups.unfinished.take() {
            self.disk.wipe(&dir);
        }
        let made = self.engine().store.back_up(Path::new(PLACE), &Headway::default());
        let model = self.model.clone();
        let backups = &mut self.backups;
        if made.is_ok() {
            backups.held.clear();
        }
        backups.may_be_none = made.is_err() && (backups.may_be_none || backups.held.is_empty());
        backups.held.push(model);
        match made {
            Ok(made) if !made.lost.is_empty() => Err(Failure::Clean(format!("it lacks {:?}", made.lost))),
            made => clean(made),
        }
    }

    pub(crate) fn restore(&mut self, adopt: bool) -> Result<(), Failure> {
        if self.backups.held.is_empty() {
            return Ok(());
        }
        self.backups.restores += 1;
        let dir = PathBuf::from(format!("/data/restored{}", self.backups.restores));
        self.backups.unfinished = Some(dir.clone());
        let opened = self.bring_back(&dir)?;
        let Some((engine, model)) = opened else { return Ok(()) };
        if !adopt {
            drop(engine);
            self.disk.wipe(&dir);
            self.backups.unfinished = None;
            return Ok(());
        }
        self.backups.unfinished = None;
        let old = std::mem::take(&mut self.dir);
        self.adopt(&dir, engine, model);
        self.disk.wipe(&old);
        Ok(())
    }

    /// Restores the backup into a directory, opens it, and finds out which one it is. `None` if there is none.
    fn bring_back(&mut self, dir: &Path) -> Result<Option<(Engine, Model)>, Failure> {
        let headway = Headway::default();
        let verified = match Verified::new(&folder(&self.disk, Path::new(PLACE)), &headway) {
            Ok(verified) => verified,
            Err(_) if self.backups.may_be_none => return Ok(None),
            Err(error) => return Err(Failure::Clean(format!("the backup cannot be used: {error}"))),
        };
        clean(verified.restore(&folder(&self.disk, dir), &headway))?;
        self.open_restored(dir).map(Some)
    }

    fn open_restored(&mut self, dir: &Path) -> Result<(Engine, Model), Failure> {
        let engine = Engine::open(&self.disk, dir, self.now).map_err(Failure::Clean)?;
        let mut wrong = String::new();
        for model in &self.backups.held {
            let there = self.batches_of(&engine).map_err(Failure::Clean)?;
            let checked = if there == model.batches {
                engine.check(model, self.now, self.peak)
            } else {
                Err(format!("the batches {there:?} instead of {:?}", model.batches))
            };
            match checked {
                Ok(()) => {
                    let model = model.clone();
                    self.backups.held = vec![model.clone()];
                    self.backups.may_be_none = false;
                    return Ok((engine, model));
                }
                Err(error) => wrong = error,
            }
        }
        Err(crate::world::judged(format!("what was restored is wrong: {wrong}")))
    }

    /// After a crash: the backup is whole, and what was not restored to its end is not taken for a store.
    pub(crate) fn check_backup(&mut self, dice: u64) -> Result<(), String> {
        let told = |failure: Failure| match failure {
            Failure::Clean(error) | Failure::Wrong(error) => error,
            Failure::Open(_) => "it is open".to_owned(),
        };
        let unfinished = self.backups.unfinished.take();
        if let Some(dir) = &unfinished
            && disk::exists(&self.disk, &dir.join("catalogue.redb"))
            && let Ok(engine) = Engine::open(&self.disk, dir, self.now)
        {
            drop(engine);
            self.open_restored(dir).map_err(told)?;
            self.disk.wipe(dir);
        }
        let is_doubtful = self.backups.held.len() > 1 || self.backups.may_be_none || unfinished.is_some();
        if self.backups.held.is_empty() || !(is_doubtful || dice.is_multiple_of(8)) {
            return Ok(());
        }
        let dir = unfinished.unwrap_or_else(|| PathBuf::from("/data/check"));
        let brought = self.bring_back(&dir).map_err(|failure| format!("after a crash: {}", told(failure)))?;
        if brought.is_none() {
            self.backups.held.clear();
            self.backups.may_be_none = false;
        }
        drop(brought);
        self.disk.wipe(&dir);
        Ok(())
    }
}
