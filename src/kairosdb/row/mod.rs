//! The rows of KairosDB's table `data_points`, from bytes to points.
//!
//! A row holds the points of one series in one stretch of time. Its *key* ([`RowKey`]) says which series and which stretch, a *column
//! name* says when a point was within that stretch ([`Layout`]), and how its *value* is written depends on the type in the key
//! ([`DataType`]). Nothing here reads a table. Whatever bytes come in, what comes out is a value or an error, and never a panic.

mod column;
mod histogram;
mod key;
mod tags;
mod value;

pub use column::{Layout, LayoutError, TimeUnit};
pub use histogram::Summary;
pub use key::{KeyError, RowKey};
pub use value::{DataType, Value, ValueError};
