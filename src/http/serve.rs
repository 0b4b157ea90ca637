//! The listeners: they accept connections until the stop, then lets running requests finish.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::connections::{Connections, told_to};
use super::gate::Gate;
use super::wire::Port;
use super::workers::Workers;
use super::{Api, Backend, router};
use crate::auth::Doorman;
use crate::certificate::Certificate;
use crate::config;
use crate::telemetry::Telemetry;

/// How long running requests may continue after a stop; then they are aborted.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);

/// Where to listen.
#[derive(Default)]
pub struct Listeners {
    /// Without encryption.
    pub http: Option<TcpListener>,
    /// In TLS, with a certificate.
    pub https: Option<(TcpListener, Arc<Certificate>)>,
}

/// What is served.
pub struct Service {
    /// The server behind the API.
    pub backend: Arc<dyn Backend>,
    /// `[http]`
    pub http: config::Http,
    /// `[query]`
    pub query: Arc<config::Query>,
    /// `[kairosdb]`
    pub kairosdb: Arc<config::Kairosdb>,
    /// `[ceres]`
    pub ceres: Arc<config::Ceres>,
    /// `[auth]`
    pub auth: config::Auth,
    /// Who is who, if one can log in.
    pub doorman: Option<Arc<Doorman>>,
    /// Its counters.
    pub telemetry: Arc<Telemetry>,
}

impl Service {
    /// A service without logins, and everything else as it is by default.
    pub fn of(backend: Arc<dyn Backend>) -> Self {
        Self {
            backend,
            http: config::Http::default(),
            query: Arc::default(),
            kairosdb: Arc::default(),
            ceres: Arc::default(),
            auth: config::Auth::default(),
            doorman: None,
            telemetry: Arc::default(),
        }
    }
}

/// Serves the API until `stop` turns true. Then it closes idle connections and answers running requests.
pub async fn serve(listeners: Listeners, service: Service, stop: watch::Receiver<bool>) -> io::Result<()> {
    let Service { backend, http, query: config, kairosdb, ceres, auth, doorman, telemetry } = service;
    let timezone = TimeZone::get(&config.timezone).map_err(|_| {
        let text =
            format!("query.timezone `{}` is not known; use a name such as Europe/Berlin", config.timezone);
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })?;
    let workers = Workers::new(&config, Arc::clone(&telemetry));
    let api = Arc::new(Api {
        backend,
        config,
        kairosdb,
        ceres,
        telemetry: Arc::clone(&telemetry),
        workers,
        timezone,
    });
    let gate = Gate::new(Arc::clone(&api), &auth, doorman);
    let router = router::router(api, gate, &http);
    let connections = Arc::new(Connections::new(&http, Arc::clone(&telemetry)));
    let open = |listener, certificate| {
        let port = Port::new(listener, certificate, Arc::clone(&telemetry));
        Arc::clone(&connections).serve(port, router.clone(), stop.clone())
    };
    let plain = listeners.http.map(|listener| open(listener, None));
    let encrypted = listeners.https.map(|(listener, certificate)| open(listener, Some(certificate)));
    let serving = async {
        let (plain, encrypted) = tokio::join!(maybe(plain), maybe(encrypted));
        plain.and(encrypted)
    };
    tokio::select! {
        result = serving => result,
        () = async { told_to(stop.clone()).await; tokio::time::sleep(DRAIN_LIMIT).await } => Ok(()),
    }
}

async fn maybe(serving: Option<impl Future<Output = io::Result<()>>>) -> io::Result<()> {
    match serving {
        Some(serving) => serving.await,
        None => Ok(()),
    }
}
