//! `user`: the files of logins, written so that a server that reads them meanwhile sees the old file or the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use jiff::{SignedDuration, Timestamp};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::json;

use crate::auth::entries::{self, Listed};
use crate::auth::{is_user_name, new_token};
use crate::cli::{Output, UsageError, User, UserAction, UserAdd, UserRevoke, to_stdout};
use crate::config::{Auth, Config};
use plumbago_model::{Role, parse_duration_secs};

/// Shortest password. It is checked slowly and guesses have to wait, so this is long enough.
const LEAST_CHARACTERS: usize = 8;

/// Looks after logins.
pub(in crate::cli) fn user(config: &Config, arguments: &User, output: Output) -> Result<()> {
    match &arguments.action {
        UserAction::Add(add) => self::add(&config.auth, add, output),
        UserAction::List(_) => list(&config.auth, output),
        UserAction::Revoke(arguments) => revoke(&config.auth, arguments),
    }
}

fn add(auth: &Auth, add: &UserAdd, output: Output) -> Result<()> {
    let name = &*add.name;
    if !is_user_name(name) {
        bail!(UsageError(format!(
            "`{name}` cannot be the name of a user; leave out blanks, colons and brackets"
        )));
    }
    let users = needed("auth.users_file", &auth.users_file)?;
    let text = read(users)?;
    let there = entries::list(&text, "", "").map_err(|error| anyhow!("{}: {error}", users.display()))?;
    let before = there.into_iter().find(|listed| listed.name == *name);
    let role = add.role.or(before.as_ref().and_then(|listed| listed.role));
    let role =
        role.ok_or_else(|| UsageError(format!("`{name}` is new: give --role read, write or admin")))?;
    if add.role.is_some() || add.tenant.is_some() || !add.scope.is_empty() {
        // Who was bound to a tenant stays so unless the command says otherwise.
        let bound = before.as_ref().and_then(|listed| listed.tenant.as_deref());
        let tenant = add.tenant.as_deref().or(bound);
        let text = entries::with_user(&text, name, role, tenant, &add.scope).map_err(UsageError)?;
        write(users, &text)?;
    }
    if add.no_secret {
        return Ok(());
    }
    if add.password {
        let path = needed("auth.htpasswd_file", &auth.htpasswd_file)?;
        let text =
            entries::with_password(&read(path)?, name, &ask_password()?).map_err(|error| anyhow!(error))?;
        return write(path, &text);
    }
    let path = needed("auth.tokens_file", &auth.tokens_file)?;
    let (token, until) = (new_token(), add.expires.as_deref().map(end_of).transpose()?);
    write(path, &entries::with_token(&read(path)?, name, &token, until))?;
    to_stdout(|out| match output {
        Output::Table => Ok(writeln!(out, "{token}")?),
        Output::Json | Output::Csv => {
            let made = json!({ "user": name, "token": token, "until": until.map(|t| t.to_string()) });
            Ok(output.line(out, &made)?)
        }
    })
}

fn end_of(text: &str) -> Result<Timestamp> {
    let bad = || UsageError(format!("--expires: `{text}` is not a time such as 90d or 12h"));
    let secs = parse_duration_secs(text).map_err(|_| bad())?;
    let until = Timestamp::now() + SignedDuration::from_secs(i64::try_from(secs).map_err(|_| bad())?);
    Ok(Timestamp::from_second(until.as_second())?)
}

fn list(auth: &Auth, output: Output) -> Result<()> {
    let all = everybody(auth)?;
    to_stdout(|out| {
        if output.is_data() {
            return Ok(output.indented(out, &all.iter().map(as_json).collect())?);
        }
        let width = all.iter().map(|listed| listed.name.chars().count()).max().unwrap_or_default();
        for listed in &all {
            let (name, role) = (&listed.name, listed.role.map_or("none", Role::name));
            let scope = if listed.role.is_some() { &*listed.scope } else { "nothing" };
            writeln!(out, "{name:width$}  {role:5}  {scope}; {}", logins(listed))?;
        }
        Ok(())
    })
}

