//! What the families of functions are built on.
//!
//! | file         | what it is                                                                  |
//! |--------------|-----------------------------------------------------------------------------|
//! | `row`        | a row of the function table: name, parameters, description                  |
//! | `invocation` | one call: arguments bound to parameters, checked and converted              |
//! | `key`        | nodes and tags of a series as a key to group by; positions as Python counts |
//! | `sliding`    | an aggregate over every window of a run of values                           |

mod invocation;
pub(super) mod key;
pub(super) mod row;
pub(super) mod sliding;

pub(crate) use invocation::Invocation;
pub use row::{Default, Kind, Param, Row};
