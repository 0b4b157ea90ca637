//! Random expressions, asked of a real graphite-web over HTTP and of us, on the same data.
//!
//! `DIFFERENTIAL_COUNT` and `DIFFERENTIAL_SEED` ask for more of them, or for others. A difference is made as small as it
//! gets before it is shown, with the expression it was found in.

mod expression;
mod generate;
mod peer;

use std::collections::BTreeMap;

use expression::Expression;
use generate::Chance;
use peer::Peer;

use crate::golden::{series, server};

const COUNT: u64 = 2000;
const SEED: u64 = 20_261_116;
/// How deep expressions are at most.
const DEPTH: usize = 4;
/// Differences that are made smaller and shown; the others are only counted.
const SHOWN: usize = 12;

/// Windows of the data set: an hour's half, one off the steps, one that begins before the data.
const WINDOWS: [(&str, &str); 3] =
    [("1794788400", "1794788940"), ("1794788407", "1794789012"), ("1794786900", "1794787500")];

#[test]
fn random_expressions_are_answered_alike() {
    let Some(peer) = Peer::start("random_expressions_are_answered_alike") else { return };
    let (count, seed) =
        (from_environment("DIFFERENTIAL_COUNT", COUNT), from_environment("DIFFERENTIAL_SEED", SEED));
    let mut chance = Chance::new(seed);
    let mut answered = 0;
    let mut seen: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut differences = Vec::new();
    for number in 0..count {
        let expression = generate::expression(&mut chance, DEPTH);
        let window = WINDOWS[(number % WINDOWS.len() as u64) as usize];
        expression.functions().into_iter().for_each(|name| *seen.entry(name).or_default() += 1);
        match ask(&peer, &expression, window) {
            Outcome::Same { answered: true } => answered += 1,
            Outcome::Same { answered: false } => {}
            Outcome::Different(_) => differences.push((expression, window)),
        }
    }
    println!(
        "{count} expressions, {answered} with an answer, {} functions, {} differ",
        seen.len(),
        differences.len()
    );
    // Expressions that both refuse prove little.
    assert!(answered * 2 > count, "only {answered} of {count} had an answer");
    let shown: String =
        differences.iter().take(SHOWN).map(|(found, window)| report(&peer, found, *window)).collect();
    println!("{shown}");
    assert!(differences.is_empty(), "{} of {count} differ (seed {seed})\n{shown}", differences.len());
}

enum Outcome {
    Same { answered: bool },
    Different(String),
}

fn ask(peer: &Peer, expression: &Expression, (from, until): (&str, &str)) -> Outcome {
    let option = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let target = expression.to_string();
    let options = vec![
        option("from", from),
        option("until", until),
        option("now", "1794789000"),
        option("tz", "UTC"),
        option("target", &target),
    ];
    let (theirs, ours) = (peer.render(&options), server::render(&options));
    match (theirs.status, ours.status) {
        (200, 200) => {
            let (theirs, ours) = (series::of_json(&theirs.body), series::of_json(&ours.body));
            let answered = !theirs.is_empty();
            series::difference(&theirs, &ours).map_or(Outcome::Same { answered }, Outcome::Different)
        }
        // Where graphite-web fails there is nothing to compare with.
        (500.., _) | (400.., 400..) => Outcome::Same { answered: false },
        // It reads a broken target up to the mistake and takes the beginning for the name of a metric, which is not there. We
        // say what is wrong: see docs/FUNCTIONS.md.
        (200, 400) if theirs.body.trim() == "[]" && ours.body.contains("cannot read the target") => {
            Outcome::Same { answered: false }
        }
        // A node beyond the name is refused, as in graphite-web after 1.1.10.
        (200, 400) if ours.body.contains("applyByNode: the name") && ours.body.contains("has no node") => {
            Outcome::Same { answered: false }
        }
        (_, status) => {
            let got = format!("status {status}: {}", ours.body.trim_end());
            let expected =
                format!("status {}: {}", theirs.status, theirs.body.chars().take(300).collect::<String>());
            Outcome::Different(format!("    expected {expected}\n    got      {got}\n"))
        }
    }
}

/// The smallest expression that still differs, with the one it came from.
fn report(peer: &Peer, found: &Expression, window: (&str, &str)) -> String {
    let mut smallest = found.clone();
    let mut difference = String::new();
    loop {
        let candidates = smallest.smaller();
        let next = candidates.into_iter().find_map(|candidate| match ask(peer, &candidate, window) {
            Outcome::Different(text) => Some((candidate, text)),
            Outcome::Same { .. } => None,
        });
        let Some((smaller, text)) = next else { break };
        (smallest, difference) = (smaller, text);
    }
    if let (true, Outcome::Different(text)) = (difference.is_empty(), ask(peer, &smallest, window)) {
        difference = text;
    }
    format!("\n{smallest}\n  in {found}\n  from {} until {}\n{difference}", window.0, window.1)
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
}
