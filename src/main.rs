//! The `plumbago` binary.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use plumbago::cli;

/// The one of the system keeps most of what queries have taken for good; this one gives it back within seconds.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// From this size on, memory comes from the system and goes back to it at once. By itself the allocator keeps everything for a second after it
/// was freed, in which the long texts of answers come on top of each other: 64 heavy renders with a budget of 64 MiB took up to 170 MiB more
/// than before, and with this up to 150. What is smaller stays fast: to give a page to a process takes as long as to fill it.
const LARGE: (&str, &str) = ("MIMALLOC_ARENA_MAX_OBJECT_SIZE", "8M");

/// Begins again in the same process with the allocator's option in the environment. The allocator reads it before anything of ours runs,
/// and nothing that is safe in Rust sets it later. Returns if there is no need, or if the system does not allow it.
fn with_large_given_back() {
    let (name, value) = LARGE;
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
        with_large_given_back();
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
