//! What this service is defined by, as resources: GET /StructureDefinition, /CodeSystem, /ValueSet, /OperationDefinition and
//! /SearchParameter, by id and by `url`.

use super::context::{Context, Subset};
use super::page::{ENTRY_BYTES, within};
use super::read::reduced;
use super::service::Service;
use super::{Answer, DefinitionKind, Turn, search_parameter};
use crate::certificate::Names;
use crate::definitions;
use crate::fhir::bundle::Bundle;
use crate::limits::{BODY_ISSUES_MAX, LARGE_ANSWER_BYTES};
use crate::outcome::{Hcert, Issue, Outcome};
use crate::search::paging::Paging;
use crate::search::parameter::{SHAPING, could_be_filter};
use crate::search::{issue, link};
use crate::terminology::{About, CodeSystem, Terminology, ValueSet};

/// A definition that never changes while the server runs.
#[derive(Debug)]
pub struct Fixed {
    kind: DefinitionKind,
    id: String,
    url: String,
    text: Vec<u8>,
}

/// The definitions that are no code lists, as they are served.
pub fn fixed(names: &Names) -> Vec<Fixed> {
    let of_type =
        |kind: DefinitionKind| definitions::of_type(kind.name()).map(move |definition| (kind, definition.read(names)));
    let shipped = of_type(DefinitionKind::StructureDefinition).chain(of_type(DefinitionKind::OperationDefinition));
    let parameters =
        search_parameter::all(names).into_iter().map(|resource| (DefinitionKind::SearchParameter, resource));
    let fixed = shipped.chain(parameters).map(|(kind, resource)| {
        let text = |name: &str| resource.text(name).unwrap_or_default().to_owned();
        Fixed { kind, id: text("id"), url: text("url"), text: resource.to_vec() }
    });
    fixed.collect()
}

/// One resource to answer with.
struct Found<'f> {
    id: &'f str,
    url: &'f str,
    text: &'f [u8],
}

impl Service {
    /// One definition by its id.
    pub(super) async fn read_definition(
        &self,
        context: &Context,
        kind: DefinitionKind,
        id: &str,
    ) -> Result<Answer, Outcome> {
        let terminology = self.terminology();
        let found = self.definitions(kind, &terminology).into_iter().find(|found| found.id == id);
        let found = found.ok_or_else(|| Outcome::not_found(kind.name(), id))?;
        if context.subset == Subset::Count {
            return Err(issue::wrong("_summary", "count", "true, text, data or false on a read").into());
        }
        let turn = self.turn_for(found.text.len()).await?;
        let body = reduced(found.text.to_vec(), &context.subset);
        Ok(Answer { status: 200, body, turn, ..Answer::default() })
    }

    /// The definitions of one type, by `url` and `_id`, by page.
    pub(super) async fn search_definitions(&self, context: &Context, kind: DefinitionKind) -> Result<Answer, Outcome> {
        let search = Search::read(context)?;
        let terminology = self.terminology();
        let mut found = self.definitions(kind, &terminology);
        found.retain(|found| search.matches(found));
        let (count, page) = (search.paging.count(self.settings.count), search.paging.page());
        let total = found.len() as u64;
        let address = format!("{}/{}", context.base_url, kind.name());
        let used = count.to_string();
        let sent = search.sent.iter().map(|(name, value)| match name.as_str() {
            "_count" if search.paging.is_cut(self.settings.count) => (name.as_str(), used.as_str()),
            _ => (name.as_str(), value.as_str()),
        });
        let links = link::pages(&address, &link::encode(sent), page, count, total);
        let skipped = usize::try_from((page - 1).saturating_mul(u64::from(count))).unwrap_or(usize::MAX);
        let shown: Vec<&Found> = found.iter().skip(skipped).take(count as usize).collect();
        let bytes = shown.iter().map(|found| found.text.len() + ENTRY_BYTES).sum();
        within(bytes)?;
        let turn = self.turn_for(bytes).await?;
        let mut bundle = Bundle::searchset(total, &links, bytes);
        for Found { id, text, .. } in shown {
            let relative = format!("{}/{id}", kind.name());
            let full_url = match self.settings.full_url_absolute {
                true => format!("{}/{relative}", context.base_url),
                false => relative,
            };
            bundle.found(&full_url, &reduced(text.to_vec(), &context.subset));
        }
        if !search.ignored.is_empty() {
            let warnings = search.ignored.iter().map(|name| issue::ignored(name)).collect();
            bundle.outcome(&self.warning(context, warnings, Vec::new()));
        }
        Ok(Answer { status: 200, body: bundle.finish(), turn, ..Answer::default() })
    }

