//! Wrong logins by address. An address with too many of them has to wait.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The time in which they are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// Most addresses that are remembered.
const MOST: usize = 10_000;

/// Wrong logins of the last minute.
pub(super) struct Failures {
    limit: u32,
    by_address: Mutex<HashMap<IpAddr, Counted>>,
}

#[derive(Clone, Copy)]
struct Counted {
    since: Instant,
    count: u32,
}

impl Failures {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, by_address: Mutex::default() }
    }

    /// The seconds that this address has to wait, if it has tried too often.
    pub(super) fn wait(&self, from: IpAddr) -> Option<u64> {
        self.wait_at(from, Instant::now())
    }

    /// One more.
    pub(super) fn note(&self, from: IpAddr) {
        self.note_at(from, Instant::now());
    }

    fn wait_at(&self, from: IpAddr, now: Instant) -> Option<u64> {
        let counted = *self.by_address.lock().get(&holder(from))?;
        let left = MINUTE.checked_sub(now.saturating_duration_since(counted.since))?;
        (counted.count >= self.limit).then(|| left.as_secs().max(1))
    }

    fn note_at(&self, from: IpAddr, now: Instant) {
        let mut all = self.by_address.lock();
        let is_over = |counted: &Counted| now.saturating_duration_since(counted.since) >= MINUTE;
        if all.len() >= MOST {
            all.retain(|_, counted| !is_over(counted));
        }
        if all.len() >= MOST {
            let oldest = all.iter().min_by_key(|(_, counted)| counted.since).map(|(address, _)| *address);
            oldest.and_then(|address| all.remove(&address));
        }
        let counted = all.entry(holder(from)).or_insert(Counted { since: now, count: 0 });
        if is_over(counted) {
            *counted = Counted { since: now, count: 0 };
        }
        counted.count = counted.count.saturating_add(1);
    }
}

/// The owner of one IPv6 address usually has all 2^64 that share its first half, so they count as one.
fn holder(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) & !u128::from(u64::MAX)).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_that_is_wrong_too_often_waits_until_the_minute_is_over() {
        let failures = Failures::new(3);
        let (a, b, start) = (address("192.0.2.1"), address("192.0.2.2"), Instant::now());
        for second in 0..3 {
            assert_eq!(failures.wait_at(a, start + Duration::from_secs(second)), None);
            failures.note_at(a, start + Duration::from_secs(second));
        }
        assert_eq!(failures.wait_at(a, start + Duration::from_secs(10)), Some(50));
        assert_eq!(failures.wait_at(b, start + Duration::from_secs(10)), None);
        assert_eq!(failures.wait_at(a, start + Duration::from_secs(61)), None);
        failures.note_at(a, start + Duration::from_secs(61));
        assert_eq!(failures.wait_at(a, start + Duration::from_secs(62)), None, "the count starts again");
    }

    #[test]
    fn neighbours_in_ipv6_are_one() {
        let failures = Failures::new(1);
        failures.note(address("2001:db8::1"));
        assert!(failures.wait(address("2001:db8::2")).is_some());
        assert!(failures.wait(address("2001:db8:0:1::2")).is_none());
    }

    #[test]
    fn only_so_many_addresses_are_remembered() {
        let failures = Failures::new(1);
        for n in 0..2 * MOST as u32 {
            failures.note(IpAddr::V4(n.into()));
        }
        assert!(failures.by_address.lock().len() <= MOST);
    }
}
