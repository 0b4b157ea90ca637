//! Which metric a file belongs to, and back.
//!
//! Carbon makes a directory of every component: `a.b.c` is in `a/b/c.wsp`. A tagged metric is in `_tagged`, below two
//! directories named by the first digits of a hash of its name, in a file with the whole name, where `_DOT_` replaces a dot:
//! `_tagged/eff/aae/some_DOT_metric;tag=value.wsp`. A slash in a tag makes further directories. Carbon can also name such a file
//! by the hash alone; then only its tag database knows the name.

use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{SHA256, digest};
use plumbago_model::name::{NameError, canonical, is_tagged};

/// What the names of files end with.
pub const EXTENSION: &str = ".wsp";

/// The directory of tagged metrics.
pub(super) const TAGGED: &str = "_tagged";

/// What carbon writes for a dot in the name of a tagged metric.
const DOT: &str = "_DOT_";

/// Longest name of a file or directory on the usual file systems.
const MAX_FILE_NAME: usize = 255;

/// How files of tagged metrics are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagFiles {
    /// By the name of the metric, so that the name can be read from the path.
    #[default]
    Readable,
    /// By a hash of it, as with carbon's `TAG_HASH_FILENAMES`. Fits names of any length.
    Hashed,
}

/// Why a path has no name, or a name no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// Bytes that are no text.
    #[error("\"{path}\" is not UTF-8: rename it")]
    NotText {
        /// The path, with a sign in place of what is no text.
        path: String,
    },
    /// Not a file that whisper makes.
    #[error("\"{path}\" does not end with {EXTENSION}")]
    Extension {
        /// The path.
        path: String,
    },
    /// A dot in a component: the name would be that of another file.
    #[error("\"{path}\" has a dot in \"{component}\", where carbon never puts one: rename it")]
    Dot {
        /// The path.
        path: String,
        /// The file or directory.
        component: String,
    },
    /// The name is not in the path.
    #[error(
        "\"{path}\" is named by a hash (carbon's TAG_HASH_FILENAMES): only carbon's tag database has the name"
    )]
    Hashed {
        /// The path.
        path: String,
    },
    /// A name without tags among those with tags.
    #[error("\"{path}\" is in {TAGGED}, but has no valid tags")]
    NotTagged {
        /// The path.
        path: String,
    },
    /// Not a name that Plumbago takes.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A slash outside of tags.
    #[error("the name \"{name}\" has a slash, of which carbon would make a directory: rename the metric")]
    Slash {
        /// The name.
        name: String,
    },
    /// The path of the name is that of another name.
    #[error("the name \"{name}\" has no file of its own: as a path it would read \"{other}\"")]
    Ambiguous {
        /// The name.
        name: String,
        /// What the path would mean.
        other: String,
    },
    /// Longer than a file name may be.
    #[error("\"{component}\" has {bytes} bytes, but a file name has at most {MAX_FILE_NAME}")]
    TooLong {
        /// The beginning of the component.
        component: String,
        /// Its length.
        bytes: usize,
    },
}

/// The name of the metric in a file, by its path below the root. The spelling is the one that Plumbago stores.
pub fn of_path(path: &Path, max_name_bytes: usize) -> Result<String, PathError> {
    let shown = || path.to_string_lossy().into_owned();
    let text = path.to_str().ok_or_else(|| PathError::NotText { path: shown() })?;
    let bare = text.strip_suffix(EXTENSION).ok_or_else(|| PathError::Extension { path: shown() })?;
    if let Some(below) = bare.strip_prefix(TAGGED).and_then(|rest| rest.strip_prefix('/')) {
        return of_tagged(below, text, max_name_bytes);
    }
    if let Some(component) = bare.split('/').find(|part| part.is_empty() || part.contains('.')) {
        let component = if component.is_empty() { EXTENSION } else { component };
        return Err(PathError::Dot { path: shown(), component: component.to_owned() });
    }
    Ok(canonical(&bare.replace('/', "."), max_name_bytes)?.into_owned())
}

/// The name of a file below the directory of tagged metrics.
fn of_tagged(below: &str, path: &str, max_name_bytes: usize) -> Result<String, PathError> {
    let not_tagged = || PathError::NotTagged { path: path.to_owned() };
    let mut parts = below.splitn(3, '/');
    let (Some(first), Some(second), Some(file)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(not_tagged());
    };
    if file.len() == 64 && file.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(PathError::Hashed { path: path.to_owned() });
    }
    let mut raw = file.replace(DOT, ".");
    // A name can have `_DOT_` in it. The directories tell, unless somebody has moved the file.
    if raw != file {
        let folders = format!("{first}{second}");
        if !hash(&raw).starts_with(&folders) && hash(file).starts_with(&folders) {
            raw = file.to_owned();
        }
    }
    let name = canonical(&raw, max_name_bytes)?;
    if is_tagged(&name) { Ok(name.into_owned()) } else { Err(not_tagged()) }
}

