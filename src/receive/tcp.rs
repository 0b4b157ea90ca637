//! The TCP listener: lets connections in, and sees them out after a stop.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tracing::Instrument as _;

use super::connection::{self, Protocol};
use super::intake::Intake;
use super::limits::Backoff;
use super::stop::{Phase, Stop};

/// Connections taken from the kernel's queue after a stop: more than any queue holds, less than forever.
const MAX_BACKLOG: usize = 4096;

/// Accepts until the stop, then waits for the connections to end.
pub(super) async fn serve<P: Protocol>(listener: TcpListener, intake: Arc<Intake>, stop: Stop) {
    let mut open = Open { intake, stop: stop.clone(), tasks: JoinSet::new() };
    accept_until::<P>(stop, &listener, &mut open).await;
    for (stream, peer) in backlog(listener) {
        open.admit::<P>(stream, peer);
    }
    while let Some(ended) = open.tasks.join_next().await {
        report(ended);
    }
}

/// Closes the listener and gives the connections that were still in its queue: as far as their senders know they were
/// connected before the stop, and they may have sent already. The kernel is asked itself, because the runtime answers
/// from what it last heard.
fn backlog(listener: TcpListener) -> Vec<(TcpStream, SocketAddr)> {
    let Ok(listener) = listener.into_std() else { return Vec::new() };
    let accept = || {
        let (stream, peer) = listener.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        Some((TcpStream::from_std(stream).ok()?, peer))
    };
    std::iter::from_fn(accept).take(MAX_BACKLOG).collect()
}

async fn accept_until<P: Protocol>(mut stop: Stop, listener: &TcpListener, open: &mut Open) {
    let mut backoff = Backoff::new();
    while stop.phase() == Phase::Running {
        tokio::select! {
            () = stop.changed() => {}
            Some(ended) = open.tasks.join_next() => report(ended),
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    backoff = Backoff::new();
                    open.admit::<P>(stream, peer);
                }
                // Out of file descriptors, most often: those that close make room again.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection, trying again");
                    stop.pause(backoff.next()).await;
                }
            },
        }
    }
}

/// The connections of one listener.
struct Open {
    intake: Arc<Intake>,
    stop: Stop,
    tasks: JoinSet<()>,
}

impl Open {
    /// Serves the connection, or closes it when there are too many.
    fn admit<P: Protocol>(&mut self, stream: TcpStream, peer: SocketAddr) {
        let Some(permit) = self.intake.connections.admit() else {
            tracing::debug!(%peer, "too many connections, closing");
            return;
        };
        let served = connection::serve::<P>(stream, Arc::clone(&self.intake), self.stop.clone());
        let task = async move {
            served.await;
            drop(permit);
        };
        self.tasks.spawn(task.instrument(tracing::info_span!("carbon", %peer)));
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection ended by a fault of ours");
    }
}
