//! Callers who were turned away, by reason.

use super::Counter;
use super::text::Text;

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $label:literal,)*) => {
        /// Why a caller was turned away.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TurnedAway { $($(#[$doc])* $variant,)* }

        impl TurnedAway {
            /// Every reason.
            pub const ALL: &'static [TurnedAway] = &[$(TurnedAway::$variant,)*];

            /// The label in the counters and logs.
            pub fn label(self) -> &'static str {
                match self { $(TurnedAway::$variant => $label,)* }
            }
        }
    };
}

reasons! {
    /// No login where one is needed.
    NoLogin = "no_login",
    /// An `Authorization` header that cannot be read.
    Unreadable = "unreadable",
    /// A token that is in no line of the file.
    WrongToken = "wrong_token",
    /// A token that has expired.
    ExpiredToken = "expired_token",
    /// No such user, or another password.
    WrongPassword = "wrong_password",
    /// A session that is over.
    OldSession = "old_session",
    /// Somebody without a line in the file of users.
    NoRole = "no_role",
    /// Too many wrong logins from this address.
    Throttled = "throttled",
    /// Too many passwords are being checked.
    Busy = "busy",
    /// The role does not suffice.
    Role = "role",
    /// The call is about the whole server, and the caller has a scope.
    Scope = "scope",
    /// A page of another site sent it.
    OtherSite = "other_site",
    /// No tenant where one is needed, or another one than the caller's.
    Tenant = "tenant",
}

/// A counter for each reason.
#[derive(Debug, Default)]
pub struct Logins([Counter; TurnedAway::ALL.len()]);

impl Logins {
    /// Counts one.
    pub fn turned_away(&self, reason: TurnedAway) {
        self.0[reason as usize].add(1);
    }

    pub(super) fn write(&self, text: &mut Text) {
        let name = "plumbago_auth_failures_total";
        text.family(
            "counter",
            name,
            "Calls over HTTP and senders over TLS that were turned away, by reason.",
        );
        for &reason in TurnedAway::ALL {
            text.sample(name, &[("reason", reason.label())], self.0[reason as usize].get());
        }
    }
}
