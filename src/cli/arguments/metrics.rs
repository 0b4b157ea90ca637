//! The arguments of commands that look at metrics and change them.

use clap::Args;

use super::{Elsewhere, Server};

/// Arguments of `find`.
#[derive(Clone, Debug, Args)]
pub struct Find {
    /// A glob
    pub glob: String,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `read`.
#[derive(Clone, Debug, Args)]
pub struct Read {
    /// A metric, a glob or an expression
    pub target: String,
    /// Start of the time window
    #[arg(long, value_name = "TIME", default_value = "-24h", allow_hyphen_values = true)]
    pub from: String,
    /// End of the time window
    #[arg(long, value_name = "TIME", default_value = "now", allow_hyphen_values = true)]
    pub until: String,
    /// Print all points as CSV, also on a terminal
    #[arg(long)]
    pub points: bool,
    /// Print last value, extremes and a line for each series, also into a pipe
    #[arg(long, conflicts_with = "points")]
    pub summary: bool,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `watch`.
#[derive(Clone, Debug, Args)]
pub struct Watch {
    /// A metric, a glob or an expression
    pub target: String,
    /// Start of the graph; it ends now
    #[arg(long, value_name = "TIME", default_value = "-10min", allow_hyphen_values = true)]
    pub from: String,
    /// How often to ask the server, such as 2s or 1m
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub every: String,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `write`.
#[derive(Clone, Debug, Args)]
pub struct Write {
    /// The metric; created if it is new
    pub name: String,
    /// The value: a number
    #[arg(allow_negative_numbers = true, value_parser = parse_value)]
    pub value: f64,
    /// Seconds since 1970 [default: now]
    #[arg(value_name = "TS")]
    pub timestamp: Option<u32>,
    /// Create a new store if there is none
    #[arg(long, conflicts_with = "url")]
    pub create: bool,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `delete`.
#[derive(Clone, Debug, Args)]
pub struct Delete {
    /// A glob, and tags that the metrics must have; all metrics that match are deleted
    #[arg(value_name = "GLOB[;TAG=GLOB]...")]
    pub glob: String,
    /// Delete points from this time on, and keep the metrics
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, requires = "until")]
    pub from: Option<String>,
    /// Delete points before this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, requires = "from")]
    pub until: Option<String>,
    /// Only print what would be deleted
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask first
    #[arg(long)]
    pub yes: bool,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `rename`.
#[derive(Clone, Debug, Args)]
pub struct Rename {
    /// A metric or a directory
    pub old: String,
    /// Its new name
    pub new: String,
    /// Only print what would be renamed
    #[arg(long)]
    pub dry_run: bool,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `copy`.
#[derive(Clone, Debug, Args)]
pub struct Copy {
    /// A metric; with --recursive a directory and the metric of the same name, if there is one; with --to a glob
    pub source: String,
    /// Its new name
    #[arg(required_unless_present = "to", conflicts_with = "to")]
    pub destination: Option<String>,
    /// Copy everything below SOURCE
    #[arg(long, short, conflicts_with = "to")]
    pub recursive: bool,
    /// Copy slots that start at this time or later [default: all]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// Copy slots that start before this time [default: all]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
    /// Only print what would be copied
    #[arg(long)]
    pub dry_run: bool,
    /// Copying to another place.
    #[command(flatten)]
    pub elsewhere: Elsewhere,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `info`.
#[derive(Clone, Debug, Args)]
pub struct Info {
    /// A metric name
    pub name: String,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `du`.
#[derive(Clone, Debug, Args)]
pub struct Usage {
    /// A glob, and tags that the metrics must have
    #[arg(value_name = "GLOB[;TAG=GLOB]...")]
    pub glob: String,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// What to count.
#[derive(Clone, Debug, Args)]
pub struct Cardinality {
    /// Only names below this directory
    #[arg(value_name = "DIRECTORY")]
    pub below: Option<String>,
    /// Count by this many components of the name
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub depth: usize,
    /// Lines of each list
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// What to list of the catalogue.
#[derive(Clone, Debug, Args)]
pub struct Catalog {
    /// What to list
    pub what: CatalogList,
    /// The metric whose tags or windows are listed
    pub metric: Option<String>,
    /// List the values of this tag
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// The first month of metrics, such as 2026-01; the last one if not given
    #[arg(long, value_name = "MONTH")]
    pub from: Option<String>,
    /// The last month of metrics; this one if not given
    #[arg(long, value_name = "MONTH")]
    pub until: Option<String>,
    /// Only names that begin so
    #[arg(long, value_name = "TEXT")]
    pub prefix: Option<String>,
    /// Only names that come after this one
    #[arg(long, value_name = "NAME")]
    pub after: Option<String>,
    /// Most names
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub limit: usize,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// A list of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CatalogList {
    /// Metrics that had series in some months
    Metrics,
    /// The tags of a metric, or the values of one of them
    Tags,
    /// How many values each tag of each metric has
    Cardinality,
    /// The windows of three weeks in which a metric has series
    Windows,
    /// How large the partitions of each stage become
    Partitions,
}

/// What to rank.
#[derive(Clone, Debug, Args)]
pub struct Top {
    /// Only names below this directory
    #[arg(long, value_name = "PREFIX")]
    pub below: Option<String>,
    /// Add up by this many components of the name
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub depth: usize,
    /// Lines of each list
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub limit: usize,
    /// Show metrics that no query has ever read
    #[arg(long)]
    pub never_read: bool,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// NaN means "no value", and the server would reject it: it is better to say so at once.
fn parse_value(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if !value.is_nan() => Ok(value),
        Ok(_) => Err("NaN is not stored; leave the point out instead".to_owned()),
        Err(_) => Err("not a number".to_owned()),
    }
}
