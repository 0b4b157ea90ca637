//! The doors of clients that send and read metrics with tags: KairosDB's, OpenTSDB's, and the catalogue.

use axum::routing::{delete, get, post};

use super::{DELETE, EITHER, Endpoint, GET, POST, RENDER, TAGS, either};
use crate::http::{catalog, ceres, kairosdb, opentsdb};
use plumbago_model::Role;

const INTAKE: &[&str] = &[
    "kairosdb.max_body_bytes",
    "kairosdb.max_errors",
    "ingest.max_metrics",
    "ingest.max_creates_per_second",
];

const METADATA: &[&str] = &["kairosdb.max_metadata", "kairosdb.max_metadata_bytes", "query.find_timeout"];

const RESERVED: &str = "401 for a service that begins with `_`, as in KairosDB";

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
    Endpoint::new(
        GET,
        "/api/v1/features",
        Role::None,
        || get(kairosdb::server::features),
        "JSON: the aggregators and groups of queries with their properties, for programs that build queries",
    ),
    Endpoint::new(
        GET,
        "/api/v1/features/{kind}",
        Role::None,
        || get(kairosdb::server::features_of),
        "JSON: those of one kind, `aggregators` or `group_by`",
    )
    .fails("404 for another kind"),
    Endpoint::new(
        EITHER,
        "/api/v1/datapoints/query",
        Role::Read,
        || get(kairosdb::query::get).post(kairosdb::query::post),
        "points by metric and tags, aggregated and grouped; `save_as` needs the role write",
    )
    .takes("body: KairosDB's JSON; `query` with the same, for GET")
    .within(RENDER)
    .fails("400 with `{\"errors\": […]}`"),
    Endpoint::new(
        POST,
        "/api/v1/datapoints/query/tags",
        Role::Read,
        || post(kairosdb::query::tags),
        "the tags of the series that such a query would read",
    )
    .takes("body: the same")
    .within(RENDER)
    .fails("the same"),
    Endpoint::new(
        POST,
        "/api/v1/datapoints/delete",
        Role::Admin,
        || post(kairosdb::delete::points),
        "deletes what such a query would read; series that have nothing else go with their names",
    )
    .takes("body: the same")
    .fails("the same; 204 without a body"),
    Endpoint::new(
        DELETE,
        "/api/v1/metric/{name}",
        Role::Admin,
        || delete(kairosdb::delete::metric),
        "deletes all series of a metric",
    )
    .fails("204 without a body"),
    Endpoint::new(
        GET,
        "/api/v1/metadata/{service}",
        Role::Read,
        || get(kairosdb::metadata::service_keys),
        "JSON: the keys of a service, of the texts that clients keep here",
    )
    .takes("`startsWith`")
    .within(METADATA)
    .fails(RESERVED)
    .of_a_tenant(),
    Endpoint::new(
        GET,
        "/api/v1/metadata/{service}/{service_key}",
        Role::Read,
        || get(kairosdb::metadata::keys),
        "JSON: the keys of its texts about one of them",
    )
    .takes("`startsWith`")
    .within(METADATA)
    .fails(RESERVED)
    .of_a_tenant(),
    Endpoint::new(
        GET,
        "/api/v1/metadata/{service}/{service_key}/{key}",
        Role::Read,
        || get(kairosdb::metadata::read),
        "a text, as it was sent",
    )
    .within(METADATA)
    .fails("404 without it; 401 for a service that begins with `_`")
    .of_a_tenant(),
    Endpoint::new(
        POST,
        "/api/v1/metadata/{service}/{service_key}/{key}",
        Role::Write,
        || post(kairosdb::metadata::write),
        "keeps a text: 204 when it is durable",
    )
    .takes("body: the text")
    .within(METADATA)
    .fails("413; 422 when there are too many; 401 for a service that begins with `_`")
    .of_a_tenant(),
    Endpoint::new(
        DELETE,
        "/api/v1/metadata/{service}/{service_key}/{key}",
        Role::Write,
        || delete(kairosdb::metadata::delete),
        "removes a text: 204, even if there was none",
    )
    .within(METADATA)
    .fails(RESERVED)
    .of_a_tenant(),
    Endpoint::new(
        GET,
        "/api/v1/catalog/metrics",
        Role::Read,
        || get(catalog::metrics),
        "JSON: the metrics with tags that had series in each month, with first and last point, types and series",
    )
    .takes("`from=2026-01`, `until`, `prefix`, `after`, `limit`")
    .within(TAGS),
    Endpoint::new(
        GET,
        "/api/v1/catalog/tags",
        Role::Read,
        || get(catalog::tags),
        "JSON: the tags of a metric, or the values of one with series, first and last point",
    )
    .takes("`metric`, `tag`, `prefix`, `after`, `limit`")
    .within(TAGS),
    Endpoint::new(
        GET,
        "/api/v1/catalog/cardinality",
        Role::Read,
        || get(catalog::cardinality),
        "JSON: how many values each tag of each metric has",
    )
    .takes("`prefix`, `after`, `limit`")
    .within(TAGS),
    Endpoint::new(
        GET,
        "/api/v1/catalog/windows",
        Role::Read,
        || get(catalog::windows),
        "JSON: the windows of three weeks in which a metric has series",
    )
    .takes("`metric`")
    .within(TAGS),
    Endpoint::new(
        GET,
        "/api/v1/catalog/partitions",
        Role::Read,
        || get(catalog::partitions),
        "JSON: how large the partitions of each stage become in a cluster, and what it takes on this machine",
    )
    .of_the_whole_server(),
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
        "/api/version",
        Role::None,
        || either(opentsdb::server::version),
        "JSON: the release of OpenTSDB whose API this is",
    ),
    Endpoint::new(
        EITHER,
        "/api/aggregators",
        Role::Read,
        || either(opentsdb::server::aggregators),
        "JSON: the aggregators of `/api/query`",
    ),
    Endpoint::new(
        EITHER,
        "/api/suggest",
        Role::Read,
        || either(opentsdb::suggest::handle),
        "JSON: metrics, keys or values of tags that begin like this",
    )
    .takes("`type=metrics|tagk|tagv`, `q`, `max`")
    .within(TAGS),
    Endpoint::new(
        EITHER,
        "/api/query",
        Role::Read,
        || get(ceres::either_query).post(opentsdb::query::post),
        "series by metric and tags, aggregated; [Ceres'](CERES.md) query, without `m`",
    )
    .takes("`m=aggregator:[downsample:][rate:]metric{tag=value}` (repeatable), `start`, `end`, `ms`, `arrays`, `tz`; body: the same as JSON. Ceres: `tenant`, `metricName`, `tag=key=value` (repeatable), `start`, `end`, `aggregator`, `granularity`")
    .within(RENDER)
    .fails("400 with `{\"error\": {\"code\", \"message\"}}`"),
];
