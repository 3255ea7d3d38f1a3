//! What this service is defined by, as resources: GET /StructureDefinition, /CodeSystem, /ValueSet, /OperationDefinition and
//! /SearchParameter, by id and by `url`.

use std::borrow::Cow;

use super::context::{RequestContext, Subset};
use super::definition_search::{DefinitionTarget, PARAMETERS};
use super::fixed::FixedDefinition;
use super::page::{ENTRY_BYTES, within};
use super::read::reduced;
use super::service::Service;
use super::{Answer, DefinitionKind};
use crate::config::limits::BUNDLE_BYTES_MAX;
use crate::interaction::limits::LARGE_ANSWER_BYTES;
use crate::turns::RequestPermit;
use certificate::search::issue;
use certificate::search::parameter::Parameter;
use certificate::search::request::{Filters, LinkForm, SearchRequest, SentParameter};
use certificate::search::value::{split, unescape};
use certificate::terminology::{CodeSystem, ListHeader, Terminology, ValueSet};
use fhir::outcome::{Hcert, Issue, Outcome};

/// One resource to answer with.
struct ConformanceResource<'f> {
    id: &'f str,
    url: &'f str,
    text: &'f [u8],
}

impl<'f> ConformanceResource<'f> {
    fn text_of(&self, target: DefinitionTarget) -> &'f str {
        match target {
            DefinitionTarget::Id => self.id,
            DefinitionTarget::Url => self.url,
        }
    }
}

impl Service {
    /// One definition by its id.
    pub(super) async fn read_definition(
        &self,
        context: &RequestContext,
        kind: DefinitionKind,
        id: &str,
    ) -> Result<Answer, Outcome> {
        let terminology = self.terminology();
        let found = self.definitions(kind, &terminology).into_iter().find(|found| found.id == id);
        let found = found.ok_or_else(|| Outcome::not_found(kind.name(), id))?;
        if context.subset == Subset::Count {
            return Err(issue::wrong("_summary", "count", "true, text, data or false on a read").into());
        }
        let turn = self.turn_for(context, found.text.len()).await?;
        let body = reduced(found.text.to_vec(), &context.subset);
        Ok(Answer { status: 200, body, turn, ..Answer::default() })
    }

    /// The definitions of one type, by `url` and `_id`, by page.
    pub(super) async fn search_definitions(
        &self,
        context: &RequestContext,
        kind: DefinitionKind,
    ) -> Result<Answer, Outcome> {
        let settings = self.search_settings(context);
        let mut asked = DefinitionFilters::default();
        let request = SearchRequest::read(&context.parameters, &settings, &mut asked)?;
        let terminology = self.terminology();
        let mut found = self.definitions(kind, &terminology);
        found.retain(|found| asked.matches(found));
        for (target, descends) in asked.sort.iter().rev() {
            found.sort_by(|one, other| one.text_of(*target).cmp(other.text_of(*target)));
            if *descends {
                found.reverse();
            }
        }
        let total = found.len() as u64;
        let skipped = usize::try_from(request.skipped()).unwrap_or(usize::MAX);
        let shown: Vec<&ConformanceResource> = found.iter().skip(skipped).take(request.count() as usize).collect();
        let bytes = shown.iter().map(|found| found.text.len() + ENTRY_BYTES).sum();
        within(bytes, BUNDLE_BYTES_MAX)?;
        let turn = self.turn_for(context, bytes).await?;
        let shown = shown.into_iter().map(|found| (found.id.to_owned(), Cow::Borrowed(found.text)));
        let body = self.searchset(context, kind.name(), &request, total, shown, Vec::new())?;
        Ok(Answer { status: 200, body, turn, ..Answer::default() })
    }

    /// Large answers are made in turns, so that the memory of all of them is bounded.
    async fn turn_for(&self, context: &RequestContext, bytes: usize) -> Result<Option<RequestPermit>, Outcome> {
        match bytes {
            ..=LARGE_ANSWER_BYTES => Ok(None),
            _ => self.large_answers.take(context.turn_client()).await.map(|turn| Some(RequestPermit::of(turn))),
        }
    }

    fn definitions<'f>(&'f self, kind: DefinitionKind, terminology: &'f Terminology) -> Vec<ConformanceResource<'f>> {
        let fixed = self.fixed().iter().filter(|fixed| fixed.kind == kind);
        let fixed = fixed.map(|FixedDefinition { id, url, text, .. }| ConformanceResource { id, url, text });
        let lists = terminology.lists(kind.name()).into_iter();
        fixed.chain(lists.map(|ListHeader { id, url, text, .. }| ConformanceResource { id, url, text })).collect()
    }
}

/// A search for definitions as it was asked.
#[derive(Default)]
struct DefinitionFilters {
    /// Each one of them must match.
    conditions: Vec<(DefinitionTarget, Vec<String>)>,
    sort: Vec<(DefinitionTarget, bool)>,
}

impl Filters for DefinitionFilters {
    type RowTarget = DefinitionTarget;
    type Key = DefinitionTarget;

    const PARAMETERS: &'static [Parameter<DefinitionTarget>] = PARAMETERS;
    const SORT_KEYS: &'static [(&'static str, DefinitionTarget)] =
        &[("_id", DefinitionTarget::Id), ("url", DefinitionTarget::Url)];

    fn filter(
        &mut self,
        found: SentParameter<DefinitionTarget>,
        name: &str,
        value: &str,
    ) -> Result<LinkForm, Vec<Issue>> {
        let values: Vec<String> = split(value, b',').map(|part| unescape(part).into_owned()).collect();
        if values.iter().any(String::is_empty) {
            return Err(vec![issue::empty(name)]);
        }
        self.conditions.push((found.0.target, values));
        Ok(LinkForm::Value)
    }

    fn sort(&mut self, keys: Vec<(DefinitionTarget, bool)>) {
        self.sort = keys;
    }
}

impl DefinitionFilters {
    fn matches(&self, found: &ConformanceResource) -> bool {
        self.conditions.iter().all(|(target, values)| values.iter().any(|value| value == found.text_of(*target)))
    }
}

/// The code system that an operation's path names.
pub(super) fn code_system<'t>(terminology: &'t Terminology, id: &str) -> Result<&'t CodeSystem, Outcome> {
    let about = terminology.lists("CodeSystem").into_iter().find(|about| about.id == id);
    let found = about.and_then(|about| terminology.code_system(&about.url));
    found.ok_or_else(|| Outcome::not_found("CodeSystem", id))
}

/// The value set that an operation's path names.
pub(super) fn value_set<'t>(terminology: &'t Terminology, id: &str) -> Result<&'t ValueSet, Outcome> {
    let about = terminology.lists("ValueSet").into_iter().find(|about| about.id == id);
    let found = about.and_then(|about| terminology.value_set(&about.url));
    found.ok_or_else(|| Outcome::not_found("ValueSet", id))
}

/// A list of another version than the one at hand is not at hand.
pub(super) fn check_version(about: &ListHeader, asked: Option<&str>) -> Result<(), Outcome> {
    match (asked, &about.version) {
        (Some(asked), Some(own)) if asked != own => {
            let issue = Issue::new(Hcert::ListNotFound).with("type", about.resource_type);
            Err(issue.with("url", format!("{}|{asked}", about.url)).into())
        }
        _ => Ok(()),
    }
}
