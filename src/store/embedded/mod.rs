//! The embedded store: slots in write-once block files, one directory per stage and time partition.
//!
//! From the inside out: a [`codec`] chunk holds some slots of one metric, a [`block`] file holds the chunks of many
//! metrics for one stage and partition. Nothing is ever changed in place: a later block overlays earlier ones.

pub mod block;
pub mod codec;
