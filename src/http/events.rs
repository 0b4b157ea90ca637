//! `/events`: what happened when. Grafana shows it as annotations.

use std::sync::Arc;

use axum::extract::Path;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::call::{Call, Posted};
use super::clock::Clock;
use super::error::{Asked, Failure, JsonFailure};
use super::find::to_json;
use super::gate::Seen;
use super::reply::Wrapping;
use super::{Api, document, reply};
use plumbago_model::{Cancel, Event, EventFilter, EventId, Phase, QueryError, TagFilter};

/// An event in a list. Grafana is strict about the types, and its browsers about the order.
#[derive(Serialize)]
struct Listed<'a> {
    when: u32,
    what: &'a str,
    data: &'a str,
    tags: &'a [String],
    id: u64,
}

/// An event by itself: graphite-web writes its time out here.
#[derive(Serialize)]
struct Detail<'a> {
    id: u64,
    when: String,
    what: &'a str,
    data: &'a str,
    tags: &'a [String],
}

/// `POST /events/`: answered when the event is durable.
pub(super) async fn add(Seen(api): Seen, posted: Result<Posted, Failure>) -> Result<Response, JsonFailure> {
    let read = async {
        let posted = posted?;
        let _lent = document::lend(&api, &posted.bytes).await?;
        Ok::<_, Failure>((read(&posted.bytes, Timestamp::now().as_second())?, posted))
    };
    let (event, posted) = read.await.inspect_err(|_| api.telemetry.events_refused.add(1))?;
    let backend = Arc::clone(&api.backend);
    let work = move |_: &Cancel| {
        let (bytes, limit) = (event.bytes(), backend.max_event_bytes());
        if bytes > limit {
            let text = format!("the event has {bytes} bytes of text; ingest.max_event_bytes allows {limit}");
            return Err(Failure::TooLong(text));
        }
        backend.add_event(&event).map_err(failed)
    };
    let added = api.workers.run(&posted.question, api.config.find_timeout, work).await;
    match &added {
        Ok(_) => api.telemetry.events_stored.add(1),
        Err(Failure::TooLong(_)) => api.telemetry.events_refused.add(1),
        Err(_) => {}
    }
    added?;
    Ok(reply::body(StatusCode::OK, "text/html; charset=utf-8", ""))
}

/// `GET|POST /events/get_data`, `GET /events/`
pub(super) async fn list(Seen(api): Seen, call: Result<Call, Failure>) -> Result<Response, JsonFailure> {
    let call = call?;
    let wrapping = Wrapping::plain(&call.params)?;
    let filter = filter(&call, &api)?;
    let backend = Arc::clone(&api.backend);
    let content_type = wrapping.content_type();
    let work = move |cancel: &Cancel| {
        cancel.begin(Phase::Fetch);
        let events = backend.events(&filter, cancel).map_err(failed)?;
        cancel.begin(Phase::Write);
        let listed = events.iter().map(|(id, event)| {
            let Event { when, what, tags, data } = event;
            Listed { when: *when, what, data, tags, id: id.0 }
        });
        let json = wrapping.apply(to_json(&listed.collect::<Vec<_>>()));
        cancel.take(json.len())?;
        Ok(json)
    };
    let done = api.workers.run(&call.question, api.config.find_timeout, work).await;
    let done = done.inspect_err(|failure| failure.count_limit(&api.telemetry.events_limited))?;
    let mut response = done.reply(content_type);
    reply::never_cached(&mut response);
    Ok(response)
}

/// `GET /events/<id>`
pub(super) async fn one(
    Seen(api): Seen,
    Path(id): Path<String>,
    call: Result<Call, Failure>,
) -> Result<Response, JsonFailure> {
    let call = call?;
    let wrapping = Wrapping::plain(&call.params)?;
    let backend = Arc::clone(&api.backend);
    let number = id.parse().map(EventId).ok();
    let work = move |_: &Cancel| match number {
        Some(id) => Ok(backend.event(id).map_err(failed)?.map(|event| (id, event))),
        None => Ok(None),
    };
    let done = api.workers.run(&call.question, api.config.find_timeout, work).await?;
    let Some((id, Event { when, what, tags, data })) = done.value else {
        return Err(Failure::NotFound(format!("there is no event {id}")).into());
    };
    let when = Timestamp::from_second(when.into()).map_or_else(|_| String::new(), |time| time.to_string());
    let detail = Detail { id: id.0, when, what: &what, data: &data, tags: &tags };
    let json = wrapping.apply(to_json(&detail));
    let mut response = reply::body(StatusCode::OK, wrapping.content_type(), done.running.body(json));
    reply::never_cached(&mut response);
    Ok(response)
}

