//! Run the command line, exit code.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use hcert::cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    cli::leave(cli::main())
}
