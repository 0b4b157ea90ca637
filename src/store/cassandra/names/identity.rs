//! What a name is in the tables: its components, its parent, the directories above it, its id.
//!
//! All of it is BigGraphite's: servers of both kinds write the same rows for the same name.

use std::borrow::Cow;

use uuid::Uuid;

use plumbago_model::name::{self, MAX_COMPONENTS, NameError};

/// Follows the last component, so that a query can select names that end there.
pub const END: &str = "__END__";

/// The spelling under which a name is stored: without empty components, with at most [`MAX_COMPONENTS`] others.
pub fn canonical(name: &str) -> Result<Cow<'_, str>, NameError> {
    name::canonical(name, usize::MAX)
}

/// The id of a metric, computed from its canonical name: every server gets the same one without asking.
pub fn id(name: &str) -> Uuid {
    name::biggraphite_id(name)
}

/// Does it have tags? Such a name is in `metrics_metadata` only: it is found by its whole text, and is in no directory.
pub fn is_tagged(name: &str) -> bool {
    name.contains(';')
}

/// The parts of a name, without the end marker.
pub fn components(name: &str) -> impl Iterator<Item = &str> {
    name.split('.').filter(|component| !component.is_empty())
}

/// The directory of a canonical name, with a trailing dot: `a.b.` for `a.b.c`, and `.` at the top.
pub fn parent(name: &str) -> &str {
    name.rfind('.').map_or(".", |dot| &name[..=dot])
}

/// The directories above a canonical name, the topmost first: `a` and `a.b` for `a.b.c`.
pub fn ancestors(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    name.match_indices('.').map(|(dot, _)| &name[..dot])
}

/// What is bound to a row of `metrics` or `directories`: name, parent, components, end marker. Columns after the marker
/// are not mentioned, so they cost nothing, not even a tombstone.
pub(super) fn row(name: &str) -> Vec<&str> {
    let mut row = vec![name, parent(name)];
    row.extend(components(name).take(MAX_COMPONENTS));
    row.push(END);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_split_as_biggraphite_splits_it() {
        assert_eq!(row("a.b.c"), ["a.b.c", "a.b.", "a", "b", "c", END]);
        assert_eq!(row("a"), ["a", ".", "a", END]);
        assert_eq!(canonical(".a..b.").unwrap(), "a.b");
        assert_eq!(components(".a..b.").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(ancestors("a.b.c").collect::<Vec<_>>(), ["a", "a.b"]);
        assert_eq!(ancestors("a").count(), 0);
    }

    #[test]
    fn sixty_three_components_fit_and_one_more_is_refused() {
        let name = vec!["x"; 63].join(".");
        assert_eq!(row(&name).len(), 2 + 64);
        assert!(canonical(&name).is_ok());
        assert!(canonical(&format!("{name}.x")).unwrap_err().to_string().contains("64 components"));
    }

    /// `python3 -c "import uuid; print(uuid.uuid5(uuid.UUID('{00000000-1111-2222-3333-444444444444}'), 'a.b.c'))"`
    #[test]
    fn the_id_is_that_of_biggraphite() {
        assert_eq!(id("a.b.c").to_string(), "7a870c4c-6df3-56f6-a60b-e9ee2f955ac1");
    }
}
