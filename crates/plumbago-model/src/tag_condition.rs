//! What a query asks of one tag; an index answers it without knowing how it was written.

/// A condition on one tag.
pub trait TagCondition {
    /// The tag.
    fn tag(&self) -> &str;

    /// What its value must be. Everything that follows from it is the index' business.
    fn wanted(&self) -> TagWish<'_>;

    /// Does it hold for a value? Who does not have the tag has the empty one.
    fn holds(&self, value: &str) -> bool;
}

/// What the value of a tag must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagWish<'a> {
    /// This, which is not empty.
    Is(&'a str),
    /// Anything but this, which is not empty.
    IsNot(&'a str),
    /// Anything.
    Present,
    /// There must be none.
    Absent,
    /// Only a test of each value tells. The values that are told apart from the empty one begin with `prefix`.
    Tested {
        /// May be empty.
        prefix: &'a str,
    },
}
