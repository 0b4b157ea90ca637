//! Limits on connections, and how long to wait before trying again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::telemetry::Telemetry;

/// How many connections may be open, over all listeners.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    free: Arc<Semaphore>,
    telemetry: Arc<Telemetry>,
}

/// One open connection; counted until it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    telemetry: Arc<Telemetry>,
    _held: OwnedSemaphorePermit,
}

impl Connections {
    pub(super) fn new(most: usize, telemetry: Arc<Telemetry>) -> Self {
        Self { free: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))), telemetry }
    }

    /// Admits one more connection, or counts it as refused.
    pub(super) fn admit(&self) -> Option<Permit> {
        match Arc::clone(&self.free).try_acquire_owned() {
            Ok(held) => {
                self.telemetry.connections.add(1);
                Some(Permit { telemetry: Arc::clone(&self.telemetry), _held: held })
            }
            Err(_) => {
                self.telemetry.connections_refused.add(1);
                None
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.telemetry.connections.sub(1);
    }
}

/// Pauses that double from 50 ms to 1 s.
#[derive(Debug)]
pub(super) struct Backoff(Duration);

impl Backoff {
    const FIRST: Duration = Duration::from_millis(50);
    const LONGEST: Duration = Duration::from_secs(1);

    pub(super) fn new() -> Self {
        Self(Self::FIRST)
    }

    /// The pause to make now.
    pub(super) fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(Self::LONGEST);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_is_given_back_when_dropped() {
        let telemetry = Arc::new(Telemetry::default());
        let connections = Connections::new(1, Arc::clone(&telemetry));
        let held = connections.admit().unwrap();
        assert!(connections.admit().is_none());
        assert_eq!((telemetry.connections.get(), telemetry.connections_refused.get()), (1, 1));
        drop(held);
        assert!(connections.admit().is_some());
        assert_eq!((telemetry.connections.get(), telemetry.connections_refused.get()), (0, 1));
    }

    #[test]
    fn pauses_double_up_to_a_second() {
        let mut backoff = Backoff::new();
        let pauses: Vec<u128> = (0..7).map(|_| backoff.next().as_millis()).collect();
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1000, 1000]);
    }
}
