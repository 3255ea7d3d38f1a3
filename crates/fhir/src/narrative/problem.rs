//! Why a narrative is not allowed, in words.

use std::fmt;

use roxmltree::TextPos;

use crate::limits::{XHTML_ATTRIBUTES_MAX, XHTML_NAMESPACES_MAX};

/// Characters of a name or value that a problem of a narrative repeats; the whole may be as long as a body.
const NARRATIVE_DETAIL_CHARACTERS_MAX: usize = 60;

/// One reason why a div is not allowed. Shown, it is the `<problem>` of issue HCERT-195: `the element <script> (1:43)`, the
/// numbers being line and column within the div, both from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    kind: Kind,
    /// Names and values, never words, so that a text in another language needs another [`Kind::words`] alone.
    detail: String,
    /// Where it begins, when that is known.
    pub(super) at: Option<TextPos>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Address,
    Attribute,
    AttributeTwice,
    Character,
    Comment,
    Data,
    Doctype,
    Element,
    Empty,
    Image,
    Instruction,
    Named,
    Namespace,
    Nesting,
    NotWellFormed,
    Order,
    Prefix,
    Root,
    Style,
    Text,
    TooMuch,
}

impl Kind {
    /// The beginning of the text; the Estonian one stands with the other words of ours in `outcome::words`.
    #[rustfmt::skip]
    fn words(self) -> &'static str {
        match self {
            Kind::Address        => "an address that begins with ",
            Kind::Attribute      => "the attribute ",
            Kind::AttributeTwice => "the same attribute twice: ",
            Kind::Character      => "a character that XML forbids: ",
            Kind::Comment        => "a comment that begins with > or ->",
            Kind::Data           => "a CDATA section with the character >",
            Kind::Doctype        => "a document type declaration",
            Kind::Element        => "the element ",
            Kind::Empty          => "neither text nor an image",
            Kind::Image          => "an image that is not part of the resource as PNG, JPEG or GIF: ",
            Kind::Instruction    => "a processing instruction: ",
            Kind::Named          => "a named character in place of its number: ",
            Kind::Namespace      => "an element of another namespace than XHTML: ",
            Kind::Nesting        => "an element inside one that must not hold it: ",
            Kind::NotWellFormed  => "XML that is not well-formed",
            Kind::Order          => "elements that end in the wrong order: ",
            Kind::Prefix         => "a prefix without a namespace: ",
            Kind::Root           => "a root element that is not div in the namespace of XHTML: ",
            Kind::Style          => "a style that loads or runs something: ",
            Kind::Text           => "text directly inside an element that must not hold it: ",
            Kind::TooMuch        => "more attributes of an element or more namespaces than allowed: ",
        }
    }
}

impl Problem {
    /// `detail` is cut to what a message can hold, on one line.
    pub(super) fn new(kind: Kind, detail: &str) -> Problem {
        let mut characters = detail.chars().map(|character| if character.is_control() { ' ' } else { character });
        let mut detail: String = characters.by_ref().take(NARRATIVE_DETAIL_CHARACTERS_MAX).collect();
        if characters.next().is_some() {
            detail.push('…');
        }
        Problem { kind, detail, at: None }
    }

    pub(super) fn too_much() -> Problem {
        Problem::new(Kind::TooMuch, &format!("{XHTML_ATTRIBUTES_MAX}, {XHTML_NAMESPACES_MAX}"))
    }

    /// Whether another place has the same problem; a reader needs the first one only.
    pub(super) fn is_like(&self, other: &Problem) -> bool {
        self.kind == other.kind && self.detail == other.detail
    }
}

impl From<roxmltree::Error> for Problem {
    fn from(error: roxmltree::Error) -> Problem {
        use roxmltree::Error::{
            DuplicatedAttribute, NoRootNode, NonXmlChar, UnclosedRootNode, UnexpectedCloseTag, UnexpectedDeclaration,
            UnexpectedEndOfStream, UnknownNamespace,
        };

        let at = match error {
            NoRootNode | UnclosedRootNode | UnexpectedEndOfStream => None,
            _ => Some(error.pos()),
        };
        let problem = match error {
            UnexpectedCloseTag(open, close, _) => Problem::new(Kind::Order, &format!("<{open}> </{close}>")),
            DuplicatedAttribute(name, _) => Problem::new(Kind::AttributeTwice, &name),
            UnknownNamespace(prefix, _) => Problem::new(Kind::Prefix, &prefix),
            NonXmlChar(character, _) => Problem::new(Kind::Character, &format!("U+{:04X}", u32::from(character))),
            UnexpectedDeclaration(_) => Problem::new(Kind::Instruction, "<?xml"),
            _ => Problem::new(Kind::NotWellFormed, ""),
        };
        Problem { at, ..problem }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}{}", self.kind.words(), self.detail)?;
        match self.at {
            Some(at) => write!(formatter, " ({}:{})", at.row, at.col),
            None => Ok(()),
        }
    }
}
