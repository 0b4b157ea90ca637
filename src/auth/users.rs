//! The file of users: one a line, `NAME ROLE`, and behind them the metrics that they are confined to.

use std::collections::HashMap;
use std::sync::Arc;

use super::{is_user_name, lines};
use plumbago_model::{Caller, Role, Scope};

/// Somebody who may log in.
#[derive(Clone, Debug)]
pub struct User {
    /// What they may do.
    pub role: Role,
    /// Which metrics there are for them.
    pub scope: Arc<Scope>,
}

impl User {
    pub(super) fn caller(&self, name: &str) -> Caller {
        Caller { name: name.into(), role: self.role, scope: Arc::clone(&self.scope) }
    }
}

/// Users by name.
pub(super) type Users = HashMap<String, User>;

/// Reads the file. The error has the number of the line.
pub(super) fn parse(text: &str) -> Result<Users, String> {
    let mut users = Users::new();
    for (number, line) in lines(text) {
        let (name, user) = user(line).map_err(|error| format!("line {number}: {error}"))?;
        if users.insert(name.to_owned(), user).is_some() {
            return Err(format!("line {number}: there are two lines for `{name}`; leave one"));
        }
    }
    Ok(users)
}

fn user(line: &str) -> Result<(&str, User), String> {
    let mut words = line.split_whitespace();
    let (Some(name), Some(role)) = (words.next(), words.next()) else {
        return Err(format!("`{line}` has no role; write NAME ROLE, and a scope if there is one"));
    };
    if !is_user_name(name) {
        return Err(format!("`{name}` cannot be a name; leave out the colon"));
    }
    let role: Role = role.parse()?;
    let scope = Scope::of(words).map_err(|error| error.to_string())?;
    Ok((name, User { role, scope: Arc::new(scope) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_name_a_role_and_a_scope() {
        let users = parse("# who\n\nann admin\n  bob\tread servers.web *;dc=ams\n").unwrap();
        assert_eq!(users.len(), 2);
        let ann = users["ann"].caller("ann");
        assert!(ann.role == Role::Admin && ann.scope.is_everything());
        let bob = users["bob"].caller("bob");
        assert!(bob.role == Role::Read && bob.scope.covers("servers.web.x") && !bob.scope.covers("servers"));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, part) in [
            ("ann\n", "line 1: `ann` has no role"),
            ("\nann root", "line 2: `root` is not a role"),
            ("a:b read", "`a:b` cannot be a name"),
            ("ann read\nann write", "line 2: there are two lines for `ann`"),
        ] {
            let error = parse(text).map(|users| users.len()).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
