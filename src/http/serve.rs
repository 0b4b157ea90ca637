//! The listener: accepts connections until the stop, then lets running requests finish.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::admin::Peer;
use super::request_line::Forgiving;
use super::workers::Workers;
use super::{Api, Backend, router};
use crate::config;
use crate::telemetry::Telemetry;

/// How long running requests may continue after a stop; then they are aborted.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);

/// Serves the API on `listener` until `stop` turns true. Then it closes idle connections and answers running requests.
pub async fn serve(
    listener: TcpListener,
    backend: Arc<dyn Backend>,
    http: config::Http,
    config: Arc<config::Query>,
    telemetry: Arc<Telemetry>,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let timezone = TimeZone::get(&config.timezone).map_err(|_| {
        let text =
            format!("query.timezone `{}` is not known; use a name such as Europe/Berlin", config.timezone);
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })?;
    let workers = Workers::new(&config, Arc::clone(&telemetry));
    let api = Arc::new(Api { backend, config, telemetry, workers, timezone });
    let service = router::router(api, &http).into_make_service_with_connect_info::<Peer>();
    let serving = axum::serve(Forgiving(listener), service).with_graceful_shutdown(told_to(stop.clone()));
    tokio::select! {
        result = serving => result,
        () = async { told_to(stop).await; tokio::time::sleep(DRAIN_LIMIT).await } => Ok(()),
    }
}

/// Ends when `stop` turns true, or when its sender is gone, because then the server is stopping, too.
async fn told_to(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
