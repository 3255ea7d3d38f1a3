//! The file of the store read page by page, without redb: every page is compared with its checksum, and a walk goes on behind pages that
//! cannot be read. For checks and for salvage of damaged files, which write nothing; and for an erasure, which overwrites pages that are not in use.
//!
//! Source: redb 4.6, `docs/design.md` ("Database super-header", "B+tree pages"), file format 3.

mod page;
mod unused;

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;

use redb::{Key, TableDefinition, TableHandle, Value};
use xxhash_rust::xxh3::xxh3_128;

use super::{FolderHolder, StoreError};
use base::regular_file;
use page::{Branch, StorePage, u32_at, u64_at, u128_at};
pub use page::{Leaf, PageWidths};
pub use unused::zero;

/// Bytes of the file's header with both commit slots; it fills the first page.
const HEADER_BYTES: usize = 320;
const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";
const SLOT_BYTES: usize = 128;
const PRIMARY_BIT: u8 = 1;
const RECOVERY_BIT: u8 = 2;

/// redb's page size where the header does not say it.
const PAGE_BYTES: u64 = 4096;

/// Bytes of a leaf that is looked for without its checksum where the header does not say where pages of its size may begin. Each page of the
/// file may be read as often as leaves seem to lie on it.
const LEAF_BYTES_MAX: u64 = 16 << 20;

/// Times that the pages of a commit are looked at before it is believed that every look is overtaken by another commit.
const LOOKS: usize = 8;

/// Levels of a tree. Branches hold dozens of children, so that no file of this world comes near.
const DEPTH_MAX: usize = 64;

/// The file of a store.
pub struct Pages {
    file: File,
    bytes: u64,
    page_bytes: u64,
    /// Pages of each region before its data, and in all.
    region: (u64, u64),
    /// The commits that the header names; the one that counts first.
    roots: Vec<CommitRoots>,
    /// What is wrong with the header.
    header: Vec<String>,
}

/// The tables of a commit, by the roots of their lists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommitRoots {
    user: Option<Tree>,
    /// redb's own, which say what pages are free.
    system: Option<Tree>,
}

/// A tree of pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tree {
    page: u64,
    checksum: u128,
    shape: PageWidths,
    /// Rows that it should have.
    pub rows: u64,
}

/// What a walk meets: a leaf with the offset of its page, or a page that cannot be read.
pub enum WalkEvent<'p> {
    /// A leaf page that can be read, after the offset of its page in bytes from the beginning of the file.
    Leaf(u64, Leaf<'p>),
    /// A page that cannot be read. The walk leaves out everything below it.
    Damaged(UnreadablePage),
}

/// A page that cannot be read, with everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadablePage {
    /// What is wrong with the page, in words.
    pub problem: String,
    /// Its keys sort above this one; none at the beginning of the table.
    pub above: Option<Vec<u8>>,
    /// And up to this one; none at the end of the table.
    pub up_to: Option<Vec<u8>>,
}

/// Where a walk is.
#[derive(Clone, Copy)]
struct WalkPosition<'k> {
    page: u64,
    checksum: u128,
    depth: usize,
    above: Option<&'k [u8]>,
    up_to: Option<&'k [u8]>,
}

impl Pages {
    /// Opens the file to read it.
    ///
    /// # Errors
    /// `InUse` while a server has it; `Io` when it cannot be read.
    pub fn open(path: &Path) -> Result<Pages, StoreError> {
        let file = super::backend::readable(path).map_err(|error| match error {
            redb::DatabaseError::DatabaseAlreadyOpen => StoreError::InUse(path.parent().and_then(FolderHolder::of)),
            error => error.into(),
        })?;
        Pages::of(file)
    }

