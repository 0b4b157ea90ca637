//! Carbon's cache queries: graphite-web asks a cache for points that are not in its files yet.
//!
//! Frames in both directions, as for points: a pickled dictionary in, a pickled dictionary out, in the order of the queries.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use serde::Serialize;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::frames::Frames;
use super::intake::Intake;
use super::stop::{Phase, Stop};
use super::tcp::Service;
use super::wire::Wire;
use crate::parse::pickle::Request;
use plumbago_model::Point;

/// Access to the points in memory.
pub trait Recent: Send + Sync + 'static {
    /// The points of a metric that are not in the store yet, by time; none if the metric does not exist.
    fn recent(&self, metric: &str) -> Vec<Point>;

    /// How a metric is aggregated, in carbon's words; `None` if the metric does not exist.
    fn aggregation(&self, metric: &str) -> Option<String>;
}

/// The connections that send cache queries.
pub(super) struct Questions(Arc<dyn Recent>);

impl Questions {
    pub(super) fn new(recent: Arc<dyn Recent>) -> Self {
        Self(recent)
    }
}

/// An answer.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Answer {
    Points {
        datapoints: Vec<(u32, f64)>,
    },
    PointsOf {
        #[serde(rename = "datapointsByMetric")]
        datapoints_by_metric: BTreeMap<String, Vec<(u32, f64)>>,
    },
    Value {
        value: String,
    },
    Error {
        error: String,
    },
}

impl Service for Questions {
    async fn serve(&self, mut stream: TcpStream, intake: Arc<Intake>, mut stop: Stop) {
        let mut frames = Frames::new(intake.config.max_frame_bytes);
        let idle = intake.idle_limit();
        // Closing at once loses nothing: a client without an answer asks elsewhere.
        while stop.phase() == Phase::Running {
            let read = tokio::select! {
                biased;
                () = stop.changed() => return,
                read = tokio::time::timeout(idle, Wire::read(&mut stream, &intake.buffers)) => read,
            };
            let (loan, len) = match read {
                Ok(Ok((loan, len))) if len > 0 => (loan, len),
                Ok(_) => return,
                Err(_) => {
                    intake.telemetry.connections_idle_closed.add(1);
                    return;
                }
            };
            let bytes = loan.bytes.get(..len).unwrap_or_default();
            if let Err(error) = self.answer(bytes, &mut frames, &mut stream, &intake).await {
                tracing::debug!(%error, "a cache query connection ended");
                return;
            }
        }
    }
}

impl Questions {
    /// Answers every query that `read` completes.
    async fn answer(
        &self,
        mut read: &[u8],
        frames: &mut Frames,
        stream: &mut TcpStream,
        intake: &Intake,
    ) -> io::Result<()> {
        loop {
            let frame = match frames.next(&mut read) {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(()),
                Err(too_large) => {
                    intake.telemetry.cache_query_errors.add(1);
                    let text =
                        format!("a question of {} bytes is over ingest.max_frame_bytes", too_large.bytes);
                    return Err(io::Error::other(text));
                }
            };
            let request = Request::read(frame);
            let recent = Arc::clone(&self.0);
            // A query may ask for many metrics, and a cut may hold the lock on the points in memory.
            let answering = tokio::task::spawn_blocking(move || match request {
                Ok(request) => answer(&request, &*recent),
                Err(error) => Answer::Error { error: error.to_string() },
            });
            let answer = answering.await.map_err(io::Error::other)?;
            intake.telemetry.cache_queries.add(1);
            if let Answer::Error { error } = &answer {
                intake.telemetry.cache_query_errors.add(1);
                tracing::debug!(error, "a cache query was rejected");
            }
            stream.write_all(&answer.frame()?).await?;
        }
    }
}

fn answer(request: &Request, recent: &dyn Recent) -> Answer {
    let points = |metric: &str| -> Vec<(u32, f64)> {
        recent.recent(metric).into_iter().map(|point| (point.timestamp, point.value)).collect()
    };
    let error = |error: String| Answer::Error { error };
    match request {
        Request::Points(metric) => Answer::Points { datapoints: points(metric) },
        Request::PointsOf(metrics) => Answer::PointsOf {
            datapoints_by_metric: metrics.iter().map(|metric| (metric.clone(), points(metric))).collect(),
        },
        Request::Get { metric, key } if key == "aggregationMethod" => match recent.aggregation(metric) {
            Some(value) => Answer::Value { value },
            None => error(format!("there is no metric {metric}")),
        },
        Request::Get { key, .. } => {
            error(format!("there is no metadata {key}; aggregationMethod is all there is"))
        }
        Request::Set { key, .. } => error(format!(
            "{key} cannot be set from here: retention and aggregation follow the rules in the configuration"
        )),
        Request::Incomplete { kind, missing } => error(format!("a {kind} needs `{missing}`, as text")),
        Request::Unknown(kind) => error(format!("Invalid request type \"{kind}\"")),
    }
}

impl Answer {
    /// As it goes over the wire: four bytes of length, most significant first, then the pickle.
    fn frame(&self) -> io::Result<Vec<u8>> {
        let options = serde_pickle::SerOptions::new().proto_v2();
        let pickle = serde_pickle::to_vec(self, options).map_err(io::Error::other)?;
        let len = u32::try_from(pickle.len()).map_err(io::Error::other)?;
        Ok([&len.to_be_bytes()[..], &pickle].concat())
    }
}
