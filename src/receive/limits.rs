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

/// Bytes of an unfinished line or frame that every connection may keep without asking: more than a usual line.
const FREE: usize = 4096;

/// The memory that unfinished lines and frames of all connections may take beyond that. Without a bound, thousands of connections could
/// each send most of a frame and stop.
#[derive(Clone, Debug)]
pub(super) struct Unfinished(Arc<Semaphore>);

impl Unfinished {
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))))
    }
}

/// What one connection has of it.
#[derive(Debug)]
pub(super) struct Carried {
    all: Unfinished,
    held: Option<OwnedSemaphorePermit>,
}

impl Carried {
    pub(super) fn new(all: Unfinished) -> Self {
        Self { all, held: None }
    }

    /// Takes what is missing for so many bytes, or gives back what is too much. False if there is not enough for all.
    pub(super) fn cover(&mut self, bytes: usize) -> bool {
        let wanted = bytes.saturating_sub(FREE);
        if wanted == 0 {
            self.held = None;
            return true;
        }
        let has = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = u32::try_from(wanted.saturating_sub(has)).unwrap_or(u32::MAX);
        let Ok(more) = Arc::clone(&self.all.0).try_acquire_many_owned(missing) else { return false };
        match &mut self.held {
            Some(held) => held.merge(more),
            none => *none = Some(more),
        }
        true
    }
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
    fn what_is_not_finished_is_bounded_over_all_connections() {
        let all = Unfinished::new(10_000);
        let (mut one, mut two) = (Carried::new(all.clone()), Carried::new(all.clone()));
        assert!(one.cover(FREE) && one.cover(FREE + 4000) && one.cover(FREE + 6000));
        assert!(two.cover(FREE + 4000) && !two.cover(FREE + 4001), "there is no more");
        assert!(one.cover(10) && two.cover(FREE + 10_000), "a finished line gives its memory back");
        drop(two);
        assert_eq!(all.0.available_permits(), 10_000);
    }

    #[test]
    fn pauses_double_up_to_a_second() {
        let mut backoff = Backoff::new();
        let pauses: Vec<u128> = (0..7).map(|_| backoff.next().as_millis()).collect();
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1000, 1000]);
    }
}
