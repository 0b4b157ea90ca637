//! `/render`: targets in, series out.

mod meta;
mod stream;

use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use jiff::Timestamp;

use super::call::Call;
use super::clock::Clock;
use super::error::Failure;
use super::gate::Seen;
use super::params::Params;
use super::reply::Wrapping;
use super::workers::Done;
use super::{Api, Backend, carbonapi, reply};
use graphite_render::output::{Document, Form, Line, csv, dygraph, json, raw, record, rickshaw};
use graphite_render::picture::{self, GraphType, Options};
use graphite_render::{BrokenTarget, Rendered, Request, Series, Source, render_readable};
use plumbago_model::{Cancel, Phase};

/// Names a target that could not be parsed, and says why. There is one header for each; the page (`render.js`) reads them.
pub(super) const BROKEN_TARGET: HeaderName = HeaderName::from_static("x-plumbago-broken-target");
/// Such headers in one answer.
const MAX_BROKEN_NAMED: usize = 8;
/// Characters of a target in such a header.
const MAX_TARGET_SHOWN: usize = 200;

/// Values that are worth a second thread to write them: a millisecond's work, against some ten microseconds to start it.
const WORTH_A_THREAD: usize = 32_768;

/// Bytes that a point takes in JSON, unless its value has many digits.
const USUAL_POINT_BYTES: usize = 20;

/// Bytes that a series takes in an answer beside its points and its name, with its tags.
const LINE_BYTES: usize = 512;

/// graphite-web's default.
const DEFAULT_CACHE_SECS: i64 = 60;

/// The formats a render can answer in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Csv,
    Raw,
    Dygraph,
    Rickshaw,
    Pickle,
    Msgpack,
    Picture(picture::Format),
}

/// What a render is asked for.
struct Ask {
    targets: Vec<String>,
    request: Request,
    format: Format,
    max_points: Option<usize>,
    skip_nulls: bool,
    /// Is it to tell what each series was read from?
    meta: bool,
    wrapping: Wrapping,
    /// What a picture looks like.
    options: Option<Options>,
}

/// `GET|POST /render`
pub(super) async fn handle(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    if let Some(message) = &call.message {
        return carbonapi::render(&api, &call.question, message).await;
    }
    let ask = Ask::read(&call.params, &api)?;
    let cache_secs = cache_secs(&call.params)?;
    tracing::debug!(targets = ?shortened(&ask.targets.join(" ")), "render");
    let content_type = ask.content_type();
    let backend = Arc::clone(&api.backend);
    let work = move |cancel: &Cancel| ask.answer(&*backend, cancel);
    let done = api.workers.render(&call.question, work).await;
    let Done { value, running } =
        done.inspect_err(|failure| failure.count_limit(&api.telemetry.render_limited))?;
    let report = running.query().report();
    let body = match value.text {
        Written::Whole(bytes) => running.body(bytes),
        Written::Later(text) => stream::body(*text, running),
    };
    let mut response = reply::body(StatusCode::OK, content_type, body);
    report.write_headers(&mut response);
    name_broken(&value.broken, &mut response);
    reply::cached_for(cache_secs, Timestamp::now(), &mut response);
    Ok(response)
}

/// For how long an answer may be kept: a minute, unless the client says otherwise.
fn cache_secs(params: &Params) -> Result<u32, Failure> {
    if params.get("noCache").is_some() {
        return Ok(0);
    }
    Ok(u32::try_from(params.int("cacheTimeout", DEFAULT_CACHE_SECS)?.max(0)).unwrap_or(u32::MAX))
}

/// An answer, and the targets that are not in it.
struct Drawn {
    text: Written,
    broken: Vec<BrokenTarget>,
}

/// What there is of an answer when its head is sent.
enum Written {
    /// All of it.
    Whole(Vec<u8>),
    /// The series, which are written while they are sent.
    Later(Box<stream::Text>),
}

