//! Makes the routes from the table of endpoints. Every path works with and without a slash at its end.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn, from_fn_with_state};

use super::endpoints::{Endpoint, endpoints};
use super::gate::Gate;
use super::{Api, guards, info, trace, transfer};
use crate::config;

type Routes = Router<Arc<Gate>>;

/// All endpoints, each behind the gate.
pub(super) fn router(api: Arc<Api>, gate: Gate, config: &config::Http) -> Router {
    let gate = Arc::new(gate);
    let routes = endpoints().fold(Routes::new(), |routes, endpoint| add(routes, endpoint, &gate));
    let routes = transfer::layers(routes.fallback(info::unknown), config);
    let routes = routes.layer(from_fn_with_state(api, trace::record));
    let routes = match guards::only_tls(config.hsts) {
        Some(rule) => routes.layer(from_fn_with_state(rule, guards::remember_tls)),
        None => routes,
    };
    routes.with_state(gate)
}

fn add(routes: Routes, endpoint: &'static Endpoint, gate: &Arc<Gate>) -> Routes {
    let path = endpoint.path;
    let mut route = (endpoint.route)();
    if !gate.leaves_open(endpoint) {
        let gate = Arc::clone(gate);
        route = route.route_layer(from_fn(move |request: Request, next: Next| {
            let gate = Arc::clone(&gate);
            async move { gate.pass(endpoint, request, next).await }
        }));
    }
    // The top has a slash already, and a wildcard takes it.
    let has_slash = path == "/" || path.contains("{*");
    let routes = if has_slash { routes } else { routes.route(&format!("{path}/"), route.clone()) };
    routes.route(path, route)
}
