//! A bad network: a TCP proxy that delays, dribbles, stops, cuts, swallows, repeats and adds garbage.
//!
//! TCP itself neither repeats nor changes bytes. What repeats or spoils is a sender, a relay or a broken box in between, and these do it
//! to whole lines, frames or requests. So the proxy splits the stream into such frames and does its harm at their edges, but for a
//! cut, which comes anywhere. It remembers which frames reached the other side whole: that is what must be found there.

#![allow(dead_code, reason = "each test binary that includes this file uses its own part of it")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::dice::Dice;

/// How often a connection looks at the weather while nothing arrives.
const TICK: Duration = Duration::from_millis(10);

/// What a frame is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Framing {
    /// Carbon's lines.
    Lines,
    /// Carbon's pickles: a length of four bytes, and so many bytes.
    Pickles,
    /// Cassandra's protocol: a head of nine bytes that ends with the length of what follows.
    Cassandra,
    /// Whatever arrived at once.
    Pieces,
}

/// What the network does to what passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nothing: all is well.
    None,
    /// Each frame waits a moment.
    Delay,
    /// A few bytes at a time.
    Slow,
    /// Nothing passes in either direction, and nothing is lost: later it goes on.
    Stall,
    /// What is sent to the server is swallowed and answers do not come: later the connections are gone.
    HalfOpen,
    /// Connections are cut, many in the middle of a frame; new ones come through, and are cut again.
    Cut,
    /// Nobody gets through, and who was through is cut off.
    Refuse,
    /// Frames come twice.
    Duplicate,
    /// Bytes that mean nothing come between frames.
    Garbage,
}

impl Trouble {
    /// No byte is lost by these.
    pub(crate) const LOSSLESS: [Self; 3] = [Self::Delay, Self::Slow, Self::Stall];
    /// All but [`Trouble::None`].
    pub(crate) const ALL: [Self; 8] = [
        Self::Delay,
        Self::Slow,
        Self::Stall,
        Self::HalfOpen,
        Self::Cut,
        Self::Refuse,
        Self::Duplicate,
        Self::Garbage,
    ];
}

/// A proxy in front of one address, until it is dropped.
pub(crate) struct Proxy {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    to: SocketAddr,
    framing: Framing,
    trouble: Mutex<Trouble>,
    dice: Mutex<Dice>,
    /// Connections of an earlier number are cut.
    era: AtomicU64,
    is_over: AtomicBool,
    /// Frames that arrived at the server whole, one after another.
    arrived: Mutex<Vec<u8>>,
    /// How often each kind of harm was done, for a test that wants to know that it was.
    harm: AtomicU64,
}

impl Proxy {
    /// On a free port of this machine.
    pub(crate) fn start(to: SocketAddr, framing: Framing, dice: Dice) -> Self {
        Self::listen(SocketAddr::from(([127, 0, 0, 1], 0)), to, framing, dice)
    }

