//! Parse, load, run a command, exit code.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser;
use hcert::cli::{Cli, Failure};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // The panic hook has told where it happened. Most likely the folder's bytes are not what they were.
    let done = catch_unwind(AssertUnwindSafe(|| cli.run())).unwrap_or_else(|_| {
        Err(Failure::Failed(
            "the command ended by a fault of its own; \"hcert verify\" tells whether the data are whole".into(),
        ))
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("hcert: {failure}");
            failure.exit_code()
        }
    }
}
