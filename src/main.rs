//! Parse, load, run a command, exit code.

use std::process::ExitCode;

use clap::Parser;
use hcert::cli::Cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("hcert: {failure}");
            failure.exit_code()
        }
    }
}
