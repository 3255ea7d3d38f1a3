//! Parts of a file, merged where they touch. Beyond a bound they become one part, from the first to the last byte.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use crate::limits::STORE_RANGES_MAX;

/// Bytes from and to, none empty, none touching another, by their beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Everything, however long the file is.
    pub fn whole() -> Ranges {
        Ranges(BTreeMap::from([(0, u64::MAX)]))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes in the bytes from one place to before another.
    pub fn add(&mut self, mut from: u64, mut to: u64) {
        if from >= to {
            return;
        }
        // Ends ascend with beginnings, so those that touch are the last ones that begin before the end.
        while let Some((&start, &end)) = self.0.range(..=to).next_back().filter(|(_, end)| **end >= from) {
            self.0.remove(&start);
            (from, to) = (from.min(start), to.max(end));
        }
        self.0.insert(from, to);
        if self.0.len() > STORE_RANGES_MAX {
            let ends = (self.0.first_key_value().map(|(from, _)| *from), self.0.last_key_value().map(|(_, to)| *to));
            if let (Some(from), Some(to)) = ends {
                self.0 = BTreeMap::from([(from, to)]);
            }
        }
    }

    pub fn add_all(&mut self, others: &Ranges) {
        others.0.iter().for_each(|(from, to)| self.add(*from, *to));
    }

    /// What lies in a file of so many bytes, in pieces that cross no multiple of a window.
    pub fn pieces(&self, len: u64, window_bytes: u64) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().flat_map(move |(&from, &to)| {
            let to = to.min(len);
            let end = move |start: u64| (start / window_bytes + 1).saturating_mul(window_bytes).min(to);
            let starts = std::iter::successors(Some(from), move |start| Some(end(*start)));
            starts.take_while(move |start| *start < to).map(move |start| start..end(start))
        })
    }

    /// Reads what [`Display`](fmt::Display) wrote; none when it is not all there.
    pub fn parse(text: &str) -> Option<Ranges> {
        let mut ranges = Ranges::default();
        for line in text.strip_suffix(END)?.lines() {
            let (from, to) = line.split_once('-')?;
            ranges.add(from.parse().ok()?, to.parse().ok()?);
        }
        Some(ranges)
    }
}

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
    fn more_ranges_than_the_bound_become_one() {
        let mut ranges = Ranges::default();
        let filled = |ranges: &mut Ranges, count: u64| (0..count).for_each(|at| ranges.add(10 + at * 3, 11 + at * 3));
        let max = STORE_RANGES_MAX as u64;
        filled(&mut ranges, max);
        assert_eq!(ranges.0.len(), STORE_RANGES_MAX);
        filled(&mut ranges, max + 1);
        assert_eq!(ranges.0, BTreeMap::from([(10, 11 + max * 3)]));
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
