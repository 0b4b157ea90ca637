//! Numbers of things, in words.

/// `1 metric`, `2 metrics`, `2 directories`. Nouns without a plural of their own, such as `series`, stay as they are.
pub fn count(number: impl TryInto<u64>, noun: &str) -> String {
    // What does not fit is not 1 either.
    let number = number.try_into().unwrap_or(u64::MAX);
    let stem = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match (number, stem) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        _ if noun.ends_with('s') => format!("{number} {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn one_is_singular_and_all_others_are_plural() {
        assert_eq!(count(0_u64, "metric"), "0 metrics");
        assert_eq!(count(1_u32, "metric"), "1 metric");
        assert_eq!(count(21_usize, "metric"), "21 metrics");
        assert_eq!(count(1_u64, "directory"), "1 directory");
        assert_eq!(count(2_u64, "directory"), "2 directories");
        assert_eq!(count(30_u64, "day"), "30 days");
        assert_eq!([count(1_u64, "series"), count(3_u64, "series")], ["1 series", "3 series"]);
    }
}
