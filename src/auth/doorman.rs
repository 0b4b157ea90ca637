//! Decides who somebody is, from what they offer. What was right is answered from memory; the rest is slow on purpose, and counted.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::failures::Failures;
use super::files::{FileError, Files, Watched};
use super::sessions::Sessions;
use super::verified::Verified;
use super::{ANONYMOUS, Digest, passwords, sha256, tokens};
use crate::config::Auth;
use crate::telemetry::{Telemetry, TurnedAway};
use plumbago_model::{Caller, Role};

/// Passwords that are checked at once. It takes a core for as long as it takes.
const CHECKS: usize = 2;

/// How long a login waits for its turn to be checked.
const PATIENCE: Duration = Duration::from_secs(10);

/// A hash that no password has. A name that nobody has is checked like any other, with somebody else's hash or with this one: an answer
/// must not tell by its time whether there is such a user.
const NOBODY: &str = "$2y$10$abcdefghijklmnopqrstuuNobodyNobodyNobodyNobodyNobody.";

/// What somebody shows.
#[derive(Clone, PartialEq, Eq)]
pub enum Offer {
    /// Nothing.
    Nothing,
    /// Something that cannot be read.
    Unreadable,
    /// A token.
    Token(String),
    /// A name and a password.
    Password(String, String),
    /// What the browser got after a login on the page.
    Session(String),
    /// The name in a certificate that we trust.
    Certificate(String),
    /// The name that a proxy vouches for.
    Vouched(String),
}

/// Why somebody is not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// Without a login, or a wrong one. It does not say what was wrong with it.
    #[error("{0}")]
    LogIn(&'static str),
    /// Known, but nothing is allowed.
    #[error("`{0}` has no role here; a line in auth.users_file gives one")]
    NoRole(String),
    /// Too many wrong logins from this address.
    #[error("there were too many wrong logins from this address; try again in {0} seconds")]
    Wait(u64),
    /// Too many logins at once.
    #[error("too many passwords are being checked; try again in a moment")]
    Busy,
}

/// A login on the page.
pub struct Session {
    /// What the browser has to show from now on.
    pub id: String,
    /// How long it lasts.
    pub lasts: Duration,
    /// Whose it is.
    pub caller: Caller,
}

/// Who is who.
pub struct Doorman {
    config: Auth,
    files: Watched,
    verified: Verified,
    sessions: Sessions,
    failures: Failures,
    checks: Arc<Semaphore>,
    telemetry: Arc<Telemetry>,
}

/// A user, and what proves it: a hash of the line of the file.
struct Proven {
    user: String,
    by: Digest,
}

impl Doorman {
    /// Reads the files. None if there is no way to log in.
    pub fn open(config: &Auth, telemetry: Arc<Telemetry>) -> Result<Option<Self>, FileError> {
        if !config.is_on() {
            return Ok(None);
        }
        Ok(Some(Self {
            config: config.clone(),
            files: Watched::open(config)?,
            verified: Verified::new(),
            sessions: Sessions::default(),
            failures: Failures::new(config.max_failures),
            checks: Arc::new(Semaphore::new(CHECKS)),
            telemetry,
        }))
    }

    /// Identifies the caller by what the request shows. `from` is the caller's address.
    pub async fn admit(&self, offer: Offer, from: IpAddr) -> Result<Caller, Denied> {
        let files = self.files.current();
        let user = match offer {
            Offer::Nothing => return Ok(Caller::everywhere(ANONYMOUS, self.config.anonymous())),
            Offer::Unreadable => {
                let text = "the Authorization header cannot be read; send `Bearer TOKEN` or `Basic BASE64`";
                return Err(self.wrong(TurnedAway::Unreadable, None, from, text));
            }
            Offer::Token(token) => self.token(&files, &token, from)?.user,
            Offer::Password(user, password) => self.password(&files, &user, password, from).await?.user,
            Offer::Session(id) => self.session(&files, &id)?,
            Offer::Certificate(name) | Offer::Vouched(name) => name,
        };
        self.caller(&files, user, from)
    }

    /// Begins a session for the user with this password, or with this token in its place.
    pub async fn log_in(&self, user: &str, password: String, from: IpAddr) -> Result<Session, Denied> {
        let files = self.files.current();
        let proven = match tokens::is_token(&password) {
            true => self.token(&files, &password, from)?,
            false => self.password(&files, user, password, from).await?,
        };
        let caller = self.caller(&files, proven.user, from)?;
        let lasts = self.config.session;
        let id = self.sessions.begin(&caller.name, proven.by, lasts);
        tracing::info!(target: "plumbago::audit", user = &*caller.name, %from, "logged in on the page");
        Ok(Session { id, lasts, caller })
    }

