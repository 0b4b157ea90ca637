//! One connection of a sender: read, have it parsed, hand it on, and only then read again.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use super::buffers::{Loan, Spare};
use super::frames::Frames;
use super::intake::Intake;
use super::limits::Carried;
use super::lines::Lines;
use super::stop::{Phase, Stop};
use super::tcp::Service;
use super::wire::Wire;
use crate::config::Ingest;
use crate::parse::pickle::Pickle;
use crate::parse::plaintext;
use plumbago_model::Reject;

/// After a stop, a sender that is silent for so long has nothing under way: longer than a round trip, and shorter than the
/// 200 ms that carbon-c-relay sleeps whenever its queue is empty.
const LULL: Duration = Duration::from_millis(100);

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

    /// What the sender is told about what it sent last; nothing in most protocols.
    fn reply(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Bytes that wait for their end.
    fn carried(&self) -> usize;

    /// Counts what the sender did not finish.
    fn end(&self, intake: &Intake);
}

/// How a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Read,
    Close,
}

/// Who ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The sender closed it, or it broke.
    Sender,
    /// We leave while the sender might go on.
    Server,
    /// What came cannot be read on from.
    Junk,
}

/// Senders that speak `P` over bare TCP; `tls.rs` has those that speak it inside TLS.
pub(super) struct Plain<P>(PhantomData<fn() -> P>);

impl<P> Plain<P> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<P: Protocol> Service for Plain<P> {
    async fn serve(&self, stream: TcpStream, intake: Arc<Intake>, stop: Stop) {
        serve::<P>(stream, &intake, stop).await;
    }
}

/// Serves one connection until it ends, is idle too long, or the stop is over.
pub(super) async fn serve<P: Protocol>(mut wire: impl Wire, intake: &Intake, mut stop: Stop) {
    let mut protocol = P::new(&intake.config);
    match receive(&mut wire, &mut protocol, intake, &mut stop).await {
        End::Junk => return,
        End::Sender => {}
        End::Server => {
            for (mut loan, len) in wire.reset(&intake.buffers).await {
                if feed(&mut protocol, &mut loan, len, intake, &mut stop).await == Next::Close {
                    return;
                }
            }
        }
    }
    protocol.end(intake);
}

async fn receive<P: Protocol>(
    wire: &mut impl Wire,
    protocol: &mut P,
    intake: &Intake,
    stop: &mut Stop,
) -> End {
    let (mut farewell, mut half_closed) = (false, false);
    let mut carried = Carried::new(intake.unfinished.clone());
    // The longest that the sender was silent for since the stop.
    let mut pause = Duration::ZERO;
    loop {
        if farewell && !half_closed {
            // The sender learns that we leave while all that it has sent can still be read.
            half_closed = true;
            wire.half_close().await;
        }
        let patience = match stop.phase() {
            Phase::Running => intake.idle_limit(),
            // A sender that obeys it may take its time.
            Phase::Draining(_) if half_closed => Duration::MAX,
            // It makes no lull, so one of its pauses must do, while there is likely more of it to come.
            Phase::Parting(_) if !half_closed => pause / 2,
            Phase::Draining(_) | Phase::Parting(_) => LULL,
            Phase::Over => return End::Server,
        };
        let began = Instant::now();
        let read = tokio::select! {
            biased;
            () = stop.changed() => continue,
            read = tokio::time::timeout(patience, wire.read(&intake.buffers)) => read,
        };
        match (read, stop.phase()) {
            (Ok(Ok((mut loan, len @ 1..))), phase) => {
                if matches!(phase, Phase::Draining(_)) {
                    pause = pause.max(began.elapsed());
                }
                let full = len == loan.bytes.len();
                if feed(protocol, &mut loan, len, intake, stop).await == Next::Close {
                    return End::Junk;
                }
                drop(loan);
                let reply = protocol.reply();
                if !reply.is_empty() {
                    wire.answer(&reply).await;
                }
                if !carried.cover(protocol.carried()) {
                    let detail = "too many lines and frames of all connections wait for their ends, closing the connection";
                    intake.refuse_whole(Reject::Overload, &[], &detail);
                    return End::Junk;
                }
                if full {
                    // More is waiting: let the other connections have their turn first.
                    tokio::task::yield_now().await;
                }
            }
            (Ok(Ok(_)), _) => return End::Sender,
            (Ok(Err(error)), _) => {
                tracing::debug!(%error, "connection lost");
                return End::Sender;
            }
            (Err(_), Phase::Running) => {
                intake.telemetry.connections_idle_closed.add(1);
                tracing::debug!("connection idle, closing");
                return End::Server;
            }
            (Err(_), _) if half_closed => return End::Server,
            // A lull. Carbon's own relay takes a half-close for the end, and throws away what it is about to write: not now.
            (Err(_), _) => farewell = true,
        }
    }
}

async fn feed<P: Protocol>(
    protocol: &mut P,
    loan: &mut Loan,
    len: usize,
    intake: &Intake,
    stop: &mut Stop,
) -> Next {
    let scratch = &mut **loan;
    let bytes = scratch.bytes.get(..len).unwrap_or_default();
    protocol.feed(bytes, &mut scratch.entries, intake, stop).await
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
        self.0.release();
        Next::Read
    }

    fn carried(&self) -> usize {
        self.0.unfinished().len()
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

    fn carried(&self) -> usize {
        self.0.unfinished().len()
    }

    fn end(&self, intake: &Intake) {
        let frame = self.0.unfinished();
        if !frame.is_empty() {
            intake.refuse_whole(Reject::BadPickle, frame, &"the connection ended in the middle of the frame");
        }
    }
}
