//! The table of endpoints. The routes, the roles, the answer to a wrong path and `docs/HTTP.md` are all made from it.

mod ceres;
mod labelled;
mod pages;

use std::sync::Arc;

use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodRouter, get, post};

use super::gate::Gate;
use super::{
    backup, bundles, carbonapi, cardinality, care, copying, erase, events, expand, find, fsck, functions,
    index, info, queries, quotas, render, retention, session, tags, top, write,
};
use plumbago_model::{Role, Scope};

type Route = MethodRouter<Arc<Gate>>;

/// What a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Metrics and events: each caller gets those inside of its scope.
    Metrics,
    /// What belongs to a tenant, or to those without one, and to no metric: not for a caller confined to some metrics.
    Tenant,
    /// The whole server: not for a caller with a scope, nor for a tenant.
    Server,
}

impl Subject {
    /// May a caller with this scope make such a call?
    pub(super) fn is_open_to(self, scope: &Scope) -> bool {
        match self {
            Self::Metrics => true,
            Self::Tenant => scope.takes_all(),
            Self::Server => scope.is_everything(),
        }
    }
}

/// One endpoint: a path with the methods that mean the same there.
pub(super) struct Endpoint {
    /// The methods that it takes; GET means HEAD, too.
    pub(super) methods: &'static [Method],
    /// The path; `{name}` stands for anything. It works with a slash at its end, too.
    pub(super) path: &'static str,
    /// What a caller must be allowed to do.
    pub(super) role: Role,
    /// What it does, for the documentation.
    pub(super) about: &'static str,
    /// Parameters, in the query string or in a form, and what the body is if it is no form.
    pub(super) takes: &'static str,
    /// The keys that bound it.
    pub(super) limits: &'static [&'static str],
    /// Statuses of its own, besides those that every endpoint may answer with.
    pub(super) fails: &'static str,
    /// What it is about, which decides whether a caller with a scope may make it.
    pub(super) subject: Subject,
    /// Does its body name the tenant? Its handler takes a `Lodging`.
    pub(super) tenant_inside: bool,
    /// Its handler.
    pub(super) route: fn() -> Route,
}

/// Endpoints that belong together.
pub(super) struct Group {
    /// Its heading.
    pub(super) name: &'static str,
    /// Its endpoints.
    pub(super) endpoints: &'static [Endpoint],
}

/// All endpoints.
pub(super) fn endpoints() -> impl Iterator<Item = &'static Endpoint> {
    GROUPS.iter().flat_map(|group| group.endpoints)
}

const GET: &[Method] = &[Method::GET];
const POST: &[Method] = &[Method::POST];
const EITHER: &[Method] = &[Method::GET, Method::POST];
const DELETE: &[Method] = &[Method::DELETE];

const FIND: &[&str] = &[
    "query.max_find_hits",
    "query.find_timeout",
    "query.max_concurrent",
    "query.max_concurrent_each",
    "query.memory_each",
    "query.memory",
];
const RENDER: &[&str] = &[
    "query.max_series",
    "query.max_points",
    "query.render_timeout",
    "query.max_renders",
    "query.max_renders_each",
    "query.max_concurrent",
    "query.memory_each",
    "query.memory",
];
const TAGS: &[&str] = &["query.max_find_hits", "query.find_timeout"];
const COMPLETIONS: &[&str] = &["query.tag_completions", "query.find_timeout"];
const EVENTS: &[&str] = &["query.max_events", "query.find_timeout"];
const BUNDLES: &[&str] = &["http.max_import_bytes"];

impl Endpoint {
    const fn new(
        methods: &'static [Method],
        path: &'static str,
        role: Role,
        route: fn() -> Route,
        about: &'static str,
    ) -> Self {
        Self {
            methods,
            path,
            role,
            about,
            takes: "",
            limits: &[],
            fails: "",
            subject: Subject::Metrics,
            tenant_inside: false,
            route,
        }
    }

    /// Does it write to the store, or ask for something that does?
    pub(super) fn changes(&self) -> bool {
        const HARMLESS: &[&str] = &["/internal/export", "/internal/fsck", "/internal/queries/cancel"];
        let asks = self.methods.contains(&Method::GET) || HARMLESS.contains(&self.path);
        self.role == Role::Write || self.role == Role::Admin && !asks
    }

    const fn takes(self, takes: &'static str) -> Self {
        Self { takes, ..self }
    }

    const fn within(self, limits: &'static [&'static str]) -> Self {
        Self { limits, ..self }
    }

    const fn of_the_whole_server(self) -> Self {
        Self { subject: Subject::Server, ..self }
    }

    const fn of_a_tenant(self) -> Self {
        Self { subject: Subject::Tenant, ..self }
    }

    const fn names_tenant(self) -> Self {
        Self { tenant_inside: true, ..self }
    }

    const fn fails(self, fails: &'static str) -> Self {
        Self { fails, ..self }
    }
}

