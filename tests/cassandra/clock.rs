//! Clocks that are wrong, by Debian's libfaketime: a library that lies to one program about the time.

#![allow(dead_code, reason = "each program that includes this file uses its own part of it")]

use std::path::{Path, PathBuf};

/// The library, where it is installed.
pub(crate) fn library() -> Option<PathBuf> {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let library = |folder: &&str| Path::new(folder).join("faketime/libfaketime.so.1");
    folders.iter().map(library).find(|library| library.exists())
}

/// What the environment of a program must say, so that it sees the time that `FAKETIME` or `FAKETIME_TIMESTAMP_FILE` says. Timeouts
/// and the dates of files stay right.
pub(crate) fn environment(library: &Path) -> [(&'static str, String); 3] {
    [
        ("LD_PRELOAD", library.display().to_string()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("NO_FAKE_STAT", "1".to_owned()),
    ]
}
