//! One file for each kind of input. Each has a function that takes any bytes and panics when something does not hold.

pub mod body;
pub mod dates;
pub mod narrative;
pub mod parameters;
pub mod query;
pub mod record;
pub mod request;

use fhir::outcome::{Issue, Language};

/// The issues of one answer: not too many of them, and each says something in both languages.
fn told(issues: &[Issue], most: usize) {
    assert!(issues.len() <= most, "{} issues are told, and {most} at most", issues.len());
    for issue in issues {
        for language in [Language::English, Language::Estonian] {
            assert!(!issue.text(language).is_empty(), "{:?} says something", issue.code());
        }
    }
}

/// Whether what costs much is asked of this input too: of one in so many, the same ones every time.
fn is_one_in(inputs: u64, bytes: &[u8]) -> bool {
    let sum = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    (sum >> 32).is_multiple_of(inputs)
}
