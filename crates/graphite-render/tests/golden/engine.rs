//! The render engine over the data set.

use std::sync::LazyLock;

use graphite_render::output::json;
use graphite_render::time::parse_time;
use graphite_render::{Cancel, MemorySource, RenderError, Request, render_readable};
use jiff::tz::TimeZone;

use super::case::Options;
use super::{data, read};

/// One for all tests; it stays as it is.
static SOURCE: LazyLock<MemorySource> = LazyLock::new(source);

fn source() -> MemorySource {
    let text = read("data");
    let mut source = MemorySource::new();
    for stored in data::series(&text) {
        source.insert(stored.name, stored.first, stored.step, stored.values);
    }
    data::events(&text).into_iter().for_each(|event| source.insert_event(event));
    source
}

/// The body of an answer as JSON.
pub(crate) fn json(options: &Options) -> Result<String, RenderError> {
    let targets: Vec<String> =
        options.iter().filter(|(key, _)| key == "target").map(|(_, target)| target.clone()).collect();
    let rendered = render_readable(&targets, &request(options), &*SOURCE, &Cancel::never())?;
    let max_points = option(options, "maxDataPoints").map(|text| text.parse().expect("a number of points"));
    let skip_nulls = option(options, "noNullPoints").is_some();
    let mut body = Vec::new();
    json::write_series(&mut body, &rendered.series, max_points, skip_nulls)?;
    Ok(String::from_utf8(body).expect("JSON is UTF-8"))
}

/// What a server reads from the parameters of a request. How it reads odd ones is its own business.
fn request(options: &Options) -> Request {
    let tz = option(options, "tz").map_or(TimeZone::UTC, |name| TimeZone::get(name).expect("a zone"));
    let now = option(options, "now").expect("now is set").parse().expect("now is epoch");
    let time = |name: &str| parse_time(option(options, name).expect("a time"), now, &tz).expect("a time");
    let (from, until) = (time("from"), time("until"));
    let x_files_factor = option(options, "xFilesFactor").map_or(0.0, |text| text.parse().expect("a number"));
    let variable = |(key, value): &(String, String)| {
        let name = key.strip_prefix("template[")?.strip_suffix(']')?;
        Some((name.to_owned(), value.clone()))
    };
    let template = options.iter().filter_map(variable).collect();
    Request { tz, x_files_factor, template, ..Request::new(from, until, now) }
}

fn option<'a>(options: &'a Options, name: &str) -> Option<&'a str> {
    options.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}
