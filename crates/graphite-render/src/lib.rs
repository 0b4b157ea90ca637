//! Step 8: targets become series.
//!
//! [`grammar`] reads a target into an [`expr::Expr`]; the plan collects what all targets of a request will fetch, one batch
//! gets it from the [`source::Source`]; [`exec::render`] evaluates, with the functions of [`functions::registry`].

pub mod aggregate;
pub mod consolidate;
pub mod context;
pub mod drawing;
pub mod error;
pub mod exec;
pub mod expr;
pub mod functions;
pub mod grammar;
pub mod interval;
pub mod normalize;
pub mod number;
pub mod output;
mod percent;
pub mod picture;
mod plan;
pub mod series;
pub mod source;
pub mod tag_query;
pub mod tags;
pub mod template;
pub mod time;
pub mod value;
