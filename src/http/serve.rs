//! The listener: accepts connections until told to stop, then lets running requests finish.

use std::io;
use std::sync::Arc;

use axum::serve::ListenerExt;
use jiff::tz::TimeZone;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::workers::Workers;
use super::{Api, Backend, router};
use crate::config;
use crate::telemetry::Telemetry;

/// Serves the API on `listener` until `stop` turns true; idle connections are closed then, and running requests answered.
pub async fn serve(
    listener: TcpListener,
    backend: Arc<dyn Backend>,
    config: Arc<config::Query>,
    telemetry: Arc<Telemetry>,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let timezone = TimeZone::get(&config.timezone).map_err(|_| {
        let text =
            format!("query.timezone `{}` is not known; use a name such as Europe/Berlin", config.timezone);
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })?;
    let workers = Workers::new(config.max_concurrent);
    let api = Arc::new(Api { backend, config, telemetry, workers, timezone });
    // Answers are written in one go: waiting for more to send only delays them.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "setting TCP_NODELAY failed");
        }
    });
    let stopped = async move {
        // The sender being gone means the server is going down, too.
        let _ = stop.wait_for(|stop| *stop).await;
    };
    axum::serve(listener, router::router(api)).with_graceful_shutdown(stopped).await
}
