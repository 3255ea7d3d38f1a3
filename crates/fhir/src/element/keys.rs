//! The JSON names of a type's elements. Every member of every body is looked up in one, so a name is found with one comparison.

/// A name and what it stands for: number of the element, and of its type where the element is a choice.
#[derive(Debug)]
pub(super) struct ElementKey {
    pub json: Box<str>,
    pub element: usize,
    pub kind: usize,
}

/// The names of one type.
#[derive(Debug)]
pub(super) struct ElementKeys {
    keys: Vec<ElementKey>,
    /// At the place a name is sent to, or behind it where others were sent there too: the number of its key plus one. Less than half
    /// of the places are taken, so the search for a name that is not there ends at the next empty one.
    places: Box<[u16]>,
}

impl ElementKeys {
    pub(super) fn new(keys: Vec<ElementKey>) -> ElementKeys {
        let mut places = vec![0; (keys.len() * 2 + 1).next_power_of_two()].into_boxed_slice();
        for (at, key) in keys.iter().enumerate() {
            let mut place = spread(key.json.as_bytes()) & (places.len() - 1);
            while places[place] != 0 {
                place = (place + 1) & (places.len() - 1);
            }
            places[place] = u16::try_from(at + 1).expect("no type has thousands of elements");
        }
        ElementKeys { keys, places }
    }

    pub(super) fn find(&self, name: &str) -> Option<&ElementKey> {
        let mut place = spread(name.as_bytes()) & (self.places.len() - 1);
        loop {
            let key = &self.keys[usize::from(self.places[place]).checked_sub(1)?];
            if *key.json == *name {
                return Some(key);
            }
            place = (place + 1) & (self.places.len() - 1);
        }
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &ElementKey> {
        self.keys.iter()
    }
}

/// Length and ends of a name, mixed. Names that meet cost a comparison.
fn spread(name: &[u8]) -> usize {
    let ends = match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        (Some(first), Some(last)) => u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last)),
        _ => name.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    ((ends ^ name.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
}
