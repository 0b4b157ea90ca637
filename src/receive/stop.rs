//! How a stop unfolds: running, then draining, then parting from those who would go on, then over.

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
    /// Nobody asked to stop.
    Running,
    /// A stop was asked for; until then senders may finish in their own time.
    Draining(Instant),
    /// Half of the time to drain has passed; who still sends is parted from at a good moment until then.
    Parting(Instant),
    /// The time to drain has passed.
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
                // An error means that nobody is left who could ask: the server is going away.
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

    /// Waits for `pause`, or less when the last phase comes first.
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
