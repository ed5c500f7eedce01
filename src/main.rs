//! The `loopgate` program: parses the command line and hands over to [`loopgate::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    loopgate::cli::main()
}
