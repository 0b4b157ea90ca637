//! The aggregators of a query, and how they are read.

use std::collections::BTreeMap;

use super::fields::Fields;
use super::range::Method;
use super::sampling::Sampling;
use super::unit::{Length, Unit};
use super::wrong::Wrong;

/// What happens to the samples of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregator {
    /// The samples of each bucket become one.
    Range {
        /// How.
        method: Method,
        /// Which buckets.
        sampling: Sampling,
        /// Are buckets left out that the query covers only in part?
        trim: bool,
    },
    /// The change from sample to sample, per length of time.
    Rate(Length),
    /// Each value but the first, divided by the time since the sample before, per length of time.
    Sampler(Length),
    /// Values multiplied.
    Scale(f64),
    /// Values divided.
    Div(f64),
    /// The change from sample to sample.
    Diff,
    /// Samples at the ends are left out.
    Trim(Trim),
    /// Samples for which this holds are left out.
    Filter(Comparison, f64),
    /// The mean of so many samples, at the time of the last of them.
    Sma(usize),
    /// Samples of one moment become one.
    Merge,
    /// What there is by now is written as a metric.
    SaveAs(SaveAs),
}

/// Which ends are trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    /// The first sample.
    First,
    /// The last one.
    Last,
    /// Both.
    Both,
}

/// How a value compares with a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// At most.
    AtMost,
    /// Less.
    Less,
    /// At least.
    AtLeast,
    /// More.
    More,
    /// The same.
    Equal,
    /// Different.
    Different,
}

impl Comparison {
    pub(super) fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Comparison::AtMost => value <= threshold,
            Comparison::Less => value < threshold,
            Comparison::AtLeast => value >= threshold,
            Comparison::More => value > threshold,
            Comparison::Equal => value == threshold,
            Comparison::Different => value != threshold,
        }
    }
}

/// Where results are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaveAs {
    /// The metric.
    pub metric: String,
    /// Tags of its series, besides those that the results are grouped by.
    pub tags: BTreeMap<String, String>,
    /// Seconds for which they are kept; 0 is forever.
    pub ttl: u64,
    /// Is the metric they were made from named in a tag?
    pub add_saved_from: bool,
}

const RANGE: [&str; 5] = ["sampling", "align_start_time", "align_end_time", "align_sampling", "trim"];

impl Aggregator {
    /// Reads the aggregator of a name.
    pub(super) fn read(name: &str, fields: &Fields<'_>) -> Result<Self, Wrong> {
        if let Some(method) = Method::named(name) {
            return Self::read_range(name, method, fields);
        }
        let known: &[&str] = match name {
            "rate" => &["sampling", "unit"],
            "sampler" => &["unit"],
            "scale" => &["factor"],
            "div" => &["divisor"],
            "diff" | "merge" => &[],
            "trim" => &["trim"],
            "filter" => &["filter_op", "threshold"],
            "sma" => &["size"],
            "save_as" => &["metric_name", "tags", "ttl", "add_saved_from"],
            _ => return Err(fields.wrong(name, "invalid aggregators name")),
        };
        fields.only(name, name, known)?;
        Ok(match name {
            "rate" => Aggregator::Rate(per(fields)?),
            "sampler" => Aggregator::Sampler(per(fields)?),
            "scale" => Aggregator::Scale(fields.number("factor")?.unwrap_or(0.0)),
            "div" => match fields.number("divisor")?.filter(|divisor| *divisor != 0.0) {
                Some(divisor) => Aggregator::Div(divisor),
                None => return Err(fields.wrong("m_divisor", "may not be zero")),
            },
            "diff" => Aggregator::Diff,
            "merge" => Aggregator::Merge,
            "trim" => Aggregator::Trim(trim(fields)?),
            "filter" => Aggregator::Filter(comparison(fields)?, fields.number("threshold")?.unwrap_or(0.0)),
            "sma" => match fields.integer("size")?.and_then(|size| usize::try_from(size).ok()) {
                Some(size) if size > 0 => Aggregator::Sma(size),
                _ => return Err(fields.wrong("size", "must be greater than or equal to 1")),
            },
            _ => Aggregator::SaveAs(save_as(fields)?),
        })
    }

    fn read_range(name: &str, method: Method, fields: &Fields<'_>) -> Result<Self, Wrong> {
        let mut known = RANGE.to_vec();
        known.extend(matches!(method, Method::Percentile(_)).then_some("percentile"));
        fields.only(name, name, &known)?;
        let usual = Sampling::default();
        let sampling = Sampling {
            length: fields.length("sampling")?.unwrap_or(usual.length),
            align: fields.boolean("align_sampling")?.unwrap_or(usual.align),
            align_start: fields.boolean("align_start_time")?.unwrap_or(usual.align_start),
            align_end: fields.boolean("align_end_time")?.unwrap_or(usual.align_end),
        };
        let method = match method {
            Method::Percentile(_) => match fields.number("percentile")? {
                None | Some(0.0) => return Err(fields.wrong("percentile", "may not be zero")),
                Some(share) if (0.0..=1.0).contains(&share) => Method::Percentile(share),
                Some(share) => {
                    return Err(
                        fields.wrong("percentile", format_args!("must be between 0 and 1, not {share}"))
                    );
                }
            },
            other => other,
        };
        Ok(Aggregator::Range { method, sampling, trim: fields.boolean("trim")?.unwrap_or(false) })
    }
}

/// A length of time: `sampling`, or the older `unit`; a millisecond if none is given.
fn per(fields: &Fields<'_>) -> Result<Length, Wrong> {
    let unit = fields.unit("unit", &fields.place)?.unwrap_or(Unit::Milliseconds);
    Ok(fields.length("sampling")?.unwrap_or(Length { value: 1, unit }))
}

fn trim(fields: &Fields<'_>) -> Result<Trim, Wrong> {
    match fields.text("trim")?.unwrap_or("both").to_ascii_lowercase().as_str() {
        "first" => Ok(Trim::First),
        "last" => Ok(Trim::Last),
        "both" => Ok(Trim::Both),
        other => Err(fields.wrong("trim", format_args!("must be first, last or both, not `{other}`"))),
    }
}

fn comparison(fields: &Fields<'_>) -> Result<Comparison, Wrong> {
    Ok(match fields.text("filter_op")?.unwrap_or("equal").to_ascii_lowercase().as_str() {
        "lte" => Comparison::AtMost,
        "lt" => Comparison::Less,
        "gte" => Comparison::AtLeast,
        "gt" => Comparison::More,
        "equal" => Comparison::Equal,
        "ne" => Comparison::Different,
        other => {
            let text = format_args!("must be lte, lt, gte, gt, equal or ne, not `{other}`");
            return Err(fields.wrong("filter_op", text));
        }
    })
}

fn save_as(fields: &Fields<'_>) -> Result<SaveAs, Wrong> {
    let metric = fields.text("metric_name")?.unwrap_or_default();
    if metric.is_empty() {
        return Err(fields.wrong("metric_name", "may not be empty"));
    }
    let ttl = fields.integer("ttl")?.unwrap_or(0);
    let ttl = u64::try_from(ttl).map_err(|_| fields.wrong("ttl", "must be greater than or equal to 0"))?;
    Ok(SaveAs {
        metric: metric.to_owned(),
        tags: fields.texts("tags")?,
        ttl,
        add_saved_from: fields.boolean("add_saved_from")?.unwrap_or(true),
    })
}
