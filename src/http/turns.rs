//! Whose turn it is: so many queries run at once, and of these only so many of one user.
//!
//! Without the second limit, one user who sends hundreds of renders takes the turns of everybody else. Those who did not log in are
//! told apart by their address.
//!
//! Queries that read series have turns of their own besides, and fewer: a core computes one of them at a time, and what others hold meanwhile
//! is memory that nobody uses. So finds do not wait for renders.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::error::Failure;
use crate::config;
use crate::telemetry::Telemetry;

/// A query waits at most this long for its turn. Then it is better to tell the client.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Asker {
    /// Somebody who logged in.
    User(Arc<str>),
    /// Somebody at this address.
    Address(IpAddr),
}

/// All turns.
#[derive(Debug)]
pub(super) struct Turns {
    all: Arc<Semaphore>,
    /// How many one asker may have; none if that is all of them.
    each: Option<usize>,
    /// Those who have a turn, or wait for one.
    askers: Mutex<HashMap<Asker, Arc<Semaphore>>>,
    /// How long a query waits at most, whatever time it has.
    longest_wait: Duration,
    /// The keys of both limits.
    keys: [&'static str; 2],
    telemetry: Arc<Telemetry>,
}

/// A turn; the next query has it when this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _of_all: OwnedSemaphorePermit,
    _own: Option<OwnTurn>,
}

/// A turn among those of one asker.
#[derive(Debug)]
struct OwnTurn {
    asker: Asker,
    permit: Option<OwnedSemaphorePermit>,
    all: Arc<Turns>,
}

impl Turns {
    /// Those of all queries.
    pub(super) fn of_queries(config: &config::Query, telemetry: Arc<Telemetry>) -> Self {
        let keys = ["query.max_concurrent", "query.max_concurrent_each"];
        let limits = (config.max_concurrent, config.max_concurrent_each);
        Self { longest_wait: LONGEST_WAIT, ..Self::new(limits, keys, telemetry) }
    }

    /// Those of queries that read series. They may wait as long as they may take, as they would if they shared the cores.
    pub(super) fn of_renders(config: &config::Query, telemetry: Arc<Telemetry>) -> Self {
        let keys = ["query.max_renders", "query.max_renders_each"];
        Self::new((config.max_renders, config.max_renders_each), keys, telemetry)
    }

    fn new((all, each): (usize, usize), keys: [&'static str; 2], telemetry: Arc<Telemetry>) -> Self {
        let total = all.clamp(1, Semaphore::MAX_PERMITS);
        let each = each.clamp(1, total);
        // Who may have all of them need not be counted.
        let each = (each < total).then_some(each);
        let (all, askers) = (Arc::new(Semaphore::new(total)), Mutex::default());
        Self { all, each, askers, longest_wait: Duration::MAX, keys, telemetry }
    }

    /// Waits for a turn, at most for `patience`.
    pub(super) async fn take(
        self: &Arc<Self>,
        asker: Option<Asker>,
        patience: Duration,
    ) -> Result<Turn, Failure> {
        let patience = patience.min(self.longest_wait);
        let own = match asker.zip(self.each) {
            Some((asker, each)) => Some(self.own(asker, each, patience).await?),
            None => None,
        };
        let of_all = self.wait(&self.all, patience).await.ok_or(Failure::Busy(self.keys[0]))?;
        Ok(Turn { _of_all: of_all, _own: own })
    }

    /// A turn among those of one asker.
    async fn own(
        self: &Arc<Self>,
        asker: Asker,
        each: usize,
        patience: Duration,
    ) -> Result<OwnTurn, Failure> {
        let turns = {
            let mut askers = self.askers.lock();
            Arc::clone(askers.entry(asker.clone()).or_insert_with(|| Arc::new(Semaphore::new(each))))
        };
        // From here on the entry goes when nobody needs it, also if this is dropped while it waits.
        let mut own = OwnTurn { asker, permit: None, all: Arc::clone(self) };
        own.permit = self.wait(&turns, patience).await;
        drop(turns);
        if own.permit.is_some() { Ok(own) } else { Err(Failure::TooMany(each, self.keys[1])) }
    }

    async fn wait(&self, turns: &Arc<Semaphore>, patience: Duration) -> Option<OwnedSemaphorePermit> {
        if let Ok(turn) = Arc::clone(turns).try_acquire_owned() {
            return Some(turn);
        }
        let _waiting = Waiting::begin(&self.telemetry);
        timeout(patience, Arc::clone(turns).acquire_owned()).await.ok()?.ok()
    }
}

impl Drop for OwnTurn {
    fn drop(&mut self) {
        self.permit = None;
        let mut askers = self.all.askers.lock();
        // Those who have a turn or wait for one hold the semaphore, too.
        if askers.get(&self.asker).is_some_and(|turns| Arc::strong_count(turns) == 1) {
            askers.remove(&self.asker);
        }
    }
}

/// Counts a query while it waits, also if its client leaves meanwhile.
struct Waiting<'a>(&'a Telemetry);