    /// Identifies a sender over TLS by its certificate. None if certificates do not name users here.
    pub fn sender(&self, certificate: Option<&str>, from: IpAddr) -> Result<Option<Caller>, Denied> {
        if !self.config.certificates {
            return Ok(None);
        }
        let name = certificate.unwrap_or(ANONYMOUS).to_owned();
        let sender = self.caller(&self.files.current(), name, from)?;
        if sender.role >= Role::Write {
            return Ok(Some(sender));
        }
        self.telemetry.logins.turned_away(TurnedAway::Role);
        tracing::warn!(target: "plumbago::audit", user = &*sender.name, role = %sender.role, %from, "a sender was turned away");
        Err(Denied::NoRole(sender.name.to_string()))
    }

    /// Ends a session.
    pub fn log_out(&self, session: &str) {
        self.sessions.end(session);
    }

    /// The user of a name that something else proves.
    fn caller(&self, files: &Files, user: String, from: IpAddr) -> Result<Caller, Denied> {
        if let Some(found) = files.users.get(&user) {
            return Ok(found.caller(&user));
        }
        self.telemetry.logins.turned_away(TurnedAway::NoRole);
        tracing::warn!(target: "plumbago::audit", ?user, %from, "turned away: no role");
        Err(Denied::NoRole(user))
    }

    fn token(&self, files: &Files, token: &str, from: IpAddr) -> Result<Proven, Denied> {
        let by = tokens::hash(token);
        let reason = match files.tokens.get(&by) {
            Some(token) if !token.is_expired() => return Ok(Proven { user: token.user.clone(), by }),
            Some(token) => {
                let text = "this token has expired";
                return Err(self.wrong(TurnedAway::ExpiredToken, Some(&token.user), from, text));
            }
            None => TurnedAway::WrongToken,
        };
        // What is right works all the same, since trying costs nothing and nobody guesses one.
        self.check_failures(from)?;
        Err(self.wrong(reason, None, from, "there is no such token"))
    }

    async fn password(
        &self,
        files: &Files,
        user: &str,
        password: String,
        from: IpAddr,
    ) -> Result<Proven, Denied> {
        let known = files.passwords.get(user);
        let hash = known.or_else(|| files.passwords.values().next()).map_or(NOBODY, String::as_str);
        let mark = self.verified.mark(user, hash, &password);
        let proven = || Proven { user: user.to_owned(), by: sha256(hash.as_bytes()) };
        if known.is_some() && self.verified.knows(&mark) {
            return Ok(proven());
        }
        self.check_failures(from)?;
        let turn = tokio::time::timeout(PATIENCE, Arc::clone(&self.checks).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            self.telemetry.logins.turned_away(TurnedAway::Busy);
            return Err(Denied::Busy);
        };
        // Of all panels of a dashboard, one is checked, and the others find its answer when it is their turn.
        if self.verified.knows(&mark) {
            return Ok(proven());
        }
        self.check_failures(from)?;
        let stored = hash.to_owned();
        let check = spawn_blocking(move || {
            let _turn = turn;
            passwords::is_right(&password, &stored)
        });
        if check.await.unwrap_or(false) && known.is_some() {
            self.verified.remember(mark);
            return Ok(proven());
        }
        let known = known.map(|_| user);
        Err(self.wrong(TurnedAway::WrongPassword, known, from, "there is no such user with this password"))
    }

    /// Whose session it is, as long as what it was made with is still in the file.
    fn session(&self, files: &Files, id: &str) -> Result<String, Denied> {
        let found = self.sessions.find(id).filter(|(user, by)| {
            let password = files.passwords.get(user).map(|hash| sha256(hash.as_bytes()));
            password == Some(*by) || files.tokens.get(by).is_some_and(|token| !token.is_expired())
        });
        found.map(|(user, _)| user).ok_or_else(|| {
            self.telemetry.logins.turned_away(TurnedAway::OldSession);
            Denied::LogIn("this session is over; log in again")
        })
    }

    fn check_failures(&self, from: IpAddr) -> Result<(), Denied> {
        let Some(seconds) = self.failures.wait(from) else { return Ok(()) };
        self.telemetry.logins.turned_away(TurnedAway::Throttled);
        Err(Denied::Wait(seconds))
    }

    /// Counts a wrong login and writes it down. A name that nobody has is not written: it may be a password in the wrong place.
    fn wrong(&self, reason: TurnedAway, user: Option<&str>, from: IpAddr, text: &'static str) -> Denied {
        self.failures.note(from);
        self.telemetry.logins.turned_away(reason);
        let user = user.unwrap_or("unknown");
        tracing::warn!(target: "plumbago::audit", user, %from, reason = reason.label(), "a login failed");
        Denied::LogIn(text)
    }
}
