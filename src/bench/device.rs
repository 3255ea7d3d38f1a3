//! Bytes that reach the disk, from the counter of the block device. What a process wrote (`/proc/self/io`) says nothing of it: pages are
//! charged whole there.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::stop::BenchError;

/// Bytes of a sector in the kernel's counters, whatever the device's own are.
const SECTOR_BYTES: u64 = 512;

/// The device below a folder.
#[derive(Debug)]
pub(super) struct BlockDevice {
    folder: File,
    counters: PathBuf,
}

impl BlockDevice {
    /// # Errors
    /// Why there is no counter: the file system lies in memory, on several devices or on another machine, or the kernel shows none.
    pub(super) fn below(folder: &Path) -> Result<BlockDevice, String> {
        let told = |error: std::io::Error| format!("{}: {error}", folder.display());
        let opened = File::open(folder).map_err(told)?;
        let number = opened.metadata().map_err(told)?.dev();
        let counters = PathBuf::from(format!("/sys/dev/block/{}:{}/stat", libc::major(number), libc::minor(number)));
        let device = BlockDevice { folder: opened, counters };
        match device.read() {
            Some(_) => Ok(device),
            None => Err(format!("no block device with a counter is below {}", folder.display())),
        }
    }

    /// Bytes written to the device since the machine started, once everything that waits in memory for this file system is written too.
    ///
    /// # Errors
    /// The file system cannot be synced, or the counter is gone.
    pub(super) fn synced(&self) -> Result<u64, BenchError> {
        // SAFETY: the descriptor is open as long as this value lives.
        if unsafe { libc::syncfs(self.folder.as_raw_fd()) } != 0 {
            return Err(BenchError::failed("syncing the file system", std::io::Error::last_os_error()));
        }
        self.read().ok_or_else(|| BenchError::Failed(format!("{} cannot be read any more", self.counters.display())))
    }

    fn read(&self) -> Option<u64> {
        written(&std::fs::read_to_string(&self.counters).ok()?)
    }
}

/// The seventh number counts sectors written. Source: Linux, Documentation/block/stat.rst.
fn written(counters: &str) -> Option<u64> {
    counters.split_ascii_whitespace().nth(6)?.parse::<u64>().ok().map(|sectors| sectors * SECTOR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_written_are_the_seventh_number() {
        assert_eq!(written("  6 1 3 1 2 8 1500 4 0 17 22 2 2 1 3 4 2\n"), Some(1_500 * 512));
        assert_eq!(written(""), None);
    }

    #[test]
    fn a_file_system_in_memory_has_no_device() {
        let told = BlockDevice::below(Path::new("/proc")).unwrap_err();
        assert!(told.contains("no block device"), "{told}");
    }
}
