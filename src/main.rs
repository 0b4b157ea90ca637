//! The `plumbago` binary.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use plumbago::cli;

/// The one of the system keeps most of what queries have taken for good; this one gives it back within seconds.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many milliseconds the allocator waits before it gives freed memory back. By itself it waits for a second, in which what queries
/// have freed on one thread comes on top of what others take: 64 heavy renders with a budget of 64 MiB took 230 MiB, and with this less
/// than 164. A shorter delay saves no more, and makes renders slower by a third: they get their memory from the system each time.
const PURGE_DELAY: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "25");

/// Begins again in the same process with the allocator's option in the environment. The allocator reads it before anything of ours runs,
/// and nothing that is safe in Rust sets it later. Returns if there is no need, or if the system does not allow it.
fn with_purge_delay() {
    let (name, value) = PURGE_DELAY;
    let mut line = std::env::args_os();
    if std::env::var_os(name).is_some() {
        return;
    }
    if let (Ok(program), Some(own_name)) = (std::env::current_exe(), line.next()) {
        let _why_not = Command::new(program).arg0(own_name).args(line).env(name, value).exec();
    }
}

fn main() -> ExitCode {
    // Wrong usage ends here, with exit code 2.
    let arguments = cli::Arguments::from_line(std::env::args_os()).unwrap_or_else(|error| error.exit());
    if arguments.is_serve() {
        with_purge_delay();
    }
    match cli::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !cli::is_broken_pipe(&error) {
                // Nobody may be listening on stderr either.
                let _ = writeln!(io::stderr(), "{} {}", cli::own_name(), cli::message(&error));
            }
            cli::exit_code(&error)
        }
    }
}
