//! How many current certificates there are of each class: exact at every moment, and summed by whatever asks for classes only.

use std::collections::BTreeMap;

use super::overlay::NewEntry;

/// Current certificates by class number. Deleted ones are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters(Vec<u64>);

/// What changes bring and take, by class number.
pub(super) type Deltas = BTreeMap<u32, i64>;

impl Counters {
    /// From the stored numbers.
    pub(super) fn new(stored: impl IntoIterator<Item = (u32, u64)>) -> Counters {
        let mut counters = Counters::default();
        stored.into_iter().for_each(|(class, number)| *counters.of_mut(class) = number);
        counters
    }

    /// Takes changes in.
    pub(super) fn apply(&mut self, deltas: &Deltas) {
        for (class, delta) in deltas {
            let number = self.of_mut(*class);
            *number = number.checked_add_signed(*delta).expect("no more certificates leave a class than are in it");
        }
    }

    /// How many certificates are in a class that the table says yes to.
    pub(super) fn sum(&self, table: &[bool]) -> u64 {
        self.0.iter().zip(table).filter(|(_, meets)| **meets).map(|(number, _)| number).sum()
    }

    /// Numbers in the order of the classes; those behind are 0.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().copied()
    }

    /// How many certificates there are.
    pub(super) fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    fn of_mut(&mut self, class: u32) -> &mut u64 {
        let class = class as usize;
        if self.0.len() <= class {
            self.0.resize(class + 1, 0);
        }
        &mut self.0[class]
    }
}

/// What changes bring and take.
pub(super) fn deltas(entries: &[NewEntry]) -> Deltas {
    let mut deltas = Deltas::new();
    for entry in entries {
        let (old, new) = (entry.old.as_ref().map(|row| row.class), entry.new.as_ref().map(|row| row.class));
        if old != new {
            old.into_iter().for_each(|class| *deltas.entry(class).or_default() -= 1);
            new.into_iter().for_each(|class| *deltas.entry(class).or_default() += 1);
        }
    }
    deltas.retain(|_, delta| *delta != 0);
    deltas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_changes_and_are_summed_by_class() {
        let mut counters = Counters::new([(0, 5), (2, 7)]);
        counters.apply(&Deltas::from([(0, -2), (3, 4)]));
        assert_eq!(counters, Counters::new([(0, 3), (2, 7), (3, 4)]));
        assert_eq!((counters.sum(&[true, true, true, false]), counters.all()), (10, 14));
        // A table made before the newest class was met does not know it.
        assert_eq!(counters.sum(&[true]), 3);
    }
}
