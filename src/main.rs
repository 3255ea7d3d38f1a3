//! Parse, load, run a command, exit code.

use clap::Parser;
use hcert::cli::{Cli, Failure, leave};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let cli = Cli::parse();
    // The panic hook has told where it happened. Most likely the folder's bytes are not what they were.
    let done = catch_unwind(AssertUnwindSafe(|| cli.run())).unwrap_or_else(|_| {
        Err(Failure::Failed(
            "the command ended by a fault of its own; \"hcert verify\" tells whether the data are whole".into(),
        ))
    });
    let Err(failure) = done else { leave(0) };
    eprintln!("hcert: {failure}");
    leave(failure.exit_code())
}
