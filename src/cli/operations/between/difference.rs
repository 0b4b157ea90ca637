//! Where two answers to the same target differ.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::answer::Series;

/// What became of one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Difference {
    /// The target.
    pub(super) target: String,
    /// Are both answers the same?
    pub(super) equal: bool,
    /// Series that both have.
    pub(super) series: u64,
    /// Points of these series, without nulls.
    pub(super) points: u64,
    /// Series that only our server has.
    pub(super) only_here: Vec<String>,
    /// Series that only the other server has.
    pub(super) only_there: Vec<String>,
    /// Series whose values differ.
    pub(super) differing: Vec<Differing>,
    /// If one side refused: what our server said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) said_here: Option<String>,
    /// If one side refused: what the other server said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) said_there: Option<String>,
}

/// A series that both have, with different values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Differing {
    /// The series.
    pub(super) name: String,
    /// Points that one of them or both have.
    pub(super) points: u64,
    /// Those of them that differ.
    pub(super) differing: u64,
    /// The first of these.
    pub(super) first: Pair,
    /// The largest relative difference of two values: 1 if one of them is missing or has the other sign.
    pub(super) largest: f64,
}

/// The two values of one time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Pair {
    /// Seconds since 1970.
    pub(super) time: i64,
    /// What our server has.
    pub(super) here: Option<f64>,
    /// What the other server has.
    pub(super) there: Option<f64>,
}

impl Pair {
    /// From 0, for equal values, to 1.
    fn distance(self) -> f64 {
        match (self.here, self.there) {
            (None, None) => 0.0,
            (Some(here), Some(there)) if here == there => 0.0,
            (Some(here), Some(there)) => {
                let ratio = (here - there).abs() / here.abs().max(there.abs());
                // Infinity in it gives no number.
                if ratio.is_nan() { 1.0 } else { ratio.min(1.0) }
            }
            _ => 1.0,
        }
    }
}

/// An answer, or why there is none.
pub(super) type Outcome = Result<Vec<Series>, String>;

/// Compares two answers. Values that differ by no more than `tolerance` are equal.
pub(super) fn compare(target: &str, here: Outcome, there: Outcome, tolerance: f64) -> Difference {
    let mut difference = Difference { target: target.to_owned(), ..Difference::default() };
    match (here, there) {
        (Ok(here), Ok(there)) => compare_series(&mut difference, here, there, tolerance),
        (here, there) => {
            let answered = |series: Vec<Series>| format!("(answered with {} series)", series.len());
            difference.said_here = Some(here.map_or_else(|why| why, answered));
            difference.said_there = Some(there.map_or_else(|why| why, answered));
            return difference;
        }
    }
    difference.equal = difference.only_here.is_empty()
        && difference.only_there.is_empty()
        && difference.differing.is_empty();
    difference
}

/// Several series may have one name: the first of them here is compared with the first of them there.
type Numbered = BTreeMap<(String, usize), Vec<(i64, Option<f64>)>>;

fn numbered(all: Vec<Series>) -> Numbered {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut numbered = Numbered::new();
    for series in all {
        let nth = seen.entry(series.name.clone()).or_default();
        numbered.insert((series.name, *nth), series.points);
        *nth += 1;
    }
    numbered
}

fn compare_series(difference: &mut Difference, here: Vec<Series>, there: Vec<Series>, tolerance: f64) {
    let (here, mut there) = (numbered(here), numbered(there));
    for (key, ours) in here {
        let Some(theirs) = there.remove(&key) else {
            difference.only_here.push(key.0);
            continue;
        };
        difference.series += 1;
        let (points, differing) = compare_points(key.0, &ours, &theirs, tolerance);
        difference.points += points;
        difference.differing.extend(differing);
    }
    difference.only_there = there.into_keys().map(|key| key.0).collect();
}

