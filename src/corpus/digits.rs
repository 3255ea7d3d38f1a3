//! Numbers as digits at the end of a text. `write!` costs several times as much, which a million bodies feel.

/// Appends a number.
pub(super) fn number(out: &mut String, number: u64) {
    padded(out, number, 1);
}

/// Appends a number with zeros before it, up to `width` digits; a larger number keeps all of its digits.
pub(super) fn padded(out: &mut String, mut number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while number > 0 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    let at = at.min(digits.len() - width);
    out.push_str(std::str::from_utf8(&digits[at..]).expect("digits are ASCII"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_number() {
        let mut out = String::new();
        for (value, width) in [(0, 1), (7, 3), (1_234, 2), (u64::MAX, 1), (0, 4)] {
            padded(&mut out, value, width);
            out.push(' ');
        }
        assert_eq!(out, "0 007 1234 18446744073709551615 0000 ");
    }
}
