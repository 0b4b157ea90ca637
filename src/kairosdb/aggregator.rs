//! The aggregators of a query, and how they are read.

use std::collections::BTreeMap;

use super::feature::Feature;
use super::fields::Fields;
use super::property::{
    ALIGN_END, ALIGN_SAMPLING, ALIGN_START, Kind, LENGTH, Property, RANGE, SAMPLING, TRIM, UNIT,
};
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

impl Aggregator {
    /// Reads the aggregator of a name.
    pub(super) fn read(name: &str, fields: &Fields<'_>) -> Result<Self, Wrong> {
        Feature::named(AGGREGATORS, "aggregators", name, fields)
    }
}

/// One that works on buckets.
const fn on_buckets(
    name: &'static str,
    label: &'static str,
    about: &'static str,
    read: fn(&Fields<'_>) -> Result<Aggregator, Wrong>,
) -> Feature<Aggregator> {
    Feature { name, label, about, takes: RANGE, read }
}

/// All aggregators.
pub(super) const AGGREGATORS: &[Feature<Aggregator>] = &[
    on_buckets("avg", "AVG", "The mean of a bucket.", |fields| range(Method::Avg, fields)),
    on_buckets("count", "COUNT", "How many points a bucket has.", |fields| range(Method::Count, fields)),
    on_buckets("data_gaps", "Data gaps", "The same as gaps.", |fields| range(Method::Gaps, fields)),
    on_buckets("dev", "DEV", "The standard deviation of a bucket.", |fields| range(Method::Dev, fields)),
    Feature {
        name: "diff",
        label: "Diff",
        about: "The change from point to point.",
        takes: &[],
        read: |_| Ok(Aggregator::Diff),
    },
    Feature {
        name: "div",
        label: "Divide",
        about: "Each value, divided.",
        takes: &[Property::new("divisor", "Divisor", Kind::Double, "What it is divided by.")
            .must("value != 0", "The divisor must not be 0.")],
        read: div,
    },
    Feature {
        name: "filter",
        label: "Filter",
        about: "Leaves out the points for which this holds.",
        takes: &[
            Property::new(
                "filter_op",
                "Filter operation",
                Kind::Choice(|| COMPARISONS.iter().map(|(word, _)| *word).collect()),
                "How the value compares with the threshold.",
            )
            .usually("equal"),
            Property::new("threshold", "Threshold", Kind::Double, "What values are compared with.")
                .usually("0.0"),
        ],
        read: filter,
    },
    on_buckets("first", "FIRST", "The first point of a bucket.", |fields| range(Method::First, fields)),
    on_buckets("gaps", "Gaps", "A null for each bucket without points between others.", |fields| {
        range(Method::Gaps, fields)
    }),
    on_buckets("last", "LAST", "The last point of a bucket.", |fields| range(Method::Last, fields)),
    on_buckets("least_squares", "Least squares", "The ends of the line that fits a bucket best.", |fields| {
        range(Method::LeastSquares, fields)
    }),
    on_buckets("max", "MAX", "The largest value of a bucket.", |fields| range(Method::Max, fields)),
    Feature {
        name: "merge",
        label: "Merge",
        about: "The mean of the points of one moment; with a sampling, of those of a bucket.",
        takes: RANGE,
        read: |fields| match fields.get("sampling") {
            None => Ok(Aggregator::Merge),
            Some(_) => range(Method::Avg, fields),
        },
    },
    on_buckets("min", "MIN", "The smallest value of a bucket.", |fields| range(Method::Min, fields)),
    Feature {
        name: "percentile",
        label: "Percentile",
        about: "The value that a share of the points of a bucket does not exceed.",
        takes: &[
            Property::new("percentile", "Percentile", Kind::Double, "The share.")
                .must("value > 0 && value <= 1", "The share must be more than 0 and at most 1."),
            SAMPLING,
            ALIGN_START,
            ALIGN_END,
            ALIGN_SAMPLING,
            TRIM,
        ],
        read: |fields| range(Method::Percentile(share(fields)?), fields),
    },
    Feature {
        name: "rate",
        label: "Rate",
        about: "The change from point to point, per length of time.",
        takes: &[
            Property::new("sampling", "Sampling", LENGTH, "The length of time.").usually("1 MILLISECONDS"),
            UNIT,
        ],
        read: |fields| Ok(Aggregator::Rate(per(fields)?)),
    },
    Feature {
        name: "sampler",
        label: "Sampler",
        about: "Each value but the first, divided by the time since the point before, per unit of time.",
        takes: &[UNIT],
        read: |fields| Ok(Aggregator::Sampler(per(fields)?)),
    },
    Feature {
        name: "save_as",
        label: "Save as",
        about: "Writes what there is by now as another metric.",
        takes: &[
            Property::new("metric_name", "Metric name", Kind::Text, "The metric.")
                .must("value.length > 0", "The metric needs a name."),
            Property::new("tags", "Tags", Kind::Texts, "Tags of its series, besides those of the groups.")
                .usually("{}"),
            Property::new("ttl", "TTL", Kind::Long, "Seconds for which it is kept; 0 is forever.")
                .usually("0"),
            Property::new(
                "add_saved_from",
                "Add saved from",
                Kind::Boolean,
                "A tag names the metric it was made from.",
            )
            .usually("true"),
        ],
        read: |fields| Ok(Aggregator::SaveAs(save_as(fields)?)),
    },
    Feature {
        name: "scale",
        label: "Scale",
        about: "Each value, multiplied.",
        takes: &[Property::new("factor", "Factor", Kind::Double, "What it is multiplied by.").usually("0.0")],
        read: |fields| Ok(Aggregator::Scale(fields.number("factor")?.unwrap_or(0.0))),
    },
    Feature {
        name: "sma",
        label: "SMA",
        about: "The mean of so many points, at the time of the last of them.",
        takes: &[Property::new("size", "Size", Kind::Long, "How many points.")
            .must("value > 0", "The size must be greater than 0.")],
        read: sma,
    },
    on_buckets("sum", "SUM", "The sum of a bucket.", |fields| range(Method::Sum, fields)),
    Feature {
        name: "trim",
        label: "Trim",
        about: "Leaves out points at the ends.",
        takes: &[Property::new(
            "trim",
            "Trim",
            Kind::Choice(|| TRIMS.iter().map(|(word, _)| *word).collect()),
            "Which of them.",
        )
        .usually("both")],
        read: |fields| Ok(Aggregator::Trim(fields.choice("trim", &TRIMS, Trim::Both)?)),
    },
];

const TRIMS: [(&str, Trim); 3] = [("first", Trim::First), ("last", Trim::Last), ("both", Trim::Both)];

const COMPARISONS: [(&str, Comparison); 6] = [
    ("lte", Comparison::AtMost),
    ("lt", Comparison::Less),
    ("gte", Comparison::AtLeast),
    ("gt", Comparison::More),
    ("equal", Comparison::Equal),
    ("ne", Comparison::Different),
];

fn range(method: Method, fields: &Fields<'_>) -> Result<Aggregator, Wrong> {
    let usual = Sampling::default();
    let sampling = Sampling {
        length: fields.length("sampling")?.unwrap_or(usual.length),
        align: fields.boolean("align_sampling")?.unwrap_or(usual.align),
        align_start: fields.boolean("align_start_time")?.unwrap_or(usual.align_start),
        align_end: fields.boolean("align_end_time")?.unwrap_or(usual.align_end),
    };
    Ok(Aggregator::Range { method, sampling, trim: fields.boolean("trim")?.unwrap_or(false) })
}

fn share(fields: &Fields<'_>) -> Result<f64, Wrong> {
    match fields.number("percentile")? {
        None | Some(0.0) => Err(fields.wrong("percentile", "may not be zero")),
        Some(share) if (0.0..=1.0).contains(&share) => Ok(share),
        Some(share) => Err(fields.wrong("percentile", format_args!("must be between 0 and 1, not {share}"))),
    }
}

fn div(fields: &Fields<'_>) -> Result<Aggregator, Wrong> {
    match fields.number("divisor")?.filter(|divisor| *divisor != 0.0) {
        Some(divisor) => Ok(Aggregator::Div(divisor)),
        None => Err(fields.wrong("m_divisor", "may not be zero")),
    }
}

fn sma(fields: &Fields<'_>) -> Result<Aggregator, Wrong> {
    match fields.integer("size")?.and_then(|size| usize::try_from(size).ok()) {
        Some(size) if size > 0 => Ok(Aggregator::Sma(size)),
        _ => Err(fields.wrong("size", "must be greater than or equal to 1")),
    }
}

fn filter(fields: &Fields<'_>) -> Result<Aggregator, Wrong> {
    let comparison = fields.choice("filter_op", &COMPARISONS, Comparison::Equal)?;
    Ok(Aggregator::Filter(comparison, fields.number("threshold")?.unwrap_or(0.0)))
}

/// A length of time: `sampling`, or the older `unit`; a millisecond if none is given.
fn per(fields: &Fields<'_>) -> Result<Length, Wrong> {
    let unit = fields.unit("unit", &fields.place)?.unwrap_or(Unit::Milliseconds);
    Ok(fields.length("sampling")?.unwrap_or(Length { value: 1, unit }))
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