/// GET (and with it HEAD) and POST alike.
fn either<H, T>(handler: H) -> Route
where
    H: Handler<T, Arc<Gate>>,
    T: 'static,
{
    get(handler.clone()).post(handler)
}

/// Groups in the order of the documentation.
pub(super) const GROUPS: &[Group] = &[
    Group { name: "Graphite", endpoints: GRAPHITE },
    Group { name: "Tags", endpoints: TAGGED },
    Group { name: "Events", endpoints: ANNOTATIONS },
    Group { name: "Health and counters", endpoints: HEALTH },
    Group { name: "Logging in", endpoints: LOGIN },
    Group { name: "Points", endpoints: POINTS },
    Group { name: "Operators", endpoints: OPERATORS },
    Group { name: "The metric browser", endpoints: pages::PAGES },
    Group { name: "carbonapi", endpoints: CARBONAPI },
    Group { name: "KairosDB", endpoints: labelled::KAIROSDB },
    Group { name: "OpenTSDB", endpoints: labelled::OPENTSDB },
    Group { name: "Ceres", endpoints: ceres::CERES },
];

const GRAPHITE: &[Endpoint] = &[
    Endpoint::new(EITHER, "/render", Role::Read, || either(render::handle), "the series of targets, as data or as a picture")
        .takes("`target` (repeatable), `from`, `until`, `tz`, `now`, `format=json|csv|raw|dygraph|rickshaw|pickle|msgpack|png|svg`, `maxDataPoints`, `noNullPoints`, `meta`, `xFilesFactor`, `template[…]`, `cacheTimeout`, `noCache`, `jsonp`, `pretty`; of pictures all that graphite-web has")
        .within(RENDER),
    Endpoint::new(EITHER, "/metrics/find", Role::Read, || either(find::handle), "the metrics and directories that match a glob")
        .takes("`query`, `from`, `until`, `format=treejson|completer|json|nodelist|pickle|msgpack`, `wildcards`, `leavesOnly`, `jsonp`, `pretty`")
        .within(FIND),
    Endpoint::new(EITHER, "/metrics", Role::Read, || either(find::handle), "the same as `/metrics/find`").takes("the same").within(FIND),
    Endpoint::new(EITHER, "/metrics/expand", Role::Read, || either(expand::handle), "the paths that match globs")
        .takes("`query` (repeatable), `groupByExpr`, `leavesOnly`, `jsonp`, `pretty`")
        .within(FIND),
    Endpoint::new(EITHER, "/metrics/index.json", Role::Read, || either(index::handle), "all metric names").takes("`jsonp`"),
    Endpoint::new(GET, "/functions", Role::Read, || get(functions::all), "the render functions").takes("`grouped`, `group`, `type=pie`"),
    Endpoint::new(GET, "/functions/{name}", Role::Read, || get(functions::one), "one render function").takes("`type=pie`").fails("404 without it"),
    Endpoint::new(GET, "/version", Role::None, || get(info::version), "the version of graphite-web whose API this is"),
];

const TAGGED: &[Endpoint] = &[
    Endpoint::new(GET, "/tags", Role::Read, || get(tags::list).fallback(tags::other_method), "all tags")
        .takes("`filter`, `limit`")
        .within(TAGS),
    Endpoint::new(
        GET,
        "/tags/{*tag}",
        Role::Read,
        || get(tags::details).fallback(tags::other_method),
        "the values of a tag; `null` if there is no such tag",
    )
    .takes("`filter`, `limit`")
    .within(TAGS),
    Endpoint::new(
        EITHER,
        "/tags/findSeries",
        Role::Read,
        || either(tags::find_series).fallback(tags::other_method),
        "the names of series by their tags",
    )
    .takes("`expr` (repeatable)")
    .within(TAGS),
    Endpoint::new(
        EITHER,
        "/tags/autoComplete/tags",
        Role::Read,
        || either(tags::complete_tags).fallback(tags::other_method),
        "tags of the matching series",
    )
    .takes("`expr` (repeatable), `tagPrefix`, `limit`")
    .within(COMPLETIONS),
    Endpoint::new(
        EITHER,
        "/tags/autoComplete/values",
        Role::Read,
        || either(tags::complete_values).fallback(tags::other_method),
        "values of a tag among the matching series",
    )
    .takes("`expr` (repeatable), `tag`, `valuePrefix`, `limit`")
    .within(COMPLETIONS),
    Endpoint::new(
        POST,
        "/tags/tagSeries",
        Role::Write,
        || post(tags::tag_series).fallback(tags::other_method),
        "creates a series if it does not exist; answers its name",
    )
    .takes("`path`")
    .within(&["ingest.max_metrics", "ingest.max_creates_per_second", "ingest.max_tag_values", "quota"])
    .fails("429 with `Retry-After` if it would be too many"),
    Endpoint::new(
        POST,
        "/tags/tagMultiSeries",
        Role::Write,
        || post(tags::tag_multi_series).fallback(tags::other_method),
        "the same for several",
    )
    .takes("`path` (repeatable)")
    .within(&["ingest.max_metrics", "ingest.max_creates_per_second", "ingest.max_tag_values", "quota"])
    .fails("429 with `Retry-After` if it would be too many"),
    Endpoint::new(
        POST,
        "/tags/delSeries",
        Role::Admin,
        || post(tags::delete_series).fallback(tags::other_method),
        "deletes tagged series with their points",
    )
    .takes("`path` (repeatable)"),
];

