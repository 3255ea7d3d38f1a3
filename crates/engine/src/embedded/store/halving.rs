//! Places in the log of certificates, found by halving.

use super::{ChangeRow, StoreError, StoreReader};
use certificate::Seq;

impl StoreReader {
    /// A change that is there.
    pub fn change_at(&self, seq: u64) -> Result<ChangeRow, StoreError> {
        self.change(Seq(seq))?.ok_or_else(|| StoreError::Damaged(format!("change {seq} is missing")))
    }

    /// The last change up to `high` for which something holds that holds for a beginning of all changes; `low` where that is the last one
    /// that it is known to hold for, or 0.
    pub fn last_where(
        &self,
        mut low: u64,
        mut high: u64,
        holds: impl Fn(&ChangeRow) -> bool,
    ) -> Result<u64, StoreError> {
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if holds(&self.change_at(middle)?) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Ok(low)
    }

    /// The same from 0 on, in doubled steps back first: few reads where it is near.
    pub fn last_near(&self, mut high: u64, holds: impl Fn(&ChangeRow) -> bool) -> Result<u64, StoreError> {
        let mut step = 1;
        while step <= high {
            let low = high - step + 1;
            if holds(&self.change_at(low)?) {
                return self.last_where(low, high, holds);
            }
            (high, step) = (low - 1, step * 2);
        }
        self.last_where(0, high, holds)
    }
}
