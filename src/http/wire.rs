//! What a connection is read from: bare TCP, or TLS inside it.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};

use crate::certificate::{Certificate, common_name};
use crate::telemetry::Telemetry;

/// The name in the certificate that a client has shown. It is known when the handshake is over, and so before any request.
pub(super) type Shown = Arc<OnceLock<Option<String>>>;

/// Accepts connections.
pub(super) struct Port {
    listener: TcpListener,
    certificate: Option<Arc<Certificate>>,
    telemetry: Arc<Telemetry>,
}

impl Port {
    /// Without a certificate, connections are bare TCP.
    pub(super) fn new(
        listener: TcpListener,
        certificate: Option<Arc<Certificate>>,
        telemetry: Arc<Telemetry>,
    ) -> Self {
        Self { listener, certificate, telemetry }
    }

    /// Waits for a connection. One that fails is left out, and so is a moment without room for one.
    pub(super) async fn accept(&mut self) -> (Wire, SocketAddr) {
        let (stream, peer) = Listener::accept(&mut self.listener).await;
        // Answers are written in one piece, so waiting for more data would only delay them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "setting TCP_NODELAY failed");
        }
        let wire = match &self.certificate {
            None => Wire::Bare(stream),
            Some(certificate) => {
                Wire::Encrypted(Encrypted::new(stream, certificate, Arc::clone(&self.telemetry)))
            }
        };
        (wire, peer)
    }
}

/// A connection.
pub(super) enum Wire {
    Bare(TcpStream),
    Encrypted(Encrypted),
}

impl Wire {
    /// Where the name of its client will be, if it is encrypted.
    pub(super) fn shown(&self) -> Option<Shown> {
        match self {
            Wire::Bare(_) => None,
            Wire::Encrypted(encrypted) => Some(Arc::clone(&encrypted.shown)),
        }
    }
}

/// A connection with TLS. The handshake is part of the first read, so a slow client keeps nobody waiting but itself.
pub(super) struct Encrypted {
    state: State,
    limit: Pin<Box<Sleep>>,
    shown: Shown,
    telemetry: Arc<Telemetry>,
}

enum State {
    Handshake(Box<Accept<TcpStream>>),
    Open(Box<TlsStream<TcpStream>>),
    Failed,
}

impl Encrypted {
    fn new(stream: TcpStream, certificate: &Certificate, telemetry: Arc<Telemetry>) -> Self {
        let handshake = TlsAcceptor::from(certificate.server()).accept(stream);
        Self {
            state: State::Handshake(Box::new(handshake)),
            limit: Box::pin(tokio::time::sleep(certificate.handshake_timeout())),
            shown: Shown::default(),
            telemetry,
        }
    }

    /// The stream, once the handshake is over.
    fn open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Pin<&mut TlsStream<TcpStream>>>> {
        if let State::Handshake(handshake) = &mut self.state {
            let outcome = match Pin::new(&mut **handshake).poll(cx) {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => {
                    ready!(self.limit.as_mut().poll(cx));
                    Err(io::Error::new(io::ErrorKind::TimedOut, "listen.tls.handshake_timeout has passed"))
                }
            };
            match outcome {
                Ok(stream) => {
                    let chain = stream.get_ref().1.peer_certificates();
                    let first = chain.and_then(<[_]>::first);
                    let _ = self.shown.set(first.and_then(|certificate| common_name(certificate)));
                    self.state = State::Open(Box::new(stream));
                }
                Err(error) => {
                    self.state = State::Failed;
                    self.telemetry.handshakes_failed.add(1);
                    tracing::debug!(%error, "a TLS handshake failed");
                    return Poll::Ready(Err(error));
                }
            }
        }
        match &mut self.state {
            State::Open(stream) => Poll::Ready(Ok(Pin::new(&mut **stream))),
            State::Handshake(_) | State::Failed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self {
            Wire::Bare(stream) => Pin::new(stream).poll_read(cx, out),
            Wire::Encrypted(encrypted) => ready!(encrypted.open(cx))?.poll_read(cx, out),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut *self {
            Wire::Bare(stream) => Pin::new(stream).poll_write(cx, bytes),
            Wire::Encrypted(encrypted) => ready!(encrypted.open(cx))?.poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Wire::Bare(stream) => Pin::new(stream).poll_flush(cx),
            Wire::Encrypted(encrypted) => ready!(encrypted.open(cx))?.poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Wire::Bare(stream) => Pin::new(stream).poll_shutdown(cx),
            // A connection without a finished handshake is closed without a close_notify.
            Wire::Encrypted(encrypted) => match &mut encrypted.state {
                State::Open(stream) => Pin::new(&mut **stream).poll_shutdown(cx),
                State::Handshake(_) | State::Failed => Poll::Ready(Ok(())),
            },
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Wire::Bare(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
            Wire::Encrypted(encrypted) => ready!(encrypted.open(cx))?.poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Wire::Bare(stream) => stream.is_write_vectored(),
            Wire::Encrypted(_) => true,
        }
    }
}
