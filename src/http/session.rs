//! Logging in on the page: `/login` and `/logout`, and the cookie between them.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::call::posted;
use super::error::Failure;
use super::gate::Gate;
use super::params::Params;
use super::{browser, local, reply};
use crate::auth::Denied;
use crate::auth::shown::{self, SESSION_COOKIE};

/// Longest form.
const MOST: usize = 16 * 1024;

/// The session of a request.
pub(super) fn of(headers: &HeaderMap) -> Option<&str> {
    let mut cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.find_map(shown::session)
}

/// `GET /login`: the form.
pub(super) async fn page(State(gate): State<Arc<Gate>>) -> Response {
    match gate.doorman() {
        Some(_) => browser::login_page(StatusCode::OK, ""),
        None => to_top(),
    }
}

/// `POST /login`: `user`, `password`. A token is a password, too, and needs no name.
pub(super) async fn log_in(State(gate): State<Arc<Gate>>, request: Request) -> Result<Response, Failure> {
    let Some(doorman) = gate.doorman() else { return Ok(to_top()) };
    check_site(&request)?;
    let (from, is_encrypted) = (gate.from(&request), gate.is_encrypted(&request));
    let mut form = Params::default();
    form.extend(&posted(request, MOST).await?);
    let (user, password) = (form.get("user").unwrap_or_default(), form.get("password").unwrap_or_default());
    match doorman.log_in(user, password.to_owned(), from).await {
        Ok(session) => {
            let mut response = to_top();
            set(&mut response, &session.id, session.lasts.as_secs(), is_encrypted);
            Ok(response)
        }
        Err(denied) => {
            let status = match denied {
                Denied::LogIn(_) => StatusCode::UNAUTHORIZED,
                Denied::NoRole(_) => StatusCode::FORBIDDEN,
                Denied::Wait(_) => StatusCode::TOO_MANY_REQUESTS,
                Denied::Busy => StatusCode::SERVICE_UNAVAILABLE,
            };
            let mut response = browser::login_page(status, &denied.to_string());
            if let Denied::Wait(seconds) = denied {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            }
            Ok(response)
        }
    }
}

/// `POST /logout`
pub(super) async fn log_out(State(gate): State<Arc<Gate>>, request: Request) -> Result<Response, Failure> {
    check_site(&request)?;
    if let (Some(doorman), Some(id)) = (gate.doorman(), of(request.headers())) {
        doorman.log_out(id);
    }
    let mut response = to(HeaderValue::from_static("login"));
    set(&mut response, "", 0, gate.is_encrypted(&request));
    Ok(response)
}

/// A page of another site must neither log anybody out nor log them in as somebody else.
fn check_site(request: &Request) -> Result<(), Failure> {
    match local::is_same_site(request.uri(), request.headers()) {
        true => Ok(()),
        false => Err(Failure::Forbidden("a page of another site sent this form".to_owned())),
    }
}

fn set(response: &mut Response, id: &str, seconds: u64, is_encrypted: bool) {
    let secure = if is_encrypted { "; Secure" } else { "" };
    let text = format!("{SESSION_COOKIE}={id}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    // The id is made of digits and letters.
    if let Ok(value) = HeaderValue::try_from(text) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
}

fn to_top() -> Response {
    to(HeaderValue::from_static("./"))
}

/// Relative, so that it also works below a path of a proxy.
fn to(place: HeaderValue) -> Response {
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response();
    reply::never_cached(&mut response);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_is_found_among_other_cookies() {
        let mut headers = HeaderMap::new();
        assert_eq!(of(&headers), None);
        headers.append(header::COOKIE, HeaderValue::from_static("a=b; plumbago_session=12ab; c"));
        headers.append(header::COOKIE, HeaderValue::from_static("plumbago_sessions=x"));
        assert_eq!(of(&headers), Some("12ab"));
    }
}
