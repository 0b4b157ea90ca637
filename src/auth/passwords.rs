//! The file of passwords, as Apache's `htpasswd` writes it: `NAME:HASH`, with bcrypt or argon2.

use std::collections::HashMap;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};

use super::{is_user_name, lines, random};

/// Hashes by user.
pub(super) type Passwords = HashMap<String, String>;

/// How the hashes begin that are understood.
const BCRYPT: [&str; 4] = ["$2y$", "$2b$", "$2a$", "$2x$"];
const ARGON2: &str = "$argon2";

/// What the inventors of argon2 recommend.
const SALT_BYTES: usize = 16;

/// Reads the file. The error has the number of the line, and nothing of the hash.
pub(super) fn parse(text: &str) -> Result<Passwords, String> {
    let mut passwords = Passwords::new();
    for (number, line) in lines(text) {
        let (name, hash) = line.split_once(':').unwrap_or((line, ""));
        if !is_user_name(name) {
            return Err(format!("line {number}: this is not NAME:HASH; `htpasswd -B` writes such lines"));
        }
        if !is_understood(hash) {
            return Err(format!(
                "line {number}: the hash of `{name}` is neither bcrypt nor argon2; make it with `htpasswd -B` or `plumbago user add --password`"
            ));
        }
        passwords.insert(name.to_owned(), hash.to_owned());
    }
    Ok(passwords)
}

fn is_understood(hash: &str) -> bool {
    let bcrypt = BCRYPT.iter().any(|kind| hash.starts_with(kind)) && hash.len() == 60;
    bcrypt || hash.starts_with(ARGON2) && PasswordHash::new(hash).is_ok()
}

/// Is this the password? Takes long on purpose. The comparison at its end takes the same time for every wrong one.
pub(super) fn is_right(password: &str, hash: &str) -> bool {
    if hash.starts_with(ARGON2) {
        return PasswordHash::new(hash)
            .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok());
    }
    bcrypt::verify(password, hash).unwrap_or(false)
}

/// The hash of a new password.
pub(super) fn hash(password: &str) -> Result<String, String> {
    let salt = random();
    let hash = Argon2::default().hash_password_with_salt(password.as_bytes(), &salt[..SALT_BYTES]);
    hash.map(|hash| hash.to_string()).map_err(|error| format!("the password cannot be hashed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What crypt(3) makes of `open sesame`, as `htpasswd -B` does.
    const BY_HTPASSWD: &str = "$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy";

    #[test]
    fn the_right_password_is_known_by_either_hash() {
        let own = hash("open sesame").unwrap();
        assert!(own.starts_with("$argon2id$"), "{own}");
        assert_ne!(own, hash("open sesame").unwrap(), "each has a salt of its own");
        for hash in [own.as_str(), BY_HTPASSWD] {
            assert!(is_understood(hash), "{hash}");
            assert!(
                is_right("open sesame", hash) && !is_right("open sesam", hash) && !is_right("", hash),
                "{hash}"
            );
        }
    }

    #[test]
    fn a_hash_that_is_not_understood_is_named_and_not_shown() {
        for hash in ["$apr1$abc$def", "{SHA}abc", "plain", "$2y$04$short", "$argon2id$x"] {
            let error = parse(&format!("# who\nann:{hash}\n")).unwrap_err();
            assert!(error.contains("line 2") && error.contains("`ann`") && !error.contains(hash), "{error}");
        }
        assert!(parse("no hash at all").unwrap_err().contains("line 1"));
        assert_eq!(parse(&format!("ann:{BY_HTPASSWD}\n")).unwrap().len(), 1);
    }
}
