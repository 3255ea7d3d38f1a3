//! Run the command line, exit code.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod texts;

use base::threads;
use hcert::cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    cli::leave(threads::on_known_stack(|| cli::main(&texts::DOCUMENTS, option_env!("HCERT_COMMIT"))))
}