/// Names the targets that could not be parsed in headers and in the log. The others were drawn, so the client sees no error.
fn name_broken(broken: &[BrokenTarget], response: &mut Response) {
    let Some(first) = broken.first() else { return };
    tracing::warn!(
        target_text = ?shortened(&first.target),
        reason = %first.reason,
        count = broken.len(),
        "a target cannot be read and is left out of the answer"
    );
    for BrokenTarget { target, reason } in broken.iter().take(MAX_BROKEN_NAMED) {
        let printable = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
        let text: String = format!("{}: {reason}", shortened(target)).chars().map(printable).collect();
        if let Ok(value) = HeaderValue::try_from(text) {
            response.headers_mut().append(BROKEN_TARGET, value);
        }
    }
}

/// Enough of a target to recognise it.
fn shortened(target: &str) -> String {
    let mut text: String = target.chars().take(MAX_TARGET_SHOWN).collect();
    if text.len() < target.len() {
        text.push_str("...");
    }
    text
}

impl Ask {
    fn read(params: &Params, api: &Api) -> Result<Self, Failure> {
        let format = format_of(params)?;
        let clock = Clock::of(params, &api.timezone)?;
        let (from, until) = clock.range(params)?;
        let template = params.keyed("template").map(|(name, value)| (name.to_owned(), value.to_owned()));
        let request = Request {
            x_files_factor: x_files_factor(params)?,
            template: template.collect(),
            max_points: api.config.max_points,
            tz: clock.tz,
            ..Request::new(from, until, clock.now)
        };
        GraphType::named(params.get("graphType")).map_err(Failure::Refused)?;
        let options = match format {
            Format::Picture(_) => Some(Options::read(&|name| params.get(name)).map_err(Failure::Refused)?),
            _ => None,
        };
        Ok(Self {
            options,
            targets: params.all("target").into_iter().map(str::to_owned).collect(),
            request,
            format,
            max_points: max_data_points(params),
            skip_nulls: params.get("noNullPoints").is_some(),
            meta: format == Format::Json
                && params.get("meta").is_some_and(|text| matches!(text, "true" | "1")),
            wrapping: Wrapping::plain(params)?,
        })
    }

