//! A database whose writes go into memory: it opens on a full or read-only disk, where repairing it would have to write.
//!
//! It is read only, and let go as soon as the disk takes writes again. So what it has in memory is never wanted.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::{BackendError, StorageBackend};

use crate::limits::STORE_ASIDE_BYTES_MAX;

const BLOCK_BYTES: usize = 4096;

#[derive(Debug)]
pub(super) struct CopyOnWriteBackend {
    below: Box<dyn StorageBackend>,
    /// Whether the bytes below can be locked.
    locks: bool,
    written: Mutex<WrittenPages>,
}

#[derive(Debug)]
struct WrittenPages {
    len: u64,
    /// Bytes of the storage below that still show: it is cut here, at the latest.
    below_len: u64,
    blocks: HashMap<u64, Box<[u8]>>,
}

impl CopyOnWriteBackend {
    pub(super) fn new(below: Box<dyn StorageBackend>, locks: bool) -> io::Result<CopyOnWriteBackend> {
        let len = below.len()?;
        Ok(CopyOnWriteBackend {
            below,
            locks,
            written: Mutex::new(WrittenPages { len, below_len: len, blocks: HashMap::new() }),
        })
    }

    fn written(&self) -> MutexGuard<'_, WrittenPages> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block as it shows, zeros where there is nothing below.
    fn block(&self, written: &WrittenPages, number: u64) -> io::Result<Box<[u8]>> {
        if let Some(block) = written.blocks.get(&number) {
            return Ok(block.clone());
        }
        let mut block = vec![0; BLOCK_BYTES].into_boxed_slice();
        let start = number * BLOCK_BYTES as u64;
        let there = written.below_len.saturating_sub(start).min(BLOCK_BYTES as u64) as usize;
        if there > 0 {
            self.below.read(start, &mut block[..there])?;
        }
        Ok(block)
    }
}

/// The parts of a range that lie in one block each: the block, where in it, and where in the range.
fn parts(offset: u64, len: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let within = (at % BLOCK_BYTES as u64) as usize;
        let bytes = (BLOCK_BYTES - within).min(len - done);
        let part = (at / BLOCK_BYTES as u64, within..within + bytes, done..done + bytes);
        done += bytes;
        (bytes > 0).then_some(part)
    })
}

impl StorageBackend for CopyOnWriteBackend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written();
        if offset.saturating_add(out.len() as u64) > written.len {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let is_below = offset + out.len() as u64 <= written.below_len;
        if is_below && parts(offset, out.len()).all(|(number, ..)| !written.blocks.contains_key(&number)) {
            drop(written);
            return self.below.read(offset, out);
        }
        for (number, within, of_range) in parts(offset, out.len()) {
            out[of_range].copy_from_slice(&self.block(&written, number)?[within]);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.written();
        if len < written.len {
            // What is cut off comes back as zeros.
            let (last, within) = (len / BLOCK_BYTES as u64, (len % BLOCK_BYTES as u64) as usize);
            let mut block = self.block(&written, last)?;
            block[within..].fill(0);
            written.blocks.retain(|number, _| *number < last);
            written.blocks.insert(last, block);
            written.below_len = written.below_len.min(last * BLOCK_BYTES as u64);
        }
        written.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written();
        for (number, within, of_range) in parts(offset, data.len()) {
            let mut block = self.block(&written, number)?;
            block[within].copy_from_slice(&data[of_range]);
            written.blocks.insert(number, block);
        }
        written.len = written.len.max(offset + data.len() as u64);
        match written.blocks.len() * BLOCK_BYTES <= STORE_ASIDE_BYTES_MAX {
            true => Ok(()),
            false => Err(ErrorKind::OutOfMemory.into()),
        }
    }

    fn close(&self) -> io::Result<()> {
        self.below.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        if self.locks { self.below.try_lock_range(start, end) } else { Ok(true) }
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        if self.locks { self.below.try_lock_shared_range(start, end) } else { Ok(true) }
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        if self.locks { self.below.lock_range(start, end) } else { Ok(()) }
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        if self.locks { self.below.lock_shared_range(start, end) } else { Ok(()) }
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        if self.locks { self.below.unlock_range(start, end) } else { Ok(()) }
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        if self.locks { self.below.query_lock_range(start, end) } else { Ok(false) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use redb::backends::InMemoryBackend;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_aside_reads_as_if_it_were_written(
            below in vec(any::<u8>(), 0..20_000),
            steps in vec((any::<bool>(), 0..30_000u64, vec(any::<u8>(), 1..9_000)), 0..12),
        ) {
            let memory = InMemoryBackend::new();
            memory.set_len(below.len() as u64).unwrap();
            memory.write(0, &below).unwrap();
            let copy_on_write = CopyOnWriteBackend::new(Box::new(memory), true).unwrap();
            let mut model = below.clone();
            for (cuts, offset, data) in steps {
                if cuts {
                    copy_on_write.set_len(offset).unwrap();
                    model.resize(offset as usize, 0);
                } else if offset as usize + data.len() <= model.len() {
                    copy_on_write.write(offset, &data).unwrap();
                    model[offset as usize..offset as usize + data.len()].copy_from_slice(&data);
                }
                let mut read = vec![0; model.len()];
                copy_on_write.read(0, &mut read).unwrap();
                prop_assert!(read == model);
            }
            prop_assert!(copy_on_write.read(0, &mut vec![0; model.len() + 1]).is_err());
            let mut untouched = vec![0; below.len()];
            copy_on_write.below.read(0, &mut untouched).unwrap();
            prop_assert_eq!(untouched, below);
        }
    }
}