fn everybody(auth: &Auth) -> Result<Vec<Listed>> {
    let read = |path: &Option<PathBuf>| path.as_deref().map_or(Ok(String::new()), read);
    needed("auth.users_file", &auth.users_file)?;
    entries::list(&read(&auth.users_file)?, &read(&auth.tokens_file)?, &read(&auth.htpasswd_file)?)
        .map_err(|error| anyhow!("the files of [auth]: {error}"))
}

/// What somebody logs in with, in words.
fn logins(listed: &Listed) -> String {
    let password = listed.password.then(|| "password".to_owned());
    let token = |until: &Option<Timestamp>| match until {
        None => "token".to_owned(),
        Some(until) if *until <= Timestamp::now() => format!("token, expired {until}"),
        Some(until) => format!("token until {until}"),
    };
    let all: Vec<String> = password.into_iter().chain(listed.tokens.iter().map(token)).collect();
    if all.is_empty() { "no password and no token".to_owned() } else { all.join(", ") }
}

fn as_json(listed: &Listed) -> serde_json::Value {
    let tokens: Vec<_> = listed.tokens.iter().map(|until| until.map(|until| until.to_string())).collect();
    json!({
        "name": listed.name,
        "role": listed.role.map(|role| role.name()),
        "tenant": listed.tenant,
        "scope": listed.scope,
        "password": listed.password,
        "tokens": tokens,
    })
}

fn revoke(auth: &Auth, arguments: &UserRevoke) -> Result<()> {
    let name = &*arguments.name;
    let others = [&auth.users_file, &auth.htpasswd_file];
    let paths = others.into_iter().filter(|_| !arguments.tokens).chain([&auth.tokens_file]);
    let mut revoked = 0;
    for path in paths.flatten() {
        let (text, lines) = entries::without(&read(path)?, name);
        if lines > 0 {
            write(path, &text)?;
            revoked += lines;
        }
    }
    if revoked == 0 {
        bail!("there is nothing of `{name}`; `plumbago user list` shows everybody");
    }
    Ok(())
}

fn needed<'a>(key: &str, path: &'a Option<PathBuf>) -> Result<&'a Path> {
    path.as_deref().ok_or_else(|| {
        anyhow!(UsageError(format!(
            "{key} is not set: name a file for it in the configuration; it is made if it is not there"
        )))
    })
}

/// The text of a file; nothing if it is not there.
fn read(path: &Path) -> Result<String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
    }
}

/// Replaces a file at once. Nobody but its owner may read a new one.
fn write(path: &Path, text: &str) -> Result<()> {
    let failed = || format!("writing {}", path.display());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)
        .with_context(failed)?;
    if let Ok(about) = fs::metadata(path) {
        file.set_permissions(about.permissions()).with_context(failed)?;
    }
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(failed)?;
    fs::rename(&new, path).with_context(failed)
}

/// A password from the first line of stdin, or from somebody who types it and does not see it.
fn ask_password() -> Result<String> {
    let password = if io::stdin().is_terminal() { typed_password()? } else { first_line()? };
    if password.chars().count() < LEAST_CHARACTERS {
        bail!(UsageError(format!("a password has at least {LEAST_CHARACTERS} characters")));
    }
    Ok(password)
}

fn typed_password() -> Result<String> {
    let terminal = File::open("/dev/tty").context("opening the terminal")?;
    let before = tcgetattr(&terminal).context("the terminal")?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    let ask = |prompt: &str| -> Result<String> {
        eprint!("{prompt}: ");
        let line = first_line();
        eprintln!();
        line
    };
    tcsetattr(&terminal, OptionalActions::Flush, &silent).context("the terminal")?;
    let typed = ask("Password").and_then(|first| Ok((first, ask("The same again")?)));
    tcsetattr(&terminal, OptionalActions::Flush, &before).context("the terminal")?;
    match typed? {
        (first, second) if first == second => Ok(first),
        _ => bail!("the two passwords differ; nothing was written"),
    }
}

fn first_line() -> Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).context("reading the password")?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