impl<'a> Waiting<'a> {
    fn begin(telemetry: &'a Telemetry) -> Self {
        telemetry.queries_waiting.add(1);
        Self(telemetry)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.queries_waiting.sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(all: usize, each: usize) -> Arc<Turns> {
        let config =
            config::Query { max_concurrent: all, max_concurrent_each: each, ..config::Query::default() };
        Arc::new(Turns::of_queries(&config, Arc::default()))
    }

    fn user(name: &str) -> Option<Asker> {
        Some(Asker::User(name.into()))
    }

    const AT_ONCE: Duration = Duration::ZERO;

    #[tokio::test]
    async fn one_user_leaves_turns_for_the_others() {
        let turns = turns(3, 2);
        let first = turns.take(user("ann"), AT_ONCE).await.unwrap();
        let _second = turns.take(user("ann"), AT_ONCE).await.unwrap();
        assert!(matches!(
            turns.take(user("ann"), AT_ONCE).await,
            Err(Failure::TooMany(2, "query.max_concurrent_each"))
        ));
        let other = turns.take(user("bob"), AT_ONCE).await.unwrap();
        assert!(matches!(turns.take(user("eve"), AT_ONCE).await, Err(Failure::Busy("query.max_concurrent"))));
        assert_eq!(turns.askers.lock().len(), 2, "who has no turn is forgotten");
        drop((first, other));
        let _again = turns.take(user("ann"), AT_ONCE).await.unwrap();
        let address = Some(Asker::Address([192, 0, 2, 1].into()));
        let _elsewhere = turns.take(address, AT_ONCE).await.unwrap();
        assert_eq!(turns.telemetry.queries_waiting.get(), 0);
    }

    #[tokio::test]
    async fn who_waits_gets_the_next_turn() {
        let turns = turns(2, 1);
        let first = turns.take(user("ann"), AT_ONCE).await.unwrap();
        let waiting = tokio::spawn({
            let turns = Arc::clone(&turns);
            async move { turns.take(user("ann"), Duration::from_secs(5)).await.map(drop) }
        });
        while turns.telemetry.queries_waiting.get() == 0 {
            tokio::task::yield_now().await;
        }
        drop(first);
        waiting.await.unwrap().unwrap();
        assert!(turns.askers.lock().is_empty());
    }

    #[tokio::test]
    async fn renders_have_limits_of_their_own() {
        let config = config::Query { max_renders: 1, max_renders_each: 1, ..config::Query::default() };
        let turns = Arc::new(Turns::of_renders(&config, Arc::default()));
        let _first = turns.take(user("ann"), AT_ONCE).await.unwrap();
        assert!(matches!(turns.take(user("bob"), AT_ONCE).await, Err(Failure::Busy("query.max_renders"))));
    }

    #[tokio::test]
    async fn who_may_have_all_of_them_is_not_counted() {
        let turns = turns(1, 8);
        let _first = turns.take(user("ann"), AT_ONCE).await.unwrap();
        assert!(turns.askers.lock().is_empty());
    }
}
