//! The rows of KairosDB's and OpenTSDB's calls.

use axum::routing::{get, post};

use super::{EITHER, Endpoint, GET, POST, TAGS, either};
use crate::http::{kairosdb, opentsdb};
use plumbago_model::Role;

const INTAKE: &[&str] = &[
    "kairosdb.max_body_bytes",
    "kairosdb.max_errors",
    "ingest.max_metrics",
    "ingest.max_creates_per_second",
];

pub(super) const KAIROSDB: &[Endpoint] = &[
    Endpoint::new(
        POST,
        "/api/v1/datapoints",
        Role::Write,
        || post(kairosdb::datapoints::add),
        "stores points: 204, or 400 with what is wrong with some of them; the others are stored",
    )
    .takes("body: JSON, one metric or a list of metrics, also as gzip")
    .within(INTAKE)
    .fails("413; 429 and 503 with `Retry-After` when points are not taken now"),
    Endpoint::new(
        GET,
        "/api/v1/metricnames",
        Role::Read,
        || get(kairosdb::names::metric_names),
        "JSON: the metrics, with tags and without",
    )
    .takes("`prefix`")
    .within(TAGS),
    Endpoint::new(
        GET,
        "/api/v1/tagnames",
        Role::Read,
        || get(kairosdb::names::tag_names),
        "JSON: the keys of all tags",
    )
    .within(TAGS),
    Endpoint::new(
        GET,
        "/api/v1/tagvalues",
        Role::Read,
        || get(kairosdb::names::tag_values),
        "JSON: the values of all tags",
    )
    .within(TAGS),
    Endpoint::new(
        GET,
        "/api/v1/version",
        Role::None,
        || get(kairosdb::server::version),
        "JSON: the release of KairosDB whose API this is",
    ),
    Endpoint::new(
        GET,
        "/api/v1/health/check",
        Role::None,
        || get(kairosdb::server::check),
        "204 when queries and writes work",
    )
    .fails("500"),
    Endpoint::new(
        GET,
        "/api/v1/health/status",
        Role::None,
        || get(kairosdb::server::status),
        "JSON: what was looked at, and whether it works",
    ),
];

pub(super) const OPENTSDB: &[Endpoint] = &[
    Endpoint::new(
        POST,
        "/api/put",
        Role::Write,
        || post(opentsdb::put::add),
        "stores points: 204, or 400 with what is wrong with some of them; the others are stored",
    )
    .takes("`summary`, `details`; body: JSON, one point or a list of points, also as gzip")
    .within(INTAKE)
    .fails("413; 429 and 503 with `Retry-After` when points are not taken now"),
    Endpoint::new(
        EITHER,
        "/api/suggest",
        Role::Read,
        || either(opentsdb::suggest::handle),
        "JSON: metrics, keys or values of tags that begin like this",
    )
    .takes("`type=metrics|tagk|tagv`, `q`, `max`")
    .within(TAGS),
];
