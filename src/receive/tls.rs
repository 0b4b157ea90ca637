//! Senders inside TLS.

use std::marker::PhantomData;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::connection::{self, Protocol};
use super::intake::Intake;
use super::stop::{Phase, Stop};
use super::tcp::Service;
use crate::auth::{Doorman, Sender};
use crate::certificate::{Certificate, common_name};

/// Senders that speak `P` inside TLS.
pub(super) struct Encrypted<P> {
    certificate: Arc<Certificate>,
    doorman: Option<Arc<Doorman>>,
    protocol: PhantomData<fn() -> P>,
}

impl<P> Encrypted<P> {
    pub(super) fn new(certificate: Arc<Certificate>, doorman: Option<Arc<Doorman>>) -> Self {
        Self { certificate, doorman, protocol: PhantomData }
    }

    /// Where the points of a sender go, by its certificate; nowhere, if it may not send any.
    fn intake_for(&self, wire: &TlsStream<TcpStream>, intake: Arc<Intake>) -> Option<Arc<Intake>> {
        let Some(doorman) = &self.doorman else { return Some(intake) };
        let shown = wire.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let name = shown.and_then(|certificate| common_name(certificate));
        let from = wire.get_ref().0.peer_addr().ok()?.ip();
        let Some(caller) = doorman.sender(name.as_deref(), from).ok()? else { return Some(intake) };
        let sender = Sender { user: Some(caller.name), address: Some(from), scope: caller.scope };
        Some(Arc::new(intake.of(sender)))
    }
}

impl<P: Protocol> Service for Encrypted<P> {
    async fn serve(&self, stream: TcpStream, intake: Arc<Intake>, mut stop: Stop) {
        let acceptor = TlsAcceptor::from(self.certificate.server());
        let handshake = tokio::time::timeout(self.certificate.handshake_timeout(), acceptor.accept(stream));
        let agreed = tokio::select! {
            agreed = handshake => agreed,
            () = over(&mut stop) => return,
        };
        let failure = match agreed {
            Ok(Ok(wire)) => {
                if let Some(intake) = self.intake_for(&wire, intake) {
                    connection::serve::<P>(wire, &intake, stop).await;
                }
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it took longer than listen.tls.handshake_timeout".to_owned(),
        };
        intake.telemetry.handshakes_failed.add(1);
        tracing::debug!(failure, "a TLS handshake failed");
    }
}

/// Waits until there is no time left.
async fn over(stop: &mut Stop) {
    while stop.phase() != Phase::Over {
        stop.changed().await;
    }
}
