//! Arguments of the commands that look at two servers: `compare`, `fill` and `copy --to`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `compare`.
#[derive(Clone, Debug, Args)]
pub struct Compare {
    /// The server to compare with: graphite-web, carbonapi or another Plumbago
    #[arg(long, value_name = "URL")]
    pub with: String,
    /// File with the token for that server, if it asks for a login [default: $PLUMBAGO_OTHER_TOKEN, the token itself]
    #[arg(long, value_name = "FILE")]
    pub with_token_file: Option<PathBuf>,
    /// Metrics, globs or expressions
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,
    /// A file with one target a line; empty lines and lines that begin with `#` are ignored. May be given again
    #[arg(long = "targets", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Dashboards of Grafana as JSON: every query of a Graphite panel is a target
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub dashboards: Vec<PathBuf>,
    /// The value of a dashboard variable [default: what the dashboard has selected, else `*`]; may be given again
    #[arg(long = "variable", value_name = "NAME=VALUE")]
    pub variables: Vec<String>,
    /// Start of the time window
    #[arg(long, value_name = "TIME", default_value = "-24h", allow_hyphen_values = true)]
    pub from: String,
    /// End of the time window; the latest points may not have reached both servers yet
    #[arg(long, value_name = "TIME", default_value = "-5min", allow_hyphen_values = true)]
    pub until: String,
    /// Values count as equal up to this relative difference: 1e-9, for example. 0 means exactly equal
    #[arg(long, value_name = "RATIO", default_value = "0", value_parser = parse_tolerance)]
    pub tolerance: f64,
    /// Our own server [default: the store of the configuration, or the server that runs on it]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ratio) if (0.0..1.0).contains(&ratio) => Ok(ratio),
        _ => Err("write a number from 0 to 1, for example 1e-9".to_owned()),
    }
}

/// Arguments of `fill`.
#[derive(Clone, Debug, Args)]
pub struct Fill {
    /// The server that has the points: another Plumbago, graphite-web or carbonapi
    #[arg(long, value_name = "URL")]
    pub from: String,
    /// File with the token for that server, if it asks for a login [default: $PLUMBAGO_OTHER_TOKEN, the token itself]
    #[arg(long, value_name = "FILE")]
    pub from_token_file: Option<PathBuf>,
    /// The metrics; from another Plumbago also with tags
    #[arg(value_name = "GLOB[;TAG=GLOB]...", default_value = "**")]
    pub glob: String,
    /// Fill slots that start at this time or later [default: all]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub since: Option<String>,
    /// Fill slots that start before this time [default: all]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
    /// The server to fill [default: the store of the configuration, or the server that runs on it]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

/// Arguments of `copy --to`.
#[derive(Clone, Debug, Args)]
pub struct Elsewhere {
    /// Copy to another place: the URL of a server, or the configuration file of another store
    #[arg(long, value_name = "URL|FILE")]
    pub to: Option<String>,
    /// With --to: file with the token for that server, if it asks for a login [default: $PLUMBAGO_OTHER_TOKEN, the token itself]
    #[arg(long, value_name = "FILE", requires = "to")]
    pub to_token_file: Option<PathBuf>,
    /// With --to: new metrics get the retention and aggregation that the rules there give them, instead of keeping their own
    #[arg(long, requires = "to")]
    pub by_rules: bool,
    /// With --to: where finished metrics are listed, to go on after an interruption
    #[arg(long, value_name = "FILE", default_value = "plumbago-copy.journal")]
    pub journal: PathBuf,
}
