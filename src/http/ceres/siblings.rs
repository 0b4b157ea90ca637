//! The series that are made beside a metric, so that the smallest and the largest value of each slot are known.

use crate::config;

/// What the names of metrics end in that hold one kind of aggregate already.
const AGGREGATES: [&str; 5] = ["_min", "_max", "_sum", "_count", "_avg"];

/// The aggregates that need a series of their own.
pub(super) const EXTREMES: [&str; 2] = ["_min", "_max"];

/// What is added to the name of a metric for the series beside it. A metric that is an aggregate itself, or a counter, has none.
pub(super) fn of(metric: &str, config: &config::Ceres) -> &'static [&'static str] {
    let ends = |suffixes: &[String]| suffixes.iter().any(|suffix| metric.ends_with(suffix.as_str()));
    let is_aggregate = AGGREGATES.iter().any(|suffix| metric.ends_with(suffix));
    if config.extremes && !is_aggregate && !ends(&config.counter_suffixes) { &EXTREMES } else { &[] }
}

/// The metrics of a sorted list without those beside them.
pub(super) fn left_out(metrics: Vec<String>, config: &config::Ceres) -> Vec<String> {
    let is_beside = |metric: &String| {
        EXTREMES.iter().any(|suffix| {
            let main = metric.strip_suffix(suffix).filter(|main| of(main, config).contains(suffix));
            main.is_some_and(|main| metrics.binary_search_by(|other| other.as_str().cmp(main)).is_ok())
        })
    };
    let shown: Vec<bool> = metrics.iter().map(|metric| !is_beside(metric)).collect();
    metrics.into_iter().zip(shown).filter_map(|(metric, shown)| shown.then_some(metric)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_metrics_have_others_beside_them() {
        let config = config::Ceres::default();
        assert_eq!(of("cpu_idle", &config), ["_min", "_max"]);
        for metric in ["cpu_min", "cpu_max", "cpu_avg", "disk_reads", "net_bytes"] {
            assert!(of(metric, &config).is_empty(), "{metric}");
        }
        let mut without = config.clone();
        without.extremes = false;
        assert!(of("cpu_idle", &without).is_empty());
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let all = list(&["cpu", "cpu_max", "cpu_min", "load_max", "net_bytes", "net_bytes_min"]);
        assert_eq!(left_out(all, &config), list(&["cpu", "load_max", "net_bytes", "net_bytes_min"]));
    }
}
