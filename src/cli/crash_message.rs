//! A last message where the system ends the process: a file that is mapped into memory was cut, or its disk cannot read it.
//!
//! The index's files are mapped. A read behind the end of one is no error that a call could give back but a signal, SIGBUS, in the middle
//! of whatever reads; nothing can go on from there. The next start finds the damage and builds the index again.

use std::time::Duration;
use std::{io, mem, ptr};

use crate::output::wait_until_writable;

/// The log is not to be used while a signal is handled, so this is no line of JSON.
const WORDS: &[u8] = b"hcert ends (SIGBUS): a file that it reads through memory, most likely one of the folder 'index', was cut or \
cannot be read by its disk. Nothing that was acknowledged is lost; start it again, and a damaged index is built anew from the store.\n";

/// Sees to it that the words are said.
///
/// # Errors
/// What the system says.
pub(super) fn prepare() -> io::Result<()> {
    // SAFETY: zeros are a value of this struct: no flags, and no other signal held back meanwhile.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    let say: extern "C" fn(libc::c_int) = say;
    action.sa_sigaction = say as libc::sighandler_t;
    // The second signal finds the system's own way again, which ends the process.
    action.sa_flags = libc::SA_RESETHAND | libc::SA_ONSTACK;
    // SAFETY: the call reads a value of our own that lives through it, and `say` may be run at any moment.
    match unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Run by the system in the middle of anything: it may not allocate, lock or panic.
extern "C" fn say(_: libc::c_int) {
    // A reader that has stopped must not keep the process: `poll` is allowed here too, and a pipe that has room has it for all words.
    if wait_until_writable(&libc::STDERR_FILENO, Some(Duration::from_secs(1))) {
        // SAFETY: POSIX allows the call here, and the words live as long as the program.
        unsafe { libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len()) };
    }
    // SAFETY: POSIX allows the call here.
    unsafe { libc::raise(libc::SIGBUS) };
}