    fn content_type(&self) -> &'static str {
        match self.format {
            Format::Json | Format::Dygraph | Format::Rickshaw => self.wrapping.content_type(),
            Format::Csv => "text/csv",
            Format::Raw => "text/plain",
            Format::Pickle => "application/pickle",
            Format::Msgpack => "application/x-msgpack",
            Format::Picture(picture::Format::Png) => "image/png",
            Format::Picture(picture::Format::Svg) => "image/svg+xml",
        }
    }

    fn answer(&self, backend: &dyn Backend, cancel: &Cancel) -> Result<Drawn, Failure> {
        if self.meta {
            return self.with_meta(backend, cancel);
        }
        let source = backend.source();
        if let (Format::Picture(format), Some(options)) = (self.format, &self.options) {
            return self.picture(format, options, source, cancel);
        }
        let Rendered { series, broken } = render_readable(&self.targets, &self.request, source, cancel)?;
        cancel.begin(Phase::Write);
        let text = match self.long_text(&series)? {
            Some(text) => {
                cancel.take(stream::PIECES_BYTES)?;
                Written::Later(Box::new(text))
            }
            None => {
                cancel.take(self.room(&series))?;
                Written::Whole(self.write(&series, cancel)?)
            }
        };
        Ok(Drawn { text, broken })
    }

    /// The answer as Metrictank gives it, with what each series was read from.
    fn with_meta(&self, backend: &dyn Backend, cancel: &Cancel) -> Result<Drawn, Failure> {
        let noting = meta::Noting::new(backend.source());
        let Rendered { series, broken } = render_readable(&self.targets, &self.request, &noting, cancel)?;
        cancel.begin(Phase::Write);
        cancel.take(self.room(&series))?;
        let lines = json::lines(&series, self.max_points)?;
        let text = meta::Meta::new(noting, backend, cancel).write(&series, &lines, self.skip_nulls)?;
        Ok(Drawn { text: Written::Whole(self.wrapping.apply(text)), broken })
    }

    /// The answer as a text that is written while it is sent, if it is a long one.
    fn long_text(&self, series: &[Series]) -> Result<Option<stream::Text>, Failure> {
        let form = match self.format {
            Format::Json => Form::Json { skip_nulls: self.skip_nulls },
            Format::Csv => Form::Csv(self.request.tz.clone()),
            _ => return Ok(None),
        };
        let around = match self.format {
            Format::Json => self.wrapping.around(["[", "]"]),
            _ => Some((String::new(), "")),
        };
        let Some((opening, closing)) = around else { return Ok(None) };
        // Clones share their values.
        let document =
            Document::new(series.to_vec(), form, self.max_points.filter(|_| self.format == Format::Json))?;
        let is_long = document.estimated_bytes() > stream::WORTH_STREAMING;
        Ok(is_long.then_some(stream::Text { document, opening, closing }))
    }

    /// Bytes that the answer takes when it is written as a whole, usually at most.
    fn room(&self, series: &[Series]) -> usize {
        let points: usize = series.iter().map(|series| series.values.len()).sum();
        let names: usize = series.iter().map(|series| LINE_BYTES + series.name.len()).sum();
        let named_rows = || series.iter().map(|series| series.values.len() * (series.name.len() + 32)).sum();
        let most = |points: usize| {
            self.max_points.map_or(points, |max| points.min(max.saturating_mul(series.len())))
        };
        let text: usize = match self.format {
            Format::Json => most(points) * 40,
            Format::Rickshaw => points * 40,
            Format::Csv => named_rows(),
            Format::Raw | Format::Pickle | Format::Msgpack => points * 20,
            // Every row has a place for each series.
            Format::Dygraph => {
                series.first().map_or(0, |first| first.values.len()).saturating_mul(series.len() * 16)
            }
            Format::Picture(_) => points * 32 + self.options.as_ref().map_or(0, Options::room),
        };
        // Each wrapping makes a copy.
        names.saturating_add(text).saturating_mul(self.wrapping.copies())
    }

    fn write(&self, series: &[Series], cancel: &Cancel) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        match self.format {
            Format::Json => {
                write_halves(&mut out, &json::lines(series, self.max_points)?, self.skip_nulls);
                out = self.wrapping.apply(out);
            }
            Format::Dygraph => {
                dygraph::write(&mut out, &Line::all(series), cancel)?;
                out = self.wrapping.apply(out);
            }
            Format::Rickshaw => {
                rickshaw::write(&mut out, &Line::all(series), cancel)?;
                out = self.wrapping.apply(out);
            }
            Format::Pickle => out = record::pickle(series, cancel)?,
            Format::Msgpack => out = record::msgpack(series, cancel)?,
            Format::Picture(_) => {}
            Format::Csv => csv::write(&mut out, &Line::all(series), &self.request.tz),
            Format::Raw => raw::write(&mut out, &Line::all(series), cancel)?,
        }
        Ok(out)
    }

    /// A pie may have slices that are plain numbers: `name:12.5`.
    fn picture(
        &self,
        format: picture::Format,
        options: &Options,
        source: &dyn Source,
        cancel: &Cancel,
    ) -> Result<Drawn, Failure> {
        let number = |target: &String| match options.graph_type {
            GraphType::Pie => target.rsplit_once(':').and_then(|(_, size)| size.trim().parse::<f64>().ok()),
            GraphType::Line => None,
        };
        let (plain, targets): (Vec<String>, Vec<String>) =
            self.targets.iter().cloned().partition(|target| number(target).is_some());
        let mut series: Vec<Series> = plain
            .iter()
            .filter_map(|target| Some((target.rsplit_once(':')?.0, number(target)?)))
            .map(|(name, size)| Series::new(name, (0, 1, 1), vec![size], 0.0))
            .collect();
        let rendered = render_readable(&targets, &self.request, source, cancel)?;
        series.extend(rendered.series);
        cancel.begin(Phase::Write);
        cancel.take(self.room(&series))?;
        let picture = picture::draw(&series, options, &self.request.tz, format, cancel)?;
        Ok(Drawn { text: Written::Whole(picture), broken: rendered.broken })
    }
}

