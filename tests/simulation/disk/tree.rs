//! The names of files: directories, what of them is durable, and what a loss of power leaves.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Component, Path};

use super::file::File;
use crate::dice::Dice;

/// The number of a file or directory.
pub(crate) type Ino = usize;

pub(crate) const ROOT: Ino = 0;

#[derive(Clone, Debug)]
pub(crate) enum Node {
    File(File),
    Dir(Dir),
}

/// Names in a directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dir {
    names: BTreeMap<String, Ino>,
    durable: BTreeMap<String, Ino>,
    changes: Vec<Change>,
}

/// One change of names, which is done as a whole or not at all.
#[derive(Clone, Debug)]
struct Change {
    removed: Option<String>,
    added: Option<(String, Ino)>,
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<String, Ino>) {
        if let Some(name) = &self.removed {
            names.remove(name);
        }
        if let Some((name, ino)) = &self.added {
            names.insert(name.clone(), *ino);
        }
    }
}

impl Dir {
    fn change(&mut self, removed: Option<String>, added: Option<(String, Ino)>) {
        let change = Change { removed, added };
        change.apply(&mut self.names);
        self.changes.push(change);
    }

    fn sync(&mut self) {
        self.durable = self.names.clone();
        self.changes.clear();
    }

    fn lose_power(&mut self, dice: &mut Dice) {
        if self.changes.is_empty() {
            return;
        }
        let all = self.changes.len() as u64;
        let (first, each) = match dice.below(4) {
            0 => (0, false),
            1 => (all, false),
            2 => (dice.below(all + 1), false),
            _ => (0, true),
        };
        for (number, change) in (0..).zip(&self.changes) {
            if number < first || (each && dice.percent(50)) {
                change.apply(&mut self.durable);
            }
        }
        self.names = self.durable.clone();
        self.changes.clear();
    }
}

/// All files and directories.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
}

impl Default for Tree {
    fn default() -> Self {
        Self { nodes: vec![Node::Dir(Dir::default())] }
    }
}

impl Tree {
    pub(crate) fn find(&self, path: &Path) -> io::Result<Ino> {
        let mut at = ROOT;
        for part in path.components() {
            if let Component::Normal(name) = part {
                at = *self.dir(at)?.names.get(&*name.to_string_lossy()).ok_or(ErrorKind::NotFound)?;
            }
        }
        Ok(at)
    }

    /// The directory that a name is in, and the name.
    fn split(&self, path: &Path) -> io::Result<(Ino, String)> {
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?.to_string_lossy().into_owned();
        Ok((self.find(path.parent().ok_or(ErrorKind::InvalidInput)?)?, name))
    }

    pub(crate) fn file(&mut self, ino: Ino) -> io::Result<&mut File> {
        match self.nodes.get_mut(ino) {
            Some(Node::File(file)) => Ok(file),
            _ => Err(ErrorKind::IsADirectory.into()),
        }
    }

    pub(crate) fn node(&self, ino: Ino) -> &Node {
        &self.nodes[ino]
    }

    fn dir(&self, ino: Ino) -> io::Result<&Dir> {
        match self.nodes.get(ino) {
            Some(Node::Dir(dir)) => Ok(dir),
            _ => Err(ErrorKind::NotADirectory.into()),
        }
    }

    fn dir_mut(&mut self, ino: Ino) -> io::Result<&mut Dir> {
        match self.nodes.get_mut(ino) {
            Some(Node::Dir(dir)) => Ok(dir),
            _ => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// A new empty file.
    pub(crate) fn make_file(&mut self, path: &Path) -> io::Result<Ino> {
        let (dir, name) = self.split(path)?;
        self.nodes.push(Node::File(File::default()));
        let ino = self.nodes.len() - 1;
        self.dir_mut(dir)?.change(None, Some((name, ino)));
        Ok(ino)
    }

    /// Makes a directory in another one. False if it is there.
    pub(crate) fn make_dir(&mut self, path: &Path) -> io::Result<bool> {
        if self.find(path).is_ok() {
            return Ok(false);
        }
        let (dir, name) = self.split(path)?;
        self.nodes.push(Node::Dir(Dir::default()));
        let ino = self.nodes.len() - 1;
        self.dir_mut(dir)?.change(None, Some((name, ino)));
        Ok(true)
    }

    pub(crate) fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        Ok(self.dir(self.find(path)?)?.names.keys().cloned().collect())
    }

    /// Between two directories, a loss of power may leave the file with both names, or with none.
    pub(crate) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let ino = self.find(from)?;
        let ((dir, old), (other, new)) = (self.split(from)?, self.split(to)?);
        if dir == other {
            self.dir_mut(dir)?.change(Some(old), Some((new, ino)));
        } else {
            self.dir_mut(other)?.change(None, Some((new, ino)));
            self.dir_mut(dir)?.change(Some(old), None);
        }
        Ok(())
    }

    pub(crate) fn link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let ino = self.find(from)?;
        if self.find(to).is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let (dir, name) = self.split(to)?;
        self.dir_mut(dir)?.change(None, Some((name, ino)));
        Ok(())
    }

    pub(crate) fn remove(&mut self, path: &Path) -> io::Result<()> {
        let ino = self.find(path)?;
        self.file(ino)?;
        let (dir, name) = self.split(path)?;
        self.dir_mut(dir)?.change(Some(name), None);
        Ok(())
    }

    pub(crate) fn remove_dir(&mut self, path: &Path) -> io::Result<()> {
        let ino = self.find(path)?;
        if !self.dir(ino)?.names.is_empty() {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        let (dir, name) = self.split(path)?;
        self.dir_mut(dir)?.change(Some(name), None);
        Ok(())
    }

    pub(crate) fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        let ino = self.find(path)?;
        self.dir_mut(ino)?.sync();
        Ok(())
    }

    /// Takes away a directory with everything in it, at once and durably.
    pub(crate) fn wipe(&mut self, path: &Path) {
        if let Ok((dir, name)) = self.split(path)
            && let Ok(dir) = self.dir_mut(dir)
        {
            dir.names.remove(&name);
            dir.sync();
        }
    }

    /// The power goes.
    pub(crate) fn lose_power(&mut self, dice: &mut Dice) {
        for node in &mut self.nodes {
            match node {
                Node::File(file) => file.lose_power(dice),
                Node::Dir(dir) => dir.lose_power(dice),
            }
        }
        self.collect();
    }

    /// Lets go of what no name leads to.
    fn collect(&mut self) {
        let mut reached = vec![false; self.nodes.len()];
        let mut left = vec![ROOT];
        while let Some(ino) = left.pop() {
            if !std::mem::replace(&mut reached[ino], true)
                && let Node::Dir(dir) = &self.nodes[ino]
            {
                left.extend(dir.names.values().chain(dir.durable.values()).copied());
                left.extend(
                    dir.changes.iter().filter_map(|change| change.added.as_ref()).map(|(_, ino)| *ino),
                );
            }
        }
        for (node, reached) in self.nodes.iter_mut().zip(reached) {
            if !reached {
                *node = Node::File(File::default());
            }
        }
    }
}
