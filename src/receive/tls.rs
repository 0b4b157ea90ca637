//! Senders inside TLS.

use std::marker::PhantomData;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::connection::{self, Protocol};
use super::intake::Intake;
use super::stop::{Phase, Stop};
use super::tcp::Service;
use crate::certificate::Certificate;

/// Senders that speak `P` inside TLS.
pub(super) struct Encrypted<P> {
    certificate: Arc<Certificate>,
    protocol: PhantomData<fn() -> P>,
}

impl<P> Encrypted<P> {
    pub(super) fn new(certificate: Arc<Certificate>) -> Self {
        Self { certificate, protocol: PhantomData }
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
            Ok(Ok(wire)) => return connection::serve::<P>(wire, &intake, stop).await,
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
