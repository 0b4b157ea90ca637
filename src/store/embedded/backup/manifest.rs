//! The manifest: which files a backup consists of, with their sizes and checksums. `docs/format/backup.md` has the layout.

use std::io::ErrorKind;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::super::block;
use super::super::catalogue;
use super::super::cut::io;
use crate::disk::{self, Folder};
use crate::store::StoreError;

/// Its name in a backup.
pub(super) const MANIFEST_FILE: &str = "manifest.jsonl";

/// The format this build writes, and the only one it reads.
const FORMAT: u32 = 1;

/// What a complete backup consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) header: Header,
    pub(super) files: Vec<Entry>,
}

/// The first line: what the backup is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    /// The format of the manifest.
    backup_format: u32,
    catalogue_format: String,
    block_format: u32,
    /// The version that wrote it.
    version: String,
    /// Counts the backups in this place.
    pub(super) number: u64,
    /// The second as of which it is.
    pub(super) taken: u64,
    /// The last cut that is in it.
    pub(super) cut: u64,
    /// Blocks that the store listed but could not read.
    pub(super) lost: Vec<String>,
}

impl Header {
    pub(super) fn new(number: u64, taken: u64, cut: u64, lost: Vec<String>) -> Self {
        Self {
            backup_format: FORMAT,
            catalogue_format: catalogue::FORMAT.to_owned(),
            block_format: block::FORMAT_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            number,
            taken,
            cut,
            lost,
        }
    }

    /// Fails if this build cannot read what the backup holds.
    fn check(&self) -> Result<(), String> {
        let known = (FORMAT, catalogue::FORMAT, block::FORMAT_VERSION);
        let found = (self.backup_format, &*self.catalogue_format, self.block_format);
        if found == known {
            return Ok(());
        }
        Err(format!(
            "version {} wrote it with format {} of backups, {} of catalogues and {} of blocks, and this build reads {}, {} and \
             {}: use that version, or a newer one",
            self.version, found.0, found.1, found.2, known.0, known.1, known.2
        ))
    }
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Where it is in the backup.
    pub(super) file: String,
    /// Where it belongs in a data directory.
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) crc32c: u32,
    /// When a block was written, in nanoseconds since 1970. With its path and size, this tells one block from another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) modified_ns: Option<u64>,
}

/// The last line.
#[derive(Serialize, Deserialize)]
struct End {
    /// The checksum of all lines before.
    manifest_crc32c: u32,
}

impl Manifest {
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|entry| entry.bytes).sum()
    }

    /// The manifest of a directory; `None` if it has none.
    pub(super) fn read(dir: &Folder) -> Result<Option<Self>, StoreError> {
        let path = dir.path().join(MANIFEST_FILE);
        match disk::read(&**dir.disk(), &path) {
            Ok(bytes) => {
                let text = String::from_utf8(bytes).map_err(|_| "it is no text".to_owned());
                let parsed = text.and_then(|text| Self::parse(&text));
                parsed.map(Some).map_err(|detail| StoreError::Damaged { path, detail })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io("read", &path)(error)),
        }
    }

    /// Replaces the manifest of a directory. The old one stays in force until the new one is complete and on disk.
    pub(super) fn write(&self, dir: &Folder) -> Result<(), StoreError> {
        let disk = dir.disk();
        let (path, tmp) = (dir.path().join(MANIFEST_FILE), dir.path().join("manifest.tmp"));
        let text = self.text().map_err(|error| io("write", &tmp)(error.into()))?;
        disk::write(&**disk, &tmp, text.as_bytes()).map_err(io("write", &tmp))?;
        disk.rename(&tmp, &path).map_err(io("write", &path))?;
        disk.sync_dir(dir.path()).map_err(io("sync", dir.path()))
    }

    fn text(&self) -> serde_json::Result<String> {
        let mut lines = vec![serde_json::to_string(&self.header)?];
        for entry in &self.files {
            lines.push(serde_json::to_string(entry)?);
        }
        let mut text = lines.join("\n") + "\n";
        let end = End { manifest_crc32c: crc32c::crc32c(text.as_bytes()) };
        text += &(serde_json::to_string(&end)? + "\n");
        Ok(text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let (first, _) = text.split_once('\n').ok_or("it is not complete")?;
        let header: Header =
            serde_json::from_str(first).map_err(|error| format!("its first line is wrong: {error}"))?;
        // Another format may have its checksum elsewhere, so this comes first.
        header.check()?;
        let lines = text.strip_suffix('\n').ok_or("it is not complete")?;
        let (_, last) = lines.rsplit_once('\n').ok_or("it is not complete")?;
        let body = text.get(..lines.len() - last.len()).unwrap_or_default();
        let end: End = serde_json::from_str(last).map_err(|_| "its last line is missing")?;
        if crc32c::crc32c(body.as_bytes()) != end.manifest_crc32c {
            return Err("its checksum does not match".to_owned());
        }
        let mut files = Vec::new();
        for line in body.lines().skip(1) {
            let entry: Entry =
                serde_json::from_str(line).map_err(|error| format!("the line `{line}` is wrong: {error}"))?;
            if !is_inside(&entry.file) || !is_inside(&entry.path) {
                return Err(format!("the line `{line}` names a place outside of the directory"));
            }
            files.push(entry);
        }
        Ok(Self { header, files })
    }
}

/// Does a relative path stay below where it starts?
fn is_inside(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let entry = |name: &str, modified_ns| Entry {
            file: format!("{name}.1"),
            path: name.to_owned(),
            bytes: 7,
            crc32c: 9,
            modified_ns,
        };
        let files = vec![entry("points/10s-6-raw/0/1-1.blk", Some(5)), entry("catalogue.redb", None)];
        Manifest { header: Header::new(3, 1000, 17, vec!["points/a/0/2-2.blk".to_owned()]), files }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let temporary = tempfile::tempdir().unwrap();
        let dir = Folder::from(temporary.path());
        assert_eq!(Manifest::read(&dir).unwrap(), None);
        manifest().write(&dir).unwrap();
        assert_eq!(Manifest::read(&dir).unwrap(), Some(manifest()));
        assert_eq!(manifest().bytes(), 14);
    }

    #[test]
    fn no_flipped_or_missing_byte_goes_unnoticed() {
        let text = manifest().text().unwrap();
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            if let Ok(changed) = String::from_utf8(bytes) {
                // Blanks around a value are no change.
                assert!(Manifest::parse(&changed).is_err(), "byte {at}: {changed}");
            }
            assert!(Manifest::parse(&text[..at]).is_err(), "cut off at byte {at}");
        }
    }

    #[test]
    fn a_newer_format_is_refused_by_name() {
        let mut newer = manifest();
        newer.header.block_format += 1;
        newer.header.version = "9.8.7".to_owned();
        let error = Manifest::parse(&newer.text().unwrap()).unwrap_err();
        assert!(error.contains("version 9.8.7") && error.contains("use that version"), "{error}");
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_refused() {
        for path in ["../catalogue.redb", "/etc/passwd", "points/../../a", ""] {
            let mut wrong = manifest();
            wrong.files[0].path = path.to_owned();
            let error = Manifest::parse(&wrong.text().unwrap()).unwrap_err();
            assert!(error.contains("outside of the directory"), "{path}: {error}");
        }
    }
}
