//! How points came in: it decides what a new metric gets when no rule says.

use std::fmt;
use std::str::FromStr;

/// How the sender that a metric first came from names its series. Each dialect has a default retention of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// A name is one text: carbon's protocols, imports, and everything else.
    #[default]
    Carbon,
    /// A metric and its tags come apart: KairosDB, OpenTSDB and Ceres. Their senders expect every point to be kept.
    Labelled,
}

impl Dialect {
    /// The word for it in the catalogue.
    pub fn word(self) -> &'static str {
        match self {
            Dialect::Carbon => "carbon",
            Dialect::Labelled => "labelled",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Dialect::Carbon, Dialect::Labelled]
            .into_iter()
            .find(|dialect| dialect.word() == text)
            .ok_or_else(|| format!("`{text}` is not a dialect; expected `carbon` or `labelled`"))
    }
}

/// In which dialect a batch came, and how long its sender wants the points to be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Arrival {
    /// The dialect.
    pub dialect: Dialect,
    /// Seconds; 0 leaves it to the rules. It counts for metrics that are new.
    pub keep_secs: u32,
}

impl Arrival {
    /// From a sender of metrics with tags.
    pub fn labelled(keep_secs: u32) -> Self {
        Self { dialect: Dialect::Labelled, keep_secs }
    }
}
