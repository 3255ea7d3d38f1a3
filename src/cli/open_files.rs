//! Open files: every connection is one, and the index opens new ones all the time.

use std::io;

use crate::cli::limits::OPEN_FILES_RESERVED;

/// Raises the process's limit of open files so that `connections` fit beside store and index. How many do fit.
///
/// Without this, clients that only connect could take the last file from the index, which would then fail to commit.
pub(super) fn make_room_for(connections: usize) -> io::Result<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a value of our own that lives through the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let wanted = (connections + OPEN_FILES_RESERVED) as libc::rlim_t;
    if limit.rlim_cur < wanted {
        let raised = libc::rlimit { rlim_cur: wanted.min(limit.rlim_max), ..limit };
        // SAFETY: as above; the call only reads it.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) } != 0 {
            return Err(io::Error::last_os_error());
        }
        limit = raised;
    }
    Ok(fitting(connections, usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)))
}

fn fitting(connections: usize, files: usize) -> usize {
    connections.min(files.saturating_sub(OPEN_FILES_RESERVED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_and_index_keep_their_files() {
        assert_eq!(fitting(1024, 1024 + OPEN_FILES_RESERVED), 1024);
        assert_eq!(fitting(1024, 1024 + OPEN_FILES_RESERVED - 1), 1023);
        assert_eq!(fitting(1024, OPEN_FILES_RESERVED), 0);
        assert_eq!(fitting(10, usize::MAX), 10);
    }

    #[test]
    fn what_fits_is_never_more_than_was_asked_for() {
        assert!((1..=64).contains(&make_room_for(64).unwrap()));
    }
}
