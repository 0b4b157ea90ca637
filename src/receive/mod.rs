//! Step 1: sockets. Bytes arrive here; limits and back-pressure, no meaning.
//!
//! A connection reads into its own buffer, has it parsed, and hands the batch to a [`Sink`] before it reads again. What
//! the server cannot accept stays in the sender's socket instead of in a queue of ours.
//!
//! Every line or element that is read counts as received, and then either the sink counts it as stored, or it is
//! rejected for a counted reason. A stop loses nothing that a well-behaved sender has sent: see [`Receiver`].

mod buffers;
mod cache_query;
mod connection;
mod frames;
mod intake;
mod limits;
mod lines;
mod sample;
mod stop;
mod tcp;
mod telnet;
#[cfg(test)]
mod tests;
mod tls;
mod udp;
mod wire;

use std::sync::Arc;

use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::auth::{Doorman, Sender};
use crate::certificate::Certificate;
use crate::config::{Addresses, Ingest};
use crate::telemetry::Telemetry;
use cache_query::Questions;
use connection::{PickleFrames, Plain, PlaintextLines};
use intake::Intake;
use plumbago_model::Batch;
use stop::Stop;
use tcp::Service;
use telnet::TelnetLines;
use tls::Encrypted;

pub use cache_query::Recent;
pub use intake::limits;
pub use sample::Sampler;

/// Where received points go. Implemented by the server over resolve, log and rollup.
pub trait Sink: Send + Sync + 'static {
    /// Takes the whole batch, or none of it. Points in it that are refused one by one (too old, over a limit) are
    /// counted by the sink. When this returns `Ok` every point taken survives a kill of the process.
    fn accept(&self, batch: &Batch<'_>, sender: &Sender) -> Result<(), Busy>;

    /// Does it matter from which address points come? Then datagrams of different senders are not put into one batch.
    fn tells_senders_apart(&self) -> bool;
}

/// The batch cannot be taken now (disk full, log failing): try the same batch again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// The carbon listeners of one server. They share one limit on connections.
///
/// The caller binds the listeners, because it can best explain why that failed. Each method starts one of them on the current
/// tokio runtime and returns a handle that ends when the listener has drained after a stop. Then the listener closes, and every
/// connection is half-closed at a pause, so that a relay sees the end and reconnects elsewhere. What senders have already sent
/// is read until they close too. Connections that keep sending are reset at a pause in the second half of
/// `ingest.drain_timeout`, and at its end in any case: their next write fails, so the sender keeps those points.
pub struct Receiver {
    intake: Arc<Intake>,
    stop: Stop,
    /// Who is who, if senders over TLS have to be users.
    doorman: Option<Arc<Doorman>>,
}

impl Receiver {
    /// Starts no listener yet. Everything started here stops when `stop` turns true or its sender is dropped.
    pub fn new(
        sink: Arc<dyn Sink>,
        config: &Ingest,
        telemetry: Arc<Telemetry>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let stop = Stop::new(stop, config.drain_timeout);
        Self { intake: Arc::new(Intake::new(sink, config.clone(), telemetry)), stop, doorman: None }
    }

    /// Takes only what comes from these addresses, if there are any.
    pub fn allowing(self, addresses: Addresses) -> Self {
        Self { intake: Arc::new(self.intake.allowing(addresses)), ..self }
    }

    /// Lets senders over TLS in who are users by their certificates, and confines them to what they may write.
    pub fn asking(self, doorman: Option<Arc<Doorman>>) -> Self {
        Self { doorman, ..self }
    }

    /// Plaintext over TCP.
    pub fn plaintext(&self, listener: TcpListener) -> JoinHandle<()> {
        self.serve(Plain::<PlaintextLines>::new(), listener)
    }

    /// Pickle over TCP.
    pub fn pickle(&self, listener: TcpListener) -> JoinHandle<()> {
        self.serve(Plain::<PickleFrames>::new(), listener)
    }

    /// KairosDB's and OpenTSDB's lines over TCP.
    pub fn telnet(&self, listener: TcpListener) -> JoinHandle<()> {
        self.serve(Plain::<TelnetLines>::new(), listener)
    }

    /// Plaintext over TLS.
    pub fn plaintext_tls(&self, listener: TcpListener, certificate: Arc<Certificate>) -> JoinHandle<()> {
        self.serve(Encrypted::<PlaintextLines>::new(certificate, self.doorman.clone()), listener)
    }

    /// Pickle over TLS.
    pub fn pickle_tls(&self, listener: TcpListener, certificate: Arc<Certificate>) -> JoinHandle<()> {
        self.serve(Encrypted::<PickleFrames>::new(certificate, self.doorman.clone()), listener)
    }

    /// Queries for points that are still in memory. They know no users: where everybody else has to log in, only this machine is
    /// answered, and who is listed.
    pub fn cache_queries(&self, listener: TcpListener, recent: Arc<dyn Recent>) -> JoinHandle<()> {
        let guarded = self.doorman.is_some().then(|| Arc::new(self.intake.at_home()));
        let intake = guarded.unwrap_or_else(|| Arc::clone(&self.intake));
        tokio::spawn(tcp::serve(Questions::new(recent), listener, intake, self.stop.clone()))
    }

    /// Plaintext over UDP.
    pub fn udp(&self, socket: UdpSocket) -> JoinHandle<()> {
        tokio::spawn(udp::serve(socket, Arc::clone(&self.intake), self.stop.clone()))
    }

    fn serve(&self, service: impl Service, listener: TcpListener) -> JoinHandle<()> {
        tokio::spawn(tcp::serve(service, listener, Arc::clone(&self.intake), self.stop.clone()))
    }
}
