//! Step 8: targets become series.

pub mod source;
