//! The copy of an older store that is made before the first step, and kept: only an operator knows when nobody will want to go back.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use redb::Database;

use super::super::log::{Log, guarded};
use super::super::{META, StoreError, disk_space};
use base::log::event;
use base::regular_file;

/// Bytes that the disk must have beside the copy of the store that a migration makes first: for what its steps add, and for events.
const MIGRATION_ROOM_BYTES: u64 = 64 * 1024 * 1024;

/// Puts a copy of the store beside it, as `store.redb.format-1` for format 1 (0600). It is whole once it has this name: it was written
/// under another one, opened, and made durable before.
///
/// # Errors
/// `Migration` when the disk has no room for it, or it cannot be written.
pub(super) fn make(path: &Path, format: u32, cache_bytes: usize) -> Result<(), StoreError> {
    let kept = beside(path, &format!("format-{format}"));
    let told = |problem: String| {
        StoreError::Migration(format!(
            "a copy of the store of format {format} cannot be made as {}: {problem}",
            kept.display()
        ))
    };
    let bytes = fs::metadata(path).map_err(|error| told(error.to_string()))?.len();
    let free = disk_space::free_bytes(path).map_err(|error| told(error.to_string()))?;
    if free < bytes.saturating_add(MIGRATION_ROOM_BYTES) {
        return Err(told(format!(
            "it takes {bytes} bytes and {MIGRATION_ROOM_BYTES} to work with, the disk has {free}; make room and start again"
        )));
    }
    let part = beside(path, "part");
    let made = write(path, &part).and_then(|()| open(&part, cache_bytes)).and_then(|()| settle(&part, &kept));
    made.map_err(|problem| {
        // What was not finished is of no use, and the disk may be full of it.
        drop(fs::remove_file(&part));
        told(problem)
    })?;
    event!(STORE_COPIED, copy = %kept.display(), bytes, format);
    Ok(())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{suffix}"));
    PathBuf::from(name)
}

/// Nothing is written to the store meanwhile, so its file is what a power cut would leave: whole.
fn write(path: &Path, part: &Path) -> Result<(), String> {
    let copied = || -> io::Result<()> {
        let mut out = regular_file::make_anew(part)?;
        io::copy(&mut File::open(path)?, &mut out)?;
        out.sync_all()
    };
    copied().map_err(|error| error.to_string())
}

/// Opening it proves it, and leaves it as after a clean stop.
fn open(part: &Path, cache_bytes: usize) -> Result<(), String> {
    let opened = || -> Result<(), StoreError> {
        let opened = Database::builder().set_cache_size(cache_bytes).open(part)?;
        Log::of_redb(opened).begin_read()?.open_table(META).map(drop)
    };
    guarded("the copy", opened).map_err(|error| error.to_string())
}

fn settle(part: &Path, kept: &Path) -> Result<(), String> {
    let settled = || -> io::Result<()> {
        fs::rename(part, kept)?;
        kept.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    settled().map_err(|error| error.to_string())
}
