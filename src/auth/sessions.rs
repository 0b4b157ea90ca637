//! Logins on the page. They are kept in memory: a restart ends them, and so does a change of what they were made with.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{Digest, hex, random, sha256};

/// Most logins at once.
const MOST: usize = 10_000;

/// A login that lasts.
#[derive(Clone, Debug)]
struct Login {
    user: String,
    /// A hash of what the user logged in with, as the file has it.
    by: Digest,
    until: Instant,
}

/// All of them, by the hash of what the browser holds.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<Digest, Login>>);

impl Sessions {
    /// Begins one. Returns what the browser has to show from now on.
    pub(super) fn begin(&self, user: &str, by: Digest, lasts: Duration) -> String {
        let id = hex(&random());
        let now = Instant::now();
        let mut all = self.0.lock();
        if all.len() >= MOST {
            all.retain(|_, login| login.until > now);
        }
        if all.len() >= MOST {
            let first = all.iter().min_by_key(|(_, login)| login.until).map(|(id, _)| *id);
            first.and_then(|id| all.remove(&id));
        }
        all.insert(sha256(id.as_bytes()), Login { user: user.to_owned(), by, until: now + lasts });
        id
    }

    /// Whose it is and what it was made with, while it lasts.
    pub(super) fn find(&self, id: &str) -> Option<(String, Digest)> {
        let all = self.0.lock();
        let login = all.get(&sha256(id.as_bytes()))?;
        (login.until > Instant::now()).then(|| (login.user.clone(), login.by))
    }

    pub(super) fn end(&self, id: &str) {
        self.0.lock().remove(&sha256(id.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_lasts_until_it_ends() {
        let sessions = Sessions::default();
        let id = sessions.begin("ann", [1; 32], Duration::from_secs(60));
        assert_eq!(sessions.find(&id), Some(("ann".to_owned(), [1; 32])));
        assert_eq!(sessions.find("x"), None);
        sessions.end(&id);
        assert_eq!(sessions.find(&id), None);
        let over = sessions.begin("ann", [1; 32], Duration::ZERO);
        assert_eq!(sessions.find(&over), None);
    }

    #[test]
    fn there_are_only_so_many() {
        let sessions = Sessions::default();
        let first = sessions.begin("ann", [1; 32], Duration::from_secs(60));
        for _ in 0..MOST {
            sessions.begin("bob", [2; 32], Duration::from_secs(120));
        }
        let count = sessions.0.lock().len();
        assert_eq!((count, sessions.find(&first)), (MOST, None));
    }
}
