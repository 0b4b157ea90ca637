//! Lines of the three files, written and removed. Comments and everything else stay as they are.

use jiff::Timestamp;

use super::{hex, lines, passwords, tokens, users};
use plumbago_model::{Role, Tenant, Tenants};

/// The file of users with this one, in the place of the line that was there.
pub fn with_user(
    text: &str,
    name: &str,
    role: Role,
    tenant: Option<&str>,
    scope: &[String],
) -> Result<String, String> {
    let scope: String = scope.iter().map(|part| format!(" {part}")).collect();
    let tenant = tenant.map_or_else(String::new, |tenant| format!(" {}{tenant}", users::TENANT));
    let line = format!("{name} {role}{tenant}{scope}");
    users::parse(&line, &Tenants::default())
        .map_err(|error| error.trim_start_matches("line 1: ").to_owned())?;
    Ok(placed(text, line, |line| line.split_whitespace().next() == Some(name)))
}

/// The file of tokens with one more. A user may have several: the new one is used before the old one is taken away.
pub fn with_token(text: &str, name: &str, token: &str, until: Option<Timestamp>) -> String {
    let until = until.map_or_else(String::new, |until| format!(" {until}"));
    let line = format!("{name} sha256:{}{until}", hex(&tokens::hash(token)));
    placed(text, line, |_| false)
}

/// The file of passwords with this one, in the place of the one that was there. Takes long on purpose.
pub fn with_password(text: &str, name: &str, password: &str) -> Result<String, String> {
    let line = format!("{name}:{}", passwords::hash(password)?);
    Ok(placed(text, line, |line| line.split(':').next() == Some(name)))
}

/// One of the files without a user, and how many lines that were.
pub fn without(text: &str, name: &str) -> (String, usize) {
    let is_theirs = |line: &str| {
        let is_comment = line.trim_start().starts_with('#');
        let first = line.split(|c: char| c == ':' || c.is_whitespace()).find(|word| !word.is_empty());
        !is_comment && first == Some(name)
    };
    let kept: String = text.lines().filter(|line| !is_theirs(line)).map(|line| format!("{line}\n")).collect();
    (kept, text.lines().filter(|line| is_theirs(line)).count())
}

/// Somebody in these files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The name.
    pub name: String,
    /// The role; none without a line in the file of users.
    pub role: Option<Role>,
    /// The tenant that they are bound to.
    pub tenant: Option<String>,
    /// The scope as it was written.
    pub scope: String,
    /// Is there a password?
    pub password: bool,
    /// When each token ends.
    pub tokens: Vec<Option<Timestamp>>,
}

/// Everybody in these files, by name.
pub fn list(users: &str, tokens: &str, passwords: &str) -> Result<Vec<Listed>, String> {
    let mut all = std::collections::BTreeMap::<String, Listed>::new();
    for (name, user) in users::parse(users, &Tenants::default())? {
        let listed = all.entry(name).or_default();
        (listed.role, listed.scope) = (Some(user.role), user.scope.to_string());
        listed.tenant = user.scope.tenant().map(Tenant::name).map(str::to_owned);
    }
    for (_, line) in lines(tokens) {
        let (_, token) = tokens::token(line)?;
        all.entry(token.user).or_default().tokens.push(token.until);
    }
    for (name, _) in passwords::parse(passwords)? {
        all.entry(name).or_default().password = true;
    }
    Ok(all.into_iter().map(|(name, listed)| Listed { name, ..listed }).collect())
}

/// A text with a line in the place of the first that it replaces, or at its end.
fn placed(text: &str, line: String, replaces: impl Fn(&str) -> bool) -> String {
    let (mut out, mut line) = (String::new(), Some(line));
    for old in text.lines() {
        match replaces(old) {
            true => out.extend(line.take().map(|line| line + "\n")),
            false => out.push_str(&format!("{old}\n")),
        }
    }
    out.extend(line.map(|line| line + "\n"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::new_token;

    #[test]
    fn lines_are_written_replaced_and_removed_and_the_rest_stays() {
        let begun = "# who may\nann admin\n";
        let scope = ["servers.web".to_owned(), "*;dc=ams".to_owned()];
        let text = with_user(begun, "bob", Role::Read, None, &scope).unwrap();
        assert_eq!(text, "# who may\nann admin\nbob read servers.web *;dc=ams\n");
        let text = with_user(&text, "ann", Role::Write, None, &[]).unwrap();
        assert_eq!(text, "# who may\nann write\nbob read servers.web *;dc=ams\n");
        assert_eq!(without(&text, "ann"), ("# who may\nbob read servers.web *;dc=ams\n".to_owned(), 1));
        assert_eq!(without(&text, "an"), (text.clone(), 0));
        assert!(with_user("", "a:b", Role::Read, None, &[]).unwrap_err().contains("`a:b`"));
    }

    #[test]
    fn everybody_is_listed() {
        let until: Timestamp = "2027-01-31T00:00:00Z".parse().unwrap();
        let users = "ann admin\nbob read servers.web\n";
        let tokens = with_token("", "bob", &new_token(), Some(until));
        let tokens = with_token(&tokens, "bob", &new_token(), None);
        let passwords = with_password("", "ann", "secret").unwrap();
        let passwords = with_password(&passwords, "cat", "secret").unwrap();
        let all = list(users, &tokens, &passwords).unwrap();
        assert_eq!(
            all.iter().map(|l| (&*l.name, l.role, l.password)).collect::<Vec<_>>(),
            [("ann", Some(Role::Admin), true), ("bob", Some(Role::Read), false), ("cat", None, true),]
        );
        assert_eq!((all[1].scope.as_str(), &all[1].tokens), ("servers.web", &vec![Some(until), None]));
        assert_eq!(without(&passwords, "ann").1, 1);
        assert_eq!(without(&tokens, "bob"), (String::new(), 2));
    }
}