const ANNOTATIONS: &[Endpoint] = &[
    Endpoint::new(
        GET,
        "/events",
        Role::Read,
        || get(events::list).fallback(events::other_method),
        "the same as `/events/get_data`",
    )
    .takes("the same")
    .within(EVENTS),
    Endpoint::new(POST, "/events", Role::Write, || post(events::add), "records an event")
        .takes("body: JSON with `what`, `tags`, `when`, `data`")
        .within(&["ingest.max_event_bytes"])
        .fails("413 for one that is too long"),
    Endpoint::new(
        EITHER,
        "/events/get_data",
        Role::Read,
        || either(events::list).fallback(events::other_method),
        "events, oldest first",
    )
    .takes("`from`, `until`, `tags`, `set=union`, `tz`, `jsonp`, `pretty`")
    .within(EVENTS),
    Endpoint::new(
        GET,
        "/events/{id}",
        Role::Read,
        || get(events::one).fallback(events::other_method),
        "one event",
    )
    .takes("`jsonp`, `pretty`")
    .fails("404 without it"),
];

const HEALTH: &[Endpoint] = &[
    Endpoint::new(GET, "/health", Role::None, || get(info::ready), "the same as `/health/ready`")
        .fails("503 with the reason"),
    Endpoint::new(GET, "/health/live", Role::None, || get(info::live), "200 while the process runs"),
    Endpoint::new(GET, "/health/ready", Role::None, || get(info::ready), "200 when queries and writes work")
        .fails("503 with the reason"),
    Endpoint::new(
        GET,
        "/internal/metrics",
        Role::Read,
        || get(info::prometheus),
        "counters for Prometheus: [Counters](OPERATIONS.md#counters)",
    )
    .of_the_whole_server(),
    Endpoint::new(
        GET,
        "/internal/cardinality",
        Role::Read,
        || get(cardinality::handle),
        "JSON: how many metrics by tag and by prefix",
    )
    .takes("`below`, `depth`, `limit`")
    .within(&["query.find_timeout"]),
];

const LOGIN: &[Endpoint] = &[
    Endpoint::new(
        GET,
        "/login",
        Role::None,
        || get(session::page),
        "a form to log in; without logins it leads to the metric browser",
    ),
    Endpoint::new(
        POST,
        "/login",
        Role::None,
        || post(session::log_in),
        "begins a session: a cookie, which the page of this site may use",
    )
    .takes("`user`, `password`")
    .within(&["auth.session", "auth.max_failures"])
    .fails("401, 403, 429"),
    Endpoint::new(POST, "/logout", Role::None, || post(session::log_out), "ends it").fails("403"),
];

const POINTS: &[Endpoint] = &[
    Endpoint::new(POST, "/internal/write", Role::Write, || post(write::handle), "JSON: how many points were stored, and refused for which reason").takes("body: carbon lines").within(&["ingest.max_line_bytes", "ingest.max_metrics", "ingest.max_creates_per_second", "ingest.max_tag_values", "quota"]).fails("429 with the same JSON and `Retry-After` if none is stored because there are too many"),
    Endpoint::new(POST, "/internal/flush", Role::Write, || post(info::flush), "200 when every point received before the call is durable and readable; with `settle=1` it is in merged blocks too").takes("`settle`"),
];

