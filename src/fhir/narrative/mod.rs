//! Narratives: the XHTML in which a resource tells a reader what its fields hold.
//!
//! `text` reads what a div says and writes one out of plain text.

mod text;

pub use text::{collapsed, escape, is_bounded, plain_text, section_text};

/// The namespace a Narrative's div stands in.
pub const XHTML: &str = "http://www.w3.org/1999/xhtml";
