//! Terms: what is found by equality, as short byte strings that the overlay, the index and the stored row share.

use super::parameter::Field;
use aws_lc_rs::digest;

/// How a value is written in a term. A token stands in a row once in each form that can ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TermForm {
    /// A reference (`Patient/200`), or the code of a token whatever its system.
    Code = 1,
    /// `system|code`.
    SystemCode = 2,
    /// `|code`: a code without a system.
    CodeWithoutSystem = 3,
    /// `system|`: any code of the system.
    System = 4,
    /// Something is there at all; the value is empty. For `:missing`.
    Present = 5,
}

/// Field, form and value in one byte string. Values of more than 48 bytes are held as the first 16 bytes of their SHA-256,
/// so that a term is short and nobody can make two values meet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(Box<[u8]>);

const VERBATIM_BYTES_MAX: usize = 48;
const HASHED: u8 = 0x80;

impl Term {
    /// The term of one field, form and value.
    pub fn new(field: Field, form: TermForm, value: &str) -> Term {
        Term::of_parts(field, form, [value])
    }

    /// A value that is put together from parts.
    pub fn of_parts<'p>(field: Field, form: TermForm, parts: impl IntoIterator<Item = &'p str> + Clone) -> Term {
        let length: usize = parts.clone().into_iter().map(str::len).sum();
        let mut bytes = Vec::with_capacity(2 + length);
        bytes.extend_from_slice(&[field as u8, form as u8]);
        parts.into_iter().for_each(|part| bytes.extend_from_slice(part.as_bytes()));
        if length <= VERBATIM_BYTES_MAX {
            return Term(bytes.into());
        }
        let mut hashed = [field as u8, form as u8 | HASHED, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        hashed[2..].copy_from_slice(&digest::digest(&digest::SHA256, &bytes[2..]).as_ref()[..16]);
        Term(hashed.as_slice().into())
    }

    /// Whether it names one thing by a reference or an identifier in one of these fields.
    pub fn names_one(&self, fields: &[Field]) -> bool {
        let is_whole = |form: u8| ![TermForm::System as u8, TermForm::Present as u8].contains(&(form & !HASHED));
        matches!(*self.0, [field, form, ..] if is_whole(form) && fields.iter().any(|known| *known as u8 == field))
    }

    /// `system|code` and the other ways to ask for one token.
    pub fn token(field: Field, system: Option<&str>, code: Option<&str>) -> Vec<Term> {
        let exact = |code| match system {
            Some(system) => Term::of_parts(field, TermForm::SystemCode, [system, "|", code]),
            None => Term::new(field, TermForm::CodeWithoutSystem, code),
        };
        let present = Some(Term::new(field, TermForm::Present, ""));
        let of_code = code.map(|code| Term::new(field, TermForm::Code, code));
        let of_system = system.map(|system| Term::new(field, TermForm::System, system));
        [present, of_code, code.map(exact), of_system].into_iter().flatten().collect()
    }

    /// As stored: what [`bytes`](Self::bytes) gave.
    pub fn from_bytes(bytes: &[u8]) -> Term {
        Term(bytes.into())
    }

    /// The bytes as they are stored: field, form, then the value or its digest.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether the term says something about the field.
    pub fn is_about(&self, field: Field) -> bool {
        self.0.first() == Some(&(field as u8))
    }

    /// The field that the term says something about.
    pub fn field(&self) -> Option<Field> {
        Field::ALL.into_iter().find(|field| self.is_about(*field))
    }

    /// The value of a term about this field in this form; nothing when it is about another, or its value is kept as a digest.
    pub fn verbatim(&self, field: Field, form: TermForm) -> Option<&str> {
        let value = self.0.strip_prefix(&[field as u8, form as u8])?;
        std::str::from_utf8(value).ok()
    }

    /// The term that marks this one as standing in the advice to the employee only; nothing for what never stands there.
    pub fn hidden(&self) -> Option<Term> {
        let marks = [
            (Field::Entry, Field::AdviceEntry),
            (Field::EntryIdentifier, Field::AdviceEntryIdentifier),
            (Field::SectionCodeText, Field::AdviceSectionCodeText),
        ];
        let (_, mark) = marks.into_iter().find(|(field, _)| self.is_about(*field))?;
        let mut bytes = self.0.clone();
        bytes[0] = mark as u8;
        Some(Term(bytes))
    }

    /// Whether the value is written in this form.
    pub fn is_form(&self, form: TermForm) -> bool {
        self.0.get(1).is_some_and(|byte| byte & !HASHED == form as u8)
    }

    /// Whether few certificates carry the term: it names a value, not a system or mere presence.
    pub fn is_selective(&self) -> bool {
        !self.is_form(TermForm::Present) && !self.is_form(TermForm::System)
    }
}
