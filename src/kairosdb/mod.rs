//! KairosDB's words and bytes, without I/O.
//!
//! | module  | what it knows                                                  |
//! |---------|----------------------------------------------------------------|
//! | [`row`] | the rows of its tables in Cassandra: keys, column names, values |

pub mod row;