    /// Reads a file that is open already, and that nobody writes meanwhile.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(file: File) -> Result<Pages, StoreError> {
        let (mut pages, was_closed) = Pages::by_header(file)?;
        // After a kill redb takes the commit before where the last one was not written to its end.
        let is_torn = !was_closed && pages.roots.len() == 2 && {
            let mut has_lost = false;
            pages.walk_all(pages.roots[0], &mut |_, met| has_lost |= matches!(met, WalkEvent::Damaged(_)));
            has_lost
        };
        if is_torn {
            pages.roots.swap(0, 1);
        }
        Ok(pages)
    }

    /// What is wrong with the pages that have to be right before redb opens the file. Of redb's own tables, which say what pages are free,
    /// that is every page: where one cannot be read, redb ends the process at the next commit, and at the close. Of all others it is the
    /// pages down to the last row, whose key says which number is given next. Nothing of a file that is not there, or was not closed: redb
    /// checks that one itself. Decision 221.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn damage_before_opening(path: &Path) -> Result<Option<String>, StoreError> {
        let file = match regular_file::following(path).read(true).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let (pages, was_closed) = Pages::by_header(file)?;
        let Some(commit) = pages.roots.first().filter(|_| was_closed) else { return Ok(None) };
        let mut problem = None;
        let mut tell = |lost: UnreadablePage| problem = Some(lost.problem);
        let own = commit.system.map(|root| pages.listed(root, &mut tell));
        for (_, tree) in own.unwrap_or_default() {
            pages.walk(tree, &mut |met| {
                if let WalkEvent::Damaged(lost) = met {
                    tell(lost);
                }
            });
        }
        for (name, tree) in pages.tables(*commit, &mut tell) {
            if let Err(lost) = pages.down(tree, |branch| branch.keys) {
                problem = Some(format!("{name}: {}", lost.problem));
            }
        }
        Ok(problem)
    }

    /// What is wrong with the pages where the rows of a table would be that lie between two keys and are not found, as the newest commit has
    /// them. The file may be in use: a page that is written meanwhile belongs to another commit, by which it is looked at again.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn damage_between<K: Key + 'static, V: Value + 'static>(
        path: &Path,
        table: TableDefinition<K, V>,
        keys: [K::SelfType<'_>; 2],
    ) -> Result<Option<String>, StoreError> {
        let file = match regular_file::following(path).read(true).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        for _ in 0..LOOKS {
            let (pages, _) = Pages::by_header(file.try_clone()?)?;
            let Some(commit) = pages.roots.first() else { continue };
            let mut problem = None;
            let tables = pages.tables(*commit, &mut |lost| problem = Some(lost.problem));
            let own = tables.iter().filter(|(name, _)| name == table.name());
            for ((_, tree), key) in own.flat_map(|tree| keys.iter().map(move |key| (tree, key))) {
                let key = K::as_bytes(key);
                let is_at_or_after =
                    |branch: &Branch, at| K::compare(branch.key(at).unwrap_or_default(), key.as_ref()).is_ge();
                let child =
                    |branch: &Branch| (0..branch.keys).find(|at| is_at_or_after(branch, *at)).unwrap_or(branch.keys);
                if let Err(lost) = pages.down(*tree, child) {
                    problem = Some(lost.problem);
                }
            }
            let is_newest =
                || Pages::by_header(file.try_clone()?).map(|(after, _)| after.roots.first() == Some(commit));
            if problem.is_none() || is_newest()? {
                return Ok(problem);
            }
        }
        Ok(None)
    }

    /// What is wrong with the header and the tables of the newest commit, in words; nothing where every page has its checksum. The commit
    /// before it does not count, as nobody may go back behind what was acknowledged.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn damage_of_all(path: &Path) -> Result<Option<String>, StoreError> {
        let (pages, _) = Pages::by_header(regular_file::following(path).read(true).open(path)?)?;
        let mut problem = pages.header.first().cloned();
        if let Some(commit) = pages.commits().next() {
            pages.walk_all(commit, &mut |table, met| {
                if let WalkEvent::Damaged(lost) = met {
                    problem.get_or_insert_with(|| format!("{table}: {}", lost.problem));
                }
            });
        }
        Ok(problem)
    }

    /// The file as its header describes it, and whether it was closed in order.
    fn by_header(file: File) -> Result<(Pages, bool), StoreError> {
        let bytes = file.metadata()?.len();
        let mut pages =
            Pages { file, bytes, page_bytes: PAGE_BYTES, region: (0, u64::MAX), roots: Vec::new(), header: Vec::new() };
        let was_closed = pages.read_header();
        Ok((pages, was_closed))
    }

    fn read_header(&mut self) -> bool {
        let mut header = [0; HEADER_BYTES];
        if self.file.read_exact_at(&mut header, 0).is_err() {
            self.header.push(format!("it has only {} bytes", self.bytes));
            return true;
        }
        if !header.starts_with(MAGIC) {
            self.header.push("it does not begin as a file of redb does".to_owned());
        }
        let number = |at: usize| u64::from(u32_at(&header, at).unwrap_or_default());
        let (page_bytes, before, data) = (number(12), number(16), number(20));
        match page_bytes.is_power_of_two() && page_bytes >= 512 && page_bytes <= self.bytes && data > 0 {
            true => (self.page_bytes, self.region) = (page_bytes, (before, before + data)),
            false => {
                self.header.push("the sizes of its pages are not readable".to_owned());
                return true;
            }
        }
        let state = header[9];
        let primary = usize::from(state & PRIMARY_BIT);
        for slot in [primary, 1 - primary] {
            let slot_bytes = &header[64 + slot * SLOT_BYTES..][..SLOT_BYTES];
            if u128_at(slot_bytes, SLOT_BYTES - 16) != Some(xxh3_128(&slot_bytes[..SLOT_BYTES - 16])) {
                // The other one is written anew by the next commit.
                if slot == primary {
                    self.header.push(format!("commit slot {slot} does not have its checksum"));
                }
                continue;
            }
            let root = |is_there: usize, at: usize| {
                let tree = Tree::read(&slot_bytes[at..at + 32], PageWidths { key: None, value: None });
                tree.filter(|_| slot_bytes[is_there] != 0)
            };
            self.roots.push(CommitRoots { user: root(1, 8), system: root(2, 40) });
        }
        state & RECOVERY_BIT == 0
    }

    /// What is wrong with the header, in words.
    pub fn header_problems(&self) -> &[String] {
        &self.header
    }

    /// The commits that the header names, as [`tables`](Self::tables) takes them; the one that counts first.
    pub fn commits(&self) -> impl Iterator<Item = CommitRoots> {
        self.roots.iter().copied()
    }

    /// The tables of a commit; `lost` is told what of the table of tables cannot be read.
    pub fn tables(&self, commit: CommitRoots, lost: &mut dyn FnMut(UnreadablePage)) -> Vec<(String, Tree)> {
        commit.user.map_or_else(Vec::new, |root| self.listed(root, lost))
    }

    fn listed(&self, root: Tree, lost: &mut dyn FnMut(UnreadablePage)) -> Vec<(String, Tree)> {
        let mut tables = Vec::new();
        self.walk(root, &mut |met| match met {
            WalkEvent::Damaged(damage) => lost(damage),
            WalkEvent::Leaf(_, leaf) => tables.extend(leaf.rows().filter_map(|(name, definition)| {
                let name = String::from_utf8(name.to_vec()).ok()?;
                let has_rows = *definition.get(9)? != 0;
                let width =
                    |at: usize| Some((*definition.get(at)? != 0).then_some(u32_at(definition, at + 1)? as usize));
                let shape = PageWidths { key: width(42)?, value: width(47)? };
                let tree = Tree::read(definition.get(10..42)?, shape)?;
                has_rows.then_some((name, Tree { rows: u64_at(definition, 1)?, ..tree }))
            })),
        });
        tables
    }

    /// Walks the leaves of a tree in the order of their keys; what cannot be read is met as well, and the walk goes on behind it.
    pub fn walk(&self, tree: Tree, each: &mut dyn FnMut(WalkEvent)) {
        let at = WalkPosition { page: tree.page, checksum: tree.checksum, depth: 0, above: None, up_to: None };
        self.descend(tree.shape, at, each);
    }

    /// Walks the table of tables of a commit, and every table of it, by name; redb's own tables all have the name `file`.
    pub fn walk_all(&self, commit: CommitRoots, each: &mut dyn FnMut(&str, WalkEvent)) {
        for (root, own) in [(commit.user, None), (commit.system, Some("file"))] {
            let Some(root) = root else { continue };
            let tables =
                self.listed(root, &mut |lost| each(own.unwrap_or("table of tables"), WalkEvent::Damaged(lost)));
            for (name, tree) in tables {
                self.walk(tree, &mut |met| each(own.unwrap_or(&name), met));
            }
        }
    }

    fn descend(&self, shape: PageWidths, at: WalkPosition, each: &mut dyn FnMut(WalkEvent)) {
        let mut memory = Vec::new();
        match self.checked(shape, at, &mut memory) {
            Err(lost) => each(WalkEvent::Damaged(lost)),
            Ok((offset, StorePage::Leaf(leaf))) => each(WalkEvent::Leaf(offset, leaf)),
            Ok((_, StorePage::Branch(branch))) => self.children(shape, at, &branch, each),
        }
    }

    /// Reads the pages from the root of a tree to one leaf; `choose` names the child of each branch.
    fn down(&self, tree: Tree, choose: impl Fn(&Branch) -> usize) -> Result<(), UnreadablePage> {
        let mut at = WalkPosition { page: tree.page, checksum: tree.checksum, depth: 0, above: None, up_to: None };
        let mut memory = Vec::new();
        while let (_, StorePage::Branch(branch)) = self.checked(tree.shape, at, &mut memory)? {
            let Some((page, checksum)) = branch.child(choose(&branch)) else { break };
            at = WalkPosition { page, checksum, depth: at.depth + 1, ..at };
        }
        Ok(())
    }

    /// Offset and content of a page that has its checksum; `memory` is what it is read into.
    fn checked<'m>(
        &self,
        shape: PageWidths,
        at: WalkPosition,
        memory: &'m mut Vec<u8>,
    ) -> Result<(u64, StorePage<'m>), UnreadablePage> {
        let (offset, bytes) = self.page(at.page).map_err(|problem| at.lost(problem))?;
        *memory = bytes;
        match StorePage::read(memory, shape).filter(|_| at.depth < DEPTH_MAX) {
            Some((page, checked)) if xxh3_128(checked) == at.checksum => Ok((offset, page)),
            Some(_) => Err(at.lost(format!("the page at byte {offset} does not have its checksum"))),
            None => Err(at.lost(format!("the page at byte {offset} is no page of a table"))),
        }
    }

    fn children(&self, shape: PageWidths, at: WalkPosition, branch: &Branch, each: &mut dyn FnMut(WalkEvent)) {
        for child in 0..=branch.keys {
            let (Some((page, checksum)), depth) = (branch.child(child), at.depth + 1) else { continue };
            let above = child.checked_sub(1).and_then(|before| branch.key(before)).or(at.above);
            let up_to = branch.key(child).or(at.up_to);
            self.descend(shape, WalkPosition { page, checksum, depth, above, up_to }, each);
        }
    }

    /// Offset and bytes of a page by its number.
    fn page(&self, number: u64) -> Result<(u64, Vec<u8>), String> {
        let index = number & (0xF_FFFF >> order(number).min(20));
        let region = (number >> 20) & 0xF_FFFF;
        let bytes = self.page_bytes.checked_shl(order(number)).filter(|bytes| *bytes <= self.bytes);
        let offset = bytes.and_then(|bytes| {
            let before = region.checked_mul(self.region.1)?.checked_add(self.region.0)?.checked_add(1)?;
            let offset = before.checked_mul(self.page_bytes)?.checked_add(index.checked_mul(bytes)?)?;
            (offset.checked_add(bytes)? <= self.bytes).then_some((offset, bytes))
        });
        let (offset, bytes) = offset.ok_or("a page lies behind the end of the file")?;
        self.bytes_at(offset, bytes).map(|memory| (offset, memory))
    }

    /// Bytes of a page that the file has.
    fn bytes_of(&self, number: u64) -> u64 {
        self.page_bytes << order(number)
    }

    fn bytes_at(&self, offset: u64, bytes: u64) -> Result<Vec<u8>, String> {
        let mut memory = vec![0; bytes as usize];
        let read = self.file.read_exact_at(&mut memory, offset);
        read.map(|()| memory).map_err(|error| format!("the page at byte {offset} cannot be read: {error}"))
    }

    /// Leaves of a shape wherever they seem to lie in the file, of pages that are in use or not. Their checksums are not known: whoever takes
    /// a row must know it by itself. `each` gets the offset of the page.
    pub fn scan(&self, shape: PageWidths, each: &mut dyn FnMut(u64, &Leaf)) {
        for offset in (self.page_bytes..self.bytes).step_by(self.page_bytes as usize) {
            if let Some(memory) = self.leaf_at(offset, shape)
                && let Some(leaf) = Leaf::read(&memory, shape)
            {
                each(offset, &leaf);
            }
        }
    }

    /// Rows of a table of fixed widths that the file has room for.
    pub fn rows_max(&self, shape: PageWidths) -> u64 {
        let row = shape.key.unwrap_or(1) + shape.value.unwrap_or(1);
        self.bytes / row as u64
    }

    /// The bytes of what seems to be a leaf: a page, or as many as its values say.
    pub fn leaf_at(&self, offset: u64, shape: PageWidths) -> Option<Vec<u8>> {
        let memory = self.bytes_at(offset, self.page_bytes.min(self.bytes.checked_sub(offset)?)).ok()?;
        let end = Leaf::end(&memory, shape)? as u64;
        match end <= memory.len() as u64 {
            true => Some(memory),
            false if self.may_hold(offset, end) => self.bytes_at(offset, end).ok(),
            false => None,
        }
    }

    /// Whether a page of so many bytes may begin at this offset. A page begins at a multiple of its size, so that for each size every byte of
    /// the file is read once at most.
    fn may_hold(&self, offset: u64, bytes: u64) -> bool {
        let is_within = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        let (before, region) = self.region;
        match region {
            u64::MAX => is_within && bytes <= LEAF_BYTES_MAX,
            _ => {
                let pages = bytes.div_ceil(self.page_bytes).next_power_of_two();
                let page = (offset / self.page_bytes).checked_sub(1).map(|page| page % region);
                is_within && page.and_then(|page| page.checked_sub(before)).is_some_and(|page| page % pages == 0)
            }
        }
    }
}

/// The power of two of pages of the smallest size that a page takes.
fn order(number: u64) -> u32 {
    (number >> 59) as u32
}

impl WalkPosition<'_> {
    fn lost(&self, problem: String) -> UnreadablePage {
        let owned = |key: Option<&[u8]>| key.map(<[u8]>::to_vec);
        UnreadablePage { problem, above: owned(self.above), up_to: owned(self.up_to) }
    }
}

impl Tree {
    /// Page number, checksum and number of rows, as slots and definitions of tables have them.
    fn read(bytes: &[u8], shape: PageWidths) -> Option<Tree> {
        Some(Tree { page: u64_at(bytes, 0)?, checksum: u128_at(bytes, 8)?, shape, rows: u64_at(bytes, 24)? })
    }
}
