//! Decides who may call what: the one place where that happens.
//!
//! Every route is behind the gate. It makes a [`Caller`] of what a request shows, and compares its role with the row of the endpoint.
//! A handler reaches the server only through [`Seen`], which has what the caller may see.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::endpoints::{Endpoint, Subject};
use super::error::Failure;
use super::queries::memory::Memory;
use super::wire::Shown;
use super::{Api, local, session, tenancy};
use crate::auth::{ANONYMOUS, Denied, Doorman, Offer, Sender, shown};
use crate::config::{Addresses, Auth, Ceres, Kairosdb, Tenancy};
use crate::parse::Limits;
use crate::telemetry::TurnedAway;
use plumbago_model::{Caller, Reject, Role, Scope};

/// In a request from a proxy, the addresses that it came through.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Somebody on this machine, where nobody has to log in.
const LOCAL: &str = "(local)";

/// The other end of a connection.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    address: SocketAddr,
    /// With TLS, the name in its certificate.
    shown: Option<Shown>,
}

impl Peer {
    /// Everybody who connects from this address.
    pub(super) fn new(address: SocketAddr, shown: Option<Shown>) -> Self {
        Self { address, shown }
    }

    /// Without the port, and an IPv4 address as one.
    pub(super) fn ip(&self) -> IpAddr {
        self.address.ip().to_canonical()
    }
}

/// What the router has. Only [`Seen`] gets at the server behind it.
pub(super) struct Gate {
    api: Arc<Api>,
    doorman: Option<Arc<Doorman>>,
    anonymous: Role,
    proxy_header: Option<HeaderName>,
    proxies: Addresses,
    tenancy: Tenancy,
}

/// A caller, and from where.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) caller: Caller,
    pub(super) from: IpAddr,
    /// Why they are not taken for somebody on this machine, where that matters.
    stranger: Option<&'static str>,
    /// Is the tenant named in the body, which nobody has read yet? Then the caller is who they are without it.
    unsettled: bool,
}

impl Standing {
    /// Somebody who reads where nobody need be asked.
    pub(super) fn unasked() -> Self {
        let (caller, from) = (Caller::everywhere(ANONYMOUS, Role::Read), IpAddr::from([0, 0, 0, 0]));
        Self { caller, from, stranger: None, unsettled: false }
    }
}

impl Gate {
    pub(super) fn new(api: Arc<Api>, auth: &Auth, doorman: Option<Arc<Doorman>>) -> Self {
        let proxy_header = auth.proxy_header.as_ref().and_then(|name| name.parse().ok());
        let (anonymous, proxies, tenancy) = (auth.anonymous(), auth.proxies.clone(), auth.tenancy.clone());
        Self { api, doorman, anonymous, proxy_header, proxies, tenancy }
    }

    /// Is an endpoint open to everybody, so that nobody need be asked? Behind a proxy, the gate finds out who is at the other end of it;
    /// and who writes is always asked, because quotas count by address.
    pub(super) fn leaves_open(&self, endpoint: &Endpoint) -> bool {
        let asks_for_tenant = self.tenancy.enabled && endpoint.role > Role::None;
        let is_open = self.doorman.is_none() && self.proxies.is_empty();
        is_open && endpoint.role <= self.anonymous.min(Role::Read) && !asks_for_tenant
    }

    /// Whether callers are tenants.
    pub(super) fn tenancy(&self) -> &Tenancy {
        &self.tenancy
    }

    /// `[ceres]`
    pub(super) fn ceres(&self) -> &Arc<Ceres> {
        &self.api.ceres
    }

    /// What bounds the bodies and the errors of labelled points.
    pub(super) fn kairosdb(&self) -> &Kairosdb {
        &self.api.kairosdb
    }

    /// What a point must keep to that is taken now.
    pub(super) fn limits(&self) -> Limits {
        self.api.backend.limits()
    }

    /// Most names in one answer.
    pub(super) fn most_names(&self) -> usize {
        self.api.config.max_find_hits
    }

    /// Counts points of a request that never get to a tenant.
    pub(super) fn refuse_point(&self, reason: Reject) {
        self.api.telemetry.points_received.add(1);
        self.api.telemetry.reject(reason, 1);
    }

