//! Makes the routes from the table of endpoints. Every path works with and without a slash at its end.

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};

use super::endpoints::{Endpoint, endpoints};
use super::{Api, admin, info, trace, transfer};
use crate::config;
use plumbago_model::Role;

type Routes = Router<Arc<Api>>;

/// All endpoints.
pub(super) fn router(api: Arc<Api>, config: &config::Http) -> Router {
    let routes = endpoints().fold(Routes::new(), add);
    let routes = transfer::layers(routes.fallback(info::unknown), config);
    routes.layer(from_fn_with_state(Arc::clone(&api), trace::record)).with_state(api)
}

fn add(routes: Routes, endpoint: &Endpoint) -> Routes {
    let Endpoint { path, .. } = *endpoint;
    let route = (endpoint.route)();
    let route =
        if endpoint.role == Role::Admin { route.route_layer(from_fn(admin::local_only)) } else { route };
    // The top has a slash already, and a wildcard takes it.
    let has_slash = path == "/" || path.contains("{*");
    let routes = if has_slash { routes } else { routes.route(&format!("{path}/"), route.clone()) };
    routes.route(path, route)
}
