//! Whose turn it is: work that has time gives way to requests.

use crate::limits::GIVE_WAY_NICE;

/// Lets other threads go first from here on. Linux knows the priority of single threads; elsewhere nothing happens.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    // SAFETY: it takes three numbers and changes the priority of the calling thread, to a lower one, which everybody may do.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, GIVE_WAY_NICE);
    }
}
