//! FHIR `history`: of one certificate and of all. Contract 4.1.

use super::context::{RequestContext, Subset};
use super::page::{BundlePage, PageKind};
use super::search_type::{AUDIT_COUNTED_MAX, counts_few_unseen};
use super::service::{Service, unreadable};
use super::{Answer, Instance};
use crate::access::rights::PermittedAction;
use certificate::Id;
use certificate::search::hidden::HiddenCertificates;
use certificate::search::history::HistoryParameters;
use engine::{HistoryPage, HistoryQuery};
use fhir::outcome::Outcome;

impl Service {
    pub(super) async fn history_instance(
        &self,
        context: &RequestContext,
        instance: &Instance,
    ) -> Result<Answer, Outcome> {
        let missing = || Outcome::not_found("Composition", instance);
        let id = instance.known().ok_or_else(missing)?;
        // Whether the certificate exists is told before what is wrong with the parameters. Contract 2.9.
        if self.engine.read(id, None, |_| Ok(())).map_err(unreadable)?.is_none() {
            return Err(missing());
        }
        self.check_rows(context, PermittedAction::History, id)?;
        let history = HistoryParameters::parse(&context.parameters, &self.search_settings(context))?;
        let question = question(Some(id), &history, context);
        let page = self.engine.history(&question).map_err(unreadable)?.ok_or_else(missing)?;
        if counts_few_unseen(page.hits.len(), page.total) {
            Box::pin(self.name_counted(context, question)).await?;
        }
        let address = format!("{}/Composition/{id}/_history", context.base_url);
        self.bundle(context, shown(&history, &address, page)).await
    }

    pub(super) async fn history_type(&self, context: &RequestContext) -> Result<Answer, Outcome> {
        let history = HistoryParameters::parse(&context.parameters, &self.search_settings(context))?;
        let question = question(None, &history, context);
        let page = self.history_of_all(context, question.clone()).await?;
        if counts_few_unseen(page.hits.len(), page.total) {
            Box::pin(self.name_counted(context, question)).await?;
        }
        let address = format!("{}/Composition/_history", context.base_url);
        self.bundle(context, shown(&history, &address, page)).await
    }

    /// Names the versions that a page counts and does not show, as a search that counts a few certificates: each may be about another
    /// patient.
    async fn name_counted(&self, context: &RequestContext, question: HistoryQuery) -> Result<(), Outcome> {
        let Some(met) = &context.met else { return Ok(()) };
        let all = HistoryQuery { page: 1, count: AUDIT_COUNTED_MAX, ..question };
        let counted = self.history_of_all(context, all).await?.hits;
        let counted = counted.into_iter().map(|hit| (hit.id, Some(hit.version)));
        met.add(|named| named.certificates.extend(counted));
        Ok(())
    }

    async fn history_of_all(&self, context: &RequestContext, question: HistoryQuery) -> Result<HistoryPage, Outcome> {
        let page = match self.engine.is_long(&question) {
            true => {
                let engine = self.engine.clone();
                self.long(context.turn_client(), move || engine.history(&question)).await?
            }
            false => self.engine.history(&question),
        };
        page.map_err(unreadable)?.ok_or_else(|| Outcome::internal("the store has a history, if an empty one"))
    }
}

fn shown(history: &HistoryParameters, address: &str, page: HistoryPage) -> BundlePage {
    let HistoryPage { total, hits, .. } = page;
    BundlePage {
        kind: PageKind::History,
        total,
        links: history.links(address, total),
        hits,
        warning: None,
        renderer: None,
    }
}

/// Certificates that are not the caller's to see; nothing where all are.
fn hidden(context: &RequestContext) -> Option<HiddenCertificates> {
    Some(context.grants.as_ref()?.rights.hidden(PermittedAction::History)).filter(|hidden| !hidden.is_none())
}

fn question(id: Option<Id>, history: &HistoryParameters, context: &RequestContext) -> HistoryQuery {
    let hidden = if id.is_none() { hidden(context) } else { None };
    let count = if context.subset == Subset::Count { 0 } else { history.count };
    HistoryQuery { id, since: history.since, at: history.at, page: history.page, count, hidden }
}
