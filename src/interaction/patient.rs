//! `/Patient`: what the registry says about patients, forwarded as it is. Specification 5; Contract 6.2.

use std::borrow::Cow;

use super::audit_record::patients;
use super::context::{RequestContext, Subset};
use super::page::outcome_address;
use super::read::reduced;
use super::search_type::{AUDIT_COUNTED_MAX, counts_few_unseen};
use super::service::Service;
use super::subject::no_answer;
use super::{Answer, BrokenAnswer, ShownVersions};
use crate::registry::embedded::KNOWN;
use crate::registry::{LookupFailure, Misbehaviour, RegistryAnswer, RegistryFinding, RegistryRequest};
use certificate::Version;
use certificate::search::issue;
use certificate::search::parameter::{self, PARAMETERS, SHAPING};
use certificate::search::request::{UnknownParameter, base, holds_personal_code};
use fhir::json::{self, Json};
use fhir::outcome::limits::BODY_ISSUES_MAX;
use fhir::outcome::{Hcert, Issue, Outcome};
use fhir::subset;

impl Service {
    /// Asks the registry in the caller's name. Its refusals keep its own status here, since here it is what is asked.
    pub(super) async fn patient(&self, context: &RequestContext, ask: RegistryRequest) -> Result<Answer, Outcome> {
        let mut search = None;
        let ask = match ask {
            RegistryRequest::Search(_) => {
                let read = self.patient_search(context)?;
                let parameters = read.parameters.clone();
                search = Some(read);
                RegistryRequest::Search(parameters)
            }
            RegistryRequest::History(id, _) => RegistryRequest::History(id, context.parameters.clone()),
            single => single,
        };
        // Ids of R5 that mean another place in an address.
        if let Some(id @ ("." | "..")) = ask.id() {
            return Err(nobody(id));
        }
        let caller = context.caller_of_patients();
        let told = match self.registry.answer(&ask, &caller).await {
            Ok(RegistryAnswer::Found(told)) => told,
            Ok(RegistryAnswer::Misbehaves(Misbehaviour::HangUp)) => {
                return Ok(Answer { status: 200, broken: Some(BrokenAnswer::HangUp), ..Answer::default() });
            }
            Ok(RegistryAnswer::Misbehaves(Misbehaviour::Garbage)) => {
                return Ok(Answer { status: 200, broken: Some(BrokenAnswer::Garbage), ..Answer::default() });
            }
            // A registry may say no more than that nothing is there, which is no answer to a search. Decision 130.
            Err(failed) if is_bare_not_found(&failed) => {
                return Err(ask.id().map_or_else(|| no_answer(LookupFailure::NotFound), nobody));
            }
            Err(failed) => return Err(no_answer(failed)),
        };
        let RegistryFinding { body, version, last_modified } = told;
        let number = version.as_deref().and_then(Version::parse);
        let version = number.zip(last_modified);
        let is_single = matches!(ask, RegistryRequest::Read(_) | RegistryRequest::Vread(..));
        if let Some((version, modified)) = version
            && is_single
            && context.has(version, modified)
        {
            return Ok(Answer { status: 304, version: Some((version, modified)), ..Answer::default() });
        }
        if is_single && context.subset == Subset::Count {
            let issue = Issue::new(Hcert::SearchValueWrong).with("name", "_summary").with("value", "count");
            return Err(issue.with("expected", "true, text, data or false on a read").at("http._summary").into());
        }
        let body = if is_single { reduced(body, &context.subset) } else { reduced_entries(body, &context.subset) };
        if let Some(search) = &search {
            Box::pin(self.meet_counted(context, &search.parameters, &body)).await;
        }
        let body = match search {
            Some(search) => self.finished(context, &search, body)?,
            None => body,
        };
        Ok(Answer { status: 200, body, version, shown: ShownVersions::Patients, ..Answer::default() })
    }