    /// On a certain address.
    pub(crate) fn listen(on: SocketAddr, to: SocketAddr, framing: Framing, dice: Dice) -> Self {
        let listener = TcpListener::bind(on).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            to,
            framing,
            trouble: Mutex::new(Trouble::None),
            dice: Mutex::new(dice),
            era: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            arrived: Mutex::default(),
            harm: AtomicU64::new(0),
        });
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if own.is_over.load(Ordering::SeqCst) {
                    return;
                }
                own.connect(client);
            }
        });
        Self { address, shared }
    }

    /// From now on.
    pub(crate) fn set(&self, trouble: Trouble) {
        let before = std::mem::replace(&mut *self.shared.trouble.lock(), trouble);
        // What was swallowed leaves a gap, and nothing must be put behind it.
        if before == Trouble::HalfOpen || trouble == Trouble::Refuse {
            self.shared.era.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// One trouble after another, each for a while, and then none.
    pub(crate) fn storm(&self, dice: &mut Dice, troubles: &[Trouble], times: usize) {
        for _ in 0..times {
            let (trouble, lasts) = (*dice.pick(troubles), dice.millis(100..900));
            println!("{trouble:?} for {lasts:?}");
            self.set(trouble);
            std::thread::sleep(lasts);
            self.set(Trouble::None);
            std::thread::sleep(dice.millis(50..400));
        }
    }

    /// The frames that reached the server whole, so far.
    pub(crate) fn arrived(&self) -> Vec<u8> {
        self.shared.arrived.lock().clone()
    }

    /// How many frames were held, repeated, lost or followed by garbage, and how many connections were cut.
    pub(crate) fn harm(&self) -> u64 {
        self.shared.harm.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.shared.era.fetch_add(1, Ordering::SeqCst);
        // Wakes the listener, which sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn trouble(&self) -> Trouble {
        *self.trouble.lock()
    }

    fn connect(self: &Arc<Self>, client: TcpStream) {
        if self.trouble() == Trouble::Refuse {
            return;
        }
        let Ok(server) = TcpStream::connect(self.to) else { return };
        let era = self.era.load(Ordering::SeqCst);
        for (from, to, is_up) in [(&client, &server, true), (&server, &client, false)] {
            let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { return };
            let pipe = Pipe { shared: Arc::clone(self), from, to, is_up, era };
            std::thread::spawn(move || pipe.run());
        }
    }
}

/// One direction of a connection.
struct Pipe {
    shared: Arc<Shared>,
    from: TcpStream,
    to: TcpStream,
    /// To the server?
    is_up: bool,
    era: u64,
}

/// The connection is over.
struct Over;

impl Pipe {
    fn run(mut self) {
        let _ = self.from.set_read_timeout(Some(TICK));
        let _ = self.from.set_nodelay(true);
        let _ = self.to.set_nodelay(true);
        let (mut waiting, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
        let ended = loop {
            match self.step(&mut waiting, &mut piece) {
                Ok(true) => {}
                Ok(false) => break true,
                Err(Over) => break false,
            }
        };
        if ended {
            // The other direction may go on: a sender that is done closes its half.
            let _ = self.to.write_all(&waiting);
            let _ = self.to.shutdown(Shutdown::Write);
        } else {
            let _ = self.to.shutdown(Shutdown::Both);
            let _ = self.from.shutdown(Shutdown::Both);
        }
    }

    /// Moves what has arrived. False at the end of the stream.
    fn step(&mut self, waiting: &mut Vec<u8>, piece: &mut [u8]) -> Result<bool, Over> {
        self.check_era()?;
        if self.shared.trouble() == Trouble::Stall {
            self.shared.harm.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(TICK);
            return Ok(true);
        }
        match self.from.read(piece) {
            Ok(0) => return Ok(false),
            Ok(n) => waiting.extend_from_slice(&piece[..n]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Ok(true);
            }
            Err(_) => return Err(Over),
        }
        while let Some(end) = self.shared.framing.end_of_first(waiting) {
            let frame: Vec<u8> = waiting.drain(..end).collect();
            self.pass(&frame)?;
        }
        Ok(true)
    }

    fn check_era(&self) -> Result<(), Over> {
        if self.shared.era.load(Ordering::SeqCst) == self.era { Ok(()) } else { Err(Over) }
    }

    fn pass(&mut self, frame: &[u8]) -> Result<(), Over> {
        let trouble = self.shared.trouble();
        let (chance, moment, at) = {
            let mut dice = self.shared.dice.lock();
            (dice.once_in(8), dice.millis(1..30), dice.within(0..frame.len() as u64 + 1) as usize)
        };
        match trouble {
            Trouble::Delay => {
                self.harmed();
                std::thread::sleep(moment);
                self.deliver(frame)
            }
            Trouble::Slow => {
                self.harmed();
                // Most of a long frame goes at once, or a second of trouble would take minutes.
                let (begin, rest) = frame.split_at(frame.len().min(64));
                for few in begin.chunks(7) {
                    self.write(few)?;
                    std::thread::sleep(Duration::from_millis(1));
                }
                self.write(rest)?;
                self.remember(frame);
                Ok(())
            }
            Trouble::HalfOpen => {
                self.harmed();
                Ok(())
            }
            Trouble::Cut if chance => {
                self.harmed();
                self.write(&frame[..at])?;
                if at == frame.len() {
                    self.remember(frame);
                }
                Err(Over)
            }
            Trouble::Duplicate if chance => {
                self.harmed();
                self.deliver(frame)?;
                self.deliver(frame)
            }
            Trouble::Garbage if chance => {
                self.harmed();
                let garbage = self.garbage();
                self.write(&garbage)?;
                self.deliver(frame)
            }
            _ => self.deliver(frame),
        }
    }

    fn harmed(&self) {
        self.shared.harm.fetch_add(1, Ordering::SeqCst);
    }

    fn deliver(&mut self, frame: &[u8]) -> Result<(), Over> {
        // The trouble may have begun while this frame waited.
        while self.shared.trouble() == Trouble::Stall {
            self.check_era()?;
            std::thread::sleep(TICK);
        }
        self.write(frame)?;
        self.remember(frame);
        Ok(())
    }

    fn remember(&self, frame: &[u8]) {
        if self.is_up {
            self.shared.arrived.lock().extend_from_slice(frame);
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Over> {
        self.check_era()?;
        self.to.write_all(bytes).map_err(|_| Over)
    }

    /// Bytes between frames that are a frame themselves where there are any, so that the next one is still understood.
    fn garbage(&self) -> Vec<u8> {
        let mut dice = self.shared.dice.lock();
        let bytes: Vec<u8> = (0..dice.within(1..60)).map(|_| dice.next() as u8).collect();
        match self.shared.framing {
            Framing::Lines => {
                let mut line: Vec<u8> = bytes.into_iter().filter(|byte| *byte != b'\n').collect();
                line.push(b'\n');
                line
            }
            Framing::Pickles => [&(bytes.len() as u32).to_be_bytes()[..], &bytes].concat(),
            Framing::Cassandra | Framing::Pieces => bytes,
        }
    }
}

impl Framing {
    /// Where the first frame ends, if it is all there.
    fn end_of_first(self, bytes: &[u8]) -> Option<usize> {
        let with_head = |head: usize, length_at: usize| {
            let length: [u8; 4] = bytes.get(length_at..length_at + 4)?.try_into().ok()?;
            let end = head + u32::from_be_bytes(length) as usize;
            (bytes.len() >= end).then_some(end)
        };
        match self {
            Self::Lines => bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1),
            Self::Pickles => with_head(4, 0),
            Self::Cassandra => with_head(9, 5),
            Self::Pieces => (!bytes.is_empty()).then_some(bytes.len()),
        }
    }
}
