//! Makes a failing run short: leaves out operations, then faults, as long as it still fails.

use crate::operation::Case;

/// The shortest run found that still fails, and how it fails. It tries at most so many.
pub(crate) fn shrink(
    case: &Case,
    wrong: String,
    mut tries: u32,
    fails: impl Fn(&Case) -> Option<String>,
) -> (Case, String) {
    let (mut best, mut why) = (case.clone(), wrong);
    let mut is_better = |candidate: Case, best: &mut Case| {
        tries = tries.saturating_sub(1);
        let wrong = if tries == 0 { None } else { fails(&candidate) };
        let is_better = wrong.is_some();
        if let Some(wrong) = wrong {
            *best = candidate;
            why = wrong;
        }
        is_better
    };
    loop {
        let mut found = false;
        let mut many = best.steps.len().div_ceil(2).max(1);
        loop {
            let mut at = best.steps.len();
            while at > 0 {
                let from = at.saturating_sub(many);
                found |= is_better(without(&best, from, at), &mut best);
                at = from.min(best.steps.len());
            }
            if many == 1 {
                break;
            }
            many /= 2;
        }
        for at in 0..best.steps.len() {
            let mut candidate = best.clone();
            if candidate.steps[at].fault.take().is_some() {
                found |= is_better(candidate, &mut best);
            }
        }
        if !best.begin.is_empty() {
            found |= is_better(Case { begin: Vec::new(), ..best.clone() }, &mut best);
        }
        if !found {
            return (best, why);
        }
    }
}

fn without(case: &Case, from: usize, until: usize) -> Case {
    let mut case = case.clone();
    case.steps.drain(from..until);
    case.places.drain(from..until);
    case
}
