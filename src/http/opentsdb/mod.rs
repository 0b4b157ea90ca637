//! OpenTSDB's HTTP API.
//!
//! | file          | what it is                                                    |
//! |---------------|---------------------------------------------------------------|
//! | `put`         | points come in                                                |
//! | `suggest`     | names are completed                                           |
//! | `server`      | its version, and the aggregators that it has                  |
//! | `query`       | `/api/query`                                                  |
//! | `sub_query`   | what a query asks of one metric: `m=…`, or JSON               |
//! | `filter`      | which series of a metric, and by which tags they are grouped  |
//! | `time`        | the forms of `start` and `end`                                |
//! | `downsample`  | stretches of one series become points                         |
//! | `aggregate`   | the series of a group become one                              |

mod aggregate;
mod downsample;
mod filter;
pub(super) mod put;
pub(super) mod query;
pub(super) mod server;
mod sub_query;
pub(super) mod suggest;
mod time;
