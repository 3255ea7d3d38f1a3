//! Narratives: the XHTML in which a resource tells a reader what its fields hold.
//!
//! `text` reads what a div says and writes one out of plain text; `allowed` judges its markup by the tables of `elements` and the
//! rules of `address`, and reports each `problem`; `link` finds links without a target.

mod address;
mod allowed;
mod elements;
mod link;
mod problem;
#[cfg(test)]
mod tests;
mod text;

pub use allowed::problems;
pub use link::{dead_links, ids};
pub use problem::NarrativeProblem;
pub use text::{begin_with, collapsed, escape, is_blank, is_bounded, plain_text, section_text, without_styles};

/// The namespace a Narrative's div stands in.
pub const XHTML: &str = "http://www.w3.org/1999/xhtml";
