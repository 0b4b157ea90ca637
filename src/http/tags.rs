//! `/tags`: which tags and values there are, and the series that have them.

use std::sync::Arc;

use axum::extract::Path;
use axum::http::Method;
use axum::response::Response;
use serde::Serialize;
use uuid::Uuid;

use super::call::Call;
use super::error::{Failure, JsonFailure};
use super::find::to_json;
use super::gate::{Audit, Seen};
use super::params::Params;
use super::reply::Wrapping;
use super::{Api, Backend, reply};
use crate::config;
use crate::index::{Asked, FindLimits, Sight};
use graphite_render::source::{TagQuery, TagQueryError, anchored};
use plumbago_model::{Cancel, Phase};

type Answer = Result<Response, JsonFailure>;
type Received = Result<Call, Failure>;
/// A test of a tag or a value.
type Filter = Box<dyn Fn(&str) -> bool>;

/// Bytes that an entry of a list takes, usually at most.
const NAME_BYTES: usize = 128;

#[derive(Serialize)]
struct Tag<'a> {
    id: u64,
    tag: &'a str,
}

#[derive(Serialize)]
struct Details<'a> {
    id: u64,
    tag: &'a str,
    values: Vec<Counted<'a>>,
}

#[derive(Serialize)]
struct Counted<'a> {
    id: u64,
    value: &'a str,
    count: u64,
}

/// `GET /tags`
pub(super) async fn list(Seen(api): Seen, call: Received) -> Answer {
    answered(&api, call, |ask| {
        let accept = ask.filter()?;
        let tags = ask.index()?.tags(&accept, ask.ceiling(), ask.cancel)?;
        ask.check("tags", tags.len())?;
        Ok(to_json(&tags.iter().map(|tag| Tag { id: id(tag), tag }).collect::<Vec<_>>()))
    })
    .await
}

/// `GET /tags/<tag>`
pub(super) async fn details(Seen(api): Seen, Path(tag): Path<String>, call: Received) -> Answer {
    answered(&api, call, move |ask| {
        let (tag, accept) = (tag.trim_end_matches('/'), ask.filter()?);
        let found = ask.index()?.tag_values(tag, "", &accept, ask.ceiling(), ask.cancel);
        let Some(values) = found? else { return Ok(to_json(&())) };
        ask.check("values", values.len())?;
        let values = values.iter().map(|(value, count)| Counted { id: id(value), value, count: *count });
        Ok(to_json(&Details { id: id(tag), tag, values: values.collect() }))
    })
    .await
}

/// `GET|POST /tags/findSeries`
pub(super) async fn find_series(Seen(api): Seen, call: Received) -> Answer {
    answered(&api, call, |ask| {
        let expressions = ask.params.all("expr");
        if expressions.is_empty() {
            return Err(Failure::Refused("no tag expressions specified".to_owned()));
        }
        let query = TagQuery::new(&expressions).map_err(wrong)?;
        let limits = FindLimits::names(ask.config.max_find_hits);
        let text = expressions.join(" ");
        let asked = Asked { text: &text, conditions: &query.conditions() };
        let found = ask.index()?.find_tagged(asked, limits, ask.cancel)?;
        query.check().map_err(wrong)?;
        ask.cancel.take(found.iter().map(|(_, name)| name.len() + NAME_BYTES).sum())?;
        Ok(to_json(&found.iter().map(|(_, name)| name).collect::<Vec<_>>()))
    })
    .await
}

/// `GET|POST /tags/autoComplete/tags`: tags of the series that fulfil the expressions, but for those in them.
pub(super) async fn complete_tags(Seen(api): Seen, call: Received) -> Answer {
    answered(&api, call, |ask| {
        let (expressions, limit) = (ask.params.all("expr"), ask.completions()?);
        let prefix = ask.params.get("tagPrefix").unwrap_or_default();
        let index = ask.index()?;
        if expressions.is_empty() {
            return Ok(to_json(&index.tags(&|tag| tag.starts_with(prefix), limit, ask.cancel)?));
        }
        let query = TagQuery::new(&expressions).map_err(wrong)?;
        let text = expressions.join(" ");
        let asked = Asked { text: &text, conditions: &query.conditions() };
        let found = index.complete_tags(asked, prefix, limit, ask.cancel)?;
        query.check().map_err(wrong)?;
        Ok(to_json(&found))
    })
    .await
}

/// `GET|POST /tags/autoComplete/values`: values of one tag of the series that fulfil the expressions.
pub(super) async fn complete_values(Seen(api): Seen, call: Received) -> Answer {
    answered(&api, call, |ask| {
        let Some(tag) = ask.params.get("tag").filter(|tag| !tag.is_empty()) else {
            return Err(Failure::Refused("no tag specified".to_owned()));
        };
        let limit = ask.completions()?;
        let prefix = ask.params.get("valuePrefix").unwrap_or_default();
        // The tag must be there, which is a condition like the others.
        let present = format!("{tag}!=");
        let mut expressions = ask.params.all("expr");
        expressions.push(&present);
        let query = TagQuery::new(&expressions).map_err(wrong)?;
        let text = expressions.join(" ");
        let asked = Asked { text: &text, conditions: &query.conditions() };
        let found = ask.index()?.complete_values(asked, tag, prefix, limit, ask.cancel);
        let found = found?;
        query.check().map_err(wrong)?;
        Ok(to_json(&found))
    })
    .await
}

