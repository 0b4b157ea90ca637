//! One connection of a sender: read, have it parsed, hand it on, and only then read again.

use std::future::Future;

use super::buffers::Spare;
use super::frames::Frames;
use super::intake::Intake;
use super::lines::Lines;
use super::stop::{Phase, Stop};
use super::wire::Wire;
use crate::config::Ingest;
use crate::model::Reject;
use crate::parse::pickle::Pickle;
use crate::parse::plaintext;

/// What makes batches of a connection's bytes.
pub(super) trait Protocol: Send + 'static {
    /// At the start of a connection.
    fn new(config: &Ingest) -> Self;

    /// Takes in what was read and hands the points on.
    fn feed(
        &mut self,
        read: &[u8],
        spare: &mut Spare,
        intake: &Intake,
        stop: &mut Stop,
    ) -> impl Future<Output = Next> + Send;

    /// Counts what the sender did not finish.
    fn end(&self, intake: &Intake);
}

/// How a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Read,
    Close,
}

/// Serves one connection until it ends, is idle too long, or the stop is over.
pub(super) async fn serve<P: Protocol>(mut wire: impl Wire, intake: &Intake, mut stop: Stop) {
    let mut protocol = P::new(&intake.config);
    let idle = intake.idle_limit();
    let mut half_closed = false;
    loop {
        match stop.phase() {
            Phase::Running => {}
            Phase::Draining(_) if half_closed => {}
            Phase::Draining(_) => {
                // The sender learns that we leave while all that it has sent can still be read.
                half_closed = true;
                wire.half_close().await;
            }
            Phase::Over => break,
        }
        let read = tokio::select! {
            biased;
            () = stop.changed() => continue,
            read = tokio::time::timeout(idle, wire.read(&intake.buffers)) => read,
        };
        let (mut loan, len) = match read {
            Ok(Ok((loan, len))) if len > 0 => (loan, len),
            Ok(Ok(_)) => break,
            Ok(Err(error)) => {
                tracing::debug!(%error, "connection lost");
                break;
            }
            Err(_) => {
                intake.telemetry.connections_idle_closed.add(1);
                tracing::debug!("connection idle, closing");
                break;
            }
        };
        let full = len == loan.bytes.len();
        let scratch = &mut *loan;
        let bytes = scratch.bytes.get(..len).unwrap_or_default();
        if protocol.feed(bytes, &mut scratch.entries, intake, &mut stop).await == Next::Close {
            return;
        }
        drop(loan);
        if full {
            // More is waiting: let the other connections have their turn first.
            tokio::task::yield_now().await;
        }
    }
    protocol.end(intake);
}

/// Carbon's plaintext protocol.
#[derive(Debug)]
pub(super) struct PlaintextLines(Lines);

impl Protocol for PlaintextLines {
    fn new(config: &Ingest) -> Self {
        Self(Lines::new(config.max_line_bytes))
    }

    async fn feed(&mut self, read: &[u8], spare: &mut Spare, intake: &Intake, stop: &mut Stop) -> Next {
        let too_long = |line: &[u8]| intake.refuse_whole(Reject::LineTooLong, line, &"no line end in sight");
        let whole = self.0.feed(read, too_long);
        let limits = intake.limits();
        let mut batch = spare.batch();
        let mut lines = 0;
        for part in [whole.joined, whole.rest] {
            lines +=
                plaintext::parse_lines(part, &limits, &mut batch, |reason, line| intake.refuse(reason, line));
        }
        intake.deliver(&batch, stop).await;
        intake.telemetry.points_received.add(lines);
        spare.keep(batch);
        Next::Read
    }

    /// A line without its end may be cut anywhere, even in the middle of a number: storing it could store a wrong point.
    fn end(&self, intake: &Intake) {
        let line = self.0.unfinished();
        if !line.trim_ascii().is_empty() {
            intake.refuse_whole(Reject::BadLine, line, &"the connection ended in the middle of the line");
        }
    }
}

/// Carbon's pickle protocol.
#[derive(Debug)]
pub(super) struct PickleFrames(Frames);

impl Protocol for PickleFrames {
    fn new(config: &Ingest) -> Self {
        Self(Frames::new(config.max_frame_bytes))
    }

    async fn feed(&mut self, mut read: &[u8], spare: &mut Spare, intake: &Intake, stop: &mut Stop) -> Next {
        let limits = intake.limits();
        loop {
            let frame = match self.0.next(&mut read) {
                Ok(Some(frame)) => frame,
                Ok(None) => return Next::Read,
                Err(too_large) => {
                    let detail = format!("a frame of {} bytes, closing the connection", too_large.bytes);
                    intake.refuse_whole(Reject::FrameTooLarge, &[], &detail);
                    return Next::Close;
                }
            };
            let pickle = match Pickle::read(frame) {
                Ok(pickle) => pickle,
                Err(error) => {
                    intake.refuse_whole(Reject::from(&error), frame, &error);
                    continue;
                }
            };
            let mut batch = spare.batch();
            let elements = pickle.points(&limits, &mut batch, |reason, name| intake.refuse(reason, name));
            intake.deliver(&batch, stop).await;
            intake.telemetry.points_received.add(elements);
            spare.keep(batch);
        }
    }

    fn end(&self, intake: &Intake) {
        let frame = self.0.unfinished();
        if !frame.is_empty() {
            intake.refuse_whole(Reject::BadPickle, frame, &"the connection ended in the middle of the frame");
        }
    }
}
