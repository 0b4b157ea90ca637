//! The table of a stage: its name, how long its rows live, how its partitions are cut. All of it as BigGraphite does it,
//! because its servers may use the same tables.

use serde_json::json;

use plumbago_model::{Stage, StageKind};

/// Points a partition holds. BigGraphite's formula has other bounds too, which steps of whole seconds never reach.
pub(in crate::store::cassandra) const POINTS_PER_PARTITION: u64 = 2000;
/// Rows live longer than their stage says, for points that arrive late.
const LATE_SECS: u64 = 15 * 60;
/// Cassandra's longest time to live: 20 years of 365 days.
const MAX_TTL_SECS: u64 = 20 * 365 * DAY_SECS;
/// At most this many windows of compaction in a table.
const WINDOWS: u64 = 50;
const HOUR_SECS: u64 = 3600;
const DAY_SECS: u64 = 24 * HOUR_SECS;

/// `datapoints_11520p_60s_0`, `datapoints_720p_3600s_aggr`
pub fn table_name(stage: Stage) -> String {
    let suffix = match stage.kind {
        StageKind::Raw => "0",
        StageKind::Aggregated => "aggr",
    };
    format!("datapoints_{}p_{}s_{suffix}", stage.points, stage.step_secs)
}

/// Length of a partition in milliseconds; partitions begin at multiples of it.
pub fn row_size_ms(stage: Stage) -> i64 {
    // Below 2^32 * 2^11 * 2^10.
    (u64::from(stage.step_secs) * 1000 * POINTS_PER_PARTITION).cast_signed()
}

/// Seconds until a row is gone.
pub fn ttl_secs(stage: Stage) -> i32 {
    let secs = (stage.span_secs() + LATE_SECS).min(MAX_TTL_SECS);
    i32::try_from(secs).unwrap_or(i32::MAX)
}

/// Unit and size of the windows that are compacted together, if somebody says how long they are.
pub(super) fn chosen_window(secs: u64) -> (&'static str, u64) {
    match secs {
        secs if secs.is_multiple_of(DAY_SECS) => ("DAYS", secs / DAY_SECS),
        secs if secs.is_multiple_of(HOUR_SECS) => ("HOURS", secs / HOUR_SECS),
        secs => ("MINUTES", secs.div_ceil(60)),
    }
}

/// Unit and size of the windows that BigGraphite would have compacted together.
pub(super) fn compaction_window(stage: Stage) -> (&'static str, u64) {
    let ttl = stage.span_secs() + LATE_SECS;
    let read_at_once = u64::from(stage.step_secs) * POINTS_PER_PARTITION;
    // Fifty windows long, so that nothing is rounded before it is compared.
    let fifty = ttl.min(WINDOWS * HOUR_SECS.max(read_at_once));
    if fifty > WINDOWS * DAY_SECS {
        ("DAYS", fifty / (WINDOWS * DAY_SECS))
    } else {
        ("HOURS", (fifty / (WINDOWS * HOUR_SECS)).max(1))
    }
}

/// The comment of the table, which BigGraphite's tools read. Spelled as Python spells JSON.
pub(super) fn comment(stage: Stage) -> String {
    format!(
        r#"{{"created_by": "biggraphite", "schema_version": 0, "stage": {}, "row_size_ms": {}, "row_size": {POINTS_PER_PARTITION}.0}}"#,
        json!(stage.to_string()),
        row_size_ms(stage),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(text: &str) -> Stage {
        text.parse().unwrap()
    }

    #[test]
    fn tables_are_as_biggraphite_makes_them() {
        for (text, table, size, ttl, window) in [
            ("11520*60s_0", "datapoints_11520p_60s_0", 120_000_000, 692_100, ("HOURS", 3)),
            ("720*3600s_aggr", "datapoints_720p_3600s_aggr", 7_200_000_000, 2_592_900, ("HOURS", 14)),
            ("730*86400s_aggr", "datapoints_730p_86400s_aggr", 172_800_000_000, 63_072_900, ("DAYS", 14)),
            ("60*1s_0", "datapoints_60p_1s_0", 2_000_000, 960, ("HOURS", 1)),
        ] {
            let stage = stage(text);
            assert_eq!(table_name(stage), table);
            assert_eq!(row_size_ms(stage), size);
            assert_eq!(ttl_secs(stage), ttl);
            assert_eq!(compaction_window(stage), window);
        }
    }

    #[test]
    fn a_chosen_window_has_the_largest_unit_that_divides_it() {
        for (secs, window) in
            [(172_800, ("DAYS", 2)), (10_800, ("HOURS", 3)), (5400, ("MINUTES", 90)), (61, ("MINUTES", 2))]
        {
            assert_eq!(chosen_window(secs), window);
        }
    }

    #[test]
    fn the_comment_is_spelled_as_python_spells_it() {
        assert_eq!(
            comment(stage("11520*60s_0")),
            r#"{"created_by": "biggraphite", "schema_version": 0, "stage": "11520*60s_0", "row_size_ms": 120000000, "row_size": 2000.0}"#
        );
    }

    #[test]
    fn no_row_lives_longer_than_cassandra_allows() {
        assert_eq!(ttl_secs(stage("40*31536000s_aggr")), 630_720_000);
    }
}
