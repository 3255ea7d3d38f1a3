//! What a panic says: that the program has an error, and where. No command shows a backtrace unless it is asked for.

use std::panic;

use super::note;

/// For the person at the terminal, below the line of the place.
pub(super) const REPORT: &str = concat!(
    "internal error: this is a bug in hcert ",
    env!("CARGO_PKG_VERSION"),
    ", and nothing that you did wrong; please report it with the line above, and with what RUST_BACKTRACE=1 shows"
);

/// Makes a panic one line on standard error. With RUST_BACKTRACE it is as Rust writes it.
pub(super) fn in_one_line() {
    if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
        return;
    }
    panic::set_hook(Box::new(|panic| {
        let at = panic.location().map(ToString::to_string).unwrap_or_default();
        note(format_args!("hcert: internal error at {at}: {}", panic.payload_as_str().unwrap_or("without a message")));
    }));
}
