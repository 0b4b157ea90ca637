//! The load: names, shapes of values, and pages of lines.
//!
//! The generator runs on the same machine as the server, so a line must cost next to nothing. Each connection owns a page of
//! finished lines whose values and timestamps have a fixed width, and a round only overwrites digits.

/// Data centres of the hosts.
const DATA_CENTRES: usize = 5;

/// The fourth component.
const SUBSYSTEMS: [&str; 20] = [
    "cpu",
    "mem",
    "disk",
    "net",
    "nginx",
    "mysql",
    "redis",
    "kafka",
    "jvm",
    "docker",
    "haproxy",
    "memcached",
    "postgres",
    "rabbit",
    "zookeeper",
    "elastic",
    "dns",
    "ntp",
    "mail",
    "cron",
];

/// The fifth component. Its position decides the shape of the values: two constants, three counters, five gauges.
const MEASURES: [&str; 10] =
    ["limit", "capacity", "requests", "bytes", "errors", "load1", "usage", "latency", "ratio", "temperature"];

/// Metrics of one host.
pub(crate) const PER_HOST: usize = SUBSYSTEMS.len() * MEASURES.len();

/// Lines that are patched and written together: about 100 KiB.
const LINES_PER_WRITE: usize = 1800;

/// Digits of an epoch time stamp.
pub(crate) const STAMP: usize = 10;

/// How the values of a metric move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Always the same number.
    Constant,
    /// A ten-digit counter that grows by 0 to 4095.
    Counter,
    /// Two decimals, evenly spread up to ten above and below the metric's own mean.
    Gauge,
}

/// A small and fast random generator (xorshift64*). The quality of the noise does not matter, its cost does.
#[derive(Clone, Debug)]
pub(crate) struct Noise(u64);

impl Noise {
    /// Starts from `seed`; equal seeds produce equal noise.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next number below `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        ((high * u64::from(bound)) >> 32) as u32
    }
}

/// The name of metric number `i`: `servers.dcN.hostN.<subsystem>.<measure>`.
pub(crate) fn name(i: usize) -> String {
    let host = i / PER_HOST;
    let subsystem = SUBSYSTEMS[i / MEASURES.len() % SUBSYSTEMS.len()];
    format!("servers.dc{}.host{host}.{subsystem}.{}", host % DATA_CENTRES, MEASURES[i % MEASURES.len()])
}

/// Where one line ends, and how its value changes.
#[derive(Debug)]
struct Line {
    /// Offset just past the newline.
    end: u32,
    /// The number of the counter, or the mean of the gauge in hundredths.
    state: u32,
    shape: Shape,
}

/// All lines of one connection.
#[derive(Debug)]
pub(crate) struct Page {
    text: Vec<u8>,
    lines: Vec<Line>,
    noise: Noise,
}

impl Page {
    /// The lines for every metric in `metrics`, host by host in a shuffled order.
    pub(crate) fn servers(metrics: std::ops::Range<usize>, seed: u64) -> Self {
        let mut page = Self { text: Vec::new(), lines: Vec::new(), noise: Noise::new(seed) };
        let mut hosts: Vec<usize> = (metrics.start / PER_HOST..metrics.end.div_ceil(PER_HOST)).collect();
        for i in (1..hosts.len()).rev() {
            hosts.swap(i, page.noise.below(i as u32 + 1) as usize);
        }
        for host in hosts {
            for i in (host * PER_HOST..(host + 1) * PER_HOST).filter(|i| metrics.contains(i)) {
                let shape = match i % MEASURES.len() {
                    0 | 1 => Shape::Constant,
                    2..=4 => Shape::Counter,
                    _ => Shape::Gauge,
                };
                page.push(&name(i), shape);
            }
        }
        page
    }

    /// Gauges under the given names.
    pub(crate) fn gauges(names: impl Iterator<Item = String>, seed: u64) -> Self {
        let mut page = Self { text: Vec::new(), lines: Vec::new(), noise: Noise::new(seed) };
        for name in names {
            page.push(&name, Shape::Gauge);
        }
        page
    }

    /// The number of lines in a round.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    fn push(&mut self, name: &str, shape: Shape) {
        let (state, value) = match shape {
            Shape::Constant => (0, format!("{}", 1 << self.noise.below(20))),
            Shape::Counter => (1_000_000_000 + self.noise.below(500_000_000), "0".repeat(10)),
            Shape::Gauge => (2000 + self.noise.below(6000), "00.00".to_owned()),
        };
        self.text.extend_from_slice(format!("{name} {value} {}\n", "0".repeat(STAMP)).as_bytes());
        self.lines.push(Line { end: self.text.len() as u32, state, shape });
    }

    /// Writes one round with the time stamp `stamp`, piece by piece through `write`.
    pub(crate) fn round<E>(
        &mut self,
        stamp: u64,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut digits = [0; STAMP];
        put_decimal(&mut digits, stamp);
        let mut from = 0;
        for lines in self.lines.chunks_mut(LINES_PER_WRITE) {
            for line in lines.iter_mut() {
                patch(&mut self.text, line, &digits, &mut self.noise);
            }
            let end = lines.last().map_or(from, |line| line.end as usize);
            write(&self.text[from..end])?;
            from = end;
        }
        Ok(())
    }
}

fn patch(text: &mut [u8], line: &mut Line, stamp: &[u8; STAMP], noise: &mut Noise) {
    let stamp_at = line.end as usize - 1 - STAMP;
    text[stamp_at..stamp_at + STAMP].copy_from_slice(stamp);
    match line.shape {
        Shape::Constant => {}
        Shape::Counter => {
            line.state += noise.below(4096);
            put_decimal(&mut text[stamp_at - 11..stamp_at - 1], u64::from(line.state));
        }
        Shape::Gauge => {
            let hundredths = u64::from(line.state - 1000 + noise.below(2000));
            put_decimal(&mut text[stamp_at - 6..stamp_at - 4], hundredths / 100);
            put_decimal(&mut text[stamp_at - 3..stamp_at - 1], hundredths % 100);
        }
    }
}

/// Fills `at` with the decimal digits of `number`, two at a time.
pub(crate) fn put_decimal(at: &mut [u8], mut number: u64) {
    const PAIRS: [[u8; 2]; 100] = {
        let mut pairs = [[0; 2]; 100];
        let mut i = 0;
        while i < 100 {
            pairs[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
            i += 1;
        }
        pairs
    };
    for pair in at.rchunks_exact_mut(2) {
        pair.copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
}
