//! Which tenant a request is for: the one that its caller is bound to, or the one that it names.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Uri};

use super::Api;
use super::error::Failure;
use super::gate::{Gate, Standing};
use super::params::Params;
use crate::config::Tenancy;
use plumbago_model::{Caller, Role, Scope};

/// The header that names the tenant of a request.
pub(super) const HEADER: HeaderName = HeaderName::from_static("x-tenant");

/// The parameter that does.
const PARAMETER: &str = "tenant";

/// The tenant that a request names in its header or in its query string.
pub(super) fn named(headers: &HeaderMap, uri: &Uri) -> Result<Option<String>, Failure> {
    let mut params = Params::default();
    params.extend(uri.query().unwrap_or_default().as_bytes());
    let mut names = Vec::new();
    for value in headers.get_all(HEADER) {
        names.push(value.to_str().map_err(|_| refused("the header X-Tenant cannot be read"))?);
    }
    names.extend(params.all(PARAMETER));
    names.retain(|name| !name.is_empty());
    match names.split_first() {
        None => Ok(None),
        Some((first, others)) if others.iter().all(|other| other == first) => Ok(Some((*first).to_owned())),
        Some(_) => Err(refused("the request names several tenants; name one, in X-Tenant or as `tenant`")),
    }
}

/// A caller as the tenant that a request is for.
pub(super) fn settle(tenancy: &Tenancy, caller: Caller, named: Option<&str>) -> Result<Caller, Failure> {
    let is_bound = caller.scope.tenant().is_some();
    if !is_bound && !tenancy.enabled {
        return Ok(caller);
    }
    let is_free = caller.role == Role::Admin || !caller.scope.takes_all();
    let named = match named.or(tenancy.default.as_deref().filter(|_| !is_bound && !is_free)) {
        Some(named) => named,
        None if is_bound || is_free => return Ok(caller),
        None => return Err(missing()),
    };
    let scope = scope_of(tenancy, &caller.scope, named)?;
    Ok(Caller { scope, ..caller })
}

/// The scope of a tenant, for somebody who has this one.
fn scope_of(tenancy: &Tenancy, scope: &Arc<Scope>, named: &str) -> Result<Arc<Scope>, Failure> {
    match scope.tenant() {
        Some(bound) if bound.name() == named => Ok(Arc::clone(scope)),
        Some(bound) => {
            let text =
                format!("you are bound to the tenant {}, and the request is for `{named}`", bound.name());
            Err(Failure::Forbidden(text))
        }
        None if scope.is_everything() => {
            let tenant = tenancy.tenants.tenant(named).map_err(|error| refused(&error.to_string()))?;
            Ok(Arc::new(Scope::default().of_tenant(tenant)))
        }
        None => {
            let text =
                format!("you are confined to {scope}, which is not within a tenant, so you cannot name one");
            Err(Failure::Forbidden(text))
        }
    }
}

/// The tenant of a form must be the one that the request is answered for.
pub(super) fn check_form(gate: &Gate, head: &Parts, form: &Params) -> Result<(), Failure> {
    let tenant = head.extensions.get::<Standing>().and_then(|standing| standing.caller.scope.tenant());
    if tenant.is_none() && !gate.tenancy().enabled {
        return Ok(());
    }
    let others = form.all(PARAMETER).into_iter().filter(|name| !name.is_empty());
    let mut others = others.filter(|name| tenant.is_none_or(|tenant| tenant.name() != *name));
    match others.next() {
        None => Ok(()),
        Some(other) => Err(Failure::Forbidden(format!(
            "the form is for the tenant `{other}`, and the request is not: name the tenant in X-Tenant or in the query string"
        ))),
    }
}

fn missing() -> Failure {
    refused("this server has tenants: name yours in the header X-Tenant or as the parameter `tenant`")
}

fn refused(text: &str) -> Failure {
    Failure::Refused(text.to_owned())
}

/// The server for whichever tenant a part of a request names. For endpoints whose bodies do.
pub(super) struct Lodging {
    gate: Arc<Gate>,
    standing: Standing,
    named: Option<String>,
}

impl Lodging {
    /// The API as a tenant sees it, and its name. It must be the one that the rest of the request and the login are for.
    pub(super) fn of(&self, tenant: Option<&str>) -> Result<(Arc<Api>, String), Failure> {
        let tenancy = self.gate.tenancy();
        let tenant = tenant.filter(|name| !name.is_empty());
        if let (Some(one), Some(other)) = (tenant, self.named.as_deref())
            && one != other
        {
            let text = format!("this is for the tenant `{one}`, and the request is for `{other}`");
            return Err(Failure::Forbidden(text));
        }
        let bound = self.standing.caller.scope.tenant().map(|tenant| tenant.name());
        let default = tenancy.default.as_deref().filter(|_| tenancy.enabled);
        let named = tenant.or(self.named.as_deref()).or(bound).or(default).ok_or_else(missing)?;
        let scope = scope_of(tenancy, &self.standing.caller.scope, named)?;
        Ok((self.gate.api_of(&self.standing, &scope), named.to_owned()))
    }
}

impl FromRequestParts<Arc<Gate>> for Lodging {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gate: &Arc<Gate>) -> Result<Self, Failure> {
        let standing = match parts.extensions.get::<Standing>() {
            Some(standing) => standing.clone(),
            None if gate.doorman().is_none() => Standing::unasked(),
            None => return Err(Failure::Internal),
        };
        Ok(Self { gate: Arc::clone(gate), standing, named: named(&parts.headers, &parts.uri)? })
    }
}
