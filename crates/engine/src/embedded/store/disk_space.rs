//! How much room the disk of a file has left.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes that this process may still write where `path` lies.
///
/// # Errors
/// What the file system says.
pub(super) fn free_bytes(path: &Path) -> io::Result<u64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut told = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends with a zero byte and lives through the call, which writes to `told` alone.
    if unsafe { libc::statvfs(path.as_ptr(), told.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a call that succeeded has filled it.
    let told = unsafe { told.assume_init() };
    #[allow(clippy::useless_conversion, reason = "the width of these numbers differs between systems")]
    Ok(u64::from(told.f_bavail).saturating_mul(u64::from(told.f_frsize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_room_and_one_that_is_missing_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).unwrap() > 0);
        assert!(free_bytes(&folder.path().join("missing")).is_err());
    }
}
