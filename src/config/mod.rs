//! Configuration: TOML, environment, flags and carbon's own files become one [`Config`].
//!
//! | step | file                                                       | what happens                                 |
//! |------|------------------------------------------------------------|----------------------------------------------|
//! | 1    | `raw`, `keys`, `kinds`                                     | the table of keys: type, default, help       |
//! | 2    | `sources`                                                  | which file, which variables, which flags     |
//! | 3    | `document`, `settings`                                     | layers: each key gets a value and its origin |
//! | 4    | `inline_rule`, `storage_schemas`, `storage_aggregation`    | rules, from our file and from carbon's       |
//! |      | `inline_quota`, `storage_quotas`                           | quotas, from our file and from go-carbon's   |
//! | 5    | `load`, `resolved`, `listen`, `auth`, `tenancy`, `ceres`, `cassandra` | every value checked, ready for the program   |
//! | 6    | `rules`, `matcher`                                         | which policy a name gets                     |
//!
//! `reference` makes the documentation from the same table.

mod addresses;
mod auth;
mod cassandra;
mod ceres;
mod document;
mod error;
mod ini;
mod inline_quota;
mod inline_rule;
mod keys;
mod kinds;
mod listen;
mod load;
mod machine;
mod origin;
mod page_origins;
mod policy_matcher;
mod quota;
mod raw;
mod reference;
mod resolved;
mod retention_rules;
mod settings;
mod sources;
mod storage_aggregation;
mod storage_quotas;
mod storage_schemas;
mod tenancy;

pub use addresses::{Addresses, Network};
pub use auth::Auth;
pub use cassandra::{Cassandra, CassandraIndex, ConsistencyLevel, Secret, Tls};
pub use ceres::Ceres;
pub use error::ConfigError;
pub use keys::{KEYS, Key};
pub use listen::{Listen, ListenTls};
pub use load::Loaded;
pub use origin::Origin;
pub use page_origins::PageOrigins;
pub use policy_matcher::PolicyMatcher;
pub use quota::{Quota, QuotaLimits, Reach};
#[cfg(test)]
pub(crate) use reference::assert_current;
pub use reference::{example_file, markdown};
pub use resolved::{Config, Http, Ingest, Kairosdb, NameRules, OwnMetrics, Query, Server, Store, StoreKind};
pub use retention_rules::{ForgetAfter, Forgetting, Matched, Place, RetentionRules, Rule};
pub use settings::{Setting, Settings};
pub use sources::{FILE_NAME, FILE_VARIABLE, Sources};
pub use storage_quotas::read_storage_quotas;
pub use tenancy::Tenancy;
