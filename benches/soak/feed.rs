//! Senders: each has its metrics, sends a point of each every second in its own way, and finds out which of them are stored.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::client::Client;
use super::ledger::{Ledger, Place, REWRITE_BACK, value};
use super::server::{Server, free_address};
use super::wire::{self, Connection, Sent};
use super::{World, metrics, now, turn};

/// How far back a sender looks for what it did not see yet.
const LOOK_BACK: u64 = 60;

/// How points are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Lines over TCP.
    Lines,
    /// Pickles over TCP.
    Pickles,
    /// Lines over UDP.
    Datagrams,
    /// Lines to a carbon-c-relay.
    Relay,
    /// `POST /internal/write`, to all servers in turn.
    Http,
}

/// A sender.
#[derive(Debug)]
pub(crate) struct Feed {
    pub(crate) way: Way,
    pub(crate) name: &'static str,
    pub(crate) metrics: u64,
    pub(crate) ledger: Ledger,
    /// Which server it sends to.
    server: usize,
    relay: Option<Relay>,
}

/// A carbon-c-relay that ends with this.
#[derive(Debug)]
struct Relay {
    child: Child,
    address: std::net::SocketAddr,
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Feed {
    /// One of each way; the one by a relay only where carbon-c-relay is installed.
    pub(crate) fn all(servers: &[Server], scratch: &Path, load: u64) -> Result<Vec<Self>> {
        let last = servers.len() - 1;
        let relay = Relay::start(&servers[last], scratch)?;
        let begin = now() - 1;
        let feed = |way, name, server, relay| {
            let metrics = metrics(way, load);
            Self { way, name, metrics, ledger: Ledger::new(begin, metrics), server, relay }
        };
        let mut feeds = vec![
            feed(Way::Lines, "lines", 0, None),
            feed(Way::Pickles, "pickles", last, None),
            feed(Way::Datagrams, "datagrams", 0, None),
            feed(Way::Http, "http", 0, None),
        ];
        if let Some(relay) = relay {
            feeds.push(feed(Way::Relay, "relay", last, Some(relay)));
        }
        Ok(feeds)
    }

    /// The name of one of its metrics.
    pub(crate) fn metric(&self, number: u64) -> String {
        format!("soak.{}.m{number}", self.name)
    }

    /// Sends until the end.
    pub(crate) fn run(&self, world: &World) {
        let (client, mut connection) = (Client::new(Duration::from_secs(3)), Connection::default());
        let mut last = 0;
        while world.goes_on() {
            let second = now();
            if second > last {
                last = second;
                self.send(world, second, &client, &mut connection);
            }
            self.look(world, second, &client);
            std::thread::sleep(Duration::from_millis(100));
        }
        // What was sent last arrives now or never.
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(100));
            self.look(world, last, &client);
        }
    }

    fn send(&self, world: &World, second: u64, client: &Client, connection: &mut Connection) {
        let point = |(place, value): (Place, f64)| (self.metric(place.metric), (place.second, value));
        let batch: Vec<Sent> = self.ledger.batch(second).map(point).collect();
        self.ledger.sent(second);
        let server = &world.servers[self.server];
        let edge = world.fault_edges.load(Ordering::SeqCst);
        // A connection may have died in a fault that is over, which shows at its second write.
        let since = connection.made_at().unwrap_or(edge);
        let mut send = || match self.way {
            Way::Lines => connection.send(edge, server.carbon, wire::lines(&batch).as_bytes()),
            Way::Relay => {
                let relay = self.relay.as_ref().expect("only a feed with a relay has this way");
                connection.send(edge, relay.address, wire::lines(&batch).as_bytes())
            }
            Way::Pickles => connection.send(edge, server.pickle, &wire::pickle(&batch)?),
            Way::Datagrams => wire::datagram(server.carbon, wire::lines(&batch).as_bytes()),
            Way::Http => {
                let server = turn(&world.servers, second);
                client.write(server.http, &wire::lines(&batch))?;
                self.ledger.sure(second);
                Ok(())
            }
        };
        if let Err(error) = send() {
            let what = format!("{} at {second}", self.name);
            world.note_unless_hurt_since(since, &what, &error);
        }
    }

    /// Which of the seconds that were sent are there as a whole? What is seen once must stay.
    fn look(&self, world: &World, until: u64, client: &Client) {
        let open = self.ledger.open(until - LOOK_BACK, until);
        let (Some(&first), Some(&last)) = (open.first(), open.last()) else { return };
        if self.way == Way::Http {
            return;
        }
        let server = &world.servers[self.server];
        // Its own connection brings points in order, so the last metric tells of all. A relay and datagrams give no such promise.
        let in_order = matches!(self.way, Way::Lines | Way::Pickles);
        let target = if in_order { self.metric(self.metrics - 1) } else { format!("soak.{}.*", self.name) };
        let range = (first - REWRITE_BACK, last);
        let Some(series) = world.judged(&target, || client.render(server.http, &target, range)) else {
            return;
        };
        let mut found = HashMap::new();
        for (name, points) in series {
            let Some(metric) = number(&name) else { continue };
            found.extend(points.into_iter().map(|(value, second)| ((metric, second), value)));
        }
        let is_there = |(place, sent): (Place, f64)| {
            let found = found.get(&(place.metric, place.second));
            found.is_some_and(|&found| found == sent || found == value(place, true))
        };
        for second in open {
            let is_there = if in_order {
                let place = Place { metric: self.metrics - 1, second };
                is_there((place, value(place, false)))
            } else {
                self.ledger.batch(second).all(is_there)
            };
            if is_there {
                self.ledger.sure(second);
            }
        }
    }
}

/// The number of a metric from its name.
pub(crate) fn number(name: &str) -> Option<u64> {
    name.rsplit_once(".m")?.1.parse().ok()
}

impl Relay {
    /// `None` where carbon-c-relay is not installed.
    fn start(server: &Server, scratch: &Path) -> Result<Option<Self>> {
        let Some(program) = ["/usr/sbin/carbon-c-relay", "/usr/bin/carbon-c-relay"]
            .into_iter()
            .find(|program| Path::new(program).exists())
        else {
            return Ok(None);
        };
        let address = free_address()?;
        let config = scratch.join("relay.conf");
        let text = format!(
            "listen type linemode 127.0.0.1:{} proto tcp ;\ncluster us forward {} ;\nmatch * send to us stop ;\n",
            address.port(),
            server.carbon,
        );
        std::fs::write(&config, text)?;
        let mut command = Command::new(program);
        command.args(["-s", "-q", "200000", "-f"]).arg(&config);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        std::thread::sleep(Duration::from_millis(500));
        ensure!(child.try_wait()?.is_none(), "carbon-c-relay ended at once");
        Ok(Some(Self { child, address }))
    }
}
