//! The UDP socket: datagrams of plaintext lines. UDP has no back-pressure, so what cannot be accepted is counted and lost.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::UdpSocket;

use super::buffers::Spare;
use super::intake::Intake;
use super::limits::Backoff;
use super::stop::{Phase, Stop};
use crate::auth::Sender;
use crate::parse::plaintext;

/// No datagram is larger.
const DATAGRAM_BYTES: usize = 64 * 1024;

/// Waiting datagrams are read together, up to this size, and become one batch.
const BUFFER_BYTES: usize = 4 * DATAGRAM_BYTES;

/// Datagrams read at once, those included that nobody wants.
const MAX_DATAGRAMS: usize = 16 * 1024;

/// How many times to fill the buffer after a stop. Kernels hold less than that, and a sender must not keep us from stopping.
const LAST_ROUNDS: usize = 64;

/// Waiting datagrams, each ended by a line feed.
struct Waiting {
    buffer: Vec<u8>,
    /// How much of the buffer is in use.
    len: usize,
    /// Who sent the datagrams up to where; one after the other by the same sender are together.
    senders: Vec<(IpAddr, usize)>,
}

/// Receives until the stop, then reads what the kernel still holds.
pub(super) async fn serve(socket: UdpSocket, intake: Arc<Intake>, mut stop: Stop) {
    let mut waiting = Waiting { buffer: vec![0; BUFFER_BYTES], len: 0, senders: Vec::new() };
    let mut spare = Spare::default();
    let mut backoff = Backoff::new();
    while stop.phase() == Phase::Running {
        tokio::select! {
            biased;
            () = stop.changed() => break,
            _ = socket.readable() => {}
        }
        let state = waiting.gather(|room| socket.try_recv_from(room), &intake);
        waiting.take(&mut spare, &intake);
        match state {
            Ok(()) => {
                backoff = Backoff::new();
                tokio::task::yield_now().await;
            }
            Err(error) => {
                tracing::warn!(%error, "cannot receive datagrams, retrying");
                stop.pause(backoff.next()).await;
            }
        }
    }
    // The runtime's view of the socket may be stale; only the kernel knows what has arrived since.
    let Ok(socket) = socket.into_std() else { return };
    for _ in 0..LAST_ROUNDS {
        let state = waiting.gather(|room| socket.recv_from(room), &intake);
        let was_empty = waiting.len == 0;
        waiting.take(&mut spare, &intake);
        if was_empty || state.is_err() {
            return;
        }
    }
}

impl Waiting {
    /// Reads the datagrams that have already arrived.
    fn gather(
        &mut self,
        receive: impl Fn(&mut [u8]) -> io::Result<(usize, SocketAddr)>,
        intake: &Intake,
    ) -> io::Result<()> {
        for _ in 0..MAX_DATAGRAMS {
            // One byte more than a datagram, which may lack its last line feed.
            let room = self.buffer.get_mut(self.len..).filter(|room| room.len() > DATAGRAM_BYTES);
            let Some(room) = room else { break };
            let (read, sender) = match receive(room) {
                Ok((read, sender)) => (read, sender.ip()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            if !intake.allows(sender) {
                continue;
            }
            if let Some(end) = room.get_mut(read) {
                *end = b'\n';
            }
            self.len += read + 1;
            match self.senders.last_mut() {
                Some((last, end)) if *last == sender || !intake.tells_senders_apart() => *end = self.len,
                _ => self.senders.push((sender, self.len)),
            }
        }
        Ok(())
    }

    /// Hands the points on, and has room again.
    fn take(&mut self, spare: &mut Spare, intake: &Intake) {
        let mut begin = 0;
        for (sender, end) in self.senders.drain(..) {
            let lines = self.buffer.get(begin..end).unwrap_or_default();
            begin = end;
            let mut batch = spare.batch();
            let limits = intake.limits();
            let count = plaintext::parse_lines(lines, &limits, &mut batch, |reason, line| {
                intake.refuse(reason, line);
            });
            intake.telemetry.points_received.add(count);
            if !intake.offer_of(&batch, &Sender::at(sender)) {
                intake.overload(&batch);
            }
            spare.keep(batch);
        }
        self.len = 0;
    }
}
