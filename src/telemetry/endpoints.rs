//! What is counted of HTTP requests, by endpoint.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;

use super::Counter;
use super::histogram::{Durations, Histogram};
use super::text::Text;

const SECONDS: (&str, &str) = (
    "plumbago_http_request_seconds",
    "Time from the head of a request to the head of its answer, by endpoint.",
);
const ANSWERS: (&str, &str) = (
    "plumbago_http_answers_total",
    "Answers by endpoint and class of status; `abandoned` if the client left before.",
);

/// The label of a status, by its first digit. A request without a status was abandoned.
const CLASSES: [&str; 6] = ["abandoned", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// Requests of every endpoint that was asked so far.
///
/// An endpoint is the template of a route, such as `/events/{id}`, never the path of a request: there are as many as the server
/// has routes. A request takes a read lock and adds to two atomics; only the first one of an endpoint takes the write lock.
#[derive(Debug, Default)]
pub struct Endpoints {
    by_template: RwLock<BTreeMap<Box<str>, Arc<Endpoint>>>,
}

#[derive(Debug, Default)]
struct Endpoint {
    seconds: Histogram,
    answers: [Counter; CLASSES.len()],
}

impl Endpoints {
    /// Counts a request. `status` is `None` if its client left before there was one.
    pub fn record(&self, template: &str, status: Option<u16>, took: Duration) {
        let known = self.by_template.read().get(template).map(Arc::clone);
        let endpoint =
            known.unwrap_or_else(|| Arc::clone(self.by_template.write().entry(template.into()).or_default()));
        endpoint.seconds.observe(took);
        let class = status.map_or(0, |status| usize::from(status / 100));
        if let Some(answers) = endpoint.answers.get(class) {
            answers.add(1);
        }
    }

    /// How long the requests of an endpoint took.
    pub fn durations(&self, template: &str) -> Durations {
        self.by_template.read().get(template).map(|endpoint| endpoint.seconds.read()).unwrap_or_default()
    }

    pub(super) fn write(&self, text: &mut Text) {
        let endpoints = self.by_template.read().clone();
        text.family("histogram", SECONDS.0, SECONDS.1);
        for (template, endpoint) in &endpoints {
            endpoint.seconds.read().write(text, SECONDS.0, ("endpoint", template));
        }
        text.family("counter", ANSWERS.0, ANSWERS.1);
        for (template, endpoint) in &endpoints {
            // No handler answers with 1xx.
            for (class, answers) in
                CLASSES.iter().zip(&endpoint.answers).filter(|(class, _)| **class != "1xx")
            {
                text.sample(ANSWERS.0, &[("endpoint", template), ("status", class)], answers.get());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_endpoint_and_class() {
        let endpoints = Endpoints::default();
        let mut nothing = Text::new();
        endpoints.write(&mut nothing);
        assert!(nothing.finish().lines().all(|line| line.starts_with('#')), "no samples before a request");
        for status in [Some(200), Some(204), Some(404), Some(503), None] {
            endpoints.record("/render", status, Duration::from_millis(20));
        }
        endpoints.record("/events/{id}", Some(999), Duration::ZERO);
        let mut text = Text::new();
        endpoints.write(&mut text);
        let text = text.finish();
        for (class, count) in [("2xx", 2), ("3xx", 0), ("4xx", 1), ("5xx", 1), ("abandoned", 1)] {
            let line =
                format!("plumbago_http_answers_total{{endpoint=\"/render\",status=\"{class}\"}} {count}\n");
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
        assert!(text.contains("plumbago_http_request_seconds_count{endpoint=\"/render\"} 5\n"), "{text}");
        assert!(
            text.contains("plumbago_http_request_seconds_count{endpoint=\"/events/{id}\"} 1\n"),
            "{text}"
        );
        assert_eq!(endpoints.durations("/render").count(), 5);
        assert_eq!(endpoints.durations("/tags").count(), 0);
    }
}