/// The path of a metric below the root, for a name in the spelling that Plumbago stores.
pub fn to_path(name: &str, files: TagFiles) -> Result<PathBuf, PathError> {
    let path = match files {
        _ if !is_tagged(name) && name.contains('/') => {
            return Err(PathError::Slash { name: name.to_owned() });
        }
        _ if !is_tagged(name) => format!("{}{EXTENSION}", name.replace('.', "/")),
        TagFiles::Readable => in_folders(name, &name.replace('.', DOT)),
        // Nothing to read back: the name is not in it.
        TagFiles::Hashed => return Ok(in_folders(name, &hash(name)).into()),
    };
    if let Some(long) = path.split('/').find(|component| component.len() > MAX_FILE_NAME) {
        let component = long.chars().take(40).chain(['…']).collect();
        return Err(PathError::TooLong { component, bytes: long.len() });
    }
    // As the system sees it: two slashes are one.
    let path: PathBuf = Path::new(&path).components().collect();
    let other = of_path(&path, usize::MAX)?;
    if other == name { Ok(path) } else { Err(PathError::Ambiguous { name: name.to_owned(), other }) }
}

fn in_folders(name: &str, file: &str) -> String {
    let hash = hash(name);
    let (first, rest) = hash.split_at(3);
    let (second, _) = rest.split_at(3);
    format!("{TAGGED}/{first}/{second}/{file}{EXTENSION}")
}

/// The hash by which carbon spreads tagged metrics over directories, in hexadecimal digits.
fn hash(name: &str) -> String {
    use std::fmt::Write as _;
    digest(&SHA256, name.as_bytes()).as_ref().iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    fn of(path: &str) -> Result<String, PathError> {
        of_path(Path::new(path), 1000)
    }

    fn to(name: &str) -> Result<String, PathError> {
        to_path(name, TagFiles::Readable).map(|path| path.to_str().unwrap().to_owned())
    }

    #[test]
    fn directories_are_components() {
        assert_eq!(of("a/b/c.wsp").unwrap(), "a.b.c");
        assert_eq!(of("a.wsp").unwrap(), "a");
        assert_eq!(of("größe/50%/x y.wsp").unwrap(), "größe.50%.x y");
        assert_eq!(to("a.b.c").unwrap(), "a/b/c.wsp");
        assert_eq!(to("_tagged").unwrap(), "_tagged.wsp");
    }

    #[test]
    fn tagged_metrics_are_where_carbon_puts_them() {
        // The paths are those of carbon 1.1.10 and of go-carbon 0.19.1.
        for (name, path) in [
            ("disk.used;host=a.b;mount=/var", "_tagged/5bb/f39/disk_DOT_used;host=a_DOT_b;mount=/var.wsp"),
            ("cpu;dc=eu", "_tagged/18d/c89/cpu;dc=eu.wsp"),
        ] {
            assert_eq!(to(name).unwrap(), path);
            assert_eq!(of(path).unwrap(), name);
        }
    }

    #[test]
    fn the_literal_text_of_an_encoded_dot_survives() {
        for name in ["a_DOT_b;k=v", "a.b;k=v"] {
            assert_eq!(of(&to(name).unwrap()).unwrap(), name);
        }
        assert_eq!(of("_tagged/000/000/a_DOT_b;k=v.wsp").unwrap(), "a.b;k=v", "a file that was moved");
    }

    #[test]
    fn slashes_in_tags_are_directories() {
        for name in ["disk;mount=/", "disk;mount=/var/lib", "disk;a=x/y;b=z"] {
            assert_eq!(of(&to(name).unwrap()).unwrap(), name);
        }
    }

    #[test]
    fn a_hash_does_not_tell_the_name() {
        let path = to_path("cpu;dc=eu", TagFiles::Hashed).unwrap();
        let text = path.to_str().unwrap();
        assert!(
            text.starts_with("_tagged/18d/c89/18dc89") && text.len() == "_tagged/".len() + 8 + 64 + 4,
            "{text}"
        );
        assert!(matches!(of(text), Err(PathError::Hashed { .. })));
        assert_eq!(
            to_path("a.b", TagFiles::Hashed).unwrap(),
            Path::new("a/b.wsp"),
            "only tagged ones are hashed"
        );
    }

    #[test]
    fn paths_that_are_no_names_are_refused_with_a_reason() {
        let refused = |path: &str| of(path).unwrap_err().to_string();
        assert!(refused("a/b.txt").contains("does not end with .wsp"));
        assert!(refused("a/b.wsp.extend").contains("does not end with .wsp"));
        assert!(refused("a.b/c.wsp").contains("a dot in \"a.b\""));
        assert!(refused("a/.wsp").contains("a dot in \".wsp\""));
        assert!(refused("_tagged/abc/def/plain.wsp").contains("no valid tags"));
        assert!(refused("_tagged/abc/x;k=v.wsp").contains("no valid tags"));
        assert!(refused("a\u{7}/b.wsp").contains("control character U+0007"));
        assert!(of_path(Path::new("aaaaaaaaaa.wsp"), 5).unwrap_err().to_string().contains("has 10 bytes"));
        let deep = vec!["a"; 64].join("/") + ".wsp";
        assert!(refused(&deep).contains("64 components"));
        let bytes = of_path(Path::new(OsStr::from_bytes(b"a/\xff.wsp")), 1000).unwrap_err();
        assert!(bytes.to_string().contains("is not UTF-8"));
    }

    #[test]
    fn names_without_a_file_of_their_own_are_refused_with_a_reason() {
        let refused = |name: &str| to(name).unwrap_err().to_string();
        assert!(refused("a/b.c").contains("has a slash"));
        assert!(refused("/etc/passwd").contains("has a slash"), "never above the root");
        assert!(refused("_tagged.abc.def.x").contains("no valid tags"));
        assert!(refused("disk;mount=//x").contains("would read"));
        assert!(refused(&"x".repeat(252)).contains("has 256 bytes"));
        assert!(to(&"x".repeat(251)).is_ok());
    }
}