const OPERATORS: &[Endpoint] = &[
    Endpoint::new(POST, "/internal/import", Role::Admin, || post(bundles::import), "JSON: what was taken")
        .takes("body: [bundles](format/bundle.md); `keep_policy`, `from`, `until`")
        .within(BUNDLES),
    Endpoint::new(
        POST,
        "/internal/export",
        Role::Admin,
        || post(bundles::export),
        "bundles of the first of these names, as many as fit",
    )
    .takes("body: names, one a line; `from`, `until`")
    .within(BUNDLES),
    Endpoint::new(
        POST,
        "/internal/delete",
        Role::Admin,
        || post(care::delete),
        "JSON: the names that were deleted, or would be",
    )
    .takes("`query`, `dry_run`"),
    Endpoint::new(
        POST,
        "/internal/rename",
        Role::Admin,
        || post(care::rename),
        "JSON: old and new names of the metric and of all below it, and how many were merged",
    )
    .takes("`from`, `to`, `dry_run`"),
    Endpoint::new(
        POST,
        "/internal/clean",
        Role::Admin,
        || post(care::clean),
        "JSON: the names of metrics without new points that were deleted, or would be",
    )
    .takes("`unwritten_for` (seconds), `dry_run`")
    .fails("400 with Cassandra")
    .of_the_whole_server(),
    Endpoint::new(
        POST,
        "/internal/repair",
        Role::Admin,
        || post(care::repair),
        "JSON: metrics that can be found by their names again, or could be",
    )
    .takes("`dry_run`")
    .fails("400 with Cassandra")
    .of_the_whole_server(),
    Endpoint::new(
        POST,
        "/internal/delete-range",
        Role::Admin,
        || post(erase::delete_range),
        "JSON: what was deleted of each metric in that time, or would be; the metrics stay",
    )
    .takes("`query`, `from`, `until`, `dry_run`"),
    Endpoint::new(
        POST,
        "/internal/copy",
        Role::Admin,
        || post(copying::copy),
        "JSON: how many points and aggregated slots were copied to the other name, or why not",
    )
    .takes("`source`, `destination`, `from`, `until`, `dry_run`")
    .fails("404 without the source"),
    Endpoint::new(
        POST,
        "/internal/fsck",
        Role::Admin,
        || post(fsck::check),
        "JSON: what a check of every file of the store found",
    )
    .fails("422 while another one runs")
    .of_the_whole_server(),
    Endpoint::new(
        GET,
        "/internal/names",
        Role::Admin,
        || get(care::names),
        "JSON: the names of all metrics that match, with tags and without",
    )
    .takes("`query`"),
    Endpoint::new(
        GET,
        "/internal/usage",
        Role::Admin,
        || get(care::usage),
        "JSON: metrics at and below it, and their bytes",
    )
    .takes("`query`"),
    Endpoint::new(
        GET,
        "/internal/stats",
        Role::Admin,
        || get(care::stats),
        "JSON: numbers about the whole store",
    )
    .of_the_whole_server(),
    Endpoint::new(
        GET,
        "/internal/quotas",
        Role::Admin,
        || get(quotas::list),
        "JSON: each limit of each quota, how much of it is used, and how many points were refused",
    )
    .of_the_whole_server(),
    Endpoint::new(
        GET,
        "/internal/queries",
        Role::Admin,
        || get(queries::calls::list),
        "JSON: the queries that run, the slowest, the most frequent, and the memory they use",
    )
    .of_the_whole_server(),
    Endpoint::new(
        POST,
        "/internal/queries/cancel",
        Role::Admin,
        || post(queries::calls::cancel),
        "cancels a query that runs",
    )
    .takes("`id`")
    .fails("404 if none of this number runs")
    .of_the_whole_server(),
    Endpoint::new(
        GET,
        "/internal/top",
        Role::Admin,
        || get(top::handle),
        "JSON: the busiest prefixes, the newest metrics, and those that are never read",
    )
    .takes("`below`, `depth`, `limit`"),
    Endpoint::new(
        POST,
        "/internal/backup",
        Role::Admin,
        || post(backup::make),
        "JSON: what was backed up, when it is complete",
    )
    .takes("`dir`")
    .fails("409 while another one is made")
    .of_the_whole_server(),
    Endpoint::new(
        GET,
        "/internal/backup",
        Role::Admin,
        || get(backup::state),
        "JSON: the backup that is being made, and how far it is",
    )
    .of_the_whole_server(),
    Endpoint::new(
        GET,
        "/internal/info",
        Role::Admin,
        || get(care::info),
        "JSON: what is known about a metric",
    )
    .takes("`name`")
    .fails("404 without it"),
    Endpoint::new(
        GET,
        "/internal/retention",
        Role::Admin,
        || get(retention::plan),
        "JSON: what the retention rules would do, as the files have them now",
    )
    .of_the_whole_server(),
    Endpoint::new(
        POST,
        "/internal/reload",
        Role::Admin,
        || post(retention::reload),
        "reads the rules again and puts them in force",
    )
    .fails("400 with file and line if one is bad, and nothing changes")
    .of_the_whole_server(),
];

const CARBONAPI: &[Endpoint] = &[
    Endpoint::new(
        EITHER,
        "/info",
        Role::Read,
        || either(carbonapi::info),
        "retentions, in carbonapi's protocol",
    )
    .takes("`format=carbonapi_v3_pb`; body: a message")
    .within(FIND),
    Endpoint::new(
        EITHER,
        "/_internal/capabilities",
        Role::None,
        || either(carbonapi::capabilities),
        "the protocols that carbonapi may use",
    ),
];
