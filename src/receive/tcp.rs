//! The TCP listener: accepts connections, and drains them after a stop.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tracing::Instrument as _;

use super::intake::Intake;
use super::limits::Backoff;
use super::stop::{Phase, Stop};
use crate::auth::Sender;

/// Connections taken from the kernel's queue after a stop: more than any queue holds, less than forever.
const MAX_BACKLOG: usize = 4096;

/// What to do with an accepted connection.
pub(super) trait Service: Send + Sync + 'static {
    /// Runs until the connection ends, is idle too long, or the stop is over.
    fn serve(&self, stream: TcpStream, intake: Arc<Intake>, stop: Stop) -> impl Future<Output = ()> + Send;
}

/// Accepts until the stop, then waits for the connections to end.
pub(super) async fn serve<S: Service>(service: S, listener: TcpListener, intake: Arc<Intake>, stop: Stop) {
    let mut open = Open { service: Arc::new(service), intake, stop: stop.clone(), tasks: JoinSet::new() };
    accept_until(stop, &listener, &mut open).await;
    for (stream, peer) in backlog(listener) {
        open.admit(stream, peer);
    }
    while let Some(ended) = open.tasks.join_next().await {
        report(ended);
    }
}

/// Closes the listener and returns the connections that were still in its queue. From their senders' view they were
/// connected before the stop, and may already have sent something. This asks the kernel directly, because the runtime's
/// view may be stale.
fn backlog(listener: TcpListener) -> Vec<(TcpStream, SocketAddr)> {
    let Ok(listener) = listener.into_std() else { return Vec::new() };
    let accept = || {
        let (stream, peer) = listener.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        Some((TcpStream::from_std(stream).ok()?, peer))
    };
    std::iter::from_fn(accept).take(MAX_BACKLOG).collect()
}

async fn accept_until<S: Service>(mut stop: Stop, listener: &TcpListener, open: &mut Open<S>) {
    let mut backoff = Backoff::new();
    while stop.phase() == Phase::Running {
        tokio::select! {
            () = stop.changed() => {}
            Some(ended) = open.tasks.join_next() => report(ended),
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    backoff = Backoff::new();
                    open.admit(stream, peer);
                }
                // Usually we are out of file descriptors; connections that close make room again.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection, retrying");
                    stop.pause(backoff.next()).await;
                }
            },
        }
    }
}

/// The connections of one listener.
struct Open<S> {
    service: Arc<S>,
    intake: Arc<Intake>,
    stop: Stop,
    tasks: JoinSet<()>,
}

impl<S: Service> Open<S> {
    /// Serves the connection, or closes it when there are too many.
    fn admit(&mut self, stream: TcpStream, peer: SocketAddr) {
        if !self.intake.allows(peer.ip()) {
            tracing::debug!(%peer, "not in listen.allow, closing");
            return;
        }
        let Some(permit) = self.intake.connections.admit() else {
            tracing::debug!(%peer, "too many connections, closing");
            return;
        };
        let intake = Arc::new(self.intake.of(Sender::at(peer.ip())));
        let (service, stop) = (Arc::clone(&self.service), self.stop.clone());
        let task = async move {
            service.serve(stream, intake, stop).await;
            drop(permit);
        };
        self.tasks.spawn(task.instrument(tracing::info_span!("carbon", %peer)));
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection ended because of an internal error");
    }
}