/// `POST /tags/tagSeries`
pub(super) async fn tag_series(Seen(api): Seen, call: Received) -> Answer {
    answered(&api, call, |ask| {
        let Some(path) = ask.params.get("path").filter(|path| !path.is_empty()) else {
            return Err(Failure::Refused("no path specified".to_owned()));
        };
        Ok(to_json(&ask.backend.tag_series(&[path])?.first()))
    })
    .await
}

/// `POST /tags/tagMultiSeries`
pub(super) async fn tag_multi_series(Seen(api): Seen, call: Received) -> Answer {
    answered(&api, call, |ask| {
        let paths = ask.params.all("path");
        if paths.is_empty() {
            return Err(Failure::Refused("no paths specified".to_owned()));
        }
        Ok(to_json(&ask.backend.tag_series(&paths)?))
    })
    .await
}

/// `POST /tags/delSeries`
pub(super) async fn delete_series(Seen(api): Seen, audit: Audit, call: Received) -> Answer {
    answered(&api, call, move |ask| {
        let paths = ask.params.all("path");
        if paths.is_empty() {
            return Err(Failure::Refused("no path specified".to_owned()));
        }
        ask.backend.delete_series(&paths)?;
        audit.note("delSeries", &paths.join(" "), paths.len() as u64);
        Ok(to_json(&true))
    })
    .await
}

/// Any other method.
pub(super) async fn other_method(method: Method) -> JsonFailure {
    Failure::Method(method).into()
}

/// What a request asks for, and of whom.
struct Ask<'a> {
    params: &'a Params,
    config: &'a config::Query,
    backend: &'a dyn Backend,
    cancel: &'a Cancel,
    limit: Option<usize>,
}

impl Ask<'_> {
    fn index(&self) -> Result<Sight<'_>, Failure> {
        Ok(self.backend.index()?)
    }

    /// The test that `filter` asks for.
    fn filter(&self) -> Result<Filter, Failure> {
        Ok(match self.params.get("filter").filter(|filter| !filter.is_empty()) {
            Some(filter) => Box::new(anchored(filter).map_err(wrong)?),
            None => Box::new(|_| true),
        })
    }

    /// Entries of a list that are looked for: one more than are allowed tells that there are too many.
    fn ceiling(&self) -> usize {
        let most = self.config.max_find_hits.saturating_add(1);
        self.limit.filter(|&limit| limit > 0).unwrap_or(most).min(most)
    }

    fn check(&self, what: &str, count: usize) -> Result<(), Failure> {
        let most = self.config.max_find_hits;
        if count <= most {
            return Ok(self.cancel.take(count * NAME_BYTES)?);
        }
        Err(Failure::Limit(format!(
            "there are more than {most} {what}; give a filter or a limit, or raise query.max_find_hits"
        )))
    }

    fn completions(&self) -> Result<usize, Failure> {
        let limit = self.limit.unwrap_or(self.config.tag_completions);
        Ok(limit.min(self.config.max_find_hits))
    }
}

/// Runs the work of a request and answers with the JSON that it makes.
async fn answered<F>(api: &Arc<Api>, call: Received, work: F) -> Answer
where
    F: FnOnce(&Ask<'_>) -> Result<Vec<u8>, Failure> + Send + 'static,
{
    let Call { params, question, .. } = call?;
    let wrapping = Wrapping::plain(&params)?;
    let content_type = wrapping.content_type();
    let limit = limit(&params)?;
    let shared = Arc::clone(api);
    let run = move |cancel: &Cancel| {
        let (backend, config) = (&*shared.backend, &*shared.config);
        cancel.begin(Phase::Find);
        let json = work(&Ask { params: &params, config, backend, cancel, limit })?;
        let json = wrapping.apply(json);
        cancel.take(json.len())?;
        Ok(json)
    };
    let done = api.workers.run(&question, api.config.find_timeout, run).await;
    let done = done.inspect_err(|failure| failure.count_limit(&api.telemetry.find_limited))?;
    let mut response = done.reply(content_type);
    reply::never_cached(&mut response);
    Ok(response)
}

fn limit(params: &Params) -> Result<Option<usize>, Failure> {
    let Some(text) = params.get("limit").filter(|text| !text.is_empty()) else { return Ok(None) };
    let wrong = || Failure::Refused(format!("`limit` must be a whole number, not `{text}`"));
    text.trim().parse().map(Some).map_err(|_| wrong())
}

fn wrong(error: TagQueryError) -> Failure {
    Failure::Refused(error.to_string())
}

/// A number that goes with a text, on every server and after every restart: 52 bits of its hash.
fn id(text: &str) -> u64 {
    (Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes()).as_u128() >> 76) as u64
}