    /// Where a search does not show all of the few patients that it counts, they go into the event of the request, as certificates do. A registry
    /// that does not answer again names nobody.
    async fn meet_counted(&self, context: &RequestContext, parameters: &[(String, String)], body: &[u8]) {
        let Some(met) = &context.met else { return };
        let told = json::parse_stored(body);
        let has_id = |entry: &Json| entry.get("resource").is_some_and(|it| it.text("id").is_some());
        let shown = told.items("entry").iter().filter(|entry| has_id(entry)).count();
        let Some(Json::Number(total)) = told.get("total") else { return };
        let Ok(counted) = total.parse::<usize>() else { return };
        if !counts_few_unseen(shown, counted as u64) {
            return;
        }
        let is_filter = |name: &str| !["_count", "_page", "_sort"].contains(&name) && !SHAPING.contains(&name);
        let filters: Vec<_> = parameters.iter().filter(|(name, _)| is_filter(base(name))).cloned().collect();
        let mut named = Vec::new();
        for page in 1..=counted {
            let shaping = [("_count", AUDIT_COUNTED_MAX.to_string()), ("_page", page.to_string())];
            let shaping = shaping.map(|(name, value)| (name.to_owned(), value));
            let ask = RegistryRequest::Search(filters.iter().cloned().chain(shaping).collect());
            let Ok(RegistryAnswer::Found(told)) = self.registry.answer(&ask, &context.caller_of_patients()).await
            else {
                break;
            };
            let found = patients(&told.body);
            let is_last = found.is_empty();
            named.extend(found);
            if is_last || named.len() >= counted {
                break;
            }
        }
        met.add(|keys| named.iter().for_each(|id| keys.patient(id)));
    }

    /// Reads the parameters that all searches have in common; the registry reads the filters. Contract 4.2, 4.9.
    ///
    /// # Errors
    /// A `_query` that does not open, or more than one; a filter of R5 that no type here has.
    fn patient_search(&self, context: &RequestContext) -> Result<PatientSearch, Outcome> {
        let settings = self.search_settings(context);
        let mut search = PatientSearch::default();
        let mut unknown = Vec::new();
        for (name, value) in &context.parameters {
            if name == "_query" {
                if search.token.replace(value.clone()).is_some() {
                    return Err(issue::repeated(name).into());
                }
                search.parameters.extend(settings.opened(value)?);
                continue;
            }
            let known = self.registry.search_parameters();
            let base = base(name);
            let is_known = known.map_or(may_be_known(base), |known| known.contains(&base));
            let ignored = &mut search.ignored;
            match UnknownParameter::of(name, context.prefer.lenient) {
                _ if is_known || SHAPING.contains(&base) => search.take(name, value),
                UnknownParameter::Dropped => {}
                UnknownParameter::Ignored if ignored.len() >= BODY_ISSUES_MAX || ignored.contains(name) => {}
                UnknownParameter::Ignored => ignored.push(name.clone()),
                UnknownParameter::Refused if is_unoffered_filter(base) => {
                    let known = known.unwrap_or(KNOWN).iter().chain(SHAPING).copied();
                    unknown.push(issue::unknown(name, known.collect::<Vec<_>>().join(", ")));
                }
                // The registry refuses it in its own words.
                UnknownParameter::Refused => search.take(name, value),
            }
        }
        unknown.truncate(BODY_ISSUES_MAX);
        if unknown.is_empty() { Ok(search) } else { Err(unknown.into()) }
    }

    /// The registry's Bundle, with a warning for each parameter that was dropped. After a search by form, or by a link
    /// of one, its links contain no personal code.
    fn finished(&self, context: &RequestContext, search: &PatientSearch, body: Vec<u8>) -> Result<Vec<u8>, Outcome> {
        let is_hidden = context.by_form || search.token.is_some();
        if !is_hidden && search.ignored.is_empty() {
            return Ok(body);
        }
        let token = match &search.token {
            Some(token) if !context.by_form && !search.has_personal => token.clone(),
            _ => {
                let personal = search.parameters.iter().filter(|(name, value)| is_personal(name, value));
                let personal: Vec<(&str, &str)> = personal.map(|(name, value)| (&**name, &**value)).collect();
                self.search_settings(context).sealed("Patient", personal)?
            }
        };
        let warnings = search.ignored.iter().map(|name| issue::ignored(name)).collect();
        let warning = (!search.ignored.is_empty()).then(|| self.warning(context, warnings));
        let mut bundle = json::parse_stored(&body);
        let Json::Object(object) = &mut bundle else { return Err(Outcome::internal("a Bundle is an object")) };
        if let Some(Json::Array(links)) = object.get_mut("link").filter(|_| is_hidden) {
            for link in links {
                if let Json::Object(link) = link
                    && let Some(Json::String(url)) = link.get_mut("url")
                {
                    *url = Cow::Owned(without_persons(url, &token));
                }
            }
        }
        if let Some(warning) = &warning {
            let entry = Json::object([
                ("fullUrl", Json::string(outcome_address())),
                ("resource", json::parse_stored(warning)),
                ("search", Json::object([("mode", Json::string("outcome"))])),
            ]);
            match object.get_mut("entry") {
                Some(Json::Array(entries)) => entries.push(entry),
                _ => object.set("entry", Json::Array(vec![entry])),
            }
        }
        Ok(bundle.to_vec())
    }
}

