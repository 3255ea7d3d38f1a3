//! What lies in pages of the file that no table has: content of commits before the newest, until redb writes there again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::page::StorePage;
use super::{PageWidths, Pages, Tree, UnreadablePage, WalkPosition};
use crate::embedded::store::StoreError;
use base::regular_file;

/// Bytes that are written at once.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// A piece of the file: its first byte, and the one behind it.
type Piece = (u64, u64);

/// Overwrites a piece of a file.
///
/// # Errors
/// It cannot be written.
pub fn zero(file: &File, from: u64, bytes: u64) -> Result<(), StoreError> {
    let mut at = from;
    while at < from + bytes {
        let length = (from + bytes - at).min(ZEROS.len() as u64);
        file.write_all_at(&ZEROS[..length as usize], at)?;
        at += length;
    }
    Ok(())
}

impl Pages {
    /// Overwrites with zeros, durably, what no table of the newest commit has in a file that was closed in order; how many bytes.
    ///
    /// # Errors
    /// It was not closed, a page cannot be read (nothing was written then), or the file cannot be written.
    pub fn zero_unused(path: &Path) -> Result<u64, StoreError> {
        let file = regular_file::following(path).read(true).write(true).open(path)?;
        let (pages, was_closed) = Pages::by_header(file.try_clone()?)?;
        if !was_closed || !pages.header.is_empty() {
            return Err(StoreError::Io("its file was not closed in order".into()));
        }
        let unused = pages.unused().map_err(|lost| StoreError::Damaged(lost.problem))?;
        for (from, end) in &unused {
            zero(&file, *from, end - from)?;
        }
        file.sync_all()?;
        Ok(unused.iter().map(|(from, end)| end - from).sum())
    }

    /// What no table has, in the order of the file.
    fn unused(&self) -> Result<Vec<Piece>, UnreadablePage> {
        let mut used = Vec::new();
        let newest = self.roots.first();
        for root in newest.into_iter().flat_map(|commit| [commit.user, commit.system]).flatten() {
            self.occupied(root, &mut used)?;
            let mut problem = None;
            let trees = self.listed(root, &mut |lost| problem = Some(lost));
            problem.map_or(Ok(()), Err)?;
            trees.into_iter().try_for_each(|(_, tree)| self.occupied(tree, &mut used))?;
        }
        // Pages that stand before the data of a region are redb's own.
        let (before, region) = self.region;
        let region_bytes = region * self.page_bytes;
        let regions = (self.bytes - self.page_bytes).div_ceil(region_bytes);
        used.extend((0..regions).map(|number| {
            let begins = self.page_bytes + number * region_bytes;
            (begins, begins + before * self.page_bytes)
        }));
        used.sort_unstable();
        let (mut unused, mut at) = (Vec::new(), self.page_bytes);
        for (from, end) in used.into_iter().chain([(self.bytes, self.bytes)]) {
            if from > at {
                unused.push((at, from));
            }
            at = at.max(end);
        }
        Ok(unused)
    }

    /// Adds the pages of a tree.
    fn occupied(&self, tree: Tree, used: &mut Vec<Piece>) -> Result<(), UnreadablePage> {
        let root = WalkPosition { page: tree.page, checksum: tree.checksum, depth: 0, above: None, up_to: None };
        self.occupied_below(tree.shape, root, used)
    }

    fn occupied_below(&self, shape: PageWidths, at: WalkPosition, used: &mut Vec<Piece>) -> Result<(), UnreadablePage> {
        let mut memory = Vec::new();
        let (offset, page) = self.checked(shape, at, &mut memory)?;
        used.push((offset, offset + self.bytes_of(at.page)));
        let StorePage::Branch(branch) = page else { return Ok(()) };
        let children = (0..=branch.keys).filter_map(|child| branch.child(child));
        for (page, checksum) in children {
            self.occupied_below(shape, WalkPosition { page, checksum, depth: at.depth + 1, ..at }, used)?;
        }
        Ok(())
    }
}
