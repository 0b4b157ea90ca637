//! The log on stderr, as verbose as the flags ask for.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

use super::{Arguments, Command, LogFormat, UsageError};

/// The filter that applies when no flag says how much to log.
const VARIABLE: &str = "PLUMBAGO_LOG";

const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// Sets up the log for the whole process; a second call changes nothing.
pub(super) fn init(arguments: &Arguments) -> Result<(), UsageError> {
    let filter = match std::env::var(VARIABLE) {
        Ok(filter) if !has_flags(arguments) && !filter.is_empty() => filter,
        _ => filter(arguments),
    };
    let filter = EnvFilter::try_new(&filter)
        .map_err(|error| UsageError(format!("{VARIABLE}: `{filter}` is not a log filter: {error}")))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    // An error means that a log is already set up, as in a test.
    let _ = match arguments.global.log_format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
    Ok(())
}

fn has_flags(arguments: &Arguments) -> bool {
    arguments.global.verbose > 0 || arguments.global.quiet > 0
}

/// A server logs what it does, a command only what is wrong. Libraries log one level less than Plumbago, so that `-v` shows
/// Plumbago's events and not every frame of every connection.
fn filter(arguments: &Arguments) -> String {
    let quietly = !matches!(arguments.command, None | Some(Command::Serve));
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
