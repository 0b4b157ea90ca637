//! The file of users: one a line, `NAME ROLE`, and behind them `tenant=NAME` for those who are bound to one, and the metrics that they
//! are confined to.

use std::collections::HashMap;
use std::sync::Arc;

use super::{is_user_name, lines};
use plumbago_model::{Caller, Role, Scope, Tenants};

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

/// What stands before the tenant that a user is bound to.
pub(super) const TENANT: &str = "tenant=";

/// Reads the file. The error has the number of the line.
pub(super) fn parse(text: &str, tenants: &Tenants) -> Result<Users, String> {
    let mut users = Users::new();
    for (number, line) in lines(text) {
        let (name, user) = user(line, tenants).map_err(|error| format!("line {number}: {error}"))?;
        if users.insert(name.to_owned(), user).is_some() {
            return Err(format!("line {number}: there are two lines for `{name}`; leave one"));
        }
    }
    Ok(users)
}

fn user<'a>(line: &'a str, tenants: &Tenants) -> Result<(&'a str, User), String> {
    let mut words = line.split_whitespace();
    let (Some(name), Some(role)) = (words.next(), words.next()) else {
        return Err(format!("`{line}` has no role; write NAME ROLE, and a scope if there is one"));
    };
    if !is_user_name(name) {
        return Err(format!("`{name}` cannot be a name; leave out the colon"));
    }
    let role: Role = role.parse()?;
    let (bound, words): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with(TENANT));
    let mut scope = Scope::of(words).map_err(|error| error.to_string())?;
    match bound.iter().filter_map(|word| word.strip_prefix(TENANT)).collect::<Vec<_>>()[..] {
        [] => {}
        [name] => scope = scope.of_tenant(tenants.tenant(name).map_err(|error| error.to_string())?),
        _ => return Err(format!("`{name}` is bound to several tenants; leave one")),
    }
    Ok((name, User { role, scope: Arc::new(scope) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Users, String> {
        parse(text, &Tenants::default())
    }

    #[test]
    fn a_user_may_be_bound_to_a_tenant() {
        let users = read("ann write tenant=t-1\nbob read servers.web tenant=t-1\n").unwrap();
        let (ann, bob) = (users["ann"].caller("ann"), users["bob"].caller("bob"));
        assert_eq!(ann.scope.tenant().map(|tenant| tenant.name()), Some("t-1"));
        assert!(ann.scope.covers("tenants.t-1.x") && !ann.scope.covers("x"));
        assert!(bob.scope.covers("tenants.t-1.servers.web.x") && !bob.scope.covers("tenants.t-1.x"));
        for (text, part) in
            [("ann read tenant=a.b", "`a.b` cannot be"), ("ann read tenant=a tenant=b", "several tenants")]
        {
            assert!(read(text).unwrap_err().contains(part), "{text}");
        }
    }

    #[test]
    fn a_line_is_a_name_a_role_and_a_scope() {
        let users = read("# who\n\nann admin\n  bob\tread servers.web *;dc=ams\n").unwrap();
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
            let error = read(text).map(|users| users.len()).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
