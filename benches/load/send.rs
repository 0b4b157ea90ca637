//! The sender: one thread and one TCP connection per page, all started at once.

use std::convert::Infallible;
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::process::own_cpu_seconds;
use super::tagged;
use super::workload::{PER_HOST, Page};

/// The pages of one load. They are kept between phases so that counters keep growing.
#[derive(Debug)]
pub(crate) struct Load {
    pages: Vec<Page>,
    /// The shortest time between the starts of two rounds.
    gap: Duration,
}

/// What sending cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Lines written.
    pub(crate) points: u64,
    /// Seconds from the first byte until the last socket accepted its last byte.
    pub(crate) seconds: f64,
    /// CPU seconds that the generator used.
    pub(crate) own_cpu: f64,
    /// When the first byte was sent.
    pub(crate) began: Instant,
}

impl Load {
    /// `metrics` metrics spread over `connections`; a host is never split.
    pub(crate) fn servers(metrics: usize, connections: usize) -> Self {
        let hosts = metrics.div_ceil(PER_HOST);
        let edge = |c: usize| (hosts * c / connections * PER_HOST).min(metrics);
        let pages = (0..connections).map(|c| Page::servers(edge(c)..edge(c + 1), c as u64 + 1)).collect();
        Self { pages, gap: Duration::ZERO }
    }

    /// All tagged series of `hosts` hosts, spread over `connections`.
    pub(crate) fn tagged(hosts: usize, connections: usize) -> Self {
        let edge = |c: usize| hosts * c / connections;
        let page = |c: usize| Page::gauges((edge(c)..edge(c + 1)).flat_map(tagged::names), c as u64 + 1);
        Self { pages: (0..connections).map(page).collect(), gap: Duration::ZERO }
    }

    /// Gauges with the given names, over one connection.
    pub(crate) fn gauges(names: impl Iterator<Item = String>) -> Self {
        Self { pages: vec![Page::gauges(names, 99)], gap: Duration::ZERO }
    }

    /// Starts a round every `gap`, if the server accepts them that fast.
    pub(crate) fn every(self, gap: Duration) -> Self {
        Self { gap, ..self }
    }

    /// Lines of one round.
    pub(crate) fn metrics(&self) -> u64 {
        self.pages.iter().map(|page| page.len() as u64).sum()
    }

    /// Generates the lines and discards them, on this thread. Returns how many.
    pub(crate) fn make(&mut self, stamps: &[u64]) -> u64 {
        let mut bytes = 0;
        for page in &mut self.pages {
            for &stamp in stamps {
                let Ok(()) = page.round::<Infallible>(stamp, |piece| {
                    bytes += piece.len();
                    Ok(())
                });
            }
        }
        std::hint::black_box(bytes);
        self.metrics() * stamps.len() as u64
    }

    /// Sends `stamps.len()` rounds to `target` as fast as it accepts them, or at the rate that was set.
    pub(crate) fn send(&mut self, target: SocketAddr, stamps: &[u64]) -> Result<Sent> {
        let points = self.metrics() * stamps.len() as u64;
        let (start, gap) = (Barrier::new(self.pages.len() + 1), self.gap);
        let cpu = own_cpu_seconds()?;
        let mut began = Instant::now();
        std::thread::scope(|scope| -> Result<()> {
            let workers: Vec<_> = self
                .pages
                .iter_mut()
                .map(|page| {
                    let start = &start;
                    scope.spawn(move || {
                        let connected = connect(target);
                        start.wait();
                        send_page(page, connected?, stamps, gap)
                    })
                })
                .collect();
            start.wait();
            began = Instant::now();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a sender never panics"))
        })?;
        let seconds = began.elapsed().as_secs_f64();
        Ok(Sent { points, seconds, own_cpu: own_cpu_seconds()? - cpu, began })
    }
}

/// `rounds` timestamps, a minute apart, up to the last full minute.
pub(crate) fn minutes_until_now(rounds: usize) -> Vec<u64> {
    let last = now() / 60 * 60;
    (0..rounds as u64).rev().map(|back| last - back * 60).collect()
}

/// Seconds since the epoch.
pub(crate) fn now() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}

fn connect(target: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&target, Duration::from_secs(5))
        .with_context(|| format!("connect to {target}"))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn send_page(page: &mut Page, mut stream: TcpStream, stamps: &[u64], gap: Duration) -> Result<()> {
    let began = Instant::now();
    for (&stamp, round) in stamps.iter().zip(0..) {
        std::thread::sleep((gap * round).saturating_sub(began.elapsed()));
        page.round(stamp, |bytes| stream.write_all(bytes)).context("send lines")?;
    }
    stream.shutdown(Shutdown::Write).context("close the sending side")
}
