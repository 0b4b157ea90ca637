//! What a query asks of one tag; an index answers it without knowing how it was written.

use std::collections::BTreeSet;

/// The tag that every series has: its own name.
const NAME: &str = "name";

/// A condition on one tag.
pub trait TagCondition {
    /// The tag.
    fn tag(&self) -> &str;

    /// What its value must be. Everything that follows from it is the index' business.
    fn wanted(&self) -> TagWish<'_>;

    /// Does it hold for a value? A series without the tag has the empty one.
    fn holds(&self, value: &str) -> bool;
}

/// What the value of a tag must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagWish<'a> {
    /// This, which is not empty.
    Is(&'a str),
    /// One of these, none of which is empty.
    OneOf(&'a BTreeSet<String>),
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

/// The name without tags that some conditions ask for: one of them is `name=…`, and all hold for a series that has no other tag.
///
/// Such a name is in no index of tags, as carbon puts none there by default. But who wrote it out means that series, so it is the
/// answer where no tagged series fulfils the conditions.
pub fn untagged<'a>(conditions: &[&'a dyn TagCondition]) -> Option<&'a str> {
    let written_out = |condition: &&'a dyn TagCondition| match condition.wanted() {
        TagWish::Is(name) if condition.tag() == NAME => Some(name),
        _ => None,
    };
    let name = conditions.iter().find_map(written_out)?;
    let holds =
        |condition: &&dyn TagCondition| condition.holds(if condition.tag() == NAME { name } else { "" });
    conditions.iter().all(holds).then_some(name)
}
