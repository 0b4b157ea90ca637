//! A retention: the stages of a metric, from fine to coarse, and carbon's text form of it.

use std::fmt;
use std::str::FromStr;

use super::{Stage, StageKind};

/// Bytes that a point takes on disk. Counters, gauges and constants together take 1.6 to 1.7, as docs/PERFORMANCE.md shows; values
/// without any pattern take up to 9.
pub const POINT_BYTES: u64 = 2;

/// The stages a metric has. At least one; each coarser step is a multiple of the finer one and reaches further back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Retention {
    stages: Vec<Stage>,
}

/// Why a retention text was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetentionError {
    /// Nothing between the commas.
    #[error("the retention list is empty; write something like `10s:1d,1m:30d`")]
    Empty,
    /// Not `precision:length`.
    #[error("`{0}` is not `precision:length`; write something like `10s:1d`")]
    Shape(String),
    /// Not a number with a known unit.
    #[error("`{0}` is not a duration; write digits and one of s, m, h, d, w, y (y = 365 days)")]
    Duration(String),
    /// A zero somewhere.
    #[error("`{0}` keeps no point; precision and length must both be at least one")]
    Zero(String),
    /// More than fits the stage type.
    #[error("`{0}` is too long; at most {max} slots per stage", max = u32::MAX)]
    TooLong(String),
    /// Coarser is no multiple of finer.
    #[error(
        "{coarse}s is not a multiple of {fine}s; each coarser precision must be a multiple of the finer one"
    )]
    NotMultiple {
        /// Finer step in seconds.
        fine: u32,
        /// Coarser step in seconds.
        coarse: u32,
    },
    /// Two stages with one precision, or in the wrong order.
    #[error("the precisions must grow from left to right and differ: {fine}s is followed by {coarse}s")]
    Order {
        /// Step in seconds.
        fine: u32,
        /// Step in seconds.
        coarse: u32,
    },
    /// A coarser stage that ends earlier.
    #[error("the {coarse}s stage must reach further back than the {fine}s stage")]
    Shorter {
        /// Finer step in seconds.
        fine: u32,
        /// Coarser step in seconds.
        coarse: u32,
    },
    /// Not enough fine slots to fill a coarse one.
    #[error("the {fine}s stage is too short to fill one slot of {coarse}s; keep at least {need} points")]
    TooFew {
        /// Finer step in seconds.
        fine: u32,
        /// Coarser step in seconds.
        coarse: u32,
        /// Points needed in the finer stage.
        need: u32,
    },
}

impl Retention {
    /// Checks and takes `(step, points)` pairs; stages are put in order of their step.
    pub fn new(mut pairs: Vec<(u32, u32)>) -> Result<Self, RetentionError> {
        if pairs.is_empty() {
            return Err(RetentionError::Empty);
        }
        pairs.sort_unstable();
        let stages: Vec<Stage> = pairs
            .into_iter()
            .enumerate()
            .map(|(level, (step_secs, points))| Stage {
                step_secs,
                points,
                kind: if level == 0 { StageKind::Raw } else { StageKind::Aggregated },
            })
            .collect();
        for pair in stages.windows(2) {
            let [fine, coarse] = pair else { continue };
            let (f, c) = (fine.step_secs, coarse.step_secs);
            if f == c {
                return Err(RetentionError::Order { fine: f, coarse: c });
            }
            if c % f != 0 {
                return Err(RetentionError::NotMultiple { fine: f, coarse: c });
            }
            if coarse.span_secs() <= fine.span_secs() {
                return Err(RetentionError::Shorter { fine: f, coarse: c });
            }
            if fine.points < c / f {
                return Err(RetentionError::TooFew { fine: f, coarse: c, need: c / f });
            }
        }
        Ok(Self { stages })
    }

    /// Fine to coarse.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Stage 0.
    pub fn raw(&self) -> Stage {
        self.stages[0]
    }

    /// How far back the coarsest stage reaches, in seconds.
    pub fn span_secs(&self) -> u64 {
        self.stages.iter().map(Stage::span_secs).max().unwrap_or(0)
    }

    /// Points of a metric when every stage is full.
    pub fn points(&self) -> u64 {
        self.stages.iter().map(|stage| u64::from(stage.points)).sum()
    }

    /// Disk that a metric takes then, as a rule.
    pub fn disk_bytes(&self) -> u64 {
        self.points() * POINT_BYTES
    }

    /// Its first stages, at least one of them.
    pub fn first(&self, stages: usize) -> Self {
        Self { stages: self.stages.iter().take(stages.max(1)).copied().collect() }
    }

    /// The finest stage that reaches back `age_secs`, or the coarsest one when none does.
    pub fn level_for_age(&self, age_secs: u64) -> usize {
        self.stages.iter().position(|s| s.covers_age(age_secs)).unwrap_or(self.stages.len() - 1)
    }
}

/// Carbon's form: `10s:1d,1m:30d`, `60:43200` (seconds:points); BigGraphite's `8640*10s:720*3600s` is read too.
impl FromStr for Retention {
    type Err = RetentionError;

