//! A tree of whisper files is moved into a running server by one command, which then answers as graphite-web does from the files.
//!
//! `TEST_TREE_FILES` and `TEST_TREE_RENDERS` set other sizes. With 50000 and 1000 it takes some minutes.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{ask, python, report};
use crate::graphite_web::web::Web;
use crate::harness::{Server, now};

const HOUR: u64 = 3600;
/// As `tree.py` has them.
const APPLICATIONS: u64 = 12;
const MEASURES: u64 = 10;

/// A size from the environment.
fn size(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// Random numbers that are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}

/// A random question: its target, and how long ago it begins and ends.
fn question(dice: &mut Dice, hosts: u64) -> (String, u64, u64) {
    let (application, host, measure) = (dice.below(APPLICATIONS), dice.below(hosts), dice.below(MEASURES));
    let metric = format!("apps.app{application}.host{host}.m{measure}");
    let all = [
        format!("apps.app{application}.host{host}.*"),
        format!("apps.app{application}.host{{{host},{}}}.m{measure}", host + 1),
        format!("apps.*.host{host}.m[{measure}-9]"),
        format!("apps.app{application}.host*.m{measure}"),
    ];
    let all = &all[dice.below(4) as usize];
    let target = match dice.below(14) {
        0 | 1 => metric,
        2 => all.clone(),
        3 => format!("sumSeries({all})"),
        4 => format!("averageSeries({all})"),
        5 => format!("maxSeries({all})"),
        6 => format!("movingAverage({metric},{})", dice.one(&["5", "'10min'", "'1hour'"])),
        7 => format!("summarize({metric},'1h','{}')", dice.one(&["sum", "avg", "max", "last"])),
        8 => format!("aliasByNode({all},1,3)"),
        9 => format!("groupByNode({all},1,'{}')", dice.one(&["sum", "average", "max"])),
        10 => format!("scale(derivative({metric}),0.5)"),
        11 => format!("highestAverage({all},2)"),
        12 => format!("keepLastValue({metric},3)"),
        _ => format!("asPercent({all})"),
    };
    // Within what every application keeps, and not close to where a finer archive ends or an aggregated slot is still running.
    let (from, until) = [(5, 3), (5, 4), (20, 3), (22, 12), (40, 3), (40, 30)][dice.below(6) as usize];
    (target, from * HOUR + dice.below(HOUR / 2), until * HOUR)
}

fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'*' | b'(' | b')' | b',' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

fn make_tree(python: &Path, root: &Path, files: u64, now: u64) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/moving/tree.py");
    let output =
        Command::new(python).arg(script).arg(root).args([files.to_string(), now.to_string()]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The first place where two answers differ.
fn difference(ours: &Value, theirs: &Value) -> String {
    let names = |answer: &Value| {
        let name = |series: &Value| series["target"].as_str().unwrap().to_owned();
        answer.as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    let (our_names, their_names) = (names(ours), names(theirs));
    if our_names != their_names {
        return format!("series {:.300?} instead of {:.300?}", our_names, their_names);
    }
    for (nth, name) in our_names.iter().enumerate() {
        let points = |answer: &Value| answer[nth]["datapoints"].as_array().unwrap().clone();
        let (ours, theirs) = (points(ours), points(theirs));
        if let Some(at) = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs) {
            return format!("{name}: point {at} is {} instead of {}", ours[at], theirs[at]);
        }
        if ours.len() != theirs.len() {
            return format!("{name}: {} points instead of {}", ours.len(), theirs.len());
        }
    }
    "something else than points".to_owned()
}

#[test]
fn a_tree_that_was_moved_in_answers_as_graphite_web() {
    const TEST: &str = "a_tree_that_was_moved_in_answers_as_graphite_web";
    let Some(python) = python(TEST) else { return };
    let (files, renders) = (size("TEST_TREE_FILES", 600), size("TEST_TREE_RENDERS", 150));
    let server = Server::start();
    let root = server.setup().directory().join("whisper");
    let at = now();
    make_tree(&python, &root, files, at);
    let settings = format!("WHISPER_DIR = {:?}\nSTANDARD_DIRS = [WHISPER_DIR]\n", root.to_str().unwrap());
    let Some(web) = Web::start(TEST, &settings) else { return };
    let dir = root.to_str().unwrap();
    let told = report(&ask(&server, &["import", "whisper", dir, "--keep-policy", "--output", "json"]));
    assert_eq!((&told["files"], &told["metrics_created"]), (&files.into(), &files.into()), "{told}");

    let (mut dice, mut with_points) = (Dice(0x5eed), 0);
    for _ in 0..renders {
        let (target, from, until) = question(&mut dice, files / (APPLICATIONS * MEASURES));
        let (from, until) = (at - from, at - until);
        let path = format!("/render?target={}&from={from}&until={until}&format=json", escaped(&target));
        let (ours, theirs) = (server.json(&path), web.json(&path));
        with_points += u64::from(!theirs.as_array().unwrap().is_empty());
        assert!(ours == theirs, "{target} from {from} until {until}: {}", difference(&ours, &theirs));
    }
    assert!(with_points > renders * 9 / 10, "only {with_points} of {renders} targets have a series");
}