    /// The API as a caller sees it, within a scope of theirs; and what they send is sent by them.
    pub(super) fn api_of(&self, standing: &Standing, scope: &Arc<Scope>) -> Arc<Api> {
        if scope.is_everything() && !self.api.backend.tells_senders_apart() {
            return Arc::clone(&self.api);
        }
        let (user, address) = (Some(Arc::clone(&standing.caller.name)), Some(standing.from));
        Arc::new(self.api.of(&Sender { user, address, scope: Arc::clone(scope) }))
    }

    /// Longest body with points of KairosDB's kind.
    pub(super) fn max_body_bytes(&self) -> usize {
        self.api.kairosdb.max_body_bytes
    }

    /// The memory of queries, which the bodies of requests take, too.
    pub(super) fn memory(&self) -> &Arc<Memory> {
        self.api.workers.queries().memory()
    }

    /// The one who decides about logins, if there are any.
    pub(super) fn doorman(&self) -> Option<&Arc<Doorman>> {
        self.doorman.as_ref()
    }

    /// Lets a request through, or answers it.
    pub(super) async fn pass(&self, endpoint: &Endpoint, mut request: Request, next: Next) -> Response {
        let (from, is_part_of_page) = (self.from(&request), is_part_of_page(request.headers()));
        let standing = match &self.doorman {
            _ if endpoint.role == Role::None => Ok(nobody(from)),
            None => Ok(self.without_logins(&request, from)),
            Some(doorman) => match self.offer(&request) {
                Ok(offer) => admit(doorman, offer, from, is_part_of_page).await,
                Err(failure) => Err(failure),
            },
        };
        let standing = standing.and_then(|standing| self.settle(endpoint, &request, standing));
        let mut response = match standing.and_then(|standing| self.check(endpoint, standing, is_part_of_page))
        {
            Ok(standing) => {
                request.extensions_mut().insert(standing);
                next.run(request).await
            }
            Err(failure) => failure.into_response(),
        };
        if self.tenancy.enabled {
            // No cache may give one tenant what another one got.
            response.headers_mut().append(header::VARY, HeaderValue::from_static("x-tenant"));
        }
        response
    }

    /// Confines a caller to the tenant that the request is for.
    fn settle(
        &self,
        endpoint: &Endpoint,
        request: &Request,
        mut standing: Standing,
    ) -> Result<Standing, Failure> {
        if endpoint.role == Role::None || standing.caller.role == Role::None {
            return Ok(standing);
        }
        if !self.tenancy.enabled && standing.caller.scope.tenant().is_none() {
            return Ok(standing);
        }
        let named = tenancy::named(request.headers(), request.uri())?;
        if named.is_none() && endpoint.tenant_inside && standing.caller.scope.tenant().is_none() {
            standing.unsettled = true;
            return Ok(standing);
        }
        match tenancy::settle(&self.tenancy, standing.caller, named.as_deref()) {
            Ok(caller) => Ok(Standing { caller, ..standing }),
            Err(failure) => {
                self.api.telemetry.logins.turned_away(TurnedAway::Tenant);
                Err(failure)
            }
        }
    }

