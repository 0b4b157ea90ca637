//! Step 8: targets become series.

pub mod interval;
pub mod number;
pub mod source;
pub mod time;
