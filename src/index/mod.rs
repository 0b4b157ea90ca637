//! index: see the layout in the crate documentation.
