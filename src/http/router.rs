//! Which path leads where. Every path works with and without a slash at its end.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, get, post};

use super::{
    Api, admin, backup, browser, bundles, carbonapi, cardinality, care, copying, erase, events, expand, find,
    fsck, functions, index, info, queries, render, retention, tags, trace, transfer, write,
};
use crate::config;

type Routes = Router<Arc<Api>>;

/// All endpoints.
pub(super) fn router(api: Arc<Api>, config: &config::Http) -> Router {
    let routes = Routes::new().route("/", get(browser::page));
    let routes = routes.route("/browser/{name}", get(browser::asset));
    let routes = both(routes, "/internal/browser/tree", get(browser::tree));
    let routes = both(routes, "/internal/browser/search", get(browser::search));
    let routes = both(routes, "/internal/browser/metric", get(browser::metric));
    let routes = both(routes, "/internal/browser/health", get(browser::health));
    let routes = both(routes, "/render", either(render::handle));
    let routes = both(routes, "/metrics", either(find::handle));
    let routes = both(routes, "/metrics/find", either(find::handle));
    let routes = both(routes, "/metrics/expand", either(expand::handle));
    let routes = both(routes, "/metrics/index.json", either(index::handle));
    let routes = both(routes, "/info", either(carbonapi::info));
    let routes = both(routes, "/_internal/capabilities", either(carbonapi::capabilities));
    let routes = both(routes, "/events", get(events::list).post(events::add).fallback(events::other_method));
    let routes = both(routes, "/events/get_data", either(events::list).fallback(events::other_method));
    let routes = both(routes, "/events/{id}", get(events::one).fallback(events::other_method));
    let routes = both(routes, "/functions", get(functions::all));
    let routes = both(routes, "/functions/{name}", get(functions::one));
    let routes = tag_routes(routes);
    let routes = both(routes, "/version", get(info::version));
    let routes = both(routes, "/health", get(info::ready));
    let routes = both(routes, "/health/live", get(info::live));
    let routes = both(routes, "/health/ready", get(info::ready));
    let routes = both(routes, "/internal/metrics", get(info::prometheus));
    let routes = both(routes, "/internal/cardinality", get(cardinality::handle));
    let routes = both(routes, "/internal/flush", post(info::flush));
    let routes = both(routes, "/internal/write", post(write::handle));
    let routes = routes.merge(admin_routes());
    let routes = transfer::layers(routes.fallback(info::unknown), config);
    routes.layer(from_fn_with_state(Arc::clone(&api), trace::record)).with_state(api)
}

/// What changes or copies everything. See `admin.rs` for who may call it.
fn admin_routes() -> Routes {
    let routes = both(Routes::new(), "/internal/import", post(bundles::import));
    let routes = both(routes, "/internal/export", post(bundles::export));
    let routes = both(routes, "/internal/delete", post(care::delete));
    let routes = both(routes, "/internal/rename", post(care::rename));
    let routes = both(routes, "/internal/clean", post(care::clean));
    let routes = both(routes, "/internal/delete-range", post(erase::delete_range));
    let routes = both(routes, "/internal/copy", post(copying::copy));
    let routes = both(routes, "/internal/fsck", post(fsck::check));
    let routes = both(routes, "/internal/names", get(care::names));
    let routes = both(routes, "/internal/usage", get(care::usage));
    let routes = both(routes, "/internal/stats", get(care::stats));
    let routes = both(routes, "/internal/info", get(care::info));
    let routes = both(routes, "/internal/retention", get(retention::plan));
    let routes = both(routes, "/internal/reload", post(retention::reload));
    let routes = both(routes, "/internal/backup", get(backup::state).post(backup::make));
    let routes = both(routes, "/internal/queries", get(queries::calls::list));
    let routes = both(routes, "/internal/queries/cancel", post(queries::calls::cancel));
    routes.route_layer(from_fn(admin::local_only))
}

fn tag_routes(routes: Routes) -> Routes {
    let other = tags::other_method;
    let routes = both(routes, "/tags", get(tags::list).fallback(other));
    let routes = both(routes, "/tags/findSeries", either(tags::find_series).fallback(other));
    let routes = both(routes, "/tags/autoComplete/tags", either(tags::complete_tags).fallback(other));
    let routes = both(routes, "/tags/autoComplete/values", either(tags::complete_values).fallback(other));
    let routes = both(routes, "/tags/tagSeries", post(tags::tag_series).fallback(other));
    let routes = both(routes, "/tags/tagMultiSeries", post(tags::tag_multi_series).fallback(other));
    let routes = both(routes, "/tags/delSeries", post(tags::delete_series).fallback(other));
    routes.route("/tags/{*tag}", get(tags::details).fallback(other))
}

fn both(routes: Routes, path: &str, handler: MethodRouter<Arc<Api>>) -> Routes {
    routes.route(path, handler.clone()).route(&format!("{path}/"), handler)
}

/// GET (and with it HEAD) and POST alike.
fn either<H, T>(handler: H) -> MethodRouter<Arc<Api>>
where
    H: Handler<T, Arc<Api>>,
    T: 'static,
{
    get(handler.clone()).post(handler)
}
