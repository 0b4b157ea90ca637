//! OpenTSDB's API: points come in at `/api/put`, and `/api/suggest` completes names.

pub(super) mod put;
pub(super) mod suggest;
