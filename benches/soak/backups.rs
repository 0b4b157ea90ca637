//! Backups, one after another into the same directory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::World;
use super::client::Client;
use super::ledger::Ledger;

/// How long after a backup the next one begins.
const PAUSE: Duration = Duration::from_secs(20);

/// The last one that was complete, and what was sure when it began.
#[derive(Debug)]
pub(crate) struct Backup {
    pub(crate) dir: PathBuf,
    pub(crate) ledgers: Vec<Ledger>,
    pub(crate) number: u64,
}

/// Makes backups until the end, and one more.
pub(crate) fn run(world: &World, dir: &Path) -> Option<Backup> {
    let client = Client::new(Duration::from_secs(60));
    let (mut last, mut number) = (None, 0);
    while world.goes_on() {
        let ledgers: Vec<Ledger> = world.feeds.iter().map(|feed| feed.ledger.copy()).collect();
        let place = dir.display().to_string();
        let made = world.judged("a backup", || {
            client.post(world.servers[0].http, "/internal/backup", &[("dir", &place)])
        });
        if made.is_some() {
            number += 1;
            last = Some(Backup { dir: dir.to_owned(), ledgers, number });
        }
        for _ in 0..PAUSE.as_secs() {
            if world.goes_on() {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    }
    last
}
