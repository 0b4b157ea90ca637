//! The files of the pages. They are part of the binary, and a name that is not in the table leads nowhere: no path of a request
//! ever reaches a file system.

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::http::error::Failure;
use crate::http::reply;

/// Everything comes from this server, and no text on the page can become a script or a style.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                                       connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'";

/// The forms to log in and out need to say where they come from, which `no-referrer` would keep from our own server, too.
const REFERRER_POLICY: &str = "same-origin";

const GUARDS: [(HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, REFERRER_POLICY),
];

/// One file.
struct Asset {
    name: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

macro_rules! assets {
    ($($name:literal: $content_type:literal,)*) => {
        &[$(Asset {
            name: $name,
            content_type: $content_type,
            bytes: include_bytes!(concat!("page/", $name)),
        },)*]
    };
}

static PAGE: Asset = Asset {
    name: "index.html",
    content_type: "text/html; charset=utf-8",
    bytes: include_bytes!("page/index.html"),
};

/// The page for operators.
static OPERATE: Asset = Asset {
    name: "operate.html",
    content_type: "text/html; charset=utf-8",
    bytes: include_bytes!("page/operate.html"),
};

/// The form to log in, with a place for what went wrong.
static LOGIN: &str = include_str!("page/login.html");
const PLACE: &str = "<!-- what went wrong -->";

static ASSETS: &[Asset] = assets! {
    "icon.svg": "image/svg+xml",
    "style.css": "text/css; charset=utf-8",
    "uPlot.min.css": "text/css; charset=utf-8",
    "operate.css": "text/css; charset=utf-8",
    "uPlot.iife.min.js": "text/javascript; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "axis.js": "text/javascript; charset=utf-8",
    "cardinality.js": "text/javascript; charset=utf-8",
    "changes.js": "text/javascript; charset=utf-8",
    "clock.js": "text/javascript; charset=utf-8",
    "columns.js": "text/javascript; charset=utf-8",
    "completion.js": "text/javascript; charset=utf-8",
    "dom.js": "text/javascript; charset=utf-8",
    "drawing.js": "text/javascript; charset=utf-8",
    "events.js": "text/javascript; charset=utf-8",
    "expression.js": "text/javascript; charset=utf-8",
    "graph.js": "text/javascript; charset=utf-8",
    "health.js": "text/javascript; charset=utf-8",
    "history.js": "text/javascript; charset=utf-8",
    "keys.js": "text/javascript; charset=utf-8",
    "legend.js": "text/javascript; charset=utf-8",
    "lines.js": "text/javascript; charset=utf-8",
    "metric.js": "text/javascript; charset=utf-8",
    "names.js": "text/javascript; charset=utf-8",
    "operate.js": "text/javascript; charset=utf-8",
    "options.js": "text/javascript; charset=utf-8",
    "paint.js": "text/javascript; charset=utf-8",
    "plot.js": "text/javascript; charset=utf-8",
    "points.js": "text/javascript; charset=utf-8",
    "prometheus.js": "text/javascript; charset=utf-8",
    "queries.js": "text/javascript; charset=utf-8",
    "range.js": "text/javascript; charset=utf-8",
    "render.js": "text/javascript; charset=utf-8",
    "retention.js": "text/javascript; charset=utf-8",
    "rules.js": "text/javascript; charset=utf-8",
    "saved.js": "text/javascript; charset=utf-8",
    "search.js": "text/javascript; charset=utf-8",
    "server.js": "text/javascript; charset=utf-8",
    "share.js": "text/javascript; charset=utf-8",
    "sheet.js": "text/javascript; charset=utf-8",
    "sidebar.js": "text/javascript; charset=utf-8",
    "spark.js": "text/javascript; charset=utf-8",
    "state.js": "text/javascript; charset=utf-8",
    "status.js": "text/javascript; charset=utf-8",
    "suggestion.js": "text/javascript; charset=utf-8",
    "table.js": "text/javascript; charset=utf-8",
    "targets.js": "text/javascript; charset=utf-8",
    "theme.js": "text/javascript; charset=utf-8",
    "tip.js": "text/javascript; charset=utf-8",
    "tree.js": "text/javascript; charset=utf-8",
    "units.js": "text/javascript; charset=utf-8",
    "welcome.js": "text/javascript; charset=utf-8",
    "words.js": "text/javascript; charset=utf-8",
};

/// `GET /`
pub(in crate::http) async fn page(headers: HeaderMap) -> Response {
    PAGE.answer(&headers)
}

/// `GET /operate`
pub(in crate::http) async fn operate(headers: HeaderMap) -> Response {
    OPERATE.answer(&headers)
}

/// The form to log in, and what was wrong with the last attempt.
pub(in crate::http) fn login_page(status: StatusCode, wrong: &str) -> Response {
    let wrong = wrong.replace('&', "&amp;").replace('<', "&lt;");
    let mut response = reply::body(status, PAGE.content_type, LOGIN.replace(PLACE, &wrong));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in GUARDS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// `GET /browser/<name>`
pub(in crate::http) async fn asset(
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    let asset = found.ok_or_else(|| Failure::NotFound("the metric browser has no such file".to_owned()))?;
    Ok(asset.answer(&headers))
}

impl Asset {
    /// The file, or 304 for a client that has it. Names stay when contents change, so every use asks whether they did.
    fn answer(&self, headers: &HeaderMap) -> Response {
        let tag = format!("\"{:08x}\"", crc32c::crc32c(self.bytes));
        let known = headers.get_all(header::IF_NONE_MATCH).iter();
        let unchanged = known.filter_map(|value| value.to_str().ok()).any(|value| value.contains(&tag));
        let mut response = match unchanged {
            true => reply::body(StatusCode::NOT_MODIFIED, self.content_type, Body::empty()),
            false => reply::body(StatusCode::OK, self.content_type, self.bytes),
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(header::ETAG, tag);
        }
        for (name, value) in GUARDS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_page_is_served_and_every_script_is_preloaded() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/browser/page");
        let pages = [&PAGE, &OPERATE].map(|page| std::str::from_utf8(page.bytes).unwrap());
        for entry in std::fs::read_dir(directory).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".html") || name.contains("LICENSE") {
                continue;
            }
            assert!(ASSETS.iter().any(|asset| asset.name == name), "{name} is not in the table");
            let named = format!("\"browser/{name}\"");
            assert!(pages.iter().any(|page| page.contains(&named)), "{name} is in none of the pages");
        }
    }

    #[test]
    fn the_page_asks_nobody_else() {
        for asset in ASSETS.iter().chain([&PAGE, &OPERATE]) {
            let text = String::from_utf8_lossy(asset.bytes);
            let elsewhere = text.split(['"', '\'', '`', '(', ' ']).find(|word| {
                word.starts_with("https://") || word.starts_with("http://") && !word.contains("www.w3.org")
            });
            assert_eq!(elsewhere.filter(|_| !asset.name.contains("min")), None, "{}", asset.name);
        }
    }
}
