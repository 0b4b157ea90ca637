//! Timestamps of the feed: unique, ascending, and tied to the server that made them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use scylla::value::CqlTimeuuid;
use uuid::Uuid;

/// Steps of 100 ns from 15 October 1582, where time UUIDs begin, to 1970.
const EPOCH_TICKS: u64 = 0x01B2_1DD2_1381_4000;
const TICKS_PER_MS: u64 = 10_000;

/// Milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Makes time UUIDs of one server.
#[derive(Debug)]
pub(super) struct Stamps {
    /// Random, chosen at the start: the lower half of all its stamps.
    server: u64,
    last: AtomicU64,
}

impl Stamps {
    pub(super) fn new() -> Self {
        let (_, random) = Uuid::new_v4().as_u64_pair();
        // Variant 1, and the bit that says that the node is not a hardware address.
        let server = (random & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0100_0000_0000;
        Self { server, last: AtomicU64::new(0) }
    }

    /// A stamp of this moment, later than all before it.
    pub(super) fn next(&self) -> CqlTimeuuid {
        let now = now_ms().unsigned_abs() * TICKS_PER_MS + EPOCH_TICKS;
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let next = now.max(last + 1);
            match self.last.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return timeuuid(next, self.server),
                Err(other) => last = other,
            }
        }
    }

    /// Did this server make it?
    pub(super) fn is_own(&self, stamp: CqlTimeuuid) -> bool {
        stamp.as_u64_pair().1 == self.server
    }
}

fn timeuuid(ticks: u64, server: u64) -> CqlTimeuuid {
    let (low, middle, high) = (ticks & 0xFFFF_FFFF, (ticks >> 32) & 0xFFFF, (ticks >> 48) & 0x0FFF);
    CqlTimeuuid::from_u64_pair((low << 32) | (middle << 16) | 0x1000 | high, server)
}

/// When a stamp was made, in milliseconds since 1970.
pub(super) fn millis(stamp: CqlTimeuuid) -> i64 {
    let (time, _) = stamp.as_u64_pair();
    let ticks = (time >> 32) | ((time >> 16 & 0xFFFF) << 32) | ((time & 0x0FFF) << 48);
    i64::try_from(ticks / TICKS_PER_MS).unwrap_or(i64::MAX) - (EPOCH_TICKS / TICKS_PER_MS) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_ascend_and_tell_time_and_server() {
        let (ours, theirs) = (Stamps::new(), Stamps::new());
        let before = now_ms();
        let stamps: Vec<CqlTimeuuid> = (0..1000).map(|_| ours.next()).collect();
        assert!(stamps.windows(2).all(|pair| pair[0] < pair[1]));
        assert!((before..=now_ms() + 1).contains(&millis(stamps[0])), "{}", millis(stamps[0]));
        assert!(ours.is_own(stamps[0]) && !theirs.is_own(stamps[0]));
        let uuid = Uuid::from(stamps[0]);
        assert_eq!(uuid.get_version_num(), 1);
        assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122);
    }

    #[test]
    fn a_known_time_uuid_is_read() {
        // 2021-01-01T00:00:00Z, made by Python.
        let stamp: CqlTimeuuid = "4a784000-4bc4-11eb-8000-000000000000".parse().unwrap();
        assert_eq!(millis(stamp), 1_609_459_200_000);
    }
}
