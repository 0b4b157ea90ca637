//! Why a query is refused. Clients of KairosDB compare these texts, so they are its own.

use std::fmt;

/// A query that cannot be understood: what is wrong, each with its place in the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong(Vec<String>);

impl Wrong {
    /// One mistake.
    pub fn new(text: impl Into<String>) -> Self {
        Self(vec![text.into()])
    }

    /// A mistake at a place.
    pub(super) fn at(place: &str, text: impl fmt::Display) -> Self {
        Self::new(format!("{place} {text}"))
    }

    /// All of them.
    pub fn texts(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl std::error::Error for Wrong {}
