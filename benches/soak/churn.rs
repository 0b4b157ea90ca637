//! Metrics that come and go: written with an answer, renamed, deleted in part or whole, one after another.

use std::time::Duration;

use anyhow::Result;
use parking_lot::Mutex;

use super::client::{Client, Points};
use super::dice::Dice;
use super::ledger::{Place, value};
use super::server::Server;
use super::{World, now, turn};

/// Points of a metric.
const POINTS: u64 = 100;
/// How far in the past they begin, in seconds.
const BACK: u64 = 200;

/// A name, and the first of its points that is left.
type Left = (String, u64);

/// A metric that came.
#[derive(Clone, Debug)]
struct Came {
    number: u64,
    begin: u64,
    /// Under its old name, and under another.
    names: [String; 2],
    /// What may be there now: several where nobody knows whether a call was carried out.
    states: Vec<Option<Left>>,
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Churn {
    on_cluster: bool,
    dice: Mutex<Dice>,
    came: Mutex<Vec<Came>>,
}

/// What a check of all of them found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) metrics: u64,
    pub(crate) wrong: Vec<String>,
}

impl Churn {
    pub(crate) fn new(on_cluster: bool, dice: Dice) -> Self {
        Self { on_cluster, dice: Mutex::new(dice), came: Mutex::default() }
    }

    /// One metric after another, until the end.
    pub(crate) fn run(&self, world: &World) {
        let client = Client::new(Duration::from_secs(10));
        for number in 0.. {
            if !world.goes_on() {
                return;
            }
            let server = turn(&world.servers, number);
            let came = world.judged("a new metric", || create(server, &client, number));
            if let Some(mut came) = came {
                let action = self.dice.lock().within(0..4);
                self.change(world, server, &client, &mut came, action);
                self.came.lock().push(came);
            }
            std::thread::sleep(Duration::from_millis(700));
        }
    }

    fn change(&self, world: &World, server: &Server, client: &Client, came: &mut Came, action: u64) {
        let [old, new] = came.names.clone();
        let (begin, half) = (came.begin, came.begin + POINTS / 2);
        let (path, form, after) = match action {
            // With a cluster that is a copy and a deletion, by a command.
            0 if !self.on_cluster => {
                ("/internal/rename", vec![("from", old), ("to", new.clone())], Some((new, begin)))
            }
            1 => ("/internal/delete", vec![("query", old)], None),
            2 if !self.on_cluster => {
                let form =
                    vec![("query", old.clone()), ("from", begin.to_string()), ("until", half.to_string())];
                ("/internal/delete-range", form, Some((old, half)))
            }
            _ => return,
        };
        let form: Vec<(&str, &str)> = form.iter().map(|(key, text)| (*key, text.as_str())).collect();
        match world.judged(path, || client.post(server.http, path, &form)) {
            Some(_) => came.states = vec![after],
            None => came.states.push(after),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.came.lock().len()
    }

    /// Looks at all of them at the end.
    pub(crate) fn check(&self, server: &Server) -> Result<Found> {
        let client = Client::new(Duration::from_secs(60));
        let mut found = Found::default();
        for came in self.came.lock().iter() {
            found.metrics += 1;
            let read = |name: &str| -> Result<Points> {
                let series = client.render(server.http, name, (came.begin, came.begin + POINTS))?;
                Ok(series.into_iter().next().map_or_else(Vec::new, |(_, points)| points))
            };
            let there = [read(&came.names[0])?, read(&came.names[1])?];
            if !came.states.iter().any(|state| came.is(state.as_ref(), &there)) {
                let counts = there.map(|points| points.len());
                found.wrong.push(format!("{:?} has {counts:?} points, not {:?}", came.names, came.states));
            }
        }
        Ok(found)
    }
}

impl Came {
    /// Is exactly this there?
    fn is(&self, state: Option<&Left>, there: &[Points; 2]) -> bool {
        self.names.iter().zip(there).all(|(name, points)| match state {
            Some((left, from)) if left == name => *points == self.points(*from),
            _ => points.is_empty(),
        })
    }

    fn points(&self, from: u64) -> Points {
        points(self.number, self.begin).into_iter().filter(|(_, time)| *time >= from).collect()
    }
}

fn points(number: u64, begin: u64) -> Points {
    let point = |second| (value(Place { metric: number % 40_000, second }, false), second);
    (begin..begin + POINTS).map(point).collect()
}

/// A metric whose points are durable.
fn create(server: &Server, client: &Client, number: u64) -> Result<Came> {
    let begin = now() - BACK;
    let names = [format!("churn.c{number}"), format!("moved.c{number}")];
    let lines: String =
        points(number, begin).iter().map(|(value, time)| format!("{} {value} {time}\n", names[0])).collect();
    client.write(server.http, &lines)?;
    let states = vec![Some((names[0].clone(), begin))];
    Ok(Came { number, begin, names, states })
}
