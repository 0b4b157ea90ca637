//! Configuration: TOML, environment, flags and carbon's own files become one [`Config`].

mod resolved;
mod rules;

pub use resolved::{Config, Ingest, Listen, Query, Store, StoreKind};
pub use rules::{Matched, Rule, Rules};
