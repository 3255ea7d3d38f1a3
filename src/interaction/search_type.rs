//! FHIR `search-type`: GET /Composition?… and POST /Composition/_search. Specification 4.6; Contract 4.2 to 4.10.

use uuid::Uuid;

use super::Answer;
use super::context::Context;
use super::read::reduced;
use super::service::{Service, unreadable, unsearchable};
use crate::engine::{SearchError, Stored};
use crate::fhir::bundle::Bundle;
use crate::outcome::{Hcert, Issue, Outcome, Severity};
use crate::search::query::{Found, Search};
use crate::search::{Page, Query, query};

/// Rows from which a search runs on a thread of its own, so that reads keep theirs: about a millisecond of work.
const HEAVY_ROWS: u64 = 20_000;

impl Service {
    pub(super) async fn search(&self, context: &Context) -> Result<Answer, Outcome> {
        let settings = self.search_settings(context);
        let search = Search::parse(&context.parameters, &settings)?;
        let found = self.patients(&search).await?;
        let page = self.page(search.query(&found)).await?;
        let stored = self.engine.versions(&page.hits).map_err(unreadable)?;
        let links = search.links(&settings, &found, page.total)?;
        let bytes = stored.iter().map(|stored| stored.resource.len() + 128).sum();
        let mut bundle = Bundle::searchset(page.total, &links, bytes);
        for stored in stored {
            let url = self.full_url(context, &stored);
            bundle.matched(&url, &[&reduced(stored.resource, &context.subset)]);
        }
        let warnings = search.warnings();
        if !warnings.is_empty() {
            bundle.outcome(&self.warning(context, warnings));
        }
        Ok(Answer { status: 200, body: bundle.finish(), ..Answer::default() })
    }

    /// What reading a search or a history needs to know.
    pub(super) fn search_settings<'s>(&'s self, context: &'s Context) -> query::Settings<'s> {
        query::Settings {
            base_url: &context.base_url,
            names: &self.settings.names,
            count: self.settings.count,
            link_seconds: self.settings.link_seconds,
            lenient: context.prefer.lenient,
            by_form: context.by_form,
            now: (self.clock)(),
            seal: &self.seal,
        }
    }

    /// Asks the registry for every patient the search names by an identifier. Contract 4.6.
    async fn patients(&self, search: &Search) -> Result<Found, Outcome> {
        let mut found = Found::new();
        for wanted in search.patients_wanted() {
            let patients = self.registry.find(wanted.system.as_deref(), &wanted.value).await?;
            let external = wanted.system.as_deref() == Some(&self.settings.external_reference_system);
            if external && patients.len() != 1 {
                let identifier = format!("{}|{}", self.settings.external_reference_system, wanted.value);
                return Err(Issue::new(Hcert::PatientNotUnique).with("identifier", identifier).into());
            }
            found.insert(wanted, patients);
        }
        Ok(found)
    }

    async fn page(&self, query: Query) -> Result<Page, Outcome> {
        let planned = self.engine.plan(query).map_err(unsearchable)?;
        if planned.rows() < HEAVY_ROWS {
            return planned.run().map_err(unsearchable);
        }
        let searched = tokio::task::spawn_blocking(move || planned.run()).await;
        let panicked = |error: tokio::task::JoinError| SearchError::Failed(error.to_string());
        searched.map_err(panicked).and_then(|page| page).map_err(unsearchable)
    }

    /// `Bundle.entry.fullUrl`. Contract 1.2.
    pub(super) fn full_url(&self, context: &Context, stored: &Stored) -> String {
        match self.settings.full_url_absolute {
            true => format!("{}/Composition/{}", context.base_url, stored.id),
            false => format!("Composition/{}", stored.id),
        }
    }

    fn warning(&self, context: &Context, warnings: Vec<Issue>) -> Vec<u8> {
        let warnings: Vec<Issue> = warnings.into_iter().map(|issue| issue.severity(Severity::Warning)).collect();
        Outcome::from(warnings).to_json(context.language, &self.settings.issue_system, || Uuid::new_v4().to_string())
    }
}