    fn from_str(text: &str) -> Result<Self, RetentionError> {
        if text.contains('*') {
            return Self::new(text.split(':').map(parse_points_times_step).collect::<Result<_, _>>()?);
        }
        let parts = text.split(',').map(str::trim).filter(|p| !p.is_empty());
        Self::new(parts.map(parse_precision_length).collect::<Result<_, _>>()?)
    }
}

/// BigGraphite's form, which its metadata compares as text: `11520*60s:720*3600s`.
impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, stage) in self.stages.iter().enumerate() {
            let sep = if i == 0 { "" } else { ":" };
            write!(f, "{sep}{}*{}s", stage.points, stage.step_secs)?;
        }
        Ok(())
    }
}

/// Seconds of a text such as `10`, `10s`, `5m`, `2h`, `1d`, `1w`, `1y`, `30minutes`.
pub fn parse_duration_secs(text: &str) -> Result<u64, RetentionError> {
    let bad = || RetentionError::Duration(text.to_owned());
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| bad())?;
    number.checked_mul(unit_secs(unit).ok_or_else(bad)?).ok_or_else(bad)
}

/// Whisper takes any prefix of the unit words, so `m`, `min` and `minutes` are one.
fn unit_secs(unit: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 6] = [
        ("seconds", 1),
        ("minutes", 60),
        ("hours", 3600),
        ("days", 86_400),
        ("weeks", 604_800),
        ("years", 31_536_000),
    ];
    if unit.is_empty() {
        return Some(1);
    }
    let unit = unit.to_ascii_lowercase();
    UNITS.iter().find(|(word, _)| word.starts_with(&unit)).map(|&(_, secs)| secs)
}

fn parse_precision_length(part: &str) -> Result<(u32, u32), RetentionError> {
    let (precision, length) = part.split_once(':').ok_or_else(|| RetentionError::Shape(part.to_owned()))?;
    let (precision, length) = (precision.trim(), length.trim());
    let step = parse_duration_secs(precision)?;
    if step == 0 {
        return Err(RetentionError::Zero(part.to_owned()));
    }
    let points = if !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit()) {
        length.parse::<u64>().map_err(|_| RetentionError::TooLong(part.to_owned()))?
    } else {
        parse_duration_secs(length)? / step
    };
    checked_pair(step, points, part)
}

fn parse_points_times_step(part: &str) -> Result<(u32, u32), RetentionError> {
    let (points, step) = part.split_once('*').ok_or_else(|| RetentionError::Shape(part.to_owned()))?;
    let points = points.trim().parse().map_err(|_| RetentionError::Shape(part.to_owned()))?;
    checked_pair(parse_duration_secs(step.trim())?, points, part)
}

fn checked_pair(step: u64, points: u64, part: &str) -> Result<(u32, u32), RetentionError> {
    if step == 0 || points == 0 {
        return Err(RetentionError::Zero(part.to_owned()));
    }
    match (u32::try_from(step), u32::try_from(points)) {
        (Ok(step), Ok(points)) => Ok((step, points)),
        _ => Err(RetentionError::TooLong(part.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(input: &str) -> String {
        input.parse::<Retention>().map_or_else(|e| format!("error: {e}"), |r| r.to_string())
    }

    #[test]
    fn carbon_forms_are_read() {
        assert_eq!(text("10s:1d,1m:30d,1h:2y"), "8640*10s:43200*60s:17520*3600s");
        assert_eq!(text("60:43200"), "43200*60s");
        assert_eq!(text(" 60s : 7d , 1hour:1y"), "10080*60s:8760*3600s");
        assert_eq!(text("11520*60s:720*3600s:730*86400s"), "11520*60s:720*3600s:730*86400s");
        assert_eq!(text("1h:2y,10s:1d"), "8640*10s:17520*3600s");
    }

    #[test]
    fn first_stage_is_raw_and_the_rest_aggregated() {
        let r: Retention = "10s:1d,1m:30d".parse().unwrap();
        assert_eq!(r.stages()[0].to_string(), "8640*10s_0");
        assert_eq!(r.stages()[1].to_string(), "43200*60s_aggr");
    }

    #[test]
    fn bad_lists_say_what_is_wrong() {
        assert!(text("").contains("empty"));
        assert!(text("10s").contains("`10s`"));
        assert!(text("10q:1d").contains("`10q`"));
        assert!(text("10s:0").contains("keeps no point"));
        assert!(text("0:10").contains("keeps no point"));
        assert!(text("10s:1d,15s:2d").contains("multiple"));
        assert!(text("10s:1d,10s:2d").contains("differ"));
        assert!(text("10s:2d,60s:1d").contains("further back"));
        assert!(text("10s:3,60s:1d").contains("at least 6 points"));
        assert!(text("1s:99999999999").contains("too long"));
    }

    #[test]
    fn level_is_the_finest_that_reaches() {
        let r: Retention = "10s:1d,1m:30d".parse().unwrap();
        assert_eq!(r.level_for_age(86_400), 0);
        assert_eq!(r.level_for_age(86_401), 1);
        assert_eq!(r.level_for_age(u64::MAX), 1);
        assert_eq!((r.first(0).to_string(), r.first(1).to_string()), ("8640*10s".into(), "8640*10s".into()));
        assert_eq!((r.first(2), r.first(9)), (r.clone(), r));
    }
}
