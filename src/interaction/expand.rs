//! `$expand`: GET or POST /ValueSet/$expand and /ValueSet/{id}/$expand: the codes of a value set, with their names.
//!
//! Source: FHIR R5 `valueset-operation-expand.html`.

use uuid::Uuid;

use super::Answer;
use super::conformance::{check_version, value_set};
use super::context::RequestContext;
use super::operation_parameters::{EXPAND, OperationParameters, missing, not_at_hand};
use super::service::Service;
use certificate::terminology::{Coded, Terminology, ValueSet};
use fhir::date_time;
use fhir::json::{self, Json, Object};
use fhir::outcome::limits::BODY_ISSUES_MAX;
use fhir::outcome::{Hcert, Issue, Outcome};

/// Codes of one expansion. More are asked for piece by piece; a list to choose from is shorter.
const EXPANSION_CODES_MAX: usize = 1_000;

/// `include`, `exclude` and `valueSet` of a value set that a request brings. Every code that it names is looked for in each of them.
const EXPANSION_PARTS_MAX: usize = 100;

/// Codes that the expansion of a value set in a request looks at: the largest list here has some 10 000.
const EXPANSION_CANDIDATES_MAX: usize = 20_000;

/// Marks an expansion that may lack codes, since a list of it is known only in part.
const UNCLOSED: &str = "http://hl7.org/fhir/StructureDefinition/valueset-unclosed";

impl Service {
    /// Answers the value set with its codes, at most [`EXPANSION_CODES_MAX`] of them; `total` counts all that were asked for.
    /// A large value set is expanded on a thread of its own.
    pub(super) async fn expand(
        &self,
        context: &RequestContext,
        id: Option<&str>,
        body: &[u8],
    ) -> Result<Answer, Outcome> {
        let mut asked = OperationParameters::read(context, body, EXPAND)?;
        let terminology = self.terminology();
        let supplied = asked.take_resource("valueSet");
        let requested = match (id, asked.text("url"), supplied) {
            (None, None, None) => return Err(missing("url or valueSet")),
            (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
                let issue = Issue::new(Hcert::OperationParameterWrong).with("name", "valueSet").with("value", "");
                return Err(issue.with("expected", "no other way to name the value set").into());
            }
            (None, None, Some(resource)) => {
                RequestedValueSet::Supplied(Box::new(supplied_set(&terminology, resource)?))
            }
            (None, Some(url), None) => RequestedValueSet::AtHand(url.to_owned()),
            (Some(id), url, None) => {
                let own = &value_set(&terminology, id)?.about.url;
                match url.filter(|url| url.split('|').next() != Some(own)) {
                    Some(other) => return Err(not_at_hand("ValueSet", other)),
                    None => RequestedValueSet::AtHand(own.clone()),
                }
            }
        };
        let set = requested.set(&terminology)?;
        check_version(&set.about, asked.text("valueSetVersion"))?;
        let (now, is_small) = ((self.clock)(), terminology.size_of(set) <= EXPANSION_CODES_MAX);
        let work = move || expanded(&terminology, requested.set(&terminology)?, &asked, now);
        let body = if is_small { work()? } else { self.heavy(context.turn_client(), work).await?? };
        Ok(Answer { status: 200, body, ..Answer::default() })
    }
}

/// The value set that a request asks to expand.
enum RequestedValueSet {
    /// By its address.
    AtHand(String),
    Supplied(Box<ValueSet>),
}

impl RequestedValueSet {
    fn set<'s>(&'s self, terminology: &'s Terminology) -> Result<&'s ValueSet, Outcome> {
        match self {
            RequestedValueSet::AtHand(url) => terminology.value_set(url).ok_or_else(|| not_at_hand("ValueSet", url)),
            RequestedValueSet::Supplied(set) => Ok(set),
        }
    }
}

/// A value set of the request, within the bounds of what is expanded for one.
fn supplied_set(terminology: &Terminology, resource: Json<'static>) -> Result<ValueSet, Outcome> {
    let set = terminology.supplied(resource).map_err(|problems| {
        let unusable = |problem| Issue::new(Hcert::ValueSetUnusable).with("problem", problem);
        Outcome::from(problems.into_iter().take(BODY_ISSUES_MAX).map(unusable).collect::<Vec<Issue>>())
    })?;
    let sizes = [
        ("includes, excludes and imports", set.parts_count(), EXPANSION_PARTS_MAX),
        ("codes to check", terminology.size_of(&set), EXPANSION_CANDIDATES_MAX),
    ];
    match sizes.into_iter().find(|(_, count, max)| count > max) {
        Some((what, count, max)) => {
            let issue = Issue::new(Hcert::ValueSetTooLarge).with("what", format!("{count} {what}"));
            Err(issue.with("max", max.to_string()).into())
        }
        None => Ok(set),
    }
}

/// The value set with its codes.
fn expanded(
    terminology: &Terminology,
    set: &ValueSet,
    asked: &OperationParameters,
    now: i64,
) -> Result<Vec<u8>, Outcome> {
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
fn contained<'t>(coded: &Coded<'t>, asked: &OperationParameters) -> Json<'t> {
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
fn told_parameters<'a>(asked: &'a OperationParameters, count: usize, is_part: bool) -> Vec<Json<'a>> {
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
