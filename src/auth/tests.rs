use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::*;
use crate::config::Auth;
use crate::telemetry::Telemetry;
use plumbago_model::{Caller, Role};

/// A doorman with files of his own.
struct House {
    directory: TempDir,
    doorman: Doorman,
    telemetry: Arc<Telemetry>,
    runtime: Runtime,
    token: String,
}

impl House {
    fn new() -> Self {
        Self::with(|auth| auth)
    }

    fn with(change: impl FnOnce(Auth) -> Auth) -> Self {
        let directory = TempDir::new().unwrap();
        let token = new_token();
        let file = |name: &str, text: String| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            Some(path)
        };
        let past = Some("2020-01-01T00:00:00Z".parse().unwrap());
        let tokens = entries::with_token("", "bob", &token, None);
        let auth = Auth {
            users_file: file("users", "ann admin\nbob read servers.web\n".to_owned()),
            tokens_file: file("tokens", entries::with_token(&tokens, "bob", "plumbago_old", past)),
            htpasswd_file: file(
                "htpasswd",
                "ann:$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\nroleless:$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n".to_owned(),
            ),
            ..Auth::default()
        };
        let telemetry = Arc::new(Telemetry::default());
        let doorman = Doorman::open(&change(auth), Arc::clone(&telemetry)).unwrap().unwrap();
        Self { directory, doorman, telemetry, runtime: Runtime::new().unwrap(), token }
    }

    fn admit(&self, offer: Offer) -> Result<Caller, Denied> {
        self.admit_from(offer, "192.0.2.1")
    }

    fn admit_from(&self, offer: Offer, from: &str) -> Result<Caller, Denied> {
        self.runtime.block_on(self.doorman.admit(offer, from.parse().unwrap()))
    }

    fn password(&self, password: &str) -> Result<Caller, Denied> {
        self.admit(Offer::Password("ann".to_owned(), password.to_owned()))
    }

    fn count(&self, reason: &str) -> u64 {
        let text = self.telemetry.prometheus();
        let name = format!("plumbago_auth_failures_total{{reason=\"{reason}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&name)).unwrap().parse().unwrap()
    }

    /// Writes a file and waits until the doorman has seen it.
    fn write(&self, name: &str, text: &str, seen: impl Fn() -> bool) {
        std::fs::write(self.directory.path().join(name), text).unwrap();
        let give_up = std::time::Instant::now() + Duration::from_secs(30);
        while !seen() {
            assert!(std::time::Instant::now() < give_up, "{name} was not read again");
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_proven_name_has_its_role_and_scope() {
    let house = House::new();
    let ann = house.password("open sesame").unwrap();
    assert_eq!((&*ann.name, ann.role, ann.scope.is_everything()), ("ann", Role::Admin, true));
    let bob = house.admit(Offer::Token(house.token.clone())).unwrap();
    assert_eq!((&*bob.name, bob.role, bob.scope.covers("servers.web.a")), ("bob", Role::Read, true));
    assert!(!bob.scope.covers("servers.db.a"));
    for offer in [Offer::Certificate("bob".to_owned()), Offer::Vouched("bob".to_owned())] {
        assert_eq!(&*house.admit(offer).unwrap().name, "bob");
    }
    assert_eq!(house.admit(Offer::Nothing).unwrap().role, Role::None);
    assert_eq!(house.count("wrong_password"), 0);
}

#[test]
fn what_is_wrong_is_turned_away_and_counted() {
    let house = House::new();
    let login = |result: Result<Caller, Denied>| matches!(result, Err(Denied::LogIn(_)));
    assert!(login(house.password("wrong")));
    assert!(login(house.admit(Offer::Password("nobody".to_owned(), "open sesame".to_owned()))));
    assert!(login(house.admit(Offer::Token("plumbago_x".to_owned()))));
    assert!(login(house.admit(Offer::Token("plumbago_old".to_owned()))));
    assert!(login(house.admit(Offer::Unreadable)));
    assert!(login(house.admit(Offer::Session("x".to_owned()))));
    let roleless = house.admit(Offer::Password("roleless".to_owned(), "open sesame".to_owned()));
    assert_eq!(roleless.unwrap_err(), Denied::NoRole("roleless".to_owned()));
    for (reason, count) in [
        ("wrong_password", 2),
        ("wrong_token", 1),
        ("expired_token", 1),
        ("unreadable", 1),
        ("old_session", 1),
        ("no_role", 1),
    ] {
        assert_eq!(house.count(reason), count, "{reason}");
    }
}

#[test]
fn wrong_logins_have_to_wait_and_right_ones_go_on_working() {
    let house = House::with(|auth| Auth { max_failures: 3, ..auth });
    house.password("open sesame").unwrap();
    for nth in 0..3 {
        assert!(matches!(house.password(&format!("guess {nth}")), Err(Denied::LogIn(_))));
    }
    assert!(matches!(house.password("guess 4"), Err(Denied::Wait(1..=60))));
    assert!(matches!(house.admit(Offer::Token("plumbago_x".to_owned())), Err(Denied::Wait(_))));
    house.password("open sesame").unwrap();
    house.admit(Offer::Token(house.token.clone())).unwrap();
    let elsewhere = house.admit_from(Offer::Password("ann".to_owned(), "guess".to_owned()), "192.0.2.2");
    assert!(matches!(elsewhere, Err(Denied::LogIn(_))));
    assert_eq!(house.count("throttled"), 2);
}

#[test]
fn a_session_ends_with_what_it_was_made_with() {
    let house = House::new();
    let from = "192.0.2.1".parse().unwrap();
    let log_in = |name: &str, password: &str| {
        house
            .runtime
            .block_on(house.doorman.log_in(name, password.to_owned(), from))
            .map(|session| session.id)
    };
    assert!(log_in("ann", "wrong").is_err());
    let (ann, bob) = (log_in("ann", "open sesame").unwrap(), log_in("", &house.token).unwrap());
    let who = |id: &String| house.admit(Offer::Session(id.clone())).map(|caller| caller.name.to_string());
    assert_eq!((who(&ann), who(&bob)), (Ok("ann".to_owned()), Ok("bob".to_owned())));
    let other = entries::with_password("", "ann", "another").unwrap();
    house.write("htpasswd", &other, || who(&ann).is_err());
    assert!(who(&bob).is_ok());
    house.doorman.log_out(&bob);
    assert!(who(&bob).is_err());
}

#[test]
fn changed_files_are_read_and_bad_ones_are_not_taken() {
    let house = House::new();
    let role = || house.admit(Offer::Token(house.token.clone())).map(|caller| caller.role);
    house.write("users", "bob write\n", || role() == Ok(Role::Write));
    // A later good change comes through, and the bad one before it changed nothing.
    std::fs::write(house.directory.path().join("users"), "bob root of all\n").unwrap();
    assert_eq!(role(), Ok(Role::Write));
    house.write("users", "bob admin\n", || {
        let role = role();
        assert!(matches!(role, Ok(Role::Write | Role::Admin)), "{role:?}");
        role == Ok(Role::Admin)
    });
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_its_key_and_line() {
    let open = |name: &str| {
        let auth = Auth {
            users_file: Some(Path::new(name).to_owned()),
            tokens_file: Some(Path::new("/dev/null").to_owned()),
            ..Auth::default()
        };
        Doorman::open(&auth, Arc::default()).map(|_| ()).unwrap_err().to_string()
    };
    let directory = TempDir::new().unwrap();
    let users = directory.path().join("users");
    std::fs::write(&users, "ann admin\nbob\n").unwrap();
    let text = open(users.to_str().unwrap());
    assert!(text.starts_with("auth.users_file: ") && text.contains("line 2"), "{text}");
    assert!(open("/nowhere/users").contains("/nowhere/users"));
    let off = Auth { users_file: Some(users), ..Auth::default() };
    assert!(Doorman::open(&off, Arc::default()).unwrap().is_none());
}
