//! The phases of a stop: running, draining, resetting connections that keep sending, over.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// One task's view of the stop.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    signal: watch::Receiver<bool>,
    drain: Duration,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No stop was requested.
    Running,
    /// A stop was requested; until this time senders may finish at their own pace.
    Draining(Instant),
    /// Half of the drain time has passed; until this time, connections that still send are reset at a pause.
    Parting(Instant),
    /// The drain time has passed.
    Over,
}

impl Stop {
    pub(super) fn new(signal: watch::Receiver<bool>, drain: Duration) -> Self {
        Self { signal, drain, phase: Phase::Running }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Waits for the next phase. Dropping the wait loses nothing.
    pub(super) async fn changed(&mut self) {
        self.phase = match self.phase {
            Phase::Running => {
                // An error means that nobody can request a stop any more: the server is going away.
                let _ = self.signal.wait_for(|stop| *stop).await;
                Phase::Draining(Instant::now() + self.drain / 2)
            }
            Phase::Draining(end) => {
                tokio::time::sleep_until(end).await;
                Phase::Parting(end + self.drain / 2)
            }
            Phase::Parting(end) => {
                tokio::time::sleep_until(end).await;
                Phase::Over
            }
            Phase::Over => std::future::pending().await,
        };
    }

    /// Waits for `pause`, or until the last phase starts.
    pub(super) async fn pause(&mut self, pause: Duration) {
        let end = Instant::now() + pause;
        while self.phase != Phase::Over {
            tokio::select! {
                () = tokio::time::sleep_until(end) => return,
                () = self.changed() => {}
            }
        }
    }
}
