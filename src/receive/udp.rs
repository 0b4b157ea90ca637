//! The UDP socket: datagrams of plaintext lines. UDP has no back-pressure, so what cannot be accepted is counted and lost.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::UdpSocket;

use super::buffers::Spare;
use super::intake::Intake;
use super::limits::Backoff;
use super::stop::{Phase, Stop};
use crate::parse::plaintext;

/// No datagram is larger.
const DATAGRAM_BYTES: usize = 64 * 1024;

/// Waiting datagrams are read together, up to this size, and become one batch.
const BUFFER_BYTES: usize = 4 * DATAGRAM_BYTES;

/// How many times to fill the buffer after a stop. Kernels hold less than that, and a sender must not keep us from stopping.
const LAST_ROUNDS: usize = 64;

/// Receives until the stop, then reads what the kernel still holds.
pub(super) async fn serve(socket: UdpSocket, intake: Arc<Intake>, mut stop: Stop) {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut spare = Spare::default();
    let mut backoff = Backoff::new();
    while stop.phase() == Phase::Running {
        tokio::select! {
            biased;
            () = stop.changed() => break,
            _ = socket.readable() => {}
        }
        let (len, state) = gather(|room| allowed(&intake, socket.try_recv_from(room)?), &mut buffer);
        take(buffer.get(..len).unwrap_or_default(), &mut spare, &intake);
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
        let (len, state) = gather(|room| allowed(&intake, socket.recv_from(room)?), &mut buffer);
        take(buffer.get(..len).unwrap_or_default(), &mut spare, &intake);
        if len == 0 || state.is_err() {
            return;
        }
    }
}

/// The length of a datagram; of one that nobody wanted, 0.
fn allowed(intake: &Intake, (len, sender): (usize, SocketAddr)) -> io::Result<usize> {
    Ok(if intake.allows(sender.ip()) { len } else { 0 })
}

/// Reads the datagrams that have already arrived, each ended by a line feed. Returns the number of bytes.
fn gather(receive: impl Fn(&mut [u8]) -> io::Result<usize>, buffer: &mut [u8]) -> (usize, io::Result<()>) {
    let mut len = 0;
    // One byte more than a datagram, which may lack its last line feed.
    while let Some(room) = buffer.get_mut(len..).filter(|room| room.len() > DATAGRAM_BYTES) {
        let read = match receive(room) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return (len, Err(error)),
        };
        if let Some(end) = room.get_mut(read) {
            *end = b'\n';
        }
        len += read + 1;
    }
    (len, Ok(()))
}

fn take(lines: &[u8], spare: &mut Spare, intake: &Intake) {
    if lines.is_empty() {
        return;
    }
    let mut batch = spare.batch();
    let limits = intake.limits();
    let count =
        plaintext::parse_lines(lines, &limits, &mut batch, |reason, line| intake.refuse(reason, line));
    intake.telemetry.points_received.add(count);
    if !intake.offer(&batch) {
        intake.overload(&batch);
    }
    spare.keep(batch);
}
