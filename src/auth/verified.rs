//! Passwords that were right a moment ago. Grafana sends one with every panel, and to check it takes a hundredth of a second on
//! purpose; this remembers the answer, and of the password only a keyed hash.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use parking_lot::Mutex;

use super::{Digest, random};

/// How long an answer is remembered.
const FOR: Duration = Duration::from_secs(60);

/// Most answers at once.
const MOST: usize = 4096;

/// The answers. The key is made at a start and is nowhere else.
pub(super) struct Verified {
    key: hmac::Key,
    until: Mutex<HashMap<Digest, Instant>>,
}

impl Verified {
    pub(super) fn new() -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, &random()), until: Mutex::default() }
    }

    /// The mark of a user, the hash in the file and a password. With another hash in the file it is another mark.
    pub(super) fn mark(&self, user: &str, hash: &str, password: &str) -> Digest {
        let mut context = hmac::Context::with_key(&self.key);
        for part in [user, hash, password] {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part.as_bytes());
        }
        let mut mark = Digest::default();
        mark.copy_from_slice(context.sign().as_ref());
        mark
    }

    /// Was this right a moment ago?
    pub(super) fn knows(&self, mark: &Digest) -> bool {
        self.until.lock().get(mark).is_some_and(|until| *until > Instant::now())
    }

    pub(super) fn remember(&self, mark: Digest) {
        let now = Instant::now();
        let mut until = self.until.lock();
        if until.len() >= MOST {
            until.retain(|_, until| *until > now);
        }
        // With so many users, those who come later are checked each time.
        if until.len() < MOST {
            until.insert(mark, now + FOR);
        }
    }
}
