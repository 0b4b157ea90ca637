//! One fault after another, with calm in between.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::World;
use super::cluster::Nodes;
use super::dice::Dice;
use super::server::{Places, Server};

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// A server is killed and started again.
    Kill,
    /// A server is stopped in order and started again.
    Restart,
    /// A server is killed, and once more while it starts.
    KillTwice,
    /// A server stands still for a while.
    Pause,
    /// There is no space for a while.
    DiskFull,
    /// There is no space, and the server is killed meanwhile.
    DiskFullKill,
    /// The clock jumps, and later back.
    ClockStep,
    /// A node of Cassandra is killed and started again.
    NodeKill,
    /// A node of Cassandra stands still for a while.
    NodePause,
}

/// How often a fault came, and the longest time until all was well again, beyond the fault itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Toll {
    pub(crate) times: u32,
    pub(crate) longest: Duration,
}

/// See the module documentation.
pub(crate) struct Faults<'a> {
    world: &'a World,
    places: &'a Places,
    nodes: Option<&'a Nodes>,
    dice: Dice,
    kinds: Vec<Fault>,
    pub(crate) tolls: BTreeMap<Fault, Toll>,
    /// Faults that cannot be had here, with the reason.
    pub(crate) lacking: Vec<String>,
}

impl<'a> Faults<'a> {
    pub(crate) fn new(world: &'a World, places: &'a Places, nodes: Option<&'a Nodes>, dice: Dice) -> Self {
        let mut kinds =
            vec![Fault::Kill, Fault::Kill, Fault::Kill, Fault::KillTwice, Fault::Restart, Fault::Pause];
        let mut lacking = Vec::new();
        match &places.disk {
            Some(_) => kinds.extend([Fault::DiskFull, Fault::DiskFullKill]),
            None => lacking.push("disk full: mounting a small file system needs root".to_owned()),
        }
        match (&places.clock, nodes) {
            (Some(_), _) => kinds.push(Fault::ClockStep),
            // Cassandra orders writes by the clocks of those who write, which must agree.
            (None, Some(_)) => {
                lacking.push("clock step: not with Cassandra, which needs clocks that agree".to_owned())
            }
            (None, None) => lacking.push("clock step: libfaketime is not installed".to_owned()),
        }
        if nodes.is_some() {
            kinds.extend([Fault::NodeKill, Fault::NodePause]);
        }
        Self { world, places, nodes, dice, kinds, tolls: BTreeMap::new(), lacking }
    }

    /// Until `end`; each kind at least once if there is time.
    pub(crate) fn run(&mut self, end: Instant) -> Result<()> {
        let mut next = self.kinds.clone();
        std::thread::sleep(Duration::from_secs(10).min(end.saturating_duration_since(Instant::now())));
        while Instant::now() < end {
            if next.is_empty() {
                next = self.kinds.clone();
            }
            let fault = next.remove(self.dice.within(0..next.len() as u64) as usize);
            let number = self.dice.within(0..self.world.servers.len() as u64) as usize;
            let server = &self.world.servers[number];
            eprintln!("{fault:?} of {}", server.name);
            self.world.fault_edges.fetch_add(1, Ordering::SeqCst);
            let began_to_heal = self.happen(fault, server)?;
            for server in &self.world.servers {
                server.wait_ready()?;
            }
            let toll = self.tolls.entry(fault).or_default();
            toll.times += 1;
            toll.longest = toll.longest.max(began_to_heal.elapsed());
            self.world.fault_edges.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(self.dice.millis(3_000..9_000));
        }
        Ok(())
    }

    /// Gives when it was over.
    fn happen(&mut self, fault: Fault, server: &Server) -> Result<Instant> {
        match fault {
            Fault::Kill => kill(server)?,
            Fault::KillTwice => {
                kill(server)?;
                server.spawn()?;
                std::thread::sleep(self.dice.millis(5..300));
                kill(server)?;
            }
            Fault::Restart => {
                server.signal("TERM")?;
                server.wait_for_end()?;
            }
            Fault::Pause => {
                server.signal("STOP")?;
                std::thread::sleep(self.dice.millis(500..12_000));
                let over = Instant::now();
                server.signal("CONT")?;
                return Ok(over);
            }
            Fault::DiskFull | Fault::DiskFullKill => return self.fill_disk(fault, server),
            Fault::ClockStep => return self.step_clock(server),
            Fault::NodeKill | Fault::NodePause => return self.hit_node(fault),
        }
        let over = Instant::now();
        server.start()?;
        Ok(over)
    }

    fn fill_disk(&mut self, fault: Fault, server: &Server) -> Result<Instant> {
        let disk = self.places.disk.as_ref().expect("the fault is only there with a disk");
        let filler = disk.join("filler");
        fill(&filler)?;
        std::thread::sleep(self.dice.millis(2_000..8_000));
        if fault == Fault::DiskFullKill {
            kill(server)?;
        }
        fs::remove_file(filler)?;
        let over = Instant::now();
        if fault == Fault::DiskFullKill {
            server.start()?;
        }
        ensure!(!server.has_ended(), "{} ended because the disk was full", server.name);
        Ok(over)
    }

    fn step_clock(&mut self, server: &Server) -> Result<Instant> {
        let off = *self.dice.pick(&[-3600, -600, -61, -1, 1, 61, 600, 3600]);
        server.set_clock(off)?;
        std::thread::sleep(self.dice.millis(3_000..10_000));
        // A start under the wrong clock, too.
        if self.dice.once_in(2) {
            kill(server)?;
            server.start()?;
            std::thread::sleep(self.dice.millis(1_000..3_000));
        }
        let over = Instant::now();
        server.set_clock(0)?;
        Ok(over)
    }

    fn hit_node(&mut self, fault: Fault) -> Result<Instant> {
        let nodes = self.nodes.expect("the fault is only there with nodes");
        let number = self.dice.within(1..u64::from(nodes.count) + 1) as u32;
        if fault == Fault::NodePause {
            nodes.signal(number, "STOP")?;
            std::thread::sleep(self.dice.millis(1_000..15_000));
            nodes.signal(number, "CONT")?;
            return Ok(Instant::now());
        }
        nodes.signal(number, "KILL")?;
        std::thread::sleep(self.dice.millis(1_000..15_000));
        nodes.bring_up(number)?;
        Ok(Instant::now())
    }
}

fn kill(server: &Server) -> Result<()> {
    server.signal("KILL")?;
    server.wait_for_end()
}

/// Takes all the space there is.
fn fill(path: &Path) -> Result<()> {
    let mut file = File::create(path)?;
    let piece = vec![7; 1 << 20];
    while file.write_all(&piece).is_ok() {}
    while file.write_all(&piece[..4096]).is_ok() {}
    Ok(())
}
