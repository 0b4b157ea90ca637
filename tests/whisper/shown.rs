//! What a reader of whisper shows for a range of time, from a series that we read: the rule that graphite-web sees.

use plumbago::whisper::{Archive, Series};
use serde_json::Value;

/// Slots of one step, with the bits of their values.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) first: u32,
    pub(crate) step: u32,
    pub(crate) values: Vec<Option<u64>>,
}

impl Shown {
    /// What another program answered; `None` if it has nothing for that time.
    pub(crate) fn of_answer(answer: &Value) -> Option<Self> {
        let number = |key: &str| answer[key].as_u64().map(|number| number as u32);
        let values = answer["values"].as_array()?.iter().map(Value::as_u64).collect();
        Some(Self { first: number("first")?, step: number("step")?, values })
    }

    /// What an archive shows.
    pub(crate) fn of_archive(archive: &Archive, start: u32, end: u32) -> Self {
        let step = archive.stage.step_secs;
        let (first, last) = (start - start % step + step, end - end % step + step);
        let at = |time| {
            let found = archive.points.binary_search_by_key(&time, |point| point.timestamp);
            found.ok().map(|place| archive.points[place].value.to_bits())
        };
        let values = (first..last).step_by(step as usize).map(at).collect();
        Self { first, step, values }
    }

    /// What a series shows: one archive, the finest that reaches back far enough.
    pub(crate) fn of_series(series: &Series, start: u32, end: u32, now: u32) -> Option<Self> {
        let longest = series.header.retention.span_secs() as u32;
        if end < now - longest {
            return None;
        }
        let start = start.max(now - longest);
        let reaches = |archive: &&Archive| archive.stage.span_secs() >= u64::from(now - start);
        let archive = series.archives.iter().find(reaches)?;
        Some(Self::of_archive(archive, start, end.min(now)))
    }

    /// Its slots with their times.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (u32, Option<u64>)> {
        (0..).zip(&self.values).map(|(at, value)| (self.first + at * self.step, *value))
    }
}
