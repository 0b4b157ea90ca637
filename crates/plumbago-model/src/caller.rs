//! Who calls.

use std::sync::Arc;

use super::{Role, Scope};

/// Somebody who calls: what they may do, and to which metrics.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The name of a user, or what the caller is without one.
    pub name: Arc<str>,
    /// What they may do.
    pub role: Role,
    /// Which metrics there are for them.
    pub scope: Arc<Scope>,
}

impl Caller {
    /// Somebody for whom all metrics are there.
    pub fn everywhere(name: &str, role: Role) -> Self {
        Self { name: name.into(), role, scope: Arc::default() }
    }

    /// Somebody who may do nothing, and for whom no metric is there.
    pub fn nowhere(name: &str) -> Self {
        Self { name: name.into(), role: Role::None, scope: Arc::new(Scope::nothing()) }
    }
}
