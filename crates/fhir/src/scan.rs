//! Questions about all bytes of a text, asked of eight or sixteen at a time: every text of every body is asked some of them.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Where the first byte from `start` on stands that cannot stand for itself in a JSON string: a control character, `"` or `\`.
#[inline]
pub(crate) fn special(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let found = specials(block);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
        at += 16;
    }
    let is_special = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
    bytes.get(at..)?.iter().position(is_special).map(|found| at + found)
}

/// A bit for each special byte of sixteen.
#[cfg(target_arch = "x86_64")]
#[inline]
fn specials(block: &[u8; 16]) -> u32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };
    let whole = u128::from_le_bytes(*block);
    // Safe: SSE2 is part of x86_64, and nothing here reads memory.
    unsafe {
        let bytes = _mm_set_epi64x((whole >> 64) as i64, whole as i64);
        let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        let quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"' as i8));
        let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8));
        _mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(quote, backslash))) as u32
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn specials(block: &[u8; 16]) -> u32 {
    let bits =
        block.iter().enumerate().map(|(at, byte)| u32::from(*byte < b' ' || *byte == b'"' || *byte == b'\\') << at);
    bits.fold(0, |found, bit| found | bit)
}

/// Whether there is a byte that cannot stand for itself in a JSON string.
pub(crate) fn any_special(bytes: &[u8]) -> bool {
    let equal = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    any(bytes, |word| (below(word, b' ') | equal(word, b'"') | equal(word, b'\\')) & HIGH != 0)
}

/// Whether there is a byte below the blank.
pub(crate) fn any_control(bytes: &[u8]) -> bool {
    any(bytes, |word| below(word, b' ') & HIGH != 0)
}

/// Whether every byte is ASCII and shows something: no blank, no control character.
pub(crate) fn all_graphic(bytes: &[u8]) -> bool {
    // A byte of 127 reaches the high bit when one is added; only 255, which has it, carries over.
    !any(bytes, |word| (below(word, b'!') | word | word.wrapping_add(ONES)) & HIGH != 0)
}

/// The high bit of each byte below a bound (at most 128). Above the first one others may have theirs too, by a borrow.
fn below(word: u64, bound: u8) -> u64 {
    word.wrapping_sub(ONES * u64::from(bound)) & !word
}

/// Whether the test says yes to some eight bytes. The last eight overlap those before; a shorter text is filled up with letters.
fn any(bytes: &[u8], test: impl Fn(u64) -> bool) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else {
        return test(bytes.iter().fold(ONES * u64::from(b'a'), |word, byte| word << 8 | u64::from(*byte)));
    };
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().any(|word| test(u64::from_le_bytes(*word))) || test(u64::from_le_bytes(*last))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte at every place of texts of every length up to three blocks.
    #[test]
    fn what_is_asked_of_many_bytes_at_once_is_what_each_would_say() {
        for length in 0..40 {
            for at in 0..length {
                for byte in 0..=255 {
                    let mut bytes = vec![b'a'; length];
                    bytes[at] = byte;
                    let is_special = byte < b' ' || matches!(byte, b'"' | b'\\');
                    assert_eq!(special(&bytes, 0), is_special.then_some(at), "{byte} at {at} of {length}");
                    assert_eq!(special(&bytes, at + 1), None);
                    assert_eq!(any_special(&bytes), is_special);
                    assert_eq!(any_control(&bytes), byte < b' ');
                    assert_eq!(all_graphic(&bytes), byte.is_ascii_graphic());
                }
            }
            assert_eq!(special(&vec![b'a'; length], length), None);
        }
    }

    #[test]
    fn of_several_special_bytes_the_first_is_told() {
        assert_eq!(special(b"\xff\xffab \"\\\"\x01", 0), Some(5));
        assert_eq!(special(b"\xff\xffab \"\\\"\x01", 6), Some(6));
        assert_eq!(special(b"0123456789abcdef\\\x01\"", 0), Some(16));
    }
}
