//! A bad network between a relay and the server, and between graphite-web and the server: what arrives is right, and once the trouble
//! is over nothing is missing that got through.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::dice::Dice;
use super::graphite_web::{metrics::Metrics, page, web::Web};
use super::harness::{Server, Setup, send_to, wait_until};
use super::proxy::{Framing, Proxy, Trouble};
use super::relay::{Numbered, Relay};

/// Points of one round of a sender.
const ROUND: u64 = 400;

/// What a relay cannot know to be lost is not lost by these.
const NOTHING_LOST: [Trouble; 5] =
    [Trouble::Delay, Trouble::Slow, Trouble::Stall, Trouble::Duplicate, Trouble::Garbage];

fn server() -> Server {
    Setup::new().set("retention.default", "6s:1d").start()
}

/// Points on their way to a relay, a round at a time.
struct Rounds<'a> {
    relay: &'a Relay,
    points: &'a Numbered,
    sent: u64,
}

impl Rounds<'_> {
    /// Sends the next round. Gives its last line.
    fn send(&mut self) -> String {
        let from = self.sent;
        self.sent += ROUND;
        send_to(self.relay.address, self.points.lines(from..self.sent).as_bytes());
        self.points.lines(self.sent - 1..self.sent)
    }

    /// Sends on and on while the network behind the relay has one trouble after another, each at least once.
    fn send_through(&mut self, proxy: &Proxy, dice: &mut Dice, troubles: &[Trouble]) {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    self.send();
                    std::thread::sleep(Duration::from_millis(60));
                }
            });
            for trouble in troubles {
                proxy.storm(dice, &[*trouble], 1);
            }
            proxy.storm(dice, troubles, 4);
            is_over.store(true, Ordering::SeqCst);
        });
        assert!(proxy.harm() > 0, "the network did no harm");
    }
}

#[test]
fn lines_of_a_relay_survive_a_network_that_loses_nothing() {
    let test = "lines_of_a_relay_survive_a_network_that_loses_nothing";
    let (server, mut dice) = (server(), Dice::printed(test));
    let proxy = Proxy::start(server.carbon, Framing::Lines, dice.split());
    let Some(relay) = Relay::carbon_c_relay(test, proxy.address) else { return };
    let points = Numbered::new();
    let mut rounds = Rounds { relay: &relay, points: &points, sent: 0 };
    rounds.send_through(&proxy, &mut dice, &NOTHING_LOST);
    rounds.send();
    points.arrive(&server, rounds.sent);
}

#[test]
fn pickles_of_a_relay_survive_a_network_that_loses_nothing() {
    let test = "pickles_of_a_relay_survive_a_network_that_loses_nothing";
    let (server, mut dice) = (server(), Dice::printed(test));
    let proxy = Proxy::start(server.pickle, Framing::Pickles, dice.split());
    let Some(relay) = Relay::carbon_relay(test, "pickle", proxy.address) else { return };
    let points = Numbered::new();
    let mut rounds = Rounds { relay: &relay, points: &points, sent: 0 };
    rounds.send_through(&proxy, &mut dice, &NOTHING_LOST);
    rounds.send();
    points.arrive(&server, rounds.sent);
}

/// The points of these lines.
fn model(lines: &[u8]) -> BTreeMap<(String, u64), f64> {
    let text = String::from_utf8_lossy(lines);
    let point = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let (value, time) = rest.split_once(' ')?;
        let is_ours = name.starts_with("numbered.m");
        Some(((name.to_owned(), time.parse().ok()?), value.parse().ok()?)).filter(|_| is_ours)
    };
    text.lines().filter_map(point).collect()
}

