//! Texts of search values: the signs that separate, the escapes that keep them from it, and tokens.
//!
//! Source: FHIR R5 `search.html#escaping`, `search.html#token`; Contract 4.2.

use std::borrow::Cow;

use super::filter::TokenTest;
use super::parameter::Field;
use super::term::{Term, TermForm};

/// The parts of a text between separators that no `\` stands before. Escapes stay in; [`unescape`] takes them out.
pub fn split(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut escaped = false;
        let end = text.bytes().position(|byte| {
            let here = byte == separator && !escaped;
            escaped = byte == b'\\' && !escaped;
            here
        });
        rest = end.map(|end| &text[end + 1..]);
        Some(end.map_or(text, |end| &text[..end]))
    })
}

/// The text that was meant: `\,` `\$` `\|` `\\` without their backslash. A backslash before anything else is itself.
pub fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.next_if(|next| character == '\\' && matches!(next, ',' | '$' | '|' | '\\'));
        plain.push(next.unwrap_or(character));
    }
    Cow::Owned(plain)
}

/// The four ways to ask for a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchToken {
    /// `code`
    Code(String),
    /// `system|code`
    SystemCode(String, String),
    /// `|code`
    CodeWithoutSystem(String),
    /// `system|`
    System(String),
}

impl SearchToken {
    /// Reads one value; nothing when it says neither system nor code, or has more than two parts.
    pub fn parse(text: &str) -> Option<SearchToken> {
        let mut parts = split(text, b'|').map(|part| unescape(part).into_owned());
        let first = parts.next().unwrap_or_default();
        let token = match parts.next() {
            None => SearchToken::Code(first),
            Some(code) if first.is_empty() => SearchToken::CodeWithoutSystem(code),
            Some(code) if code.is_empty() => return parts.next().is_none().then_some(SearchToken::System(first)),
            Some(code) => SearchToken::SystemCode(first, code),
        };
        let blank = matches!(&token, SearchToken::Code(code) | SearchToken::CodeWithoutSystem(code) if code.is_empty());
        (!blank && parts.next().is_none()).then_some(token)
    }

    /// The code, where there is one.
    pub fn into_code(self) -> Option<String> {
        match self {
            SearchToken::Code(code) | SearchToken::SystemCode(_, code) | SearchToken::CodeWithoutSystem(code) => {
                Some(code)
            }
            SearchToken::System(_) => None,
        }
    }

    /// The term a row carries when it has the token.
    pub fn term(&self, field: Field) -> Term {
        match self {
            SearchToken::Code(code) => Term::new(field, TermForm::Code, code),
            SearchToken::SystemCode(system, code) => {
                Term::new(field, TermForm::SystemCode, &format!("{system}|{code}"))
            }
            SearchToken::CodeWithoutSystem(code) => Term::new(field, TermForm::CodeWithoutSystem, code),
            SearchToken::System(system) => Term::new(field, TermForm::System, system),
        }
    }

    /// The same as a condition on the fields with few values.
    pub fn test(self) -> TokenTest {
        match self {
            SearchToken::Code(code) => TokenTest::Code(code),
            SearchToken::SystemCode(system, code) => TokenTest::SystemCode(system, code),
            SearchToken::CodeWithoutSystem(code) => TokenTest::CodeWithoutSystem(code),
            SearchToken::System(system) => TokenTest::System(system),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escaped_separator_separates_nothing() {
        for (text, parts) in [
            ("a,b", &["a", "b"][..]),
            (r"a\,b", &[r"a\,b"]),
            (r"a\\,b", &[r"a\\", "b"]),
            (r"\\\,", &[r"\\\,"]),
            ("", &[""]),
            (",", &["", ""]),
            ("õ,ä", &["õ", "ä"]),
        ] {
            assert_eq!(split(text, b',').collect::<Vec<_>>(), parts, "{text}");
        }
    }

    #[test]
    fn only_the_four_escapes_lose_their_backslash() {
        for (text, plain) in
            [(r"a\,b\$c\|d\\e", r"a,b$c|d\e"), (r"\n", r"\n"), (r"\", r"\"), (r"\\\", r"\\"), ("õ", "õ")]
        {
            assert_eq!(unescape(text), plain, "{text}");
        }
    }

    #[test]
    fn a_token_has_four_forms_and_no_fifth() {
        let system = || "http://s".to_owned();
        assert_eq!(SearchToken::parse("final"), Some(SearchToken::Code("final".into())));
        assert_eq!(SearchToken::parse("http://s|final"), Some(SearchToken::SystemCode(system(), "final".into())));
        assert_eq!(SearchToken::parse("|final"), Some(SearchToken::CodeWithoutSystem("final".into())));
        assert_eq!(SearchToken::parse("http://s|"), Some(SearchToken::System(system())));
        assert_eq!(SearchToken::parse(r"a\|b|c\,d"), Some(SearchToken::SystemCode("a|b".into(), "c,d".into())));
        for text in ["", "|", "a|b|c", "a||", "||a"] {
            assert_eq!(SearchToken::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_token_asks_for_the_terms_a_row_carries() {
        let with = Term::token(Field::Identifier, Some("s"), Some("c"));
        let without = Term::token(Field::Identifier, None, Some("c"));
        for (text, in_with, in_without) in
            [("c", true, true), ("s|c", true, false), ("|c", false, true), ("s|", true, false), ("d", false, false)]
        {
            let term = SearchToken::parse(text).unwrap().term(Field::Identifier);
            assert_eq!((with.contains(&term), without.contains(&term)), (in_with, in_without), "{text}");
        }
    }
}
