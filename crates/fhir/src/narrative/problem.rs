//! Why a narrative is not allowed, in words.

use std::fmt;

use roxmltree::TextPos;

use crate::limits::{XHTML_ATTRIBUTES_MAX, XHTML_NAMESPACES_MAX};

/// Characters of a name or value that a problem of a narrative repeats; the whole may be as long as a body.
const NARRATIVE_DETAIL_CHARACTERS_MAX: usize = 60;

/// One reason why a div is not allowed. Shown, it is the `<problem>` of issue HCERT-195: `the element <script> (1:43)`, the
/// numbers being line and column within the div, both from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NarrativeProblem {
    kind: ProblemKind,
    /// Names and values, never words, so that a text in another language needs another [`ProblemKind::words`] alone.
    detail: String,
    /// Where it begins, when that is known.
    pub(super) at: Option<TextPos>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProblemKind {
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

impl ProblemKind {
    /// The beginning of the text; the Estonian one stands with the other words of ours in `outcome::words`.
    #[rustfmt::skip]
    fn words(self) -> &'static str {
        match self {
            ProblemKind::Address        => "an address that begins with ",
            ProblemKind::Attribute      => "the attribute ",
            ProblemKind::AttributeTwice => "the same attribute twice: ",
            ProblemKind::Character      => "a character that XML forbids: ",
            ProblemKind::Comment        => "a comment that begins with > or ->",
            ProblemKind::Data           => "a CDATA section with the character >",
            ProblemKind::Doctype        => "a document type declaration",
            ProblemKind::Element        => "the element ",
            ProblemKind::Empty          => "neither text nor an image",
            ProblemKind::Image          => "an image that is not part of the resource as PNG, JPEG or GIF: ",
            ProblemKind::Instruction    => "a processing instruction: ",
            ProblemKind::Named          => "a named character in place of its number: ",
            ProblemKind::Namespace      => "an element of another namespace than XHTML: ",
            ProblemKind::Nesting        => "an element inside one that must not hold it: ",
            ProblemKind::NotWellFormed  => "XML that is not well-formed",
            ProblemKind::Order          => "elements that end in the wrong order: ",
            ProblemKind::Prefix         => "a prefix without a namespace: ",
            ProblemKind::Root           => "a root element that is not div in the namespace of XHTML: ",
            ProblemKind::Style          => "a style that loads or runs something: ",
            ProblemKind::Text           => "text directly inside an element that must not hold it: ",
            ProblemKind::TooMuch        => "more attributes of an element or more namespaces than allowed: ",
        }
    }
}

impl NarrativeProblem {
    /// Whether a browser that is given the div could run or load something because of it. What is only not as R5 wants it could be written
    /// before a rule came.
    pub fn may_run(&self) -> bool {
        use ProblemKind::{Empty, Named, Nesting, Text};
        !matches!(self.kind, Empty | Named | Nesting | Text)
    }

    /// `detail` is cut to what a message can hold, on one line.
    pub(super) fn new(kind: ProblemKind, detail: &str) -> NarrativeProblem {
        let mut characters = detail.chars().map(|character| if character.is_control() { ' ' } else { character });
        let mut detail: String = characters.by_ref().take(NARRATIVE_DETAIL_CHARACTERS_MAX).collect();
        if characters.next().is_some() {
            detail.push('…');
        }
        NarrativeProblem { kind, detail, at: None }
    }

    pub(super) fn too_much() -> NarrativeProblem {
        NarrativeProblem::new(ProblemKind::TooMuch, &format!("{XHTML_ATTRIBUTES_MAX}, {XHTML_NAMESPACES_MAX}"))
    }

    /// Whether another place has the same problem; a reader needs the first one only.
    pub(super) fn is_like(&self, other: &NarrativeProblem) -> bool {
        self.kind == other.kind && self.detail == other.detail
    }
}

impl From<roxmltree::Error> for NarrativeProblem {
    fn from(error: roxmltree::Error) -> NarrativeProblem {
        use roxmltree::Error::{
            DuplicatedAttribute, NoRootNode, NonXmlChar, UnclosedRootNode, UnexpectedCloseTag, UnexpectedDeclaration,
            UnexpectedEndOfStream, UnknownNamespace,
        };

        let at = match error {
            NoRootNode | UnclosedRootNode | UnexpectedEndOfStream => None,
            _ => Some(error.pos()),
        };
        let problem = match error {
            UnexpectedCloseTag(open, close, _) => {
                NarrativeProblem::new(ProblemKind::Order, &format!("<{open}> </{close}>"))
            }
            DuplicatedAttribute(name, _) => NarrativeProblem::new(ProblemKind::AttributeTwice, &name),
            UnknownNamespace(prefix, _) => NarrativeProblem::new(ProblemKind::Prefix, &prefix),
            NonXmlChar(character, _) => {
                NarrativeProblem::new(ProblemKind::Character, &format!("U+{:04X}", u32::from(character)))
            }
            UnexpectedDeclaration(_) => NarrativeProblem::new(ProblemKind::Instruction, "<?xml"),
            _ => NarrativeProblem::new(ProblemKind::NotWellFormed, ""),
        };
        NarrativeProblem { at, ..problem }
    }
}

impl fmt::Display for NarrativeProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}{}", self.kind.words(), self.detail)?;
        match self.at {
            Some(at) => write!(formatter, " ({}:{})", at.row, at.col),
            None => Ok(()),
        }
    }
}
