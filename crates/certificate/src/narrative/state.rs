//! The state of a certificate that is not valid, with its reason, at the top of a narrative. Contract 8.5.

use std::borrow::Cow;

use super::fields::NarrativeFields;
use super::on_top::{OPENING, on_top};
use super::{is_generated, is_generated_without_digest, set};
use crate::{DisplayTerms, Names};
use fhir::json::{Json, Object};
use fhir::narrative::{begin_with, problems, without_styles};

/// As [`OPENING`], in a narrative whose own elements have a prefix.
const OPENING_OF_PREFIXED: &str =
    r#"<div xmlns="http://www.w3.org/1999/xhtml" class="hcert-state" lang="et" xml:lang="et">"#;

/// How it ends.
const END: &str = "</div>";

/// Tags that such a part has inside.
const TAGS: &[&str] = &["<p>", "<b>", "</b>", "</p>"];

/// `text.status` of a narrative with words of the client and of the service. Of R5's codes only this one allows content
/// that cannot be computed from the resource. Decision 145.
const ADDITIONAL: &str = "additional";

/// Puts the state and its reason at the top of the narrative, after an operation that changed them. A narrative is
/// generated anew when the service generated it and when it is missing, has the status `empty` or is not allowed; any
/// other is kept below them, without its styles: what hides or covers the state would let a revoked certificate read as valid.
pub fn set_state(composition: &mut Object, names: &Names, terms: &dyn DisplayTerms) {
    let kept = composition.get("text").filter(|text| text.text("status") != Some("empty"));
    let kept = kept.and_then(|text| text.text("div"));
    let kept = kept.filter(|div| !is_generated(div) && !is_generated_without_digest(div));
    let rest = kept.map(|div| without_state(div).unwrap_or_else(|| div.to_owned()));
    let div = rest.filter(|rest| problems(rest).is_empty()).and_then(|rest| {
        let certificate = NarrativeFields::new(composition, names, terms);
        begin_with(&without_styles(&rest), &on_top(&certificate)?)
    });
    for name in ["contained", "section"] {
        composition.get_mut(name).into_iter().for_each(strip_styles);
    }
    match (div, composition.get_mut("text")) {
        (Some(div), Some(Json::Object(text))) => {
            text.set("status", Json::string(ADDITIONAL));
            text.set("div", Json::string(div));
        }
        _ => set(composition, names, terms),
    }
}

/// Takes the styles out of every narrative below: one of a section could cover the state as well.
fn strip_styles(below: &mut Json) {
    match below {
        Json::Array(items) => items.iter_mut().for_each(strip_styles),
        Json::Object(object) => {
            for (name, value) in &mut object.0 {
                match value {
                    Json::String(div) if name == "div" => {
                        if let Cow::Owned(plain) = without_styles(div) {
                            *div = plain.into();
                        }
                    }
                    value => strip_styles(value),
                }
            }
        }
        _ => {}
    }
}

/// A div without the states that operations wrote into it, also one inside another; nothing when it has none.
pub fn without_state(div: &str) -> Option<String> {
    let mut rest = String::with_capacity(div.len());
    for piece in div.split_inclusive('>') {
        rest.push_str(piece);
        // What is looked at here is looked at once: it is taken out, or this end stops the next look.
        if let Some(start) = rest.strip_suffix(END).and_then(start_of_state) {
            rest.truncate(start);
        }
    }
    (rest.len() < div.len()).then_some(rest)
}

/// Where the state begins that a text without its end ends with.
fn start_of_state(mut text: &str) -> Option<usize> {
    loop {
        let start = text.rfind('<')?;
        let begins_with = |tag: &&str| text[start..].starts_with(*tag);
        if [OPENING, OPENING_OF_PREFIXED].iter().any(begins_with) {
            return Some(start);
        }
        TAGS.iter().find(|tag| begins_with(tag))?;
        text = &text[..start];
    }
}