fn failed(error: QueryError) -> Failure {
    Failure::of(error, Asked::Events)
}

/// Any other method.
pub(super) async fn other_method(method: Method) -> JsonFailure {
    Failure::Method(method).into()
}

/// Which events a request asks for: up to now, unless it says otherwise.
fn filter(call: &Call, api: &Api) -> Result<EventFilter, Failure> {
    let params = &call.params;
    let clock = Clock::of(params, &api.timezone)?;
    let from = clock.time(params, "from")?.unwrap_or(0);
    let until = clock.time(params, "until")?.unwrap_or(clock.now);
    let tags = match (params.get("tags").map(Event::tags_of), params.get("set")) {
        (None, _) => TagFilter::Whatever,
        (Some(tags), Some("union")) => TagFilter::OneOf(tags),
        (Some(tags), _) => TagFilter::All(tags),
    };
    Ok(EventFilter::between(from, until, tags))
}

/// The event that a body tells of.
pub(super) fn read(body: &[u8], now: i64) -> Result<Event, Failure> {
    let refused = |text: String| Failure::Refused(text);
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(body) else {
        let text = r#"an event is a JSON object, such as {"what": "deploy", "tags": ["web"], "data": "v2"}"#;
        return Err(refused(text.to_owned()));
    };
    let mut field = |name: &str| fields.remove(name).filter(|value| !value.is_null());
    let when = field("when").map_or(Some(now as f64), |when| when.as_f64()).map(f64::floor);
    // The range of an id, and of every time in the stores.
    let Some(when) = when.filter(|when| (0.0..=f64::from(u32::MAX)).contains(when)) else {
        return Err(refused(r#""when" must be a number of seconds since 1970, before 2106"#.to_owned()));
    };
    let what = match field("what") {
        Some(Value::String(what)) => what,
        Some(Value::Number(what)) => what.to_string(),
        _ => return Err(refused(r#""what" must be a text that says what happened"#.to_owned())),
    };
    let data = match field("data") {
        None => String::new(),
        Some(Value::String(data)) => data,
        // Deployment tools put objects here; they come back as text.
        Some(other) => other.to_string(),
    };
    Ok(Event { when: when as u32, what, tags: tags(field("tags"))?, data })
}

/// A tag with blanks in it is several, since that is how they are asked for.
fn tags(value: Option<Value>) -> Result<Vec<String>, Failure> {
    let text = match &value {
        None => Some(String::new()),
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(list)) => {
            list.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|tags| tags.join(" "))
        }
        Some(_) => None,
    };
    let wrong = || Failure::Refused(r#""tags" must be an array or space-separated string"#.to_owned());
    text.map(|text| Event::tags_of(&text)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(body: &str) -> Result<Event, Failure> {
        read(body.as_bytes(), 1000)
    }

    #[test]
    fn a_body_says_what_when_and_how_it_is_tagged() {
        let full = event(r#"{"what":"Deploy","tags":["web","prod a"],"when":12.9,"data":"v2"}"#).unwrap();
        assert_eq!(
            full,
            Event {
                when: 12,
                what: "Deploy".to_owned(),
                tags: Event::tags_of("web prod a"),
                data: "v2".to_owned(),
            }
        );
        let short = event(r#"{"what":"x","tags":" a  b ","when":null}"#).unwrap();
        assert_eq!((short.when, short.tags, short.data), (1000, Event::tags_of("a b"), String::new()));
        let odd = event(r#"{"what":5,"data":{"a":[1]},"more":1}"#).unwrap();
        assert_eq!((odd.what, odd.data, odd.tags), ("5".to_owned(), r#"{"a":[1]}"#.to_owned(), vec![]));
    }

    #[test]
    fn what_is_no_event_is_refused_with_a_reason() {
        for (body, part) in [
            ("", "JSON object"),
            ("[]", "JSON object"),
            ("what=x", "JSON object"),
            ("{}", "\"what\""),
            (r#"{"what":null}"#, "\"what\""),
            (r#"{"what":{}}"#, "\"what\""),
            (r#"{"what":"x","tags":5}"#, "\"tags\" must be an array or space-separated string"),
            (r#"{"what":"x","tags":["a",5]}"#, "\"tags\""),
            (r#"{"what":"x","when":"now"}"#, "\"when\""),
            (r#"{"what":"x","when":-1}"#, "\"when\""),
            (r#"{"what":"x","when":4294967296}"#, "\"when\""),
        ] {
            let error = event(body).unwrap_err().to_string();
            assert!(error.contains(part), "{body}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_body_is_read_or_refused(body in "\\PC{0,60}") {
            let _ = event(&body);
        }
    }
}
