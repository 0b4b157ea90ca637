//! The files as they are now. They are read again when they change; while one is invalid, what it said before stays in force.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, RwLock};

use super::passwords::{self, Passwords};
use super::tokens::{self, Tokens};
use super::users::{self, Users};
use crate::config::Auth;

/// How often to look whether a file has changed, at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {}: {why}", path.display())]
pub struct FileError {
    /// The key that names it.
    key: &'static str,
    path: PathBuf,
    why: String,
}

/// What the files say.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) users: Users,
    pub(super) tokens: Tokens,
    pub(super) passwords: Passwords,
}

impl Files {
    pub(super) fn read(config: &Auth) -> Result<Self, FileError> {
        Ok(Self {
            users: file("auth.users_file", config.users_file.as_deref(), |text| {
                users::parse(text, &config.tenancy.tenants)
            })?,
            tokens: file("auth.tokens_file", config.tokens_file.as_deref(), tokens::parse)?,
            passwords: file("auth.htpasswd_file", config.htpasswd_file.as_deref(), passwords::parse)?,
        })
    }

    /// Those who can log in and may do nothing, because no line of the users file has their name.
    fn strangers(&self) -> Vec<&str> {
        let named = self.passwords.keys().chain(self.tokens.values().map(|token| &token.user));
        let mut strangers: Vec<&str> =
            named.map(String::as_str).filter(|name| !self.users.contains_key(*name)).collect();
        strangers.sort_unstable();
        strangers.dedup();
        strangers
    }
}

fn file<T: Default>(
    key: &'static str,
    path: Option<&Path>,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, FileError> {
    let Some(path) = path else { return Ok(T::default()) };
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            "there is no such file; `plumbago user add` makes it, and an empty one has nobody".to_owned()
        }
        _ => error.to_string(),
    });
    text.and_then(|text| parse(&text)).map_err(|why| FileError { key, path: path.to_owned(), why })
}

/// The files, watched.
pub(super) struct Watched {
    config: Auth,
    current: RwLock<Arc<Files>>,
    seen: Mutex<Seen>,
}

/// When the files were last looked at, and what they looked like.
struct Seen {
    looked: Instant,
    stamps: Vec<Option<(SystemTime, u64)>>,
}

impl Watched {
    pub(super) fn open(config: &Auth) -> Result<Self, FileError> {
        let seen = Mutex::new(Seen { looked: Instant::now(), stamps: stamps(config) });
        let files = Files::read(config)?;
        warn_of_strangers(&files);
        Ok(Self { config: config.clone(), current: RwLock::new(Arc::new(files)), seen })
    }

    /// What the files say now, or said a moment ago.
    pub(super) fn current(&self) -> Arc<Files> {
        // A caller that does not get the lock need not wait: another one is looking.
        if let Some(mut seen) = self.seen.try_lock()
            && seen.looked.elapsed() >= LOOK_EVERY
        {
            seen.looked = Instant::now();
            let stamps = stamps(&self.config);
            if stamps != seen.stamps {
                seen.stamps = stamps;
                self.read_again();
            }
        }
        Arc::clone(&self.current.read())
    }

    fn read_again(&self) {
        match Files::read(&self.config) {
            Ok(files) => {
                tracing::info!(users = files.users.len(), "users, tokens and passwords were read again");
                warn_of_strangers(&files);
                *self.current.write() = Arc::new(files);
            }
            Err(error) => tracing::warn!(%error, "the users, tokens and passwords of before stay in force"),
        }
    }
}

fn warn_of_strangers(files: &Files) {
    let strangers = files.strangers();
    if !strangers.is_empty() {
        tracing::warn!(names = ?strangers, "these can log in and may do nothing: no line of auth.users_file has their name");
    }
}

/// When each file was written, and how long it is: two changes in one tick of the clock usually differ in length.
fn stamps(config: &Auth) -> Vec<Option<(SystemTime, u64)>> {
    let paths = [&config.users_file, &config.tokens_file, &config.htpasswd_file];
    let stamp = |path: &PathBuf| {
        let about = std::fs::metadata(path).ok()?;
        Some((about.modified().ok()?, about.len()))
    };
    paths.into_iter().flatten().map(stamp).collect()
}
