//! What a caller may do at all, before it matters to which metrics.

use std::fmt;
use std::str::FromStr;

/// What a caller may do. Each role may do what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Nothing but what is open to everybody.
    None,
    /// Query.
    Read,
    /// Also add points, series and events.
    Write,
    /// Also delete, copy and configure.
    Admin,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 4] = [Role::None, Role::Read, Role::Write, Role::Admin];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Role::None => "none",
            Role::Read => "read",
            Role::Write => "write",
            Role::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Role::ALL.into_iter().find(|role| role.name() == text);
        found.ok_or_else(|| format!("`{text}` is not a role; use read, write or admin"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_do_what_those_before_it_may() {
        assert!(Role::ALL.is_sorted());
        for role in Role::ALL {
            assert_eq!(role.to_string().parse(), Ok(role));
        }
        assert!("root".parse::<Role>().unwrap_err().contains("`root`"));
    }
}
