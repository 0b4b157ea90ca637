//! Data for the pictures in docs/img: a fleet as one meets it, with days and nights, a deployment and a failover.

use std::fmt::Write as _;

use crate::harness::{Server, now};

/// When the marked events happened, in seconds before now.
pub(super) const DEPLOYED: u64 = 2400;
const FAILED_OVER: u64 = 900;

const MINUTE: u64 = 60;
const DAY: u64 = 86_400;

/// Hosts by what they do.
const ROLES: [(&str, u32); 3] = [("web", 12), ("db", 4), ("cache", 4)];
const HANDLERS: [(&str, f64); 5] =
    [("search", 420.0), ("product", 610.0), ("cart", 140.0), ("checkout", 55.0), ("login", 85.0)];
const REGIONS: [(&str, f64); 2] = [("eu", 0.62), ("us", 0.38)];

/// One host at one moment.
struct Host<'h> {
    role: &'h str,
    number: u32,
    /// Seconds since 1970, and before now.
    time: u64,
    ago: u64,
}

/// Sends a day of all metrics: a point each minute, and in the last six hours each ten seconds, as their rule keeps them. The week before
/// has the load of the hosts alone.
pub(super) fn fill(server: &Server) {
    let now = now();
    let mut older = String::new();
    for time in (now - 7 * DAY..now - DAY).step_by(600) {
        for (role, hosts) in ROLES {
            for number in 1..=hosts {
                let load = Host { role, number, time, ago: now - time }.load();
                let _ = writeln!(older, "servers.{role}{number}.cpu.load {load:.2} {time}");
            }
        }
    }
    server.store(&older);
    let times: Vec<u64> =
        (now - DAY..now - 360 * MINUTE).step_by(60).chain((now - 360 * MINUTE..=now).step_by(10)).collect();
    let mut lines = String::new();
    for time in times {
        for (role, hosts) in ROLES {
            (1..=hosts).for_each(|number| Host { role, number, time, ago: now - time }.write(&mut lines));
        }
        requests(&mut lines, time, now - time);
    }
    server.store(&lines);
    assert_eq!(server.post("/internal/flush", &[("settle", "1")]).status, 200);
}

impl Host<'_> {
    fn write(&self, lines: &mut String) {
        let user = self.user();
        let memory = self.memory();
        let received = (2.0e5 + 6.0e4 * user) * (1.0 + 0.08 * self.noise(4));
        let sent = received * if self.role == "web" { 6.5 } else { 0.8 };
        let disk = (40.0 + 7.0 * f64::from(self.number)) * 1e9 + self.time as f64 % 604_800.0 * 9_000.0;
        let Self { role, number, time, .. } = self;
        for (leaf, value) in [
            ("cpu.user", user),
            ("cpu.system", user * 0.22 + 1.0 + 0.4 * self.noise(1)),
            ("cpu.load", self.load()),
            ("memory.used_bytes", memory),
            ("disk.sda.used_bytes", disk),
            ("network.eth0.rx_bytes", received),
            ("network.eth0.tx_bytes", sent),
        ] {
            let _ = writeln!(lines, "servers.{role}{number}.{leaf} {value:.2} {time}");
        }
    }

    /// Percent of the processors' time.
    fn user(&self) -> f64 {
        let drift = 5.0 * self.smooth(5, 900) + 2.5 * self.smooth(6, 90) + 1.2 * self.noise(7);
        let number = f64::from(self.number);
        let busy = match self.role {
            "web" => {
                // The first half of the hosts has the new version, which takes more until it is warm.
                let warming = self.number <= 6 && (DEPLOYED - 600..=DEPLOYED).contains(&self.ago);
                12.0 + 0.9 * number + 34.0 * daylight(self.time) + if warming { 22.0 } else { 0.0 }
            }
            "db" => {
                let nightly = if self.time % DAY < 5400 { 38.0 } else { 0.0 };
                let primary = (self.number == 1) == (self.ago > FAILED_OVER);
                let share = if self.number <= 2 && primary { 44.0 } else { 14.0 };
                4.0 * number + share * (0.4 + 0.6 * daylight(self.time)) + nightly
            }
            _ => 5.0 + 1.5 * number + 9.0 * daylight(self.time),
        };
        (busy + drift).clamp(0.5, 98.0)
    }

    fn load(&self) -> f64 {
        (0.3 + self.user() / 100.0 * 8.0 + 0.15 * self.noise(2)).max(0.05)
    }

    fn memory(&self) -> f64 {
        let number = f64::from(self.number);
        let wave = 0.25 * self.smooth(8, 1200) + 0.02 * self.noise(9);
        let gib = match self.role {
            // A heap that fills and is collected.
            "web" => {
                let since = (self.time + u64::from(self.number) * 377) % 2700;
                2.4 + 0.1 * number + 1.3 * since as f64 / 2700.0 + wave
            }
            "db" if self.number == 1 && self.ago <= FAILED_OVER => {
                2.0 + 3.0 * (1.0 - self.ago as f64 / FAILED_OVER as f64) + wave
            }
            "db" => 9.0 + 1.4 * number + 2.0 * wave,
            _ => 14.0 + 0.5 * number + wave,
        };
        gib * f64::from(1 << 30)
    }

    fn seed(&self, what: u64) -> u64 {
        let role = self.role.bytes().fold(0, |sum, byte| sum * 31 + u64::from(byte));
        role << 20 | u64::from(self.number) << 8 | what
    }

    fn noise(&self, what: u64) -> f64 {
        noise(self.seed(what), self.time)
    }

    fn smooth(&self, what: u64, period: u64) -> f64 {
        smooth(self.seed(what), self.time, period)
    }
}

