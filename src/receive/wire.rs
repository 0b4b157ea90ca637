//! What a connection is read from: bare TCP, or TLS inside it.

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::buffers::{Buffers, Loan};
use super::connection::{self, Protocol};
use super::intake::Intake;
use super::stop::Stop;
use super::tcp::Service;

/// A stream of bytes from a sender.
pub(super) trait Wire: Send {
    /// Waits for bytes before it borrows a buffer; giving up the wait loses none. Zero bytes mean that the sender has
    /// closed.
    fn read(&mut self, buffers: &Arc<Buffers>) -> impl Future<Output = io::Result<(Loan, usize)>> + Send;

    /// Tells the sender that we leave, while all that it has sent can still be read.
    fn half_close(&mut self) -> impl Future<Output = ()> + Send;
}

impl Wire for TcpStream {
    async fn read(&mut self, buffers: &Arc<Buffers>) -> io::Result<(Loan, usize)> {
        self.readable().await?;
        let mut loan = buffers.lend();
        let len = AsyncReadExt::read(self, &mut loan.bytes).await?;
        Ok((loan, len))
    }

    async fn half_close(&mut self) {
        // Fails when the sender has left first.
        let _ = self.shutdown().await;
    }
}

impl Wire for TlsStream<TcpStream> {
    async fn read(&mut self, buffers: &Arc<Buffers>) -> io::Result<(Loan, usize)> {
        // What the socket has to read may be half a record, or none of ours.
        self.fill_buf().await?;
        let mut loan = buffers.lend();
        let len = AsyncReadExt::read(self, &mut loan.bytes).await?;
        Ok((loan, len))
    }

    async fn half_close(&mut self) {
        // Not the goodbye of TLS: one that the sender does not read before it closes would reset the connection.
        let _ = self.get_mut().0.shutdown().await;
    }
}

/// Senders that speak `P` over bare TCP.
pub(super) struct Plain<P>(PhantomData<fn() -> P>);

impl<P> Plain<P> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<P: Protocol> Service for Plain<P> {
    async fn serve(&self, stream: TcpStream, intake: Arc<Intake>, stop: Stop) {
        connection::serve::<P>(stream, &intake, stop).await;
    }
}