/// A search for patients, before the registry reads its filters.
#[derive(Default)]
struct PatientSearch {
    /// What the registry is asked, with everything that was sealed.
    parameters: Vec<(String, String)>,
    /// The `_query` of a link.
    token: Option<String>,
    /// Whether a personal parameter stands outside of the `_query`.
    has_personal: bool,
    /// Names that were dropped with a warning.
    ignored: Vec<String>,
}

impl PatientSearch {
    fn take(&mut self, name: &str, value: &str) {
        self.has_personal |= is_personal(name, value);
        self.parameters.push((name.to_owned(), value.to_owned()));
    }
}

/// Whether a parameter may identify a person: every filter except the ids of the registry. Decision 159.
fn is_personal(name: &str, value: &str) -> bool {
    match name {
        // However long a number, it counts entries.
        "_count" | "_page" | "_sort" => false,
        _ => !name.starts_with('_') || holds_personal_code(value),
    }
}

/// Whether this is a filter of R5 for every resource type that no type here offers. Contract 4.9; Decision 157.
fn is_unoffered_filter(base: &str) -> bool {
    parameter::could_be_filter(base) && parameter::find(PARAMETERS, base).is_err()
}

/// Whether a registry on another machine, whose parameters nobody here knows, may be asked this. What brings resources of other types into
/// the answer is left out: the right to see patients is none to see whom they are tied to. Contract 4.9.
fn may_be_known(base: &str) -> bool {
    !is_unoffered_filter(base) && !["_include", "_revinclude", "_contained"].contains(&base)
}

/// Whether a registry says 404 and nothing else.
fn is_bare_not_found(failed: &LookupFailure) -> bool {
    match failed {
        LookupFailure::Refused(chain) => {
            failed.is_nobody() && chain.issues.iter().all(|issue| issue.codings.is_empty())
        }
        failed => failed.is_nobody(),
    }
}

/// A link with the parameters about persons replaced by a token.
fn without_persons(url: &str, token: &str) -> String {
    let Some((address, query)) = url.split_once('?') else { return url.to_owned() };
    let is_kept = |pair: &&str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        !is_personal(name, value)
    };
    let pairs: Vec<&str> = query.split('&').collect();
    let mut kept: Vec<&str> = pairs.iter().copied().filter(is_kept).collect();
    let sealed = ["_query=", token].concat();
    if kept.len() < pairs.len() {
        // The page stands last. Contract 4.8.
        let at = kept.iter().position(|pair| pair.starts_with("_page=")).unwrap_or(kept.len());
        kept.insert(at, &sealed);
    }
    format!("{address}?{}", kept.join("&"))
}

fn nobody(id: &str) -> Outcome {
    Outcome::not_found("Patient", id)
}

/// The resources of a Bundle, each reduced as asked.
fn reduced_entries(body: Vec<u8>, wanted: &Subset) -> Vec<u8> {
    if matches!(wanted, Subset::All | Subset::Count) {
        return body;
    }
    let mut bundle = json::parse_stored(&body);
    if let Json::Object(object) = &mut bundle
        && let Some(Json::Array(entries)) = object.get_mut("entry")
    {
        for entry in entries {
            if let Json::Object(entry) = entry
                && let Some(resource) = entry.get_mut("resource")
            {
                subset::reduce(resource, wanted);
            }
        }
    }
    bundle.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A registry answered with a guardian whom the caller has no right to see.
    #[test]
    fn no_parameter_that_brings_other_resources_goes_to_a_registry() {
        for name in ["_include", "_revinclude:iterate", "_include:iterate", "_contained", "_has"] {
            assert!(!may_be_known(base(name)), "{name}");
        }
        for name in ["identifier", "family:exact", "general-practitioner", "_id", "_lastUpdated"] {
            assert!(may_be_known(base(name)), "{name}");
        }
    }
}