/// A relay takes for delivered what its kernel has taken, so a connection that is cut costs points. But of the lines that got through
/// whole none is missing, a half line is no point, and nothing else is there.
#[test]
fn what_gets_through_a_network_that_cuts_and_swallows_is_all_there_and_nothing_else() {
    let test = "what_gets_through_a_network_that_cuts_and_swallows_is_all_there_and_nothing_else";
    let (server, mut dice) = (server(), Dice::printed(test));
    let proxy = Proxy::start(server.carbon, Framing::Lines, dice.split());
    let Some(relay) = Relay::carbon_c_relay(test, proxy.address) else { return };
    let points = Numbered::new();
    let mut rounds = Rounds { relay: &relay, points: &points, sent: 0 };
    rounds.send_through(&proxy, &mut dice, &Trouble::ALL);
    // The first write to a dead connection is lost, too.
    wait_until("fair weather", || {
        let last = rounds.send();
        std::thread::sleep(Duration::from_millis(200));
        proxy.arrived().windows(last.len()).rev().any(|end| end == last.as_bytes())
    });
    let (first, end) = (points.time(0), points.time(rounds.sent));
    let found = || -> BTreeMap<(String, u64), f64> {
        let series = server.render("numbered.*", first - 6, end);
        let point = |(name, points): (String, Vec<(f64, u64)>)| {
            points.into_iter().map(move |(value, time)| ((name.clone(), time), value))
        };
        series.into_iter().flat_map(point).collect()
    };
    // The relay may still have some of the storm in its queue.
    wait_until("all that got through, and nothing else", || found() == model(&proxy.arrived()));
    let through = found().len() as u64;
    println!("{} sent, {through} through", rounds.sent);
    assert!(through > ROUND, "hardly anything got through");
}

/// Each series of an answer, as text, under its name.
fn series(answer: &Value) -> BTreeMap<String, String> {
    let one = |series: &Value| (series["target"].as_str().unwrap().to_owned(), series.to_string());
    answer.as_array().unwrap().iter().map(one).collect()
}

/// graphite-web behind a network that does all that TCP can do to a request: an answer may fail, or lack what could not be fetched, but
/// what it shows is right, and afterwards all of it is there.
fn graphite_web_through_a_bad_network(test: &str, section: &str) {
    let (metrics, mut dice) = (Metrics::store(), Dice::printed(test));
    let proxy = Proxy::start(metrics.server.http, Framing::Pieces, dice.split());
    // Its own patience is longer than that of a test.
    let settings = format!(
        "{}REMOTE_RETRY_DELAY = 0\nFIND_TIMEOUT = FETCH_TIMEOUT = 3.0\n",
        page::settings(section, proxy.address)
    );
    let Some(web) = Web::start(test, &settings) else { return };
    let question = format!("/render?{}&noCache=1&target=app.*.cpu&target=app.web1.mem", metrics.window());
    let right = series(&web.json(&question));
    assert_eq!(right.len(), 3);
    let mut answered = 0;
    for trouble in
        [Trouble::LOSSLESS.as_slice(), &[Trouble::HalfOpen, Trouble::Cut, Trouble::Refuse]].concat()
    {
        proxy.set(trouble);
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| web.get(&question));
            std::thread::sleep(dice.millis(100..500));
            if trouble == Trouble::Stall {
                proxy.set(Trouble::None);
            }
            let reply = asking.join().unwrap();
            println!("{trouble:?}: {}", reply.status);
            if reply.status == 200 {
                answered += 1;
                for (name, shown) in series(&serde_json::from_str(&reply.body).unwrap()) {
                    assert_eq!(Some(&shown), right.get(&name), "{trouble:?}: {name}");
                }
            }
        });
        proxy.set(Trouble::None);
    }
    assert!(answered >= 3 && proxy.harm() > 0, "{answered} were answered");
    wait_until("all of it", || {
        let reply = web.get(&question);
        reply.status == 200 && series(&serde_json::from_str(&reply.body).unwrap()) == right
    });
}

#[test]
fn graphite_web_with_the_plug_in_shows_nothing_wrong_through_a_bad_network() {
    let test = "graphite_web_with_the_plug_in_shows_nothing_wrong_through_a_bad_network";
    graphite_web_through_a_bad_network(test, "The plug-in");
}

#[test]
fn graphite_web_as_the_head_of_a_cluster_shows_nothing_wrong_through_a_bad_network() {
    let test = "graphite_web_as_the_head_of_a_cluster_shows_nothing_wrong_through_a_bad_network";
    graphite_web_through_a_bad_network(test, "A cluster");
}