/// Formatting numbers is most of the work of a large render, so two threads share it.
fn write_halves(out: &mut Vec<u8>, lines: &[Line<'_>], skip_nulls: bool) {
    let values: usize = lines.iter().map(|line| line.values.len()).sum();
    if values < WORTH_A_THREAD || lines.len() < 2 {
        return json::write(out, lines, skip_nulls);
    }
    let (left, right) = lines.split_at(lines.len() / 2);
    out.reserve(values * USUAL_POINT_BYTES + lines.len() * LINE_BYTES);
    out.push(b'[');
    let begin = out.len();
    let mut other = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| json::write_lines(&mut other, right, skip_nulls));
        json::write_lines(out, left, skip_nulls);
    });
    if out.len() > begin && !other.is_empty() {
        out.push(b',');
    }
    out.append(&mut other);
    out.push(b']');
}

fn format_of(params: &Params) -> Result<Format, Failure> {
    let name = match params.get("format") {
        Some(name) => name,
        None if params.get("rawData").is_some() => "raw",
        None if params.get("pickle").is_some() => "pickle",
        None => "png",
    };
    match name {
        "json" => Ok(Format::Json),
        "csv" => Ok(Format::Csv),
        "raw" => Ok(Format::Raw),
        "dygraph" => Ok(Format::Dygraph),
        "rickshaw" => Ok(Format::Rickshaw),
        "pickle" => Ok(Format::Pickle),
        "msgpack" => Ok(Format::Msgpack),
        "png" | "" => Ok(Format::Picture(picture::Format::Png)),
        "svg" => Ok(Format::Picture(picture::Format::Svg)),
        _ => Err(Failure::Refused(format!(
            "the format `{name}` is not available; use json, csv, raw, dygraph, rickshaw, pickle, msgpack, png or svg"
        ))),
    }
}

/// Digits only; anything else counts as not given, as in graphite-web, and so does the 0 that it stumbles over.
fn max_data_points(params: &Params) -> Option<usize> {
    let text = params.get("maxDataPoints")?;
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|&max| digits && max > 0)
}

fn x_files_factor(params: &Params) -> Result<f64, Failure> {
    let Some(text) = params.get("xFilesFactor") else { return Ok(0.0) };
    text.trim().parse().ok().filter(|xff: &f64| xff.is_finite()).ok_or_else(|| {
        Failure::Invalid(format!("parameter `xFilesFactor` must be a number such as 0.5, not `{text}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_write_what_one_writes() {
        let values = |nth: usize| match nth {
            1 => vec![f64::NAN; WORTH_A_THREAD],
            _ => (0..WORTH_A_THREAD).map(|i| i as f64 / 7.0).collect(),
        };
        for count in [2, 3, 4] {
            let series: Vec<Series> = (0..count)
                .map(|nth| {
                    Series::new(format!("s{nth}"), (0, WORTH_A_THREAD as i64 * 60, 60), values(nth), 0.0)
                })
                .collect();
            for (skip_nulls, range) in [(false, 0..count), (true, 0..count), (true, 1..count)] {
                let lines = Line::all(&series[range]);
                let (mut one, mut two) = (Vec::new(), Vec::new());
                json::write(&mut one, &lines, skip_nulls);
                write_halves(&mut two, &lines, skip_nulls);
                assert!(one == two, "{count} series, skip_nulls {skip_nulls}");
            }
        }
    }
}
