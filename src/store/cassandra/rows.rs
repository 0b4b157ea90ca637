//! The row and table of a slot.

use uuid::Uuid;

use super::schema::{POINTS_PER_PARTITION, row_size_ms};
use plumbago_model::{Aggregator, Partial, SlotRange, Stage};

/// The part of a row's key that follows from the time of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlotKey {
    /// Start of the partition.
    pub(super) time_start_ms: i64,
    /// Slots since then. A partition has few enough for sixteen bits.
    pub(super) offset: i16,
}

impl SlotKey {
    /// Where the slot that starts at `time` is.
    pub(super) fn of(stage: Stage, time: u32) -> Self {
        let ms = i64::from(time) * 1000;
        let since = ms.rem_euclid(row_size_ms(stage));
        let offset = since / (i64::from(stage.step_secs) * 1000);
        Self { time_start_ms: ms - since, offset: i16::try_from(offset).unwrap_or(i16::MAX) }
    }

    /// The start of the slot.
    pub(super) fn time(self, stage: Stage) -> u32 {
        let ms = self.time_start_ms + i64::from(self.offset) * i64::from(stage.step_secs) * 1000;
        u32::try_from(ms / 1000).unwrap_or(u32::MAX)
    }

    /// The partitions of a range of slots, each with its first and last offset.
    pub(super) fn partitions(stage: Stage, range: SlotRange) -> Vec<(i64, i16, i16)> {
        let mut partitions = Vec::new();
        if range.len == 0 {
            return partitions;
        }
        let (first, last) = (Self::of(stage, range.start), Self::of(stage, range.time(range.len - 1)));
        let mut start = first.time_start_ms;
        while start <= last.time_start_ms {
            let from = if start == first.time_start_ms { first.offset } else { 0 };
            let until = if start == last.time_start_ms { last.offset } else { i16::MAX };
            partitions.push((start, from, until));
            start += row_size_ms(stage);
        }
        partitions
    }

    /// Starts of all partitions that can contain something, including points from the near future.
    pub(super) fn starts(stage: Stage, now: u32) -> Vec<i64> {
        let step = stage.step_secs;
        let span = u32::try_from(stage.span_secs()).unwrap_or(u32::MAX);
        let first = stage.floor(now.saturating_sub(span).saturating_sub(step));
        let last = stage.floor(now.saturating_add(86_400));
        let range = SlotRange { start: first, step, len: ((last - first) / step) as usize + 1 };
        Self::partitions(stage, range).into_iter().map(|(start, ..)| start).collect()
    }
}

/// The offset of the last slot of a partition.
pub(super) fn last_offset() -> i16 {
    i16::try_from(POINTS_PER_PARTITION - 1).unwrap_or(i16::MAX)
}

/// A row of a raw stage: metric, time_start_ms, offset, value.
pub(super) type RawRow = (Uuid, i64, i16, f64);

/// A row of an aggregated stage: metric, time_start_ms, offset, shard, value, count.
pub(super) type AggregatedRow = (Uuid, i64, i16, i16, f64, i16);

/// The key of a row of an aggregated stage: metric, time_start_ms, offset, shard.
pub(super) type AggregatedKey = (Uuid, i64, i16, i16);

/// A partial as stored in a row. A count has sixteen bits. A larger count is clamped to the maximum, and the sum of an average
/// is scaled down with it, so that the average stays right.
pub(super) fn stored(partial: Partial, method: Aggregator) -> (f64, i16) {
    let count = partial.count();
    match i16::try_from(count) {
        Ok(count) => (partial.value, count),
        Err(_) => {
            let scale = match method {
                Aggregator::Average => f64::from(i16::MAX) / f64::from(count),
                _ => 1.0,
            };
            (partial.value * scale, i16::MAX)
        }
    }
}

/// The replica bits of a shard.
pub(super) fn replica_of(shard: i16) -> usize {
    usize::from(shard.cast_unsigned() >> 14)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(text: &str) -> Stage {
        text.parse().unwrap()
    }

    #[test]
    fn keys_are_biggraphites() {
        let minutes = stage("11520*60s_0");
        let key = SlotKey::of(minutes, 1_700_000_040);
        assert_eq!(key, SlotKey { time_start_ms: 1_699_920_000_000, offset: 1334 });
        assert_eq!(key.time(minutes), 1_700_000_040);
        assert_eq!(SlotKey::of(stage("1*86400s_aggr"), 0), SlotKey { time_start_ms: 0, offset: 0 });
    }

    #[test]
    fn a_range_is_split_at_partitions() {
        let seconds = stage("3600*1s_0");
        let range = SlotRange { start: 1999, step: 1, len: 2003 };
        let expected = [(0, 1999, i16::MAX), (2_000_000, 0, i16::MAX), (4_000_000, 0, 1)];
        assert_eq!(SlotKey::partitions(seconds, range), expected);
        assert_eq!(SlotKey::partitions(seconds, SlotRange { start: 5, step: 1, len: 0 }), []);
    }

    #[test]
    fn all_partitions_of_a_stage_are_named() {
        let starts = SlotKey::starts(stage("11520*60s_0"), 1_700_000_000);
        let (first, last, length) = (1_699_200_000_000, 1_700_040_000_000, 120_000_000);
        assert!((first..first + length).contains(&((1_700_000_000 - 8 * 86_400) * 1000)));
        assert!((last..last + length).contains(&((1_700_000_000 + 86_400) * 1000)));
        assert_eq!(starts, (first..=last).step_by(length as usize).collect::<Vec<i64>>());
    }

    #[test]
    fn a_count_too_large_for_the_table_keeps_the_average() {
        let partial = Partial { value: 80_000.0, count: 40_000 };
        let (value, count) = stored(partial, Aggregator::Average);
        assert_eq!((value / f64::from(count), count), (2.0, i16::MAX));
        assert_eq!(stored(partial, Aggregator::Sum), (80_000.0, i16::MAX));
        assert_eq!(stored(Partial { value: 1.0, count: 3 | Partial::DIRECT }, Aggregator::Last), (1.0, 3));
    }

    #[test]
    fn replica_bits_reach_into_the_sign() {
        assert_eq!([0, 1 << 14, -32_768, -1].map(replica_of), [0, 1, 2, 3]);
    }
}
