//! The stored form of a row: short, read without looking at the body, with a format number of its own.

use std::sync::Arc;

use super::class::{Class, ClassCoding};
use super::row::Row;
use super::term::Term;
use crate::{Consent, Profile, State};
use fhir::date_time::Span;

/// First byte of every stored row. Another layout gets another number, and old rows stay readable.
pub const FORMAT: u8 = 1;

/// Writes a row.
///
/// | Bytes | What |
/// |---|---|
/// | 1 | format, 1 |
/// | 1 | state, as [`State`] numbers it, never deleted |
/// | 1 | profile, as [`Profile`] numbers it |
/// | 8 | `last_updated`, big endian, two's complement |
/// | span | `date` |
/// | span | `period` |
/// | text | `title` |
/// | codings | `category` |
/// | codings | `type` |
/// | number, then that many texts | terms, rising, without doubles |
///
/// *number*: unsigned LEB128, at most 64 bits. *span*: one byte 0 for none; else 1, `low` as 8 bytes big endian, and
/// `high - low` modulo 2^64 as a number. *text*: 0 for none; else the number of bytes plus 1, and the bytes. *codings*: a
/// number, then for each coding its system and its code as texts. Terms are always there, so a 0 is not one of them.
pub fn encode(row: &Row) -> Vec<u8> {
    debug_assert!(row.class.state != State::Deleted, "a deleted certificate has no row");
    debug_assert!(row.terms.is_sorted_by(|a, b| a < b), "terms rise without doubles");
    let mut bytes = Vec::with_capacity(64 + row.terms.iter().map(|term| term.bytes().len() + 1).sum::<usize>());
    bytes.extend_from_slice(&[FORMAT, row.class.state as u8, row.class.profile as u8]);
    bytes.extend_from_slice(&row.last_updated.to_be_bytes());
    push_span(&mut bytes, row.date);
    push_span(&mut bytes, row.period);
    push_text(&mut bytes, row.title.as_deref().map(str::as_bytes));
    for codings in [&row.class.category, &row.class.kind] {
        push_number(&mut bytes, codings.len() as u64);
        for coding in codings {
            push_text(&mut bytes, coding.system.as_deref().map(str::as_bytes));
            push_text(&mut bytes, coding.code.as_deref().map(str::as_bytes));
        }
    }
    push_number(&mut bytes, row.terms.len() as u64);
    for term in &row.terms {
        push_text(&mut bytes, Some(term.bytes()));
    }
    bytes
}

/// Reads what [`encode`] wrote; nothing when it is anything else, down to the last byte.
pub fn decode(bytes: &[u8]) -> Option<Row> {
    let mut rest = RemainingBytes(bytes);
    if rest.byte()? != FORMAT {
        return None;
    }
    let state = State::from_byte(rest.byte()?).filter(|state| *state != State::Deleted)?;
    let profile = Profile::from_byte(rest.byte()?)?;
    let last_updated = rest.time()?;
    let date = rest.span()?;
    let period = rest.span()?;
    let title = rest.string()?;
    let category = rest.codings()?;
    let kind = rest.codings()?;
    let terms = rest.terms()?;
    let class = Arc::new(Class { state, profile, consent: Consent::default(), category, kind });
    rest.0.is_empty().then_some(Row { class, last_updated, date, period, title, terms })
}

/// The class of a row alone, its consent left open: the terms, which are most of a row, are not read.
pub fn decode_class(bytes: &[u8]) -> Option<Class> {
    let mut rest = RemainingBytes(bytes);
    if rest.byte()? != FORMAT {
        return None;
    }
    let state = State::from_byte(rest.byte()?).filter(|state| *state != State::Deleted)?;
    let profile = Profile::from_byte(rest.byte()?)?;
    rest.time()?;
    rest.span()?;
    rest.span()?;
    rest.string()?;
    let (category, kind) = (rest.codings()?, rest.codings()?);
    Some(Class { state, profile, consent: Consent::default(), category, kind })
}

fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn push_text(bytes: &mut Vec<u8>, text: Option<&[u8]>) {
    push_number(bytes, text.map_or(0, |text| text.len() as u64 + 1));
    bytes.extend_from_slice(text.unwrap_or_default());
}

fn push_span(bytes: &mut Vec<u8>, span: Option<Span>) {
    bytes.push(u8::from(span.is_some()));
    if let Some(Span { low, high }) = span {
        bytes.extend_from_slice(&low.to_be_bytes());
        push_number(bytes, high.wrapping_sub(low) as u64);
    }
}

/// What is still to be read.
struct RemainingBytes<'a>(&'a [u8]);

