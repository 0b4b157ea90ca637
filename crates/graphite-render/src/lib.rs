#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! The modules are the pipeline, in this order:
//!
//! | module        | what it does                                                                              |
//! |---------------|-------------------------------------------------------------------------------------------|
//! | [`grammar`]   | reads a target into an expression                                                         |
//! | [`source`]    | the [`Source`] trait: which series are wanted, and what comes back; [`MemorySource`]      |
//! | `eval`        | plans what all targets fetch, fetches it in one batch, evaluates: [`render`]              |
//! | [`functions`] | the functions, a family per file, and the table of all of them                            |
//! | [`series`]    | a series on its way, and how its values are aggregated, consolidated, brought to one step |
//! | [`output`]    | series as JSON, CSV, pickle and so on                                                     |
//! | [`picture`]   | series as PNG or SVG                                                                      |
//! | [`time`]      | the words of `from` and `until`, and lengths of time                                      |
//! | [`python`]    | numbers and text as Python writes them                                                    |

mod error;
mod eval;
pub mod functions;
pub mod grammar;
pub mod output;
pub mod picture;
pub mod python;
mod request;
pub mod series;
pub mod source;
#[cfg(test)]
mod testing;
pub mod time;

pub use error::RenderError;
pub use eval::{BrokenTarget, Rendered, render, render_readable};
pub use plumbago_model::{Cancel, QueryError};
pub use request::{Request, TimeRange};
pub use series::Series;
pub use source::{FetchRequest, Fetched, MemorySource, Source};
