//! A stage: one resolution of a metric, kept for one length of time.

use std::fmt;

/// Raw points, or aggregates of a finer stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StageKind {
    /// Stage 0: a slot holds the last value written to it.
    Raw,
    /// A slot holds a partial aggregate: value and count.
    Aggregated,
}

/// `points` slots of `step_secs` each. Every pair of kind, step and points is stored apart from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stage {
    /// Seconds per slot, at least 1.
    pub step_secs: u32,
    /// Number of slots kept.
    pub points: u32,
    /// Raw or aggregated.
    pub kind: StageKind,
}

impl Stage {
    /// How far back the stage reaches, in seconds.
    pub fn span_secs(&self) -> u64 {
        u64::from(self.step_secs) * u64::from(self.points)
    }

    /// The start of the slot that `timestamp` falls into.
    pub fn floor(&self, timestamp: u32) -> u32 {
        timestamp - timestamp % self.step_secs
    }

    /// Is a point of this age (now minus its time stamp) inside the stage?
    pub fn covers_age(&self, age_secs: u64) -> bool {
        age_secs <= self.span_secs()
    }
}

/// BigGraphite's spelling: `11520*60s_0`, `720*3600s_aggr`.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            StageKind::Raw => "0",
            StageKind::Aggregated => "aggr",
        };
        write!(f, "{}*{}s_{kind}", self.points, self.step_secs)
    }
}

impl std::str::FromStr for Stage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is not a stage; expected something like `720*3600s_aggr`");
        let (points, rest) = text.split_once('*').ok_or_else(bad)?;
        let (step, kind) = rest.split_once("s_").ok_or_else(bad)?;
        let kind = match kind {
            "0" => StageKind::Raw,
            "aggr" => StageKind::Aggregated,
            _ => return Err(bad()),
        };
        let points = points.parse().map_err(|_| bad())?;
        let step_secs = step.parse().ok().filter(|&s| s > 0).ok_or_else(bad)?;
        Ok(Stage { step_secs, points, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        for text in ["11520*60s_0", "720*3600s_aggr"] {
            assert_eq!(text.parse::<Stage>().unwrap().to_string(), text);
        }
        assert!("720*0s_0".parse::<Stage>().is_err());
        assert!("720*60s_x".parse::<Stage>().unwrap_err().contains("720*60s_x"));
    }

    #[test]
    fn floor_goes_to_the_slot_start() {
        let stage: Stage = "10*60s_0".parse().unwrap();
        assert_eq!((stage.floor(119), stage.floor(120)), (60, 120));
    }
}
