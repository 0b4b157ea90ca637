//! A disk that fills up: nothing breaks, reads go on, and writing resumes by itself.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::harness::{Setup, now, wait_until};
use super::skip::skip;

/// A small file system of its own, unmounted in the end.
pub(crate) struct SmallDisk {
    directory: TempDir,
}

impl SmallDisk {
    /// `None` where mounting is not allowed.
    pub(crate) fn mount(mebibytes: u32) -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m"), "tmpfs"]).arg(directory.path());
        mount.output().is_ok_and(|done| done.status.success()).then_some(Self { directory })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Takes all the space there is. Gives the file to remove.
    pub(crate) fn fill(&self) -> PathBuf {
        let path = self.path().join("filler");
        let mut file = fs::File::create(&path).unwrap();
        while file.write_all(&[7; 4096]).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A lazy one, since the server may not have gone yet.
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

fn lines(points: std::ops::Range<u64>, t: u64) -> String {
    points.map(|i| format!("full.m{} {i} {}\n", i % 100, t + i / 100 * 10)).collect()
}

#[test]
fn a_full_disk_stops_writing_and_nothing_else() {
    let Some(disk) = SmallDisk::mount(96) else {
        return skip("a_full_disk_stops_writing_and_nothing_else", "mounting a tmpfs needs root");
    };
    let setup = Setup::new().data(&disk.path().join("data")).set("store.reserve_bytes", "4MiB");
    let mut server = setup.set("store.cut_interval", "200ms").start();
    let t = now() / 60 * 60 - 6 * 3600;
    server.store(&lines(0..10_000, t));

    let filler = disk.fill();
    let (carbon, late) = (server.carbon, lines(10_000..100_000, t));
    let sender = std::thread::spawn(move || super::harness::send_to(carbon, late.as_bytes()));
    wait_until("reading to pause", || server.counter("plumbago_backpressure_pauses_total") > 0);
    assert!(!server.has_ended());
    assert_eq!(server.get("/health/live").status, 200);
    assert_eq!(server.points("full.m7", t - 10, t), [(7.0, t)], "reads go on");

    fs::remove_file(filler).unwrap();
    server.wait_for("plumbago_points_stored_total", 100_000);
    sender.join().unwrap();
    let check = |server: &super::harness::Server| {
        let points = server.points("full.m7", t - 10, t + 9990);
        assert_eq!(points, (0..1000).map(|i| ((i * 100 + 7) as f64, t + i * 10)).collect::<Vec<_>>());
    };
    check(&server);
    let server = server.kill().start();
    check(&server);
}

#[test]
fn a_disk_that_fills_without_a_reserve_loses_nothing() {
    let Some(disk) = SmallDisk::mount(64) else {
        return skip("a_disk_that_fills_without_a_reserve_loses_nothing", "mounting a tmpfs needs root");
    };
    let setup = Setup::new().data(&disk.path().join("data")).set("store.cut_interval", "200ms");
    let mut server = setup.start();
    let t = now() / 60 * 60 - 6 * 3600;
    server.store(&lines(0..10_000, t));
    let filler = disk.fill();
    // The log gets "no space left" in the middle of a batch, again and again.
    let (carbon, late) = (server.carbon, lines(10_000..60_000, t));
    let sender = std::thread::spawn(move || super::harness::send_to(carbon, late.as_bytes()));
    wait_until("reading to pause", || server.counter("plumbago_backpressure_pauses_total") > 0);
    assert_eq!(server.points("full.m7", t - 10, t), [(7.0, t)], "reads go on");
    assert!(!server.has_ended());
    // Killed while full: the log ends in a torn record, and it must start all the same once there is space.
    let stored = server.counter("plumbago_points_stored_total");
    let setup = server.kill();
    // The connection was reset with points in flight; how many is the sender's business.
    let _ = sender.join();
    fs::remove_file(filler).unwrap();
    let server = setup.start();
    let kept: Vec<f64> = (0..100)
        .flat_map(|m| server.points(&format!("full.m{m}"), t - 10, t + 9990))
        .map(|(value, _)| value)
        .collect();
    let missing: Vec<u64> = (0..stored).filter(|i| !kept.contains(&(*i as f64))).take(5).collect();
    assert!(missing.is_empty(), "{stored} were stored, and these are gone: {missing:?}");
    server.store(&lines(60_000..61_000, t));
}
