//! Random numbers that are the same on every machine and for ever.
//!
//! SplitMix64: a counter and three mixing steps. It is written out here because the corpus promises the same bytes for the same
//! seed, which no crate's generator does across its versions.

/// A stream of random numbers. Streams of different keys have nothing to do with each other.
#[derive(Clone, Debug)]
pub(super) struct RandomStream(u64);

impl RandomStream {
    /// The stream for one thing (`key`) under a seed.
    pub(super) fn new(seed: u64, key: u64) -> RandomStream {
        RandomStream(mix(seed ^ mix(key.wrapping_add(STEP))))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `end`, each as likely (to 1 in 2^32); `end` is at least 1.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// As [`below`](Self::below), small numbers being likelier: a few employers send many people, most send few.
    pub(super) fn skewed(&mut self, end: u64) -> u64 {
        let first = self.below(end);
        self.below(first + 1)
    }

    /// True so many times in a hundred.
    pub(super) fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    /// One item of a list that is not empty.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // First numbers of SplitMix64 from 1234567, as its author's test vectors give them.
        let mut random = RandomStream(1_234_567);
        assert_eq!([random.next(), random.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn numbers_stay_below_their_end_and_reach_all_of_them() {
        let mut random = RandomStream::new(1, 1);
        let mut seen = [0; 7];
        for _ in 0..7_000 {
            seen[random.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
        assert_eq!(random.below(1), 0);
        assert!((0..1_000).all(|_| random.skewed(5) < 5));
    }

    #[test]
    fn streams_of_different_keys_and_seeds_differ() {
        let first = |seed, key| RandomStream::new(seed, key).next();
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
        assert_ne!(first(1, 2), first(2, 1));
    }
}
