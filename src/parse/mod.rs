//! Step 2: bytes become points. Carbon's plaintext and pickle protocols and Ceres' JSON, without I/O: what comes in is a buffer of whole
//! lines or one whole frame, what goes out is a [`plumbago_model::Batch`] and a reason for everything that is not in it.

#![deny(
    clippy::indexing_slicing,
    reason = "these bytes come from outside: nothing in them may make us panic"
)]

pub mod ceres;
mod items;
pub mod labelled;
mod limits;
mod number;
pub mod pickle;
pub mod plaintext;

pub use limits::Limits;
