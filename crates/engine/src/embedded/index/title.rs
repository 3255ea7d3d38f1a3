//! A title as a value of its column: sort key, end mark, the title itself. The byte order of values is the sort order of titles.
//!
//! A zero byte of the key is followed by 255 and the key ends with two zero bytes, so that a key that is the beginning of another
//! comes first.

use certificate::search::collation;

/// The column value of a title.
pub(super) fn value(title: &str) -> Vec<u8> {
    let key = collation::key(title);
    let mut value = Vec::with_capacity(key.len() + title.len() + 8);
    for byte in key {
        value.push(byte);
        if byte == 0 {
            value.push(255);
        }
    }
    value.extend_from_slice(&[0, 0]);
    value.extend_from_slice(title.as_bytes());
    value
}

/// Sort key (as it stands in the value) and title. None when the value cannot be one.
pub(super) fn split(value: &[u8]) -> Option<(&[u8], &str)> {
    let mut at = 0;
    loop {
        at += value.get(at..)?.iter().position(|byte| *byte == 0)?;
        match value.get(at + 1)? {
            0 => return Some((&value[..at], std::str::from_utf8(&value[at + 2..]).ok()?)),
            _ => at += 2,
        }
    }
}

/// The sort key as it stands in values, for a title that is not in the index.
pub(super) fn key(title: &str) -> Vec<u8> {
    let value = value(title);
    let (key, _) = split(&value).expect("a value splits where it was put together");
    key.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_splits_into_what_it_was_made_of_and_sorts_like_its_title() {
        let sorted = ["", "a", "A", "ab", "s", "š", "z", "ž", "t", "õ", "ü", "y"];
        for title in sorted {
            assert_eq!(split(&value(title)).map(|(_, title)| title), Some(title));
        }
        for pair in sorted.windows(2).filter(|pair| pair != &["a", "A"]) {
            assert!(value(pair[0]) < value(pair[1]), "{pair:?}");
        }
        assert_eq!(key("a"), key("A"));
        assert_eq!(split(&[1, 2, 3]), None);
        assert_eq!(split(&[1, 0]), None);
    }
}
