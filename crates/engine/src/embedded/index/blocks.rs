//! Documents of an order array counted by blocks of it and by class, so that a page far back is jumped to.

use std::sync::{Arc, Mutex, PoisonError};

/// Places of an order array whose documents are counted together.
const BLOCK_PLACES: u32 = if cfg!(test) { 4 } else { 256 };

/// Counts that are kept with an order array.
pub(super) type KeptCounts = Mutex<Option<Arc<BlockCounts>>>;

/// How many documents of each class are alive in each block: half a byte a document where there are 64 classes.
pub(super) struct BlockCounts {
    /// The deletions of the segment that are left out.
    deletions: Option<u64>,
    blocks: usize,
    /// By class, then by block.
    counts: Vec<u16>,
}

impl BlockCounts {
    /// Asks every place once, of `len`: for the class of its document, none where that is deleted.
    fn new(deletions: Option<u64>, len: u32, class: impl Fn(u32) -> Option<u32>) -> BlockCounts {
        let blocks = len.div_ceil(BLOCK_PLACES) as usize;
        let mut counts = Vec::new();
        for place in 0..len {
            let Some(class) = class(place) else { continue };
            let at = class as usize * blocks + (place / BLOCK_PLACES) as usize;
            if counts.len() <= at {
                counts.resize((class as usize + 1) * blocks, 0);
            }
            counts[at] += 1;
        }
        BlockCounts { deletions, blocks, counts }
    }

    /// Those that are kept, unless more was deleted: then they are made again.
    pub(super) fn kept(
        kept: &KeptCounts,
        deletions: Option<u64>,
        len: u32,
        class: impl Fn(u32) -> Option<u32>,
    ) -> Arc<BlockCounts> {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.as_ref().filter(|counts| counts.is_of(deletions)) {
            Some(counts) => counts.clone(),
            None => kept.insert(Arc::new(BlockCounts::new(deletions, len, class))).clone(),
        }
    }

    /// Whether they leave out these deletions.
    pub(super) fn is_of(&self, deletions: Option<u64>) -> bool {
        self.deletions == deletions
    }

    /// Sums over the classes that are said yes to.
    pub(super) fn sums(&self, is_met: impl Fn(u32) -> bool) -> BlockSums {
        let mut sums = vec![0_u32; self.blocks + 1];
        let of_classes = (0..).zip(self.counts.chunks_exact(self.blocks.max(1)));
        for (_, counts) in of_classes.filter(|(class, _)| is_met(*class)) {
            sums[1..].iter_mut().zip(counts).for_each(|(sum, count)| *sum += u32::from(*count));
        }
        let mut before = 0;
        for sum in &mut sums {
            before += *sum;
            *sum = before;
        }
        BlockSums(sums)
    }
}

/// Documents before each block, and all of them at the end.
pub(super) struct BlockSums(Vec<u32>);

impl BlockSums {
    /// Documents before a place. `is_met` says whether the one at a place counts.
    pub(super) fn before(&self, place: u32, is_met: impl Fn(u32) -> bool) -> u64 {
        let block = place / BLOCK_PLACES;
        let rest = (block * BLOCK_PLACES..place).filter(|place| is_met(*place)).count();
        u64::from(self.0[block as usize]) + rest as u64
    }
}
