//! The tokens that a command shows to servers. They come from files or from the environment, never from an argument: those are shown to
//! everybody on the machine.

use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, bail};

use crate::cli::UsageError;

/// The variable with the token for the server that the command is for.
const OWN: &str = "PLUMBAGO_TOKEN";

/// The variable with the token for the other server, of commands that talk to two.
const OTHERS: &str = "PLUMBAGO_OTHER_TOKEN";

/// The token for the server that the command is for. The other one does not get it.
static TOKEN: OnceLock<Token> = OnceLock::new();

/// A token.
#[derive(Clone)]
pub(super) struct Token(String);

/// Not the token itself.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Where a server's token comes from, for the person who forgot it, and the token.
#[derive(Clone, Debug)]
pub(super) struct Login {
    /// The flag and the variable.
    pub(super) given_by: String,
    token: Option<Token>,
}

impl Login {
    /// For the server that the command is for.
    pub(super) fn own() -> Self {
        Self { given_by: format!("--token-file or {OWN}"), token: TOKEN.get().cloned() }
    }

    /// For the other server: from the file of that flag, or from the environment.
    pub(super) fn of_other(flag: &str, file: Option<&Path>) -> Result<Self> {
        Ok(Self { given_by: format!("{flag} or {OTHERS}"), token: read(flag, file, OTHERS)? })
    }

    /// The line of a request that shows it.
    pub(super) fn header(&self) -> String {
        self.token
            .as_ref()
            .map_or_else(String::new, |Token(token)| format!("Authorization: Bearer {token}\r\n"))
    }
}

/// Reads the token of the command from its file, or from the environment.
pub(in crate::cli) fn read_token(file: Option<&Path>) -> Result<()> {
    if let Some(token) = read("--token-file", file, OWN)? {
        TOKEN.get_or_init(|| token);
    }
    Ok(())
}

fn read(flag: &str, file: Option<&Path>, variable: &str) -> Result<Option<Token>> {
    let text = match file {
        Some(path) => std::fs::read_to_string(path).with_context(|| format!("{flag} {}", path.display()))?,
        None => std::env::var(variable).unwrap_or_default(),
    };
    let token = text.trim();
    if token.contains(|c: char| !c.is_ascii_graphic()) {
        let place = file.map_or(variable.to_owned(), |path| path.display().to_string());
        bail!(UsageError(format!(
            "{place} holds more than a token; leave only what `plumbago user add` printed"
        )));
    }
    Ok((!token.is_empty()).then(|| Token(token.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_from_its_file_and_never_printed() {
        let directory = tempfile::TempDir::new().unwrap();
        let file = directory.path().join("token");
        std::fs::write(&file, "plumbago_1\n").unwrap();
        let login = Login::of_other("--from-token-file", Some(&file)).unwrap();
        assert_eq!(login.header(), "Authorization: Bearer plumbago_1\r\n");
        assert!(!format!("{login:?}").contains("plumbago_1"), "{login:?}");
        std::fs::write(&file, "two words").unwrap();
        let error = Login::of_other("--from-token-file", Some(&file)).unwrap_err().to_string();
        assert!(error.contains("holds more than a token") && !error.contains("two"), "{error}");
        let missing = directory.path().join("none");
        let error = Login::of_other("--to-token-file", Some(&missing)).unwrap_err().to_string();
        assert!(error.starts_with("--to-token-file "), "{error}");
    }
}