impl<'a> RemainingBytes<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    fn time(&mut self) -> Option<i64> {
        self.take(8)?.try_into().ok().map(i64::from_be_bytes)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                return None;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A count of things that take at least one byte each, so that garbage cannot ask for memory.
    fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }

    fn text(&mut self) -> Option<Option<&'a [u8]>> {
        match usize::try_from(self.number()?).ok()?.checked_sub(1) {
            None => Some(None),
            Some(length) => self.take(length).map(Some),
        }
    }

    fn string(&mut self) -> Option<Option<Box<str>>> {
        match self.text()? {
            None => Some(None),
            Some(bytes) => std::str::from_utf8(bytes).ok().map(|text| Some(text.into())),
        }
    }

    fn span(&mut self) -> Option<Option<Span>> {
        match self.byte()? {
            0 => Some(None),
            1 => {
                let low = self.time()?;
                let high = low.wrapping_add(self.number()? as i64);
                Some(Some(Span { low, high }))
            }
            _ => None,
        }
    }

    fn codings(&mut self) -> Option<Vec<ClassCoding>> {
        let count = self.count()?;
        (0..count).map(|_| Some(ClassCoding { system: self.string()?, code: self.string()? })).collect()
    }

    fn terms(&mut self) -> Option<Vec<Term>> {
        let count = self.count()?;
        let terms: Vec<Term> = (0..count).map(|_| self.text()?.map(Term::from_bytes)).collect::<Option<_>>()?;
        terms.is_sorted_by(|a, b| a < b).then_some(terms)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::parameter::Field;
    use super::super::term::TermForm;
    use super::*;

    fn row() -> Row {
        Row {
            class: Arc::new(Class {
                state: State::Completed,
                profile: Profile::Driver,
                consent: Consent::default(),
                category: vec![],
                kind: vec![],
            }),
            last_updated: 0x0102,
            date: Some(Span { low: 0, high: 999 }),
            period: Some(Span { low: i64::MIN, high: i64::MAX }),
            title: None,
            terms: vec![Term::new(Field::Subject, TermForm::Code, "P/1")],
        }
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let mut bytes = vec![1, 2, 1, 0, 0, 0, 0, 0, 0, 1, 2];
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, 0xe7, 0x07]);
        bytes.extend([1, 0x80, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([0xff; 9]);
        bytes.extend([0x01, 0, 0, 0, 1, 6, 1, 1, b'P', b'/', b'1']);
        assert_eq!(encode(&row()), bytes);
        assert_eq!(decode(&bytes), Some(row()));
    }

    #[test]
    fn another_format_a_cut_and_a_tail_are_refused() {
        let bytes = encode(&row());
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), None, "cut at {end}");
        }
        assert_eq!(decode(&[&bytes[..], &[0]].concat()), None);
        assert_eq!(decode(&[&[2], &bytes[1..]].concat()), None);
        let deleted = [&bytes[..1], &[State::Deleted as u8], &bytes[2..]].concat();
        assert_eq!(decode(&deleted), None);
    }

    #[test]
    fn terms_out_of_order_are_refused_because_they_would_not_be_found() {
        let mut bytes = encode(&Row { terms: vec![], ..row() });
        bytes.pop();
        assert!(decode(&[&bytes[..], &[2, 2, 7, 2, 8]].concat()).is_some());
        assert_eq!(decode(&[&bytes[..], &[2, 2, 8, 2, 7]].concat()), None);
        assert_eq!(decode(&[&bytes[..], &[2, 2, 7, 2, 7]].concat()), None);
    }

    fn text() -> impl Strategy<Value = Option<Box<str>>> {
        proptest::option::of("\\PC{0,12}").prop_map(|text| text.map(Into::into))
    }

    fn codings() -> impl Strategy<Value = Vec<ClassCoding>> {
        let coding = (text(), text()).prop_map(|(system, code)| ClassCoding { system, code });
        proptest::collection::vec(coding, 0..3)
    }

    fn span() -> impl Strategy<Value = Option<Span>> {
        proptest::option::of((any::<i64>(), any::<i64>()).prop_map(|(low, high)| Span { low, high }))
    }

    prop_compose! {
        fn any_row()(
            state in proptest::sample::select(&State::ALL[..4]),
            profile in proptest::sample::select(&Profile::ALL[..]),
            (category, kind) in (codings(), codings()),
            last_updated in any::<i64>(),
            (date, period) in (span(), span()),
            title in text(),
            terms in proptest::collection::btree_set(proptest::collection::vec(any::<u8>(), 0..60), 0..8),
        ) -> Row {
            let terms = terms.iter().map(|bytes| Term::from_bytes(bytes)).collect();
            Row { class: Arc::new(Class { state, profile, consent: Consent::default(), category, kind }), last_updated, date, period, title, terms }
        }
    }

    proptest! {
        #[test]
        fn a_row_comes_back_as_it_was(row in any_row()) {
            prop_assert_eq!(decode(&encode(&row)), Some(row));
        }

        #[test]
        fn garbage_is_refused_or_read_but_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let framed = [&[1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &bytes[..]].concat();
            for bytes in [bytes, framed] {
                if let Some(row) = decode(&bytes) {
                    prop_assert_eq!(decode(&encode(&row)), Some(row));
                }
            }
        }
    }
}
