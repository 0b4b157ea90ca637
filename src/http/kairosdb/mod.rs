//! KairosDB's HTTP API.

pub(super) mod delete;
pub(super) mod query;
mod save;
