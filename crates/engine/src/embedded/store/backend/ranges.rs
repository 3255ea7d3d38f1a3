//! Parts of a file, merged where they touch. When they become too many, they grow to whole windows of the file, as small as will do.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// Parts of the store's file that are remembered as written since the last sync that succeeded, in case the next one fails. A batch of the
/// writer has some hundreds of pages; those of a larger commit grow to windows of the file.
const STORE_RANGES_MAX: usize = 4_096;

/// Bytes from and to, none empty, none touching another, by their beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Everything, however long the file is.
    pub(super) fn whole() -> Ranges {
        Ranges(BTreeMap::from([(0, u64::MAX)]))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes in the bytes from one place to before another.
    pub(super) fn add(&mut self, mut from: u64, mut to: u64) {
        if from >= to {
            return;
        }
        // Ends ascend with beginnings, so those that touch are the last ones that begin before the end.
        while let Some((&start, &end)) = self.0.range(..=to).next_back().filter(|(_, end)| **end >= from) {
            self.0.remove(&start);
            (from, to) = (from.min(start), to.max(end));
        }
        self.0.insert(from, to);
        let mut window_bytes = WINDOW_BYTES_MIN;
        while self.0.len() > STORE_RANGES_MAX {
            self.widen(window_bytes);
            window_bytes *= 4;
        }
    }

    /// Lets each part begin and end with a window.
    fn widen(&mut self, window_bytes: u64) {
        let mut wide = BTreeMap::new();
        let mut last: Option<(u64, u64)> = None;
        for (from, to) in &self.0 {
            let (from, to) =
                (from / window_bytes * window_bytes, to.div_ceil(window_bytes).saturating_mul(window_bytes));
            last = match last {
                Some((begun, end)) if from <= end => Some((begun, end.max(to))),
                before => {
                    wide.extend(before);
                    Some((from, to))
                }
            };
        }
        wide.extend(last);
        self.0 = wide;
    }

    pub(super) fn add_all(&mut self, others: &Ranges) {
        others.0.iter().for_each(|(from, to)| self.add(*from, *to));
    }

    /// What lies in a file of so many bytes, in pieces that cross no multiple of a window.
    pub(super) fn pieces(&self, len: u64, window_bytes: u64) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().flat_map(move |(&from, &to)| {
            let to = to.min(len);
            let end = move |start: u64| (start / window_bytes + 1).saturating_mul(window_bytes).min(to);
            let starts = std::iter::successors(Some(from), move |start| Some(end(*start)));
            starts.take_while(move |start| *start < to).map(move |start| start..end(start))
        })
    }

    /// Reads what [`Display`](fmt::Display) wrote; none when it is not all there.
    pub(super) fn parse(text: &str) -> Option<Ranges> {
        let mut ranges = Ranges::default();
        for line in text.strip_suffix(END)?.lines() {
            let (from, to) = line.split_once('-')?;
            ranges.add(from.parse().ok()?, to.parse().ok()?);
        }
        Some(ranges)
    }
}

/// The first windows that parts grow to: some pages of the store.
const WINDOW_BYTES_MIN: u64 = 64 * 1024;

/// A text without it was cut off while it was written.
const END: &str = "end\n";

/// A line for each, `from-to`, and one that says that these are all.
impl fmt::Display for Ranges {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.0.iter().try_for_each(|(from, to)| writeln!(formatter, "{from}-{to}"))?;
        formatter.write_str(END)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn bytes(ranges: &Ranges, len: u64, window_bytes: u64) -> Vec<u64> {
        ranges.pieces(len, window_bytes).flatten().collect()
    }

    proptest! {
        #[test]
        fn ranges_hold_every_byte_once_in_windows_of_any_size(
            added in vec((0..300u64, 0..40u64), 0..20),
            len in 0..400u64,
            window_bytes in 1..50u64,
        ) {
            let (mut ranges, mut model) = (Ranges::default(), [false; 400]);
            for (from, bytes) in added {
                ranges.add(from, from + bytes);
                model[from as usize..(from + bytes) as usize].fill(true);
            }
            let expected: Vec<u64> = (0..len).filter(|byte| model[*byte as usize]).collect();
            prop_assert_eq!(bytes(&ranges, len, window_bytes), expected);
            let is_within = |piece: Range<u64>| piece.start / window_bytes == (piece.end - 1) / window_bytes;
            prop_assert!(ranges.pieces(len, window_bytes).all(is_within));
            let gaps = ranges.0.iter().zip(ranges.0.keys().skip(1)).all(|((_, to), next)| to < next);
            prop_assert!(gaps, "{:?} touch", ranges);
            prop_assert_eq!(Ranges::parse(&ranges.to_string()), Some(ranges));
        }
    }

    #[test]
    fn more_ranges_than_the_bound_grow_to_windows() {
        let mut ranges = Ranges::default();
        let max = STORE_RANGES_MAX as u64;
        let fill = |ranges: &mut Ranges, count: u64, apart: u64| {
            (0..count).for_each(|at| ranges.add(10 + at * apart, 11 + at * apart));
        };
        fill(&mut ranges, max, 3);
        assert_eq!(ranges.0.len(), STORE_RANGES_MAX);
        fill(&mut ranges, max + 1, 3);
        assert_eq!(ranges.0, BTreeMap::from([(0, WINDOW_BYTES_MIN)]));
        // Far from each other they stay apart, in windows so large that they are few enough.
        let (mut wide, apart) = (Ranges::default(), 2 * WINDOW_BYTES_MIN);
        fill(&mut wide, max + 1, apart);
        assert!(wide.0.len() <= STORE_RANGES_MAX, "{} are left", wide.0.len());
        let far = 1 << 50;
        fill(&mut ranges, 1, 1);
        ranges.add(far, far + 1);
        assert_eq!(ranges.0.len(), 2);
        assert!(
            (0..=max).all(|at| wide
                .0
                .range(..=10 + at * apart)
                .next_back()
                .is_some_and(|(_, to)| *to > 10 + at * apart))
        );
    }

    #[test]
    fn a_text_that_is_not_whole_says_nothing() {
        let mut ranges = Ranges::default();
        ranges.add(0, 320);
        ranges.add(4_096, 8_192);
        let text = ranges.to_string();
        assert_eq!(text, "0-320\n4096-8192\nend\n");
        (0..text.len()).for_each(|cut| assert_eq!(Ranges::parse(&text[..cut]), None, "{cut}"));
        assert_eq!(Ranges::parse("0-\nend\n"), None);
        assert_eq!(bytes(&Ranges::whole(), 3, 2), [0, 1, 2]);
    }
}
