//! The `plumbago` binary.

use std::io::{self, Write as _};
use std::process::ExitCode;

use plumbago::cli;

/// The one of the system keeps most of what queries have taken for good; this one gives it back within seconds.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Wrong usage ends here, with exit code 2.
    let arguments = cli::Arguments::from_line(std::env::args_os()).unwrap_or_else(|error| error.exit());
    match cli::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !cli::is_broken_pipe(&error) {
                // Nobody may be listening on stderr either.
                let _ = writeln!(io::stderr(), "plumbago: {}", cli::message(&error));
            }
            cli::exit_code(&error)
        }
    }
}
