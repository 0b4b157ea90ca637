//! What an operator sees of a query, while it runs and afterwards.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Question;
use plumbago_model::Phase;

/// Headers of an answer to `/render`; pages elsewhere may read them, too.
pub(in crate::http) const SERIES: HeaderName = HeaderName::from_static("x-plumbago-series");
pub(in crate::http) const POINTS: HeaderName = HeaderName::from_static("x-plumbago-points");
pub(in crate::http) const MEMORY: HeaderName = HeaderName::from_static("x-plumbago-memory");
pub(in crate::http) const MILLIS: HeaderName = HeaderName::from_static("x-plumbago-millis");

/// What an operator sees of a query.
#[derive(Clone, Debug)]
pub(in crate::http) struct Report {
    pub(super) id: u64,
    pub(super) question: Arc<Question>,
    pub(super) started: Timestamp,
    pub(super) phase: Phase,
    /// How it ended, if it has.
    pub(super) outcome: Option<&'static str>,
    /// Time by phase, in the order of `Phase::ALL`.
    pub(super) spent: [Duration; Phase::ALL.len()],
    /// Series and points that were read from the store.
    pub(super) series: u64,
    pub(super) points: u64,
    /// Bytes of the answer.
    pub(super) bytes: u64,
    /// The most memory that it had at a time.
    pub(super) memory: u64,
}

impl Report {
    /// How long the server took. The time in which the client takes the answer is the client's.
    pub(super) fn took(&self) -> Duration {
        self.spent.iter().sum::<Duration>().saturating_sub(self.spent(Phase::Send))
    }

    /// The time that one phase took.
    pub(super) fn spent(&self, phase: Phase) -> Duration {
        self.spent[phase as usize]
    }

    fn phases(&self) -> impl Iterator<Item = (Phase, Duration)> {
        Phase::ALL.into_iter().map(|phase| (phase, self.spent(phase)))
    }

    /// For `/internal/queries`.
    pub(super) fn json(&self) -> Value {
        let Question { endpoint, text, user, origin, .. } = &*self.question;
        let phases: Map<String, Value> =
            self.phases().map(|(phase, spent)| (phase.name().to_owned(), millis(spent).into())).collect();
        json!({
            "id": self.id,
            "endpoint": endpoint,
            "query": text,
            "user": user.as_deref(),
            "client": origin.client.map(|address| address.to_string()),
            "org": origin.org,
            "dashboard": origin.dashboard,
            "panel": origin.panel,
            "trace": origin.trace,
            "started": self.started.as_second(),
            "phase": self.outcome.is_none().then(|| self.phase.name()),
            "outcome": self.outcome,
            "ms": millis(self.took()),
            "ms_by_phase": phases,
            "series": self.series,
            "points": self.points,
            "bytes": self.bytes,
            "memory": self.memory,
        })
    }

    /// Tells in headers what the query took until now.
    pub(in crate::http) fn write_headers(&self, response: &mut Response) {
        let so_far = [Phase::Wait, Phase::Plan, Phase::Find, Phase::Fetch, Phase::Functions, Phase::Write];
        let times: Vec<String> =
            so_far.iter().map(|phase| format!("{}={}", phase.name(), millis(self.spent(*phase)))).collect();
        let headers = response.headers_mut();
        headers.insert(SERIES, self.series.into());
        headers.insert(POINTS, self.points.into());
        headers.insert(MEMORY, self.memory.into());
        if let Ok(times) = HeaderValue::try_from(times.join(", ")) {
            headers.insert(MILLIS, times);
        }
    }
}

/// With three decimals.
pub(super) fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}