    /// Where a request comes from: the address behind a proxy that is believed.
    pub(super) fn from(&self, request: &Request) -> IpAddr {
        let peer = peer(request).map_or(IpAddr::from([0, 0, 0, 0]), Peer::ip);
        if !self.proxies.contains(peer) {
            return peer;
        }
        let forwarded = request.headers().get_all(FORWARDED_FOR).iter().next_back();
        let last = forwarded.and_then(|list| list.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
        last.unwrap_or(peer)
    }

    /// Did the request come over TLS, to us or to a proxy that is believed?
    pub(super) fn is_encrypted(&self, request: &Request) -> bool {
        let Some(peer) = peer(request) else { return false };
        let by_proxy = self.proxies.contains(peer.address.ip());
        peer.shown.is_some()
            || by_proxy && request.headers().get("x-forwarded-proto").is_some_and(|proto| proto == "https")
    }

    fn without_logins(&self, request: &Request, from: IpAddr) -> Standing {
        let stranger = local::stranger(from, request.uri(), request.headers());
        let caller = match stranger {
            None => Caller::everywhere(LOCAL, Role::Admin),
            Some(_) => Caller::everywhere(ANONYMOUS, self.anonymous),
        };
        Standing { caller, from, stranger, unsettled: false }
    }

    fn role_without_logins(&self, parts: &Parts) -> Role {
        let peer = parts.extensions.get::<ConnectInfo<Peer>>();
        let from = peer.map_or(IpAddr::from([0, 0, 0, 0]), |ConnectInfo(peer)| peer.ip());
        let stranger = local::stranger(from, &parts.uri, &parts.headers);
        if stranger.is_none() { Role::Admin } else { self.anonymous }
    }

    /// What a request shows about its sender. A trusted proxy has looked at everything else already.
    fn offer(&self, request: &Request) -> Result<Offer, Failure> {
        let headers = request.headers();
        let peer = peer(request);
        let by_proxy = peer.is_some_and(|peer| self.proxies.contains(peer.address.ip()));
        let vouched = self.proxy_header.as_ref().filter(|_| by_proxy).and_then(|name| headers.get(name));
        if let Some(name) = vouched {
            return Ok(name.to_str().map_or(Offer::Unreadable, |name| Offer::Vouched(name.to_owned())));
        }
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            return Ok(value.to_str().ok().and_then(shown::authorization).unwrap_or(Offer::Unreadable));
        }
        if let Some(id) = session::of(headers) {
            if !is_own_page(request) {
                self.api.telemetry.logins.turned_away(TurnedAway::OtherSite);
                return Err(Failure::Forbidden("a page of another site sent this call".to_owned()));
            }
            return Ok(Offer::Session(id.to_owned()));
        }
        let certificate = peer.and_then(|peer| peer.shown.as_ref()?.get()?.clone());
        Ok(certificate.map_or(Offer::Nothing, Offer::Certificate))
    }

    fn check(
        &self,
        endpoint: &Endpoint,
        standing: Standing,
        is_part_of_page: bool,
    ) -> Result<Standing, Failure> {
        let Standing { caller, from, stranger, .. } = &standing;
        let (name, role) = (&caller.name, caller.role);
        if role < endpoint.role {
            let logins = &self.api.telemetry.logins;
            if self.doorman.is_some() && &**name == ANONYMOUS {
                logins.turned_away(TurnedAway::NoLogin);
                return Err(Failure::LogIn("log in first".to_owned(), is_part_of_page));
            }
            logins.turned_away(TurnedAway::Role);
            tracing::warn!(target: "plumbago::audit", user = &**name, %role, %from, path = endpoint.path, "turned away");
            let needed = endpoint.role;
            return Err(Failure::Forbidden(match stranger {
                None => format!("this call needs the role {needed}, and `{name}` has {role}"),
                Some(reason) => format!(
                    "this call needs the role {needed}, which programs on the same machine have, and was refused because {reason}; \
                     others have the role {role} (auth.anonymous)"
                ),
            }));
        }
        if !endpoint.subject.is_open_to(&caller.scope) {
            self.api.telemetry.logins.turned_away(TurnedAway::Scope);
            let whose = if endpoint.subject == Subject::Tenant {
                "about no metric"
            } else {
                "about the whole server"
            };
            let text = format!("this call is {whose}, and `{name}` is confined to {}", caller.scope);
            return Err(Failure::Forbidden(text));
        }
        if endpoint.changes() && self.api.backend.is_read_only() {
            return Err(Failure::NotReady(self.api.backend.ready().err().unwrap_or_default()));
        }
        Ok(standing)
    }
}

/// Did the request come to us over TLS?
pub(super) fn is_over_tls(request: &Request) -> bool {
    peer(request).is_some_and(|peer| peer.shown.is_some())
}

fn peer(request: &Request) -> Option<&Peer> {
    request.extensions().get::<ConnectInfo<Peer>>().map(|ConnectInfo(peer)| peer)
}

/// A browser sends a cookie with whatever any page asks of us. Reading is harmless, since that page does not get the answer.
fn is_own_page(request: &Request) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads || local::is_surely_same_site(request.uri(), request.headers())
}

/// Is it a part of a page, and not the page itself? The page asks for a login itself, and a browser must not do so for it.
fn is_part_of_page(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-dest").is_some_and(|kind: &HeaderValue| kind != "document")
}

async fn admit(
    doorman: &Doorman,
    offer: Offer,
    from: IpAddr,
    is_part_of_page: bool,
) -> Result<Standing, Failure> {
    match doorman.admit(offer, from).await {
        Ok(caller) => Ok(Standing { caller, from, stranger: None, unsettled: false }),
        Err(denied) => Err(refusal(denied, is_part_of_page)),
    }
}

