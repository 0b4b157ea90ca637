//! The log on stderr, as verbose as the flags ask for.

use std::io::{self, IsTerminal as _};

#[cfg(not(feature = "otlp"))]
use anyhow::bail;
#[cfg(feature = "otlp")]
use tracing::Subscriber;
use tracing_subscriber::layer::SubscriberExt as _;
#[cfg(feature = "otlp")]
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

use super::{Arguments, LogFormat, UsageError};
use crate::config::OwnMetrics;
#[cfg(feature = "otlp")]
use crate::telemetry::otlp::{self, Export};

/// Nothing is sent anywhere.
#[cfg(not(feature = "otlp"))]
pub(super) type Export = std::convert::Infallible;

/// The filter that applies when no flag says how much to log.
const VARIABLE: &str = "PLUMBAGO_LOG";

const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// Sets up the log for the whole process; a second call changes nothing. What it returns sends the spans of a server to a collector, if
/// there is one, until it is dropped.
pub(super) fn init(arguments: &Arguments, config: &OwnMetrics) -> anyhow::Result<Option<Export>> {
    let filter = match std::env::var(VARIABLE) {
        Ok(filter) if !has_flags(arguments) && !filter.is_empty() => filter,
        _ => filter(arguments),
    };
    let filter = EnvFilter::try_new(&filter)
        .map_err(|error| UsageError(format!("{VARIABLE}: `{filter}` is not a log filter: {error}")))?;
    let is_terminal = io::stderr().is_terminal();
    let spans = arguments.is_serve().then(|| export(config)).transpose()?.flatten();
    let Some((layer, export)) = spans else {
        let log =
            tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(is_terminal);
        // An error means that a log is already set up, as in a test.
        let _ = match arguments.global.log_format {
            LogFormat::Text => log.try_init(),
            LogFormat::Json => log.json().try_init(),
        };
        return Ok(None);
    };
    // The filter of the log is not that of the spans.
    let log = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(is_terminal);
    let log = match arguments.global.log_format {
        LogFormat::Text => log.with_filter(filter).boxed(),
        LogFormat::Json => log.json().with_filter(filter).boxed(),
    };
    let _ = tracing_subscriber::registry().with(log).with(layer).try_init();
    Ok(Some(export))
}

/// A layer of the log.
type Boxed<S> = Box<dyn Layer<S> + Send + Sync>;

/// What sends spans, and keeps sending them until it is dropped.
#[cfg(feature = "otlp")]
fn export<S>(config: &OwnMetrics) -> anyhow::Result<Option<(Boxed<S>, Export)>>
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
{
    let endpoint = config.otlp_endpoint.as_deref();
    if !otlp::is_wanted(endpoint) {
        return Ok(None);
    }
    let (layer, export) =
        otlp::layer(endpoint).map_err(|why| UsageError(format!("telemetry.otlp_endpoint: {why}")))?;
    Ok(Some((layer.boxed(), export)))
}

#[cfg(not(feature = "otlp"))]
fn export<S>(config: &OwnMetrics) -> anyhow::Result<Option<(Boxed<S>, Export)>> {
    match &config.otlp_endpoint {
        None => Ok(None),
        Some(endpoint) => bail!(UsageError(format!(
            "telemetry.otlp_endpoint = \"{endpoint}\": this program was built without the feature `otlp`; build it with \
             `cargo build --release --features otlp`, or leave the key out"
        ))),
    }
}

fn has_flags(arguments: &Arguments) -> bool {
    arguments.global.verbose > 0 || arguments.global.quiet > 0
}

/// A server logs what it does, a command only what is wrong. Libraries log one level less than Plumbago, so that `-v` shows
/// Plumbago's events and not every frame of every connection.
fn filter(arguments: &Arguments) -> String {
    let quietly = !arguments.is_serve();
    let level = (2 - usize::from(quietly) + usize::from(arguments.global.verbose))
        .saturating_sub(usize::from(arguments.global.quiet))
        .min(LEVELS.len() - 1);
    let libraries = if level > 2 { level - 1 } else { level };
    // Cassandra's driver logs every failure, and Plumbago then reports the same failure with advice.
    let driver = if level > 2 { "" } else { ",scylla=off" };
    format!("{},plumbago={}{driver}", LEVELS[libraries], LEVELS[level])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter_of(line: &str) -> String {
        filter(&Arguments::from_line(line.split(' ')).unwrap())
    }

    #[test]
    fn flags_go_up_and_down_from_what_the_command_needs() {
        assert_eq!(filter_of("plumbago"), "info,plumbago=info,scylla=off");
        assert_eq!(filter_of("plumbago serve -v"), "info,plumbago=debug");
        assert_eq!(filter_of("plumbago -vv serve"), "debug,plumbago=trace");
        assert_eq!(filter_of("plumbago -vvvvvv"), "debug,plumbago=trace");
        assert_eq!(filter_of("plumbago -qq"), "error,plumbago=error,scylla=off");
        assert_eq!(filter_of("plumbago -qqqq"), "error,plumbago=error,scylla=off");
        assert_eq!(filter_of("plumbago stats"), "warn,plumbago=warn,scylla=off");
        assert_eq!(filter_of("plumbago stats -v"), "info,plumbago=info,scylla=off");
    }
}
