//! How many batches may be in flight: one more after a good run, half as many after a failure.

use std::sync::Arc;

use tokio::sync::watch;

/// Batches in flight when nothing is known of the cluster yet.
const FIRST_IN_FLIGHT: usize = 32;
const LEAST_IN_FLIGHT: usize = 4;
/// And while metrics are created: what both ask of the cluster goes to the names then, without which no other server finds
/// the points. Batches that are full still bring tens of thousands of points a second.
const BESIDE_NAMES: usize = 4;
/// After so many batches went well one more may be in flight.
const GROW_AFTER: u64 = 64;

/// See the module documentation.
pub(super) struct Throttle {
    /// Waiters watch it, so every change wakes them.
    load: watch::Sender<Load>,
    most: usize,
}

#[derive(Clone, Copy, Debug)]
struct Load {
    in_flight: usize,
    limit: usize,
    good: u64,
}

/// Permission for one batch; it ends when this is dropped.
pub(super) struct Permit(Arc<Throttle>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.load.send_modify(|load| load.in_flight -= 1);
    }
}

impl Throttle {
    pub(super) fn new(most: usize) -> Self {
        let most = most.max(LEAST_IN_FLIGHT);
        let first = Load { in_flight: 0, limit: FIRST_IN_FLIGHT.min(most), good: 0 };
        Self { load: watch::Sender::new(first), most }
    }

    /// Batches that may be in flight now.
    pub(super) fn limit(&self) -> usize {
        self.load.borrow().limit
    }

    /// Waits until one more batch may start. `creations` counts the creations of metrics under way.
    pub(super) async fn acquire(self: &Arc<Self>, mut creations: watch::Receiver<usize>) -> Permit {
        let mut load = self.load.subscribe();
        loop {
            // Both count as seen before the attempt, so that a change after it ends the wait.
            load.borrow_and_update();
            let is_naming = *creations.borrow_and_update() > 0;
            if self.try_start(is_naming) {
                return Permit(Arc::clone(self));
            }
            tokio::select! {
                Ok(()) = load.changed() => {}
                Ok(()) = creations.changed() => {}
            }
        }
    }

    fn try_start(&self, is_naming: bool) -> bool {
        self.load.send_if_modified(|load| {
            let limit = if is_naming { load.limit.min(BESIDE_NAMES) } else { load.limit };
            let has_room = load.in_flight < limit;
            load.in_flight += usize::from(has_room);
            has_room
        })
    }

    pub(super) fn went_well(&self) {
        self.load.send_modify(|load| {
            load.good += 1;
            if load.good.is_multiple_of(GROW_AFTER) && load.limit < self.most {
                load.limit += 1;
            }
        });
    }

    pub(super) fn went_badly(&self) {
        self.load.send_modify(|load| {
            // Only room that is free goes at once. The rest goes as those in flight fail in their turn, so one failure among
            // many that go well costs little.
            let surplus = load.limit - (load.limit / 2).max(LEAST_IN_FLIGHT).min(load.limit);
            load.limit -= surplus.min(load.limit.saturating_sub(load.in_flight));
        });
    }

    /// Waits until nothing is in flight.
    pub(super) async fn quiet(&self) {
        let is_quiet = |load: &Load| load.in_flight == 0;
        // It fails only when the throttle is gone, and `self` holds it.
        let _ = self.load.subscribe().wait_for(is_quiet).await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn take(throttle: &Arc<Throttle>, creations: &watch::Sender<usize>) -> Option<Permit> {
        match poll(pin!(throttle.acquire(creations.subscribe()))) {
            Poll::Ready(permit) => Some(permit),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_batch_that_ends_lets_the_next_one_start() {
        let (throttle, creations) = (Arc::new(Throttle::new(4)), watch::Sender::new(0));
        let mut permits: Vec<Permit> = (0..4).filter_map(|_| take(&throttle, &creations)).collect();
        assert_eq!(permits.len(), 4);
        let mut waiting = pin!(throttle.acquire(creations.subscribe()));
        assert!(poll(waiting.as_mut()).is_pending());
        permits.pop();
        assert!(poll(waiting.as_mut()).is_ready());
    }

    #[test]
    fn points_give_way_to_names_until_these_are_created() {
        let (throttle, creations) = (Arc::new(Throttle::new(100)), watch::Sender::new(1));
        let permits: Vec<Permit> = (0..32).filter_map(|_| take(&throttle, &creations)).collect();
        assert_eq!(permits.len(), BESIDE_NAMES);
        let mut waiting = pin!(throttle.acquire(creations.subscribe()));
        assert!(poll(waiting.as_mut()).is_pending());
        creations.send_modify(|under_way| *under_way -= 1);
        assert!(poll(waiting.as_mut()).is_ready());
    }

    #[test]
    fn it_is_quiet_when_the_last_batch_has_ended() {
        let (throttle, creations) = (Arc::new(Throttle::new(4)), watch::Sender::new(0));
        assert!(poll(pin!(throttle.quiet())).is_ready());
        let permits = (take(&throttle, &creations), take(&throttle, &creations));
        let mut quiet = pin!(throttle.quiet());
        drop(permits.0);
        assert!(poll(quiet.as_mut()).is_pending());
        drop(permits.1);
        assert!(poll(quiet.as_mut()).is_ready());
    }

    #[test]
    fn the_limit_grows_slowly_and_shrinks_by_half() {
        let (throttle, creations) = (Arc::new(Throttle::new(33)), watch::Sender::new(0));
        (0..2 * GROW_AFTER).for_each(|_| throttle.went_well());
        assert_eq!(throttle.limit(), 33, "one more after a good run, and never more than allowed");
        throttle.went_badly();
        assert_eq!(throttle.limit(), 16);
        let permits: Vec<Permit> = (0..15).filter_map(|_| take(&throttle, &creations)).collect();
        throttle.went_badly();
        assert_eq!(throttle.limit(), permits.len(), "room that is taken stays");
        drop(permits);
        (0..9).for_each(|_| throttle.went_badly());
        assert_eq!(throttle.limit(), LEAST_IN_FLIGHT);
    }
}
