//! "Did you mean ...?" for names that do not exist.

/// The end of an error text: `; did you mean `x`?`, or nothing when no candidate is near.
pub fn did_you_mean<'a>(wrong: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    let near = candidates
        .map(|candidate| (distance(&wrong.to_ascii_lowercase(), &candidate.to_ascii_lowercase()), candidate))
        .filter(|&(edits, candidate)| edits <= candidate.len().max(wrong.len()) / 3)
        .min_by_key(|&(edits, _)| edits);
    near.map_or_else(String::new, |(_, candidate)| format!("; did you mean `{candidate}`?"))
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_textbook() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("htpt", "http"), 1);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn only_near_names_are_suggested() {
        let names = || ["http", "carbon", "pickle"].into_iter();
        assert_eq!(did_you_mean("htp", names()), "; did you mean `http`?");
        assert_eq!(did_you_mean("Pickel", names()), "; did you mean `pickle`?");
        assert_eq!(did_you_mean("zzzz", names()), "");
        assert_eq!(did_you_mean("sumserie", ["sumSeries"].into_iter()), "; did you mean `sumSeries`?");
    }
}
