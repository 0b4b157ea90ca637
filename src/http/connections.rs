//! The connections of all listeners: how many there may be, and how long one may stay without a request.
//!
//! A connection is idle while no request of it is under way. One that has sent half of a request is idle, too, and so is one that does
//! not take the end of its answer. So a single limit holds for clients that have nothing to ask, for those that are slow on purpose,
//! and for those that are gone without having said so. While places are scarce, idle connections stay for seconds only: a client that opens
//! thousands of them takes the places of idle ones, not of those who have something to ask.
//!
//! What is left of a long answer stays in memory until its client takes it. A client that takes no piece of it for a while is not waited
//! for.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::{Request, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::gate::Peer;
use super::request_line::{Heads, Mending};
use super::wire::{Port, Wire};
use crate::config;
use crate::telemetry::Telemetry;

/// How long a connection may be idle while places are scarce.
const SCARCE: Duration = Duration::from_secs(2);

/// A client must take a piece of its answer within this time. What the answer holds is wanted by others.
const STANDSTILL: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 30 });

/// Longest head of a request. Addresses may have half of that, as everywhere.
const HEAD_BYTES: usize = 128 * 1024;

/// How long a connection has for its last words.
const FAREWELL: Duration = Duration::from_secs(1);

/// All connections of one server.
pub(super) struct Connections {
    places: Arc<Semaphore>,
    /// Fewer free places than this are few.
    few: usize,
    /// Wakes idle connections when places become scarce.
    scarce: Notify,
    idle: Duration,
    protocol: auto::Builder<TokioExecutor>,
    heads: Heads,
    telemetry: Arc<Telemetry>,
}

impl Connections {
    pub(super) fn new(config: &config::Http, telemetry: Arc<Telemetry>) -> Self {
        let most = config.max_connections.clamp(1, Semaphore::MAX_PERMITS);
        let mut protocol = auto::Builder::new(TokioExecutor::new());
        protocol.http1().max_buf_size(HEAD_BYTES);
        Self {
            places: Arc::new(Semaphore::new(most)),
            few: most / 4,
            scarce: Notify::new(),
            idle: if config.idle_timeout.is_zero() { Duration::MAX } else { config.idle_timeout },
            protocol,
            heads: Heads::default(),
            telemetry,
        }
    }

    /// Serves the connections of a port until the stop, and then until their requests are answered.
    pub(super) async fn serve(
        self: Arc<Self>,
        mut port: Port,
        router: Router,
        stop: watch::Receiver<bool>,
    ) -> io::Result<()> {
        let mut open = JoinSet::new();
        {
            let mut stopped = pin!(told_to(stop.clone()));
            loop {
                tokio::select! {
                    () = &mut stopped => break,
                    Some(ended) = open.join_next() => report(ended),
                    (wire, peer) = port.accept() => {
                        if let Some(place) = self.place() {
                            let (this, router) = (Arc::clone(&self), router.clone());
                            let stop = stop.clone();
                            open.spawn(async move { this.hold(wire, peer, router, stop, place).await });
                        }
                    }
                }
            }
        }
        drop(port);
        while let Some(ended) = open.join_next().await {
            report(ended);
        }
        Ok(())
    }

    /// A place for one more, if there is one.
    fn place(self: &Arc<Self>) -> Option<Place> {
        let Ok(held) = Arc::clone(&self.places).try_acquire_owned() else {
            self.telemetry.http_connections_refused.add(1);
            return None;
        };
        self.telemetry.http_connections.add(1);
        if self.places.available_permits() + 1 == self.few {
            self.scarce.notify_waiters();
        }
        Some(Place { telemetry: Arc::clone(&self.telemetry), _held: held })
    }

