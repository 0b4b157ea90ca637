//! What a connection is read from: bare TCP, or TLS inside it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::buffers::{Buffers, Loan};

/// How often is read before a connection is left: kernels hold less than that, and a sender must not keep us here.
const LAST_READS: usize = 64;

/// How long it takes the runtime to hear of what the kernel has.
const LAST_LOOK: Duration = Duration::from_millis(2);

/// How long a sender may take to read an answer.
const ANSWER: Duration = Duration::from_secs(1);

/// A stream of bytes from a sender.
pub(super) trait Wire: Send {
    /// Waits for bytes before it borrows a buffer; giving up the wait loses none. Zero bytes mean that the sender has
    /// closed.
    fn read(&mut self, buffers: &Arc<Buffers>) -> impl Future<Output = io::Result<(Loan, usize)>> + Send;

    /// Tells the sender something. One who does not read it within a moment is not told.
    fn answer(&mut self, text: &[u8]) -> impl Future<Output = ()> + Send;

    /// Tells the sender that we leave, while all that it has sent can still be read.
    fn half_close(&mut self) -> impl Future<Output = ()> + Send;

    /// Ends a connection that its sender has not ended, with a reset, and gives what came last. Many senders never read,
    /// carbon-c-relay among them: after an orderly close their next write would succeed, and what it wrote would be lost.
    /// After a reset it fails, and they keep it.
    fn reset(self, buffers: &Arc<Buffers>) -> impl Future<Output = Vec<(Loan, usize)>> + Send;
}

impl Wire for TcpStream {
    async fn read(&mut self, buffers: &Arc<Buffers>) -> io::Result<(Loan, usize)> {
        self.readable().await?;
        let mut loan = buffers.lend();
        let len = AsyncReadExt::read(self, &mut loan.bytes).await?;
        Ok((loan, len))
    }

    async fn answer(&mut self, text: &[u8]) {
        let _ = tokio::time::timeout(ANSWER, self.write_all(text)).await;
    }

    async fn half_close(&mut self) {
        // Fails when the sender has left first.
        let _ = self.shutdown().await;
    }

    async fn reset(self, buffers: &Arc<Buffers>) -> Vec<(Loan, usize)> {
        let _ = self.set_zero_linger();
        // The runtime answers from what it last heard; only the kernel knows what came since.
        let Ok(mut stream) = self.into_std() else { return Vec::new() };
        let read = || {
            let mut loan = buffers.lend();
            let len = std::io::Read::read(&mut stream, &mut loan.bytes).ok().filter(|&len| len > 0)?;
            Some((loan, len))
        };
        std::iter::from_fn(read).take(LAST_READS).collect()
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

    async fn answer(&mut self, text: &[u8]) {
        let _ = tokio::time::timeout(ANSWER, self.write_all(text)).await;
    }

    async fn half_close(&mut self) {
        // Not the goodbye of TLS: one that the sender does not read before it closes would reset the connection.
        let _ = self.get_mut().0.shutdown().await;
    }

    async fn reset(mut self, buffers: &Arc<Buffers>) -> Vec<(Loan, usize)> {
        let _ = self.get_ref().0.set_zero_linger();
        let mut last = Vec::new();
        while last.len() < LAST_READS
            && let Ok(Ok((loan, len @ 1..))) =
                tokio::time::timeout(LAST_LOOK, Wire::read(&mut self, buffers)).await
        {
            last.push((loan, len));
        }
        last
    }
}
