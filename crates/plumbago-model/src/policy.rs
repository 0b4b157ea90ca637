//! A policy: retention, aggregation method and xFilesFactor, as the rules give them to a name.

use std::fmt;
use std::str::FromStr;

use super::{Aggregator, Arrival, Dialect, Retention};

/// A policy's number in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PolicyId(pub u32);

/// What happens to the points of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The stages.
    pub retention: Retention,
    /// How finer points become coarser ones.
    pub aggregator: Aggregator,
    /// Fraction of points that must be known for an aggregate to be shown, 0 to 1.
    pub x_files_factor: f64,
    /// How the sender that the metric first came from names its series: that dialect's default applies when no rule matches.
    pub dialect: Dialect,
}

impl Policy {
    /// How a metric with this policy would come in if it came again: in the same dialect, to be kept as long.
    pub fn arrival(&self) -> Arrival {
        let keep_secs = u32::try_from(self.retention.span_secs()).unwrap_or(u32::MAX);
        Arrival { dialect: self.dialect, keep_secs }
    }

    /// Stage-0 slots in one slot of the stage at `level`.
    pub fn slots_at(&self, level: usize) -> u32 {
        let stages = self.retention.stages();
        stages.get(level).map_or(1, |s| s.step_secs / stages[0].step_secs)
    }
}

/// The catalogue's form: `8640*10s:43200*60s|average|0.5`, with the dialect at the end unless it is carbon's.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|{}|{}", self.retention, self.aggregator, self.x_files_factor)?;
        if self.dialect == Dialect::Carbon { Ok(()) } else { write!(f, "|{}", self.dialect) }
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('|');
        let (Some(retention), Some(method), Some(xff), dialect, None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(format!("`{text}` is not a policy; expected `retention|method|xFilesFactor`"));
        };
        Ok(Policy {
            retention: retention.parse().map_err(|e| format!("policy `{text}`: {e}"))?,
            aggregator: method.parse().map_err(|e| format!("policy `{text}`: {e}"))?,
            x_files_factor: xff.parse().map_err(|e| format!("policy `{text}`: {e}"))?,
            dialect: dialect
                .map_or(Ok(Dialect::Carbon), str::parse)
                .map_err(|e| format!("policy `{text}`: {e}"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        let text = "8640*10s:43200*60s|average|0.5";
        let policy: Policy = text.parse().unwrap();
        assert_eq!(policy.to_string(), text);
        assert_eq!((policy.slots_at(0), policy.slots_at(1)), (1, 6));
        let labelled = "8640*10s|sum|0|labelled";
        let policy: Policy = labelled.parse().unwrap();
        assert_eq!((policy.to_string().as_str(), policy.dialect), (labelled, Dialect::Labelled));
        for bad in [
            "",
            "8640*10s|average",
            "x|average|0.5",
            "8640*10s|median|0.5",
            "8640*10s|average|x",
            "8640*10s|average|0|window",
            "8640*10s|average|0|labelled|x",
        ] {
            assert!(bad.parse::<Policy>().is_err(), "{bad}");
        }
    }
}
