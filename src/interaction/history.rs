//! FHIR `history`: of one certificate and of all. Contract 4.1.

use super::context::{Context, Subset};
use super::read::reduced;
use super::service::{Service, unreadable};
use super::{Answer, Instance};
use crate::certificate::{Id, State, Version};
use crate::engine::{HistoryPage, HistoryQuery};
use crate::fhir::bundle::{Bundle, Change, VersionEntry};
use crate::outcome::Outcome;
use crate::search::history::History;

impl Service {
    pub(super) fn history_instance(&self, context: &Context, instance: &Instance) -> Result<Answer, Outcome> {
        let missing = || Outcome::not_found("Composition", instance);
        let id = instance.id().ok_or_else(missing)?;
        // Whether the certificate exists is told before what is wrong with the parameters. Contract 2.9.
        self.current(instance)?;
        let history = History::parse(&context.parameters, &self.search_settings(context))?;
        let page = self.engine.history(&question(Some(id), &history, context)).map_err(unreadable)?;
        let address = format!("{}/Composition/{id}/_history", context.base_url);
        Ok(self.bundle(context, &history, &address, page.ok_or_else(missing)?))
    }

    pub(super) async fn history_type(&self, context: &Context) -> Result<Answer, Outcome> {
        let history = History::parse(&context.parameters, &self.search_settings(context))?;
        let question = question(None, &history, context);
        let engine = self.engine.clone();
        // A question for a moment of the past looks at every change up to it.
        let page = match question.at {
            Some(_) => {
                tokio::task::spawn_blocking(move || engine.history(&question)).await.map_err(Outcome::internal)?
            }
            None => engine.history(&question),
        };
        let page =
            page.map_err(unreadable)?.ok_or_else(|| Outcome::internal("the store has a history, if an empty one"))?;
        let address = format!("{}/Composition/_history", context.base_url);
        Ok(self.bundle(context, &history, &address, page))
    }

    fn bundle(&self, context: &Context, history: &History, address: &str, page: HistoryPage) -> Answer {
        let links = history.links(address, page.total);
        let bytes = page.entries.iter().map(|entry| entry.resource.len() + 256).sum();
        let mut bundle = Bundle::history(page.total, &links, bytes);
        for stored in page.entries {
            let reference = format!("Composition/{}", stored.id);
            let change = match (stored.state, stored.version) {
                (State::Deleted, _) => Change::Delete,
                (_, Version::FIRST) => Change::Create,
                _ => Change::Update,
            };
            let entry = VersionEntry {
                change,
                reference: &reference,
                version: stored.version.get(),
                last_updated: stored.stamp.milliseconds,
            };
            let url = self.full_url(context, &stored);
            match change {
                Change::Delete => bundle.version(&url, entry, None),
                _ => bundle.version(&url, entry, Some(&[&reduced(stored.resource, &context.subset)])),
            }
        }
        Answer { status: 200, body: bundle.finish(), ..Answer::default() }
    }
}

fn question(id: Option<Id>, history: &History, context: &Context) -> HistoryQuery {
    let count = if context.subset == Subset::Count { 0 } else { history.count };
    HistoryQuery { id, since: history.since, at: history.at, page: history.page, count }
}
