//! Versions in memory by time and number of their change, as the table of times has them, so that those before a place are counted without
//! looking at each.

/// Time of a version, milliseconds since 1970 UTC, and the number of its change.
pub type VersionKey = (i64, u64);

/// Keys of a block at most. An insertion moves at most the 8 KB of a block.
const BLOCK_KEYS_MAX: usize = 512;

/// Keys in their order: blocks of sorted keys, none of them empty.
#[derive(Debug, Default)]
pub struct VersionKeys(Vec<Vec<VersionKey>>);

impl VersionKeys {
    /// Adds a key, once.
    pub fn insert(&mut self, key: VersionKey) {
        let at = self.block(key);
        let Some(block) = self.0.get_mut(at) else { return self.0.push(vec![key]) };
        let Err(place) = block.binary_search(&key) else { return };
        if block.len() < BLOCK_KEYS_MAX {
            return block.insert(place, key);
        }
        // Keys that come in their order fill blocks completely.
        let next = if place == BLOCK_KEYS_MAX {
            vec![key]
        } else {
            let mut next = block.split_off(BLOCK_KEYS_MAX / 2);
            match place.checked_sub(BLOCK_KEYS_MAX / 2) {
                Some(place) => next.insert(place, key),
                None => block.insert(place, key),
            }
            next
        };
        self.0.insert(at + 1, next);
    }

    /// Takes a key away, where it is there.
    pub fn remove(&mut self, key: VersionKey) {
        let at = self.block(key);
        let Some(block) = self.0.get_mut(at) else { return };
        let Ok(place) = block.binary_search(&key) else { return };
        block.remove(place);
        if block.is_empty() {
            self.0.remove(at);
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a key is there.
    pub fn has(&self, key: VersionKey) -> bool {
        self.0.get(self.block(key)).is_some_and(|block| block.binary_search(&key).is_ok())
    }

    /// How many keys are smaller.
    pub fn before(&self, key: VersionKey) -> u64 {
        let at = self.block(key);
        let whole: usize = self.0.iter().take(at).map(Vec::len).sum();
        let part = self.0.get(at).map_or(0, |block| block.partition_point(|known| *known < key));
        (whole + part) as u64
    }

    /// All keys, in their order.
    pub fn iter(&self) -> impl Iterator<Item = VersionKey> {
        self.0.iter().flatten().copied()
    }

    /// The block that a key belongs to: the last one that begins with no larger key, else the first.
    fn block(&self, key: VersionKey) -> usize {
        self.0.partition_point(|block| block[0] <= key).saturating_sub(1)
    }
}

/// Versions that a history leaves out.
#[derive(Default)]
pub struct HiddenVersions<'k> {
    /// Lists that have no version in common.
    pub of: Vec<&'k VersionKeys>,
    /// Parts of these that are not left out.
    pub but: Vec<&'k VersionKeys>,
}

impl HiddenVersions<'_> {
    /// Whether a version is left out.
    pub fn has(&self, key: VersionKey) -> bool {
        self.of.iter().any(|keys| keys.has(key)) && !self.but.iter().any(|keys| keys.has(key))
    }

    /// How many of them have a smaller key.
    pub fn before(&self, key: VersionKey) -> u64 {
        let sum = |lists: &[&VersionKeys]| lists.iter().map(|keys| keys.before(key)).sum::<u64>();
        sum(&self.of) - sum(&self.but)
    }

    /// How many of them have no smaller key.
    pub fn from(&self, key: VersionKey) -> u64 {
        self.before((i64::MAX, u64::MAX)) - self.before(key)
    }

    /// All of them, list by list.
    pub fn iter(&self) -> impl Iterator<Item = VersionKey> {
        self.of.iter().flat_map(|keys| keys.iter()).filter(|key| !self.but.iter().any(|keys| keys.has(*key)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

        #[test]
        fn keys_are_counted_as_in_a_set(steps in vec((0..4u8, 0..900i64, 0..4u64), 0..4_000), in_order in any::<bool>()) {
            let (mut keys, mut set) = (VersionKeys::default(), BTreeSet::new());
            for (at, (kind, time, seq)) in steps.into_iter().enumerate() {
                let key = (if in_order { at as i64 } else { time }, seq);
                match kind {
                    0 => (keys.remove((time, seq)), set.remove(&(time, seq))),
                    _ => (keys.insert(key), set.insert(key)),
                };
                if at.is_multiple_of(50) {
                    prop_assert_eq!(keys.before((time, seq)), set.range(..(time, seq)).count() as u64);
                    prop_assert_eq!(keys.has((time, seq)), set.contains(&(time, seq)));
                }
            }
            prop_assert!(keys.iter().eq(set.iter().copied()));
            set.iter().for_each(|key| keys.remove(*key));
            prop_assert!(keys.is_empty() && keys.iter().next().is_none());
        }
    }
}