/// Somebody at an endpoint that is open to everybody. It shows nothing of anybody's metrics.
fn nobody(from: IpAddr) -> Standing {
    Standing { caller: Caller::nowhere(ANONYMOUS), from, stranger: None, unsettled: false }
}

fn refusal(denied: Denied, is_part_of_page: bool) -> Failure {
    match denied {
        Denied::LogIn(_) => Failure::LogIn(denied.to_string(), is_part_of_page),
        Denied::NoRole(_) => Failure::Forbidden(denied.to_string()),
        Denied::Wait(seconds) => Failure::Wait(denied.to_string(), seconds),
        Denied::Busy => Failure::Overloaded(denied.to_string(), 1),
    }
}

/// The API with what the caller may see. Handlers have no other way to the server.
pub(super) struct Seen(pub(super) Arc<Api>);

impl FromRequestParts<Arc<Gate>> for Seen {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gate: &Arc<Gate>) -> Result<Self, Failure> {
        match parts.extensions.get::<Standing>() {
            // A handler that does not read the tenant must not see what all of them have.
            Some(standing) if standing.unsettled => Err(Failure::Internal),
            Some(standing) => Ok(Self(gate.api_of(standing, &standing.caller.scope))),
            // Without logins, what is open to everybody is not looked at.
            None if gate.doorman.is_none() => Ok(Self(Arc::clone(&gate.api))),
            None => Err(Failure::Internal),
        }
    }
}

/// The name of a caller who logged in.
pub(super) struct LoggedIn(pub(super) Option<String>);

impl FromRequestParts<Arc<Gate>> for LoggedIn {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gate: &Arc<Gate>) -> Result<Self, Failure> {
        let standing = parts.extensions.get::<Standing>().filter(|_| gate.doorman.is_some());
        let name = standing.map(|standing| standing.caller.name.to_string());
        Ok(Self(name.filter(|name| name != ANONYMOUS)))
    }
}

/// What the caller may do, and whether they see the whole server.
pub(super) struct Rights {
    pub(super) role: Role,
    pub(super) whole: bool,
}

impl FromRequestParts<Arc<Gate>> for Rights {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gate: &Arc<Gate>) -> Result<Self, Failure> {
        // Without logins, a request to what is open to everybody has no standing.
        Ok(match parts.extensions.get::<Standing>() {
            Some(Standing { caller, .. }) => Self { role: caller.role, whole: caller.scope.is_everything() },
            None => Self { role: gate.role_without_logins(parts), whole: true },
        })
    }
}

/// May the caller write points?
pub(super) struct MayWrite(pub(super) bool);

impl FromRequestParts<Arc<Gate>> for MayWrite {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gate: &Arc<Gate>) -> Result<Self, Failure> {
        let Rights { role, .. } = Rights::from_request_parts(parts, gate).await?;
        Ok(Self(role >= Role::Write))
    }
}

/// Writes down who did what.
#[derive(Clone, Debug)]
pub(super) struct Audit {
    user: Arc<str>,
    tenant: Option<Arc<str>>,
    from: Option<IpAddr>,
}

impl Audit {
    /// Something was changed or destroyed: this many times.
    pub(super) fn note(&self, deed: &'static str, what: &str, count: u64) {
        let from = self.from.map(|from| from.to_string()).unwrap_or_default();
        let tenant = self.tenant.as_deref();
        tracing::info!(target: "plumbago::audit", user = &*self.user, tenant, from, deed, what, count);
    }
}

impl<S: Sync> FromRequestParts<S> for Audit {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let standing = parts.extensions.get::<Standing>();
        let user = standing.map_or_else(|| ANONYMOUS.into(), |standing| Arc::clone(&standing.caller.name));
        let tenant = standing.and_then(|standing| Some(standing.caller.scope.tenant()?.name().into()));
        Ok(Self { user, tenant, from: standing.map(|standing| standing.from) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message must not tell anyone to raise a limit of queries: the password checks are busy.
    #[test]
    fn a_login_that_cannot_be_checked_yet_may_be_tried_again() {
        let answer = refusal(Denied::Busy, false).into_response();
        assert_eq!(answer.status(), axum::http::StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.headers()[header::RETRY_AFTER], "1");
        assert!(refusal(Denied::Busy, false).to_string().contains("passwords"));
    }
}
