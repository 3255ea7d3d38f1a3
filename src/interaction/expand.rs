//! `$expand`: GET or POST /ValueSet/$expand and /ValueSet/{id}/$expand: the codes of a value set, with their names.
//!
//! Source: FHIR R5 `valueset-operation-expand.html`.

use uuid::Uuid;

use super::Answer;
use super::asked::{Asked, Kind, Known, missing, not_at_hand, once};
use super::conformance::{check_version, value_set};
use super::context::Context;
use super::service::Service;
use crate::fhir::date_time;
use crate::fhir::json::{self, Json, Object};
use crate::limits::EXPANSION_CODES_MAX;
use crate::outcome::{Hcert, Issue, Outcome};
use crate::terminology::{Coded, Terminology, ValueSet};

const KNOWN: &[Known] = &[
    once("url", Kind::Text),
    once("valueSetVersion", Kind::Text),
    once("filter", Kind::Text),
    once("offset", Kind::Number),
    once("count", Kind::Number),
    once("includeDesignations", Kind::Flag),
    once("displayLanguage", Kind::Text),
];

/// Marks an expansion that may lack codes, since a list of it is known only in part.
const UNCLOSED: &str = "http://hl7.org/fhir/StructureDefinition/valueset-unclosed";

impl Service {
    /// Answers the value set with its codes, at most [`EXPANSION_CODES_MAX`] of them; `total` counts all that were asked for.
    /// A large value set is expanded on a thread of its own.
    pub(super) async fn expand(&self, context: &Context, id: Option<&str>, body: &[u8]) -> Result<Answer, Outcome> {
        let asked = Asked::read(context, body, KNOWN)?;
        let terminology = self.terminology();
        let set = match (id, asked.text("url")) {
            (None, None) => return Err(missing("url")),
            (None, Some(url)) => terminology.value_set(url).ok_or_else(|| not_at_hand("ValueSet", url))?,
            (Some(id), url) => {
                let set = value_set(&terminology, id)?;
                match url.filter(|url| url.split('|').next() != Some(&set.about.url)) {
                    Some(other) => return Err(not_at_hand("ValueSet", other)),
                    None => set,
                }
            }
        };
        check_version(&set.about, asked.text("valueSetVersion"))?;
        let now = (self.clock)();
        let body = if terminology.size_of(set) <= EXPANSION_CODES_MAX {
            expanded(&terminology, set, &asked, now)?
        } else {
            let (terminology, url) = (terminology.clone(), set.about.url.clone());
            let work = move || match terminology.value_set(&url) {
                Some(set) => expanded(&terminology, set, &asked, now),
                None => Err(not_at_hand("ValueSet", &url)),
            };
            self.heavy(work).await??
        };
        Ok(Answer { status: 200, body, ..Answer::default() })
    }
}

/// The value set with its codes.
fn expanded(terminology: &Terminology, set: &ValueSet, asked: &Asked, now: i64) -> Result<Vec<u8>, Outcome> {
    let mut codes = terminology.expand(set).map_err(|system| {
        let issue = Issue::new(Hcert::NotExpandable).with("url", set.about.url.clone());
        issue.with("system", system.to_owned())
    })?;
    if let Some(filter) = asked.text("filter") {
        let filter = filter.to_lowercase();
        codes.retain(|coded| filter.split_whitespace().all(|word| coded.holds(word)));
    }
    let offset = asked.number("offset").unwrap_or(0);
    let count = asked.number("count").map_or(EXPANSION_CODES_MAX, |count| count.min(EXPANSION_CODES_MAX));
    let shown: Vec<Json> = codes.iter().skip(offset).take(count).map(|coded| contained(coded, asked)).collect();

    let mut expansion = Object::default();
    if terminology.is_open(set) {
        let unclosed = Json::object([("url", Json::string(UNCLOSED)), ("valueBoolean", Json::Bool(true))]);
        expansion.set("extension", Json::Array(vec![unclosed]));
    }
    expansion.set("identifier", Json::string(format!("urn:uuid:{}", Uuid::new_v4())));
    expansion.set("timestamp", Json::string(date_time::instant(now)));
    expansion.set("total", Json::Number(codes.len().to_string().into()));
    if asked.number("offset").is_some() || shown.len() < codes.len() {
        expansion.set("offset", Json::Number(offset.to_string().into()));
    }
    let parameters = told_parameters(asked, count, shown.len() < codes.len());
    if !parameters.is_empty() {
        expansion.set("parameter", Json::Array(parameters));
    }
    if !shown.is_empty() {
        expansion.set("contains", Json::Array(shown));
    }
    let Json::Object(mut resource) = json::parse_stored(&set.about.text) else {
        return Err(Outcome::internal("a value set is no object"));
    };
    resource.0.retain(|(name, _)| name != "compose" && name != "text");
    resource.set("expansion", Json::Object(expansion));
    Ok(Json::Object(resource).to_vec())
}

/// One `expansion.contains`.
fn contained<'t>(coded: &Coded<'t>, asked: &Asked) -> Json<'t> {
    let mut contained = Object::default();
    contained.set("system", Json::string(coded.system));
    contained.set("code", Json::string(coded.code()));
    if let Some(display) = coded.display(asked.text("displayLanguage")) {
        contained.set("display", Json::string(display));
    }
    let designations: Vec<Json> = match asked.flag("includeDesignations") {
        true => coded.designations().cloned().collect(),
        false => Vec::new(),
    };
    if !designations.is_empty() {
        contained.set("designation", Json::Array(designations));
    }
    Json::Object(contained)
}

/// What the expansion was made with, so that nobody takes a part for the whole.
fn told_parameters<'a>(asked: &'a Asked, count: usize, is_part: bool) -> Vec<Json<'a>> {
    let parameter = |name: &'static str, value_name: &'static str, value: Json<'a>| {
        Json::object([("name", Json::string(name)), (value_name, value)])
    };
    let texts = ["filter", "displayLanguage"]
        .into_iter()
        .filter_map(|name| asked.text(name).map(|text| parameter(name, "valueString", Json::string(text))));
    let mut told: Vec<Json> = texts.collect();
    if asked.number("count").is_some() || is_part {
        told.push(parameter("count", "valueInteger", Json::Number(count.to_string().into())));
    }
    told
}