/// What the application counts: by path, and by tags.
fn requests(lines: &mut String, time: u64, ago: u64) {
    for (at, (handler, most)) in HANDLERS.into_iter().enumerate() {
        let seed = at as u64 + 900;
        let rate = most * (0.25 + 0.75 * daylight(time)) * (1.0 + 0.06 * smooth(seed, time, 300));
        let slower = if (DEPLOYED - 600..=DEPLOYED).contains(&ago) { 1.7 } else { 1.0 };
        let median = (18.0 + 11.0 * at as f64) * slower * (1.0 + 0.1 * noise(seed + 40, time));
        let slow = median * (3.2 + 0.6 * smooth(seed + 80, time, 120));
        let errors = rate * if ago <= FAILED_OVER && ago > FAILED_OVER - 90 { 0.09 } else { 0.002 };
        let _ = writeln!(lines, "app.requests.{handler}.rate {rate:.2} {time}");
        let _ = writeln!(lines, "app.requests.{handler}.p50 {median:.2} {time}");
        let _ = writeln!(lines, "app.requests.{handler}.p99 {slow:.2} {time}");
        let _ = writeln!(lines, "app.requests.{handler}.errors {errors:.2} {time}");
        for (region, share) in REGIONS {
            let rate = rate * share;
            let _ = writeln!(lines, "requests;handler={handler};region={region} {rate:.2} {time}");
        }
    }
}

/// From 0 at four in the morning to 1 in the afternoon.
fn daylight(time: u64) -> f64 {
    let day = (time % DAY) as f64 / DAY as f64;
    (0.5 - 0.5 * ((day - 4.0 / 24.0) * std::f64::consts::TAU).cos()).powf(1.3)
}

/// A number from -1 to 1 for each second, the same in each run.
fn noise(seed: u64, time: u64) -> f64 {
    let mut hash = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ time.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^= hash >> 29;
    (hash >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Noise that goes from one value to another in each period.
fn smooth(seed: u64, time: u64, period: u64) -> f64 {
    let (at, part) = (time / period, (time % period) as f64 / period as f64);
    let part = part * part * (3.0 - 2.0 * part);
    noise(seed, at) * (1.0 - part) + noise(seed, at + 1) * part
}

/// Three hours of what a server notes about itself, a point a minute.
pub(super) fn own_history(own: &str) -> String {
    let now = now();
    let mut lines = String::new();
    for time in (now - 190 * MINUTE..now).step_by(60) {
        let at = |what: u64, period: u64| smooth(what, time, period);
        let since_cut = (time % 600) as f64 / 600.0;
        for (name, value) in [
            ("committedPoints", 1_170.0 + 30.0 * at(1, 600) + 8.0 * noise(2, time)),
            ("creates", if noise(3, time) > 0.9 { 3.0 } else { 0.0 }),
            ("cache.size", 11_700.0 * since_cut),
            ("updateOperations", if time % 600 < 60 { 1.0 } else { 0.0 }),
            ("errors", 0.0),
            ("disk.used", 2.1e6 + (time % DAY) as f64 * 9.0),
            ("memUsage", 7.4e7 + 4.0e6 * at(7, 1500)),
            ("cpuUsage", 3.1 + 1.1 * at(8, 420) + 0.3 * noise(9, time)),
            ("queries.active", (0.8 + 1.2 * at(10, 240)).max(0.0).round()),
            ("queries.memory", 3.0e5 * (1.0 + at(11, 180))),
            ("http.render.p95", 0.011 + 0.004 * at(12, 600)),
        ] {
            let _ = writeln!(lines, "{own}.{name} {value:.4} {time}");
        }
    }
    lines
}