    /// Large answers are made in turns, so that the memory of all of them is bounded.
    async fn turn_for(&self, bytes: usize) -> Result<Option<Turn>, Outcome> {
        match bytes {
            ..=LARGE_ANSWER_BYTES => Ok(None),
            _ => self.large_answers.take().await.map(Some),
        }
    }

    fn definitions<'f>(&'f self, kind: DefinitionKind, terminology: &'f Terminology) -> Vec<Found<'f>> {
        let fixed = self.fixed().iter().filter(|fixed| fixed.kind == kind);
        let fixed = fixed.map(|Fixed { id, url, text, .. }| Found { id, url, text });
        let lists = terminology.lists(kind.name()).into_iter();
        fixed.chain(lists.map(|About { id, url, text, .. }| Found { id, url, text })).collect()
    }
}

/// A search for definitions as it was asked.
#[derive(Default)]
struct Search {
    /// Each one of them must match.
    conditions: Vec<(Condition, Vec<String>)>,
    paging: Paging,
    /// What links repeat.
    sent: Vec<(String, String)>,
    ignored: Vec<String>,
}

#[derive(Clone, Copy)]
enum Condition {
    Id,
    Url,
}

impl Search {
    fn read(context: &Context) -> Result<Search, Outcome> {
        let mut search = Search::default();
        let mut issues: Vec<Issue> = Vec::new();
        for (name, value) in &context.parameters {
            let condition = match name.as_str() {
                "url" => Some(Condition::Url),
                "_id" => Some(Condition::Id),
                _ => None,
            };
            if let Some(condition) = condition {
                let values: Vec<String> = value.split(',').map(str::to_owned).collect();
                if values.iter().any(String::is_empty) {
                    issues.push(issue::empty(name));
                }
                search.conditions.push((condition, values));
            } else {
                match search.paging.take(name, value) {
                    Err(issue) => issues.push(issue),
                    Ok(true) if name == "_page" => continue,
                    Ok(true) => {}
                    Ok(false) if SHAPING.contains(&name.as_str()) => {}
                    // Contract 4.9: what cannot widen the answer is dropped, anything else is refused.
                    Ok(false) if name.starts_with('_') && !could_be_filter(name) => continue,
                    Ok(false) if context.prefer.lenient => {
                        search.ignored.push(name.clone());
                        continue;
                    }
                    Ok(false) => issues.push(issue::unknown(name, known_names())),
                }
            }
            search.sent.push((name.clone(), value.clone()));
        }
        issues.truncate(BODY_ISSUES_MAX);
        if issues.is_empty() { Ok(search) } else { Err(issues.into()) }
    }

    fn matches(&self, found: &Found) -> bool {
        self.conditions.iter().all(|(condition, values)| {
            let own = match condition {
                Condition::Id => found.id,
                Condition::Url => found.url,
            };
            values.iter().any(|value| value == own)
        })
    }
}

fn known_names() -> String {
    ["url", "_id", "_count", "_page"].iter().chain(SHAPING).copied().collect::<Vec<_>>().join(", ")
}

/// The code system that an operation's path names.
pub fn code_system<'t>(terminology: &'t Terminology, id: &str) -> Result<&'t CodeSystem, Outcome> {
    let about = terminology.lists("CodeSystem").into_iter().find(|about| about.id == id);
    let found = about.and_then(|about| terminology.code_system(&about.url));
    found.ok_or_else(|| Outcome::not_found("CodeSystem", id))
}

/// The value set that an operation's path names.
pub fn value_set<'t>(terminology: &'t Terminology, id: &str) -> Result<&'t ValueSet, Outcome> {
    let about = terminology.lists("ValueSet").into_iter().find(|about| about.id == id);
    let found = about.and_then(|about| terminology.value_set(&about.url));
    found.ok_or_else(|| Outcome::not_found("ValueSet", id))
}

/// A list of another version than the one at hand is not at hand.
pub fn check_version(about: &About, asked: Option<&str>) -> Result<(), Outcome> {
    match (asked, &about.version) {
        (Some(asked), Some(own)) if asked != own => {
            let issue = Issue::new(Hcert::ListNotFound).with("type", about.resource_type);
            Err(issue.with("url", format!("{}|{asked}", about.url)).into())
        }
        _ => Ok(()),
    }
}