/// Gives the number of points, and how they differ if they do.
fn compare_points(
    name: String,
    here: &[(i64, Option<f64>)],
    there: &[(i64, Option<f64>)],
    tolerance: f64,
) -> (u64, Option<Differing>) {
    let mut pairs: BTreeMap<i64, Pair> = BTreeMap::new();
    let at = |time| Pair { time, here: None, there: None };
    for &(time, value) in here {
        pairs.entry(time).or_insert_with(|| at(time)).here = value;
    }
    for &(time, value) in there {
        pairs.entry(time).or_insert_with(|| at(time)).there = value;
    }
    pairs.retain(|_, pair| pair.here.is_some() || pair.there.is_some());
    let points = pairs.len() as u64;
    let mut found: Option<Differing> = None;
    for pair in pairs.into_values() {
        let distance = pair.distance();
        if distance <= tolerance {
            continue;
        }
        let differing = found.get_or_insert_with(|| Differing {
            name: name.clone(),
            points,
            differing: 0,
            first: pair,
            largest: 0.0,
        });
        differing.differing += 1;
        differing.largest = differing.largest.max(distance);
    }
    (points, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, values: &[Option<f64>]) -> Series {
        let points = values.iter().enumerate().map(|(at, value)| (at as i64 * 60, *value)).collect();
        Series { name: name.to_owned(), points }
    }

    fn of(here: Vec<Series>, there: Vec<Series>, tolerance: f64) -> Difference {
        compare("t", Ok(here), Ok(there), tolerance)
    }

    #[test]
    fn order_and_nulls_at_the_ends_do_not_matter() {
        let a = series("a", &[Some(1.0), None, Some(3.0), None]);
        let short = series("a", &[Some(1.0), None, Some(3.0)]);
        let b = series("b", &[None]);
        let difference = of(vec![a, b.clone()], vec![b, short], 0.0);
        assert!(difference.equal, "{difference:?}");
        assert_eq!((difference.series, difference.points), (2, 2));
    }

    #[test]
    fn missing_series_and_values_are_shown() {
        let here = vec![series("a", &[Some(1.0), Some(2.0), Some(8.0), None]), series("x", &[])];
        let there = vec![series("a", &[Some(1.0), Some(4.0), None, None]), series("y", &[])];
        let difference = of(here, there, 0.0);
        assert!(!difference.equal);
        assert_eq!(
            (difference.only_here, difference.only_there),
            (vec!["x".to_owned()], vec!["y".to_owned()])
        );
        let first = Pair { time: 60, here: Some(2.0), there: Some(4.0) };
        let wanted = Differing { name: "a".to_owned(), points: 3, differing: 2, first, largest: 1.0 };
        assert_eq!(difference.differing, [wanted]);
    }

    #[test]
    fn a_tolerance_is_relative_and_zero_is_exact() {
        let pair =
            |here: f64, there: f64| (vec![series("a", &[Some(here)])], vec![series("a", &[Some(there)])]);
        let equal = |here, there, tolerance| {
            let (here, there) = pair(here, there);
            of(here, there, tolerance).equal
        };
        assert!(!equal(0.1 + 0.2, 0.3, 0.0));
        assert!(equal(0.1 + 0.2, 0.3, 1e-12));
        assert!(equal(1000.0, 1001.0, 0.001) && !equal(1.0, 2.0, 0.4));
        assert!(equal(f64::INFINITY, f64::INFINITY, 0.0) && !equal(f64::INFINITY, 1.0, 0.5));
        assert!(!equal(1.0, -1.0, 0.99) && equal(0.0, -0.0, 0.0));
    }

    #[test]
    fn series_of_one_name_are_compared_in_turn() {
        let (one, two) = (series("a", &[Some(1.0)]), series("a", &[Some(2.0)]));
        assert!(of(vec![one.clone(), two.clone()], vec![one.clone(), two.clone()], 0.0).equal);
        let difference = of(vec![one.clone(), two], vec![one], 0.0);
        assert_eq!((difference.series, difference.only_here.len()), (1, 1));
    }

    #[test]
    fn a_target_that_one_side_refuses_differs() {
        let difference = compare("t", Ok(vec![series("a", &[])]), Err("no such function".to_owned()), 0.0);
        assert!(!difference.equal);
        assert_eq!(difference.said_there.as_deref(), Some("no such function"));
        assert_eq!(difference.said_here.as_deref(), Some("(answered with 1 series)"));
        let both = compare("t", Err("a".to_owned()), Err("b".to_owned()), 0.0);
        assert!(!both.equal, "nothing was compared");
    }
}
