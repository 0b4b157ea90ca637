//! The file of tokens: one a line, `NAME sha256:HASH`, and behind them when the token ends. A user may have several.
//!
//! A token is 256 random bits, so a plain hash is enough: nobody can try them all.

use std::collections::HashMap;

use jiff::Timestamp;

use super::{Digest, is_user_name, lines, random, sha256, unhex};

/// What a token begins with. People and scanners recognise one by it, where it should not be.
const PREFIX: &str = "plumbago_";

/// A token as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Whose it is.
    pub user: String,
    /// When it ends.
    pub until: Option<Timestamp>,
}

impl Token {
    /// Is it over?
    pub fn is_expired(&self) -> bool {
        self.until.is_some_and(|until| until <= Timestamp::now())
    }
}

/// Tokens by their hashes. To look one up takes as long for a hash that nearly fits as for any other, as far as anybody can tell who
/// does not choose hashes but what is hashed.
pub(super) type Tokens = HashMap<Digest, Token>;

/// A new token.
pub fn new_token() -> String {
    format!("{PREFIX}{}", super::hex(&random()))
}

/// Is this text meant as a token?
pub(super) fn is_token(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// Reads the file. The error has the number of the line, and nothing of the line that could be a secret.
pub(super) fn parse(text: &str) -> Result<Tokens, String> {
    let mut tokens = Tokens::new();
    for (number, line) in lines(text) {
        let (hash, token) = token(line).map_err(|error| format!("line {number}: {error}"))?;
        tokens.insert(hash, token);
    }
    Ok(tokens)
}

/// One line.
pub(super) fn token(line: &str) -> Result<(Digest, Token), String> {
    let mut words = line.split_whitespace();
    let (user, hash) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let hash = hash.strip_prefix("sha256:").and_then(unhex);
    let (true, Some(hash)) = (is_user_name(user), hash) else {
        return Err("this is not NAME sha256:HASH; `plumbago user add` writes such lines".to_owned());
    };
    let until = words.next().map(|text| {
        text.parse().map_err(|_| format!("`{text}` is not a time; write one such as 2027-01-31T00:00:00Z"))
    });
    Ok((hash, Token { user: user.to_owned(), until: until.transpose()? }))
}

/// The hash of a token as a caller sends it.
pub(super) fn hash(token: &str) -> Digest {
    sha256(token.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::hex;

    #[test]
    fn a_token_is_found_by_its_hash() {
        let (a, b) = (new_token(), new_token());
        assert!(is_token(&a) && a != b && a.len() == PREFIX.len() + 64);
        let text =
            format!("ann sha256:{}\nann sha256:{} 2020-01-01T00:00:00Z\n", hex(&hash(&a)), hex(&hash(&b)));
        let tokens = parse(&text).unwrap();
        assert!(!tokens[&hash(&a)].is_expired() && tokens[&hash(&b)].is_expired());
        assert_eq!(tokens.get(&hash("plumbago_x")), None);
    }

    #[test]
    fn a_wrong_line_is_named_without_its_secret() {
        let secret = new_token();
        let error = parse(&format!("\nann {secret}")).unwrap_err();
        assert!(error.contains("line 2") && !error.contains(&secret), "{error}");
        let line = format!("ann sha256:{} tomorrow", "0".repeat(64));
        assert!(parse(&line).unwrap_err().contains("`tomorrow` is not a time"));
    }
}
