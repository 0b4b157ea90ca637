//! Who calls: logins become a [`Caller`](plumbago_model::Caller) with a role and a scope.
//!
//! | file           | noun                                                              |
//! |----------------|-------------------------------------------------------------------|
//! | `doorman.rs`   | decides who somebody is, from what they offer                     |
//! | `shown.rs`     | what a request shows: header or cookie                            |
//! | `users.rs`     | the file of users: role and scope of each                         |
//! | `tokens.rs`    | the file of tokens                                                |
//! | `passwords.rs` | the file of passwords                                             |
//! | `files.rs`     | all three as they are now                                         |
//! | `sessions.rs`  | logins on the page                                                |
//! | `verified.rs`  | passwords that were right a moment ago                            |
//! | `failures.rs`  | wrong logins by address                                           |
//! | `sender.rs`    | who sends points                                                  |
//! | `entries.rs`   | lines of these files, written and removed                         |
//!
//! What a role and a scope allow is decided elsewhere: the role where a call comes in, the scope where metrics are found.

mod doorman;
pub mod entries;
mod failures;
mod files;
mod passwords;
mod sender;
mod sessions;
pub mod shown;
mod tokens;
mod users;
mod verified;

#[cfg(test)]
mod tests;

pub use doorman::{Denied, Doorman, Offer, Session};
pub use files::FileError;
pub use sender::Sender;
pub use tokens::{Token, new_token};
pub use users::User;

use aws_lc_rs::digest::{SHA256, digest};

/// A hash of something too random to be guessed.
pub(crate) type Digest = [u8; 32];

/// The name of a caller without credentials. No user can have it.
pub const ANONYMOUS: &str = "(anonymous)";

fn sha256(bytes: &[u8]) -> Digest {
    let mut out = Digest::default();
    out.copy_from_slice(digest(&SHA256, bytes).as_ref());
    out
}

/// As many random bytes as a key or a token has.
fn random() -> Digest {
    let mut out = Digest::default();
    // The system's source of randomness does not fail once the system runs; without it nothing here would be safe.
    aws_lc_rs::rand::fill(&mut out).expect("the system has random numbers");
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Digest> {
    let mut out = Digest::default();
    if text.len() != 2 * out.len() || !text.is_ascii() {
        return None;
    }
    for (at, byte) in out.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(out)
}

/// The lines of a file with their numbers, without comments and empty ones.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// May somebody have this name? It is one word in all files.
pub fn is_user_name(name: &str) -> bool {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, ':' | '(' | ')');
    !name.is_empty() && name.len() <= 128 && !name.starts_with('#') && name.chars().all(plain)
}