    /// Serves one connection until it ends, is idle for too long, or the server has stopped.
    async fn hold(
        &self,
        wire: Wire,
        peer: SocketAddr,
        router: Router,
        stop: watch::Receiver<bool>,
        _place: Place,
    ) {
        let activity = Arc::new(Activity::new());
        let requests = Requests {
            router: TowerToHyperService::new(router),
            peer: Peer::new(peer, wire.shown()),
            activity: Arc::clone(&activity),
        };
        let stream = TokioIo::new(Mending::new(wire, self.heads.clone()));
        let mut connection = pin!(self.protocol.serve_connection(stream, requests));
        let (mut stopped, mut stopping) = (pin!(told_to(stop)), false);
        let mut patience = pin!(self.patience(&activity));
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(error, "a connection ended");
                    }
                    return;
                }
                () = &mut stopped, if !stopping => {
                    stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = &mut patience => break,
            }
        }
        self.telemetry.http_connections_idle_closed.add(1);
        connection.as_mut().graceful_shutdown();
        // A client that does not take that either has been asked.
        let _ = timeout(FAREWELL, connection).await;
    }

    /// Ends when the connection has been idle for too long, or its client has not taken a piece of an answer for too long.
    async fn patience(&self, activity: &Activity) {
        loop {
            // It hears of what happens from here on.
            let scarce = self.scarce.notified();
            let limit = if self.places.available_permits() < self.few { SCARCE } else { self.idle };
            let left = match activity.idle_for() {
                Some(idle) => limit.saturating_sub(idle),
                None => STANDSTILL.saturating_sub(activity.untaken_for()),
            };
            if left.is_zero() {
                return;
            }
            tokio::select! {
                // Meanwhile a request may begin whose answer is not taken.
                () = tokio::time::sleep(left.min(STANDSTILL)) => {}
                () = scarce => {}
            }
        }
    }
}

/// Ends when `stop` turns true, or when its sender is gone, because then the server is stopping, too.
pub(super) async fn told_to(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection ended because of an internal error");
    }
}

/// One open connection; counted until it is dropped.
struct Place {
    telemetry: Arc<Telemetry>,
    _held: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.telemetry.http_connections.sub(1);
    }
}

/// What a connection is doing.
struct Activity {
    requests: AtomicUsize,
    /// When it began, or its last request was over.
    since: Mutex<Instant>,
    /// When the last piece of each answer was handed over that is not taken yet, by the number of its request.
    untaken: Mutex<Vec<(u64, Instant)>>,
    numbers: AtomicU64,
}

impl Activity {
    fn new() -> Self {
        Self {
            requests: AtomicUsize::new(0),
            since: Mutex::new(Instant::now()),
            untaken: Mutex::default(),
            numbers: AtomicU64::new(0),
        }
    }

    fn begin(self: &Arc<Self>) -> UnderWay {
        self.requests.fetch_add(1, Ordering::Relaxed);
        UnderWay { activity: Arc::clone(self), number: self.numbers.fetch_add(1, Ordering::Relaxed) }
    }

    /// How long the client has not taken a piece that it could have taken.
    fn untaken_for(&self) -> Duration {
        self.untaken.lock().iter().map(|(_, since)| since.elapsed()).max().unwrap_or_default()
    }

    /// How long it has been idle, unless a request is under way.
    fn idle_for(&self) -> Option<Duration> {
        let since = *self.since.lock();
        (self.requests.load(Ordering::Relaxed) == 0).then(|| since.elapsed())
    }
}

/// A request, until the last piece of its answer has been handed over.
struct UnderWay {
    activity: Arc<Activity>,
    number: u64,
}

impl UnderWay {
    /// The client has taken all that there was of the answer; and now there is another piece, or there is none yet.
    fn taken(&self, is_more: bool) {
        let mut untaken = self.activity.untaken.lock();
        untaken.retain(|(number, _)| *number != self.number);
        untaken.extend(is_more.then(|| (self.number, Instant::now())));
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.taken(false);
        *self.activity.since.lock() = Instant::now();
        self.activity.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What answers the requests of one connection.
struct Requests {
    router: TowerToHyperService<Router>,
    peer: Peer,
    activity: Arc<Activity>,
}

impl hyper::service::Service<Request<Incoming>> for Requests {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let under_way = self.activity.begin();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(self.peer.clone()));
        let answering = self.router.call(request);
        Box::pin(async move {
            let Ok(response) = answering.await;
            Ok(response.map(|body| Body::new(Watched { body, under_way })))
        })
    }
}

/// The body of an answer. Its request is over when it is gone.
struct Watched {
    body: Body,
    under_way: UnderWay,
}

impl hyper::body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // It is asked for a frame only when the connection has room for one.
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.under_way.taken(matches!(polled, Poll::Ready(Some(Ok(_)))));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
