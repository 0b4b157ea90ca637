//! The endpoints of Ceres' clients.

use axum::routing::{get, post};

use super::{Endpoint, GET, POST, TAGS};
use crate::http::ceres;
use plumbago_model::Role;

pub(super) const CERES: &[Endpoint] = &[
    Endpoint::new(
        POST,
        "/api/write/single",
        Role::Write,
        || post(ceres::write),
        "stores a point of a tenant, or each of an array",
    )
    .takes("body: JSON with `tenant`, `metricName`, `tags`, `ts`, `value`; see [Ceres](CERES.md)")
    .within(&["kairosdb.max_body_bytes", "kairosdb.max_errors"])
    .fails("413, 429; 400 names the items that were not stored")
    .names_tenant(),
    Endpoint::new(
        GET,
        "/api/metadata/metricNames",
        Role::Read,
        || get(ceres::metric_names),
        "JSON: the metrics of a tenant that have tags",
    )
    .takes("`tenant`")
    .within(TAGS),
    Endpoint::new(
        GET,
        "/api/metadata/tagKeys",
        Role::Read,
        || get(ceres::tag_keys),
        "JSON: the tags of a metric",
    )
    .takes("`tenant`, `metricName`")
    .within(TAGS),
    Endpoint::new(
        GET,
        "/api/metadata/tagValues",
        Role::Read,
        || get(ceres::tag_values),
        "JSON: the values of a tag of a metric",
    )
    .takes("`tenant`, `metricName`, `tagKey`")
    .within(TAGS),
];
