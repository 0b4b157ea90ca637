//! Text as Python writes it. Names, tags and raw output must match graphite-web's character for character.

pub mod number;
pub(crate) mod percent;
pub(crate) mod search;
