//! What is true of one version, read out of its JSON with nothing of the service.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::order::title_key;
use crate::times::{Span, span};

pub(crate) const BASE_URL: &str = "http://127.0.0.1:8080/fhir";

pub(crate) type Token = (Option<String>, Option<String>);

/// One version of a certificate as a search sees it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub id: u64,
    pub version: u32,
    pub updated: i64,
    pub status: String,
    pub category: Vec<Token>,
    pub kind: Vec<Token>,
    pub date: Option<Span>,
    /// Beginning and end of the validity.
    pub period: Option<Span>,
    pub title: Option<String>,
    /// Its place in the alphabet.
    pub title_key: Option<Vec<(u8, u32)>>,
    pub identifier: Option<Token>,
    pub subject: Option<Reference>,
    pub practitioner: Option<Reference>,
    pub organization: Option<Reference>,
    pub entries: Vec<Reference>,
    /// Codes of a section and its text.
    pub sections: Vec<(Vec<Token>, String)>,
    /// Elements with a code alone, such as `language`, for parameters that are named after them.
    pub codes: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Reference {
    /// Without version, without our own address; none for what is contained.
    pub to: Option<String>,
    pub identifier: Option<Token>,
}

impl Known {
    pub(crate) fn read(resource: &[u8]) -> Known {
        let json: Value = serde_json::from_slice(resource).expect("the service stores JSON");
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let author = json["author"][0]["reference"].as_str().and_then(|reference| reference.strip_prefix('#'));
        let role = items(&json["contained"]).iter().find(|contained| {
            author.is_some() && contained["id"].as_str() == author && contained["resourceType"] == "PractitionerRole"
        });
        let role = |name: &str| role.and_then(|role| reference(&role[name]));
        let mut known = Known {
            id: json["id"].as_str().unwrap().parse().unwrap(),
            version: json["meta"]["versionId"].as_str().unwrap().parse().unwrap(),
            updated: span(json["meta"]["lastUpdated"].as_str().unwrap()).low,
            status: text(&json["status"]).unwrap(),
            category: codings(&json["category"][0]),
            kind: codings(&json["type"]),
            date: json["date"].as_str().map(span),
            period: period(&json["event"][0]["period"]),
            title: text(&json["title"]),
            title_key: json["title"].as_str().map(title_key),
            identifier: json["identifier"].get(0).map(token),
            subject: reference(&json["subject"][0]),
            practitioner: role("practitioner"),
            organization: role("organization"),
            entries: Vec::new(),
            sections: Vec::new(),
            codes: BTreeMap::new(),
        };
        let elements = json.as_object().into_iter().flatten();
        known.codes.extend(elements.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))));
        known.read_sections(&json);
        known
    }

    fn read_sections(&mut self, parent: &Value) {
        for section in items(&parent["section"]) {
            self.entries.extend(items(&section["entry"]).iter().filter_map(reference));
            if let Some(div) = section["text"]["div"].as_str() {
                self.sections.push((codings(&section["code"]), visible(div)));
            }
            self.read_sections(section);
        }
    }

    pub(crate) fn hit(&self) -> (u64, u32) {
        (self.id, self.version)
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn token(identifier: &Value) -> Token {
    let part = |name: &str| identifier[name].as_str().map(str::to_owned);
    (part("system"), part("value"))
}

fn codings(concept: &Value) -> Vec<Token> {
    let part = |coding: &Value, name: &str| coding[name].as_str().map(str::to_owned);
    let all = items(&concept["coding"]).iter().map(|coding| (part(coding, "system"), part(coding, "code")));
    all.filter(|(system, code)| system.is_some() || code.is_some()).collect()
}

fn reference(value: &Value) -> Option<Reference> {
    value.as_object()?;
    let to = value["reference"].as_str().filter(|to| !to.starts_with('#')).map(|to| {
        let to = to.strip_prefix(&format!("{BASE_URL}/")).unwrap_or(to);
        to.split("/_history/").next().unwrap().to_owned()
    });
    Some(Reference { to, identifier: value.get("identifier").map(token) })
}

fn period(value: &Value) -> Option<Span> {
    let (start, end) = (value["start"].as_str().map(span), value["end"].as_str().map(span));
    if start.is_none() && end.is_none() {
        return None;
    }
    let whole = Span { low: start.map_or(i64::MIN, |start| start.low), high: end.map_or(i64::MAX, |end| end.high) };
    (whole.low <= whole.high).then_some(whole)
}

/// The text of a div: inline markup is nothing, any other breaks the text.
fn visible(div: &str) -> String {
    let mut text = String::new();
    for (at, piece) in div.split('<').enumerate() {
        let (tag, behind) = piece.split_once('>').filter(|_| at > 0).unwrap_or(("b", piece));
        let name = tag.trim_matches('/').split([' ', '/']).next().unwrap();
        if !["b", "i", "span", "em"].contains(&name) {
            text.push(' ');
        }
        text.push_str(behind);
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&#x24;", "$").replace("&amp;", "&");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
