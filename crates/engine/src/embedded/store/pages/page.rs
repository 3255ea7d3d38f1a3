//! One page of a tree, read without believing anything it says.

use std::ops::Range;

const LEAF: u8 = 1;
const BRANCH: u8 = 2;

/// Widths of keys and values in bytes, where they are fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageWidths {
    /// Bytes of each key; none where keys vary in length.
    pub key: Option<usize>,
    /// Bytes of each value; none where values vary in length.
    pub value: Option<usize>,
}

/// A page whose parts lie inside it.
pub(super) enum StorePage<'p> {
    Leaf(Leaf<'p>),
    Branch(Branch<'p>),
}

impl<'p> StorePage<'p> {
    /// A page, and the bytes that its checksum is of.
    pub(super) fn read(memory: &'p [u8], shape: PageWidths) -> Option<(StorePage<'p>, &'p [u8])> {
        match *memory.first()? {
            LEAF => {
                let leaf = Leaf::read(memory, shape)?;
                Some((StorePage::Leaf(leaf), leaf.memory))
            }
            BRANCH => {
                let keys = count(memory).filter(|keys| *keys > 0)?;
                let branch = Branch { memory, width: shape.key, keys };
                let end = branch.key_range(keys - 1)?.end;
                Some((StorePage::Branch(branch), memory.get(..end)?))
            }
            _ => None,
        }
    }
}

/// Keys and values.
#[derive(Clone, Copy)]
pub struct Leaf<'p> {
    memory: &'p [u8],
    shape: PageWidths,
    count: usize,
}

impl<'p> Leaf<'p> {
    /// A leaf whose rows lie inside the page.
    pub fn read(memory: &'p [u8], shape: PageWidths) -> Option<Leaf<'p>> {
        let leaf = Leaf { memory: memory.get(..Leaf::end(memory, shape)?)?, shape, count: count(memory)? };
        (0..leaf.count).all(|at| leaf.row(at).is_some()).then_some(leaf)
    }

    /// Where the last value of a leaf ends, which may be behind the bytes that are here.
    pub fn end(memory: &[u8], shape: PageWidths) -> Option<usize> {
        let count = count(memory).filter(|count| *count > 0 && memory.first() == Some(&LEAF))?;
        Leaf { memory, shape, count }.value_range(count - 1).map(|range| range.end)
    }

    /// All rows.
    pub fn rows(self) -> impl Iterator<Item = (&'p [u8], &'p [u8])> {
        (0..self.count).filter_map(move |at| self.row(at))
    }

    /// A row by its place.
    pub fn row(&self, at: usize) -> Option<(&'p [u8], &'p [u8])> {
        Some((self.memory.get(self.key_range(at)?)?, self.memory.get(self.value_range(at)?)?))
    }

    fn ends(&self) -> usize {
        let kinds = usize::from(self.shape.key.is_none()) + usize::from(self.shape.value.is_none());
        4 + 4 * kinds * self.count
    }

    fn key_range(&self, at: usize) -> Option<Range<usize>> {
        let end = |at: usize| u32_at(self.memory, 4 + 4 * at).map(|end| end as usize);
        range(self.ends(), at, self.shape.key, end)
    }

    fn value_range(&self, at: usize) -> Option<Range<usize>> {
        let before = if self.shape.key.is_none() { 4 * self.count } else { 0 };
        let end = |at: usize| u32_at(self.memory, 4 + before + 4 * at).map(|end| end as usize);
        range(self.key_range(self.count - 1)?.end, at, self.shape.value, end)
    }
}

/// Children, and the keys between them.
pub(super) struct Branch<'p> {
    memory: &'p [u8],
    width: Option<usize>,
    /// Number of keys; there is one child more.
    pub keys: usize,
}

impl<'p> Branch<'p> {
    /// Page number and checksum of a child.
    pub(super) fn child(&self, at: usize) -> Option<(u64, u128)> {
        let numbers = 8 + 16 * (self.keys + 1);
        Some((u64_at(self.memory, numbers + 8 * at)?, u128_at(self.memory, 8 + 16 * at)?))
    }

    /// The key that the rows below a child reach up to; the last child has none.
    pub(super) fn key(&self, at: usize) -> Option<&'p [u8]> {
        if at >= self.keys {
            return None;
        }
        self.memory.get(self.key_range(at)?)
    }

    fn key_range(&self, at: usize) -> Option<Range<usize>> {
        let ends = 8 + 24 * (self.keys + 1);
        let end = |at: usize| u32_at(self.memory, ends + 4 * at).map(|end| end as usize);
        let first = if self.width.is_none() { ends + 4 * self.keys } else { ends };
        range(first, at, self.width, end)
    }
}

/// Where an entry lies among those of one kind, the first of which begins at `first`.
fn range(first: usize, at: usize, width: Option<usize>, end: impl Fn(usize) -> Option<usize>) -> Option<Range<usize>> {
    let range = match width {
        Some(width) => first.checked_add(width.checked_mul(at)?)?..first.checked_add(width.checked_mul(at + 1)?)?,
        None if at == 0 => first..end(0)?,
        None => end(at - 1)?..end(at)?,
    };
    (range.start >= first && range.start <= range.end).then_some(range)
}

fn count(memory: &[u8]) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(memory.get(2..4)?.try_into().ok()?)))
}

pub(super) fn u32_at(memory: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(memory.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

pub(super) fn u64_at(memory: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(memory.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

pub(super) fn u128_at(memory: &[u8], at: usize) -> Option<u128> {
    Some(u128::from_le_bytes(memory.get(at..at.checked_add(16)?)?.try_into().ok()?))
}
