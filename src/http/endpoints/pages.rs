//! The endpoints of the metric browser.

use axum::routing::{get, post};

use super::{Endpoint, FIND, GET, POST};
use crate::http::browser;
use plumbago_model::Role;

const GRAPHS: &[&str] = &["kairosdb.max_metadata", "kairosdb.max_metadata_bytes", "query.find_timeout"];

pub(super) const PAGES: &[Endpoint] = &[
    Endpoint::new(GET, "/", Role::None, || get(browser::page), "the metric browser, a page without any data"),
    Endpoint::new(
        GET,
        "/operate",
        Role::None,
        || get(browser::operate),
        "its pages for operators, without any data either",
    ),
    Endpoint::new(GET, "/browser/{*name}", Role::None, || get(browser::asset), "the files of these pages")
        .fails("404 without it"),
    Endpoint::new(
        GET,
        "/internal/browser/tree",
        Role::Read,
        || get(browser::tree),
        "JSON: a page of a directory, with counts",
    )
    .takes("`path`, `after`, `limit`, `tagged`")
    .within(FIND),
    Endpoint::new(
        GET,
        "/internal/browser/search",
        Role::Read,
        || get(browser::search),
        "JSON: names that have all words of a text",
    )
    .takes("`query`, `limit`")
    .within(&["query.search_timeout"]),
    Endpoint::new(
        GET,
        "/internal/browser/metric",
        Role::Read,
        || get(browser::metric),
        "JSON: what is known of a metric",
    )
    .takes("`name`")
    .within(FIND)
    .fails("404 without it"),
    Endpoint::new(
        GET,
        "/internal/browser/graphs",
        Role::Read,
        || get(browser::graphs::list),
        "JSON: the graphs that people saved; with `name`, one of them",
    )
    .takes("`name`")
    .within(GRAPHS)
    .fails("404 without it")
    .of_a_tenant(),
    Endpoint::new(
        POST,
        "/internal/browser/graphs",
        Role::Write,
        || post(browser::graphs::save),
        "saves a graph: what the page has in its address behind the `#`",
    )
    .takes("`name`, `graph`")
    .within(GRAPHS)
    .fails("413; 422 when there are too many")
    .of_a_tenant(),
    Endpoint::new(
        POST,
        "/internal/browser/graphs/delete",
        Role::Write,
        || post(browser::graphs::delete),
        "deletes a saved graph, if it is there",
    )
    .takes("`name`")
    .within(GRAPHS)
    .of_a_tenant(),
    Endpoint::new(
        GET,
        "/internal/browser/health",
        Role::Read,
        || get(browser::health),
        "JSON: how ingest and store are",
    ),
    Endpoint::new(
        GET,
        "/internal/browser/rules",
        Role::Read,
        || get(browser::rules),
        "JSON: what the rules in force do to a name, whether there is such a metric or not",
    )
    .takes("`name`")
    .within(FIND)
    .of_the_whole_server(),
];
