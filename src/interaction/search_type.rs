//! FHIR `search-type`: GET /Composition?… and POST /Composition/_search. Specification 4.6; Contract 4.2 to 4.10.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;

use super::Answer;
use super::context::{NamedCollector, RequestContext, Subset};
use super::grants::CallerGrants;
use super::page::{self, PageKind};
use super::rights::{not_permitted, outside};
use super::service::{Service, unsearchable};
use super::subject::unanswered;
use crate::access::rights::PermittedAction;
use crate::registry::{IdentifierLookup, LookupFailure, LookupPurpose};
use crate::turns::ClientKey;
use crate::turns::in_turn;
use certificate::search::filter::Filter;
use certificate::search::limits::SEARCH_VALUES_MAX;
use certificate::search::parameter::Field;
use certificate::search::query::{CompositionSearch, PatientIds};
use certificate::search::request::base;
use certificate::search::{EngineQuery, Hit, SearchPage, Sort, SortKey, query};
use fhir::outcome::{Hcert, Issue, Outcome, Reflected, Severity};

/// Certificates that an event names because they have a number or declaration that the request names: of each value those with the
/// smallest ids, which none that is created later with the same value can push out. Usually there is one.
const AUDIT_NAMED_BY_VALUE_MAX: u32 = 16;

/// Certificates, versions or patients that an answer may count for its event to name all of them, also those that it does not show: a total of a few
/// says something about each, and one of more says nothing about anybody.
pub(super) const AUDIT_COUNTED_MAX: u32 = 100;

/// Whether an answer counts a few that it does not show.
pub(super) fn counts_few_unseen(shown: usize, total: u64) -> bool {
    (shown as u64) < total && total <= u64::from(AUDIT_COUNTED_MAX)
}

impl Service {
    pub(super) async fn search(&self, context: &RequestContext) -> Result<Answer, Outcome> {
        self.meet_patient_of_token(context);
        let settings = self.search_settings(context);
        let search = CompositionSearch::parse(&context.parameters, &settings)?;
        let grants = self.grants_for(context, &search).await?;
        let IdentifiedPatients { found, warnings: unanswered, told } = self.patients(context, &search).await?;
        let (mut query, links_are_known) = self.with_linked(context, search.query(&found)).await;
        let mut renderer = None;
        if let Some((grants, may)) = &grants {
            let for_employer = match search.query_for_employer(&found) {
                Some(query) => Some(self.with_linked(context, query).await.0.filter),
                None => None,
            };
            query.filter = grants.scope(*may).narrow(query.filter, for_employer);
            renderer = self.renderer_of(grants, *may);
        }
        let plan = match context.explains {
            true => {
                let grants = grants.as_ref().map(|(grants, may)| (&**grants, *may));
                Some(Box::pin(self.plan_told(context.turn_client(), query.clone(), grants)).await?)
            }
            false => None,
        };
        let page = self.found_and_counted(context, query).await?;
        let links = search.links(&settings, &found, page.total)?;
        let mut warnings = search.warnings();
        warnings.extend(unanswered);
        if !links_are_known {
            warnings.push(Issue::new(Hcert::LinksUnknown));
        }
        let is_warned = !warnings.is_empty() || !told.is_empty();
        let warning = is_warned.then(|| self.warning_and(context, warnings, told));
        let shown =
            page::BundlePage { kind: PageKind::Search, total: page.total, links, hits: page.hits, warning, renderer };
        Ok(Answer { plan, ..self.bundle(context, shown).await? })
    }

    /// What the caller may find by this search; nothing where that is everything.
    ///
    /// # Errors
    /// 403 for whoever may not search, and for a value that lies outside of the rights; and what the registry says where the token is
    /// about a patient who has to be found. Contract 7.4.
    async fn grants_for(
        &self,
        context: &RequestContext,
        search: &CompositionSearch,
    ) -> Result<Option<(Arc<CallerGrants>, PermittedAction)>, Outcome> {
        let Some(grants) = &context.grants else { return Ok(None) };
        let counts = search.count() == 0 || context.subset == Subset::Count;
        let may = if counts { PermittedAction::Count } else { PermittedAction::Search };
        if !grants.rights.may(may) {
            return Err(not_permitted(may));
        }
        let asked = search.asked();
        if let Some(parameter) = grants.rights.outside(may, &asked) {
            return Err(outside_of(parameter));
        }
        if !grants.rights.asks_for_own_patient(may) {
            return Ok(Some((grants.clone(), may)));
        }
        let mut grants = CallerGrants::clone(grants);
        self.know_own_patient(context, &mut grants, may).await?;
        context.meet(|named| grants.own.ids.iter().for_each(|id| named.patient(id)));
        match grants.rights.outside_own(may, &asked, &grants.own) {
            Some(parameter) => Err(outside_of(parameter)),
            None => Ok(Some((Arc::new(grants), may))),
        }
    }

    /// Names the patient the token is about, where a search finds nothing but their certificates: also one that is refused.
    fn meet_patient_of_token(&self, context: &RequestContext) {
        let Some(grants) = &context.grants else { return };
        if [PermittedAction::Search, PermittedAction::Count]
            .into_iter()
            .any(|may| grants.rights.asks_for_own_patient(may))
            && let Some(code) = &grants.rights.identity().patient
        {
            let system = self.settings.names.identifiers.estonian_code();
            context.meet(|named| named.identifier(Some(system), code));
        }
    }

    /// What reading a search or a history needs to know.
    pub(super) fn search_settings<'s>(&'s self, context: &'s RequestContext) -> query::ReadingLimits<'s> {
        query::ReadingLimits {
            base_url: &context.base_url,
            names: &self.settings.names,
            count: self.settings.count,
            link_seconds: self.settings.link_seconds,
            lenient: context.prefer.lenient,
            by_form: context.by_form,
            now: (self.clock)(),
            seal: &self.seal,
            caller: context.identity.as_ref().map_or("", |identity| &identity.person),
            narrowed: context.grants.is_some(),
        }
    }

    /// Asks the registry for every patient the search names by an identifier. Contract 4.6.
    async fn patients(
        &self,
        context: &RequestContext,
        search: &CompositionSearch,
    ) -> Result<IdentifiedPatients, Outcome> {
        let mut all = IdentifiedPatients::default();
        let wanted = search.patients_wanted();
        if wanted.is_empty() {
            return Ok(all);
        }
        let caller = context.caller(LookupPurpose::Write);
        for wanted in wanted {
            // Boxed, as the one below: most searches ask nothing, and the future of each would be larger by these.
            let asked = Box::pin(self.registry.look_up(wanted.system.as_deref(), &wanted.value, &caller));
            let IdentifierLookup { patients, told } = match asked.await {
                Err(LookupFailure::NotFound) => {
                    all.warnings.push(Issue::new(Hcert::RegistryNotFound));
                    IdentifierLookup::default()
                }
                answered => answered.map_err(unanswered)?,
            };
            context.meet(|named| patients.iter().for_each(|patient| named.patient(&patient.id)));
            let external = wanted.system.as_deref() == Some(&self.settings.external_reference_system);
            if external && patients.len() != 1 {
                let identifier = format!("{}|{}", self.settings.external_reference_system, wanted.value);
                let issue = Issue::new(Hcert::PatientNotUnique).with("identifier", identifier);
                return Err(Outcome::from(issue).reflecting(400, told));
            }
            all.told.extend(told.into_iter().map(Reflected::as_warning));
            all.found.insert(wanted, patients.into_iter().map(|patient| patient.id).collect());
        }
        Ok(all)
    }

    /// The same search with everybody who is the same person as one it names, and whether the registry said who that is: certificates
    /// can be found without it.
    async fn with_linked(&self, context: &RequestContext, mut query: EngineQuery) -> (EngineQuery, bool) {
        // Hardly any patient is linked to another, and nothing is put together for the others.
        if !query.filter.has_patient(&|id| self.registry.may_be_linked(id)) {
            return (query, true);
        }
        let patients = query.filter.patients().into_iter().filter(|id| self.registry.may_be_linked(id));
        let patients: Vec<String> = patients.map(str::to_owned).collect();
        if patients.len() > self.registry.links_at_once() {
            return (query, false);
        }
        let caller = context.caller(LookupPurpose::Look);
        let asked = async {
            let mut linked = HashMap::with_capacity(patients.len());
            for id in patients {
                let others = self.registry.linked(&id, &caller).await?;
                linked.insert(id, others);
            }
            Ok::<_, LookupFailure>(linked)
        };
        let Ok(Ok(linked)) = Box::pin(tokio::time::timeout(self.registry.deadline(), asked)).await else {
            return (query, false);
        };
        context.meet(|named| linked.values().flatten().for_each(|id| named.patient(id)));
        if linked.values().any(|others| !others.is_empty()) {
            query.filter = query.filter.with_linked_patients(&linked);
        }
        (query, true)
    }

    /// Adds the certificates that a search names by an identifier, of theirs or of something in them, to its event: before anything of it
    /// can be refused, so each parameter is read by itself.
    pub(super) async fn meet_named(&self, context: &RequestContext) {
        let settings = self.search_settings(context);
        let may_name = |(name, _): &&(String, String)| matches!(base(name), "identifier" | "entry" | "_query");
        let named = context.parameters.iter().filter(may_name).take(SEARCH_VALUES_MAX).flat_map(|sent| {
            let alone = CompositionSearch::parse(std::slice::from_ref(sent), &settings);
            alone.map(|search| search.named()).unwrap_or_default()
        });
        let Some(met) = &context.met else { return };
        for value in named.take(SEARCH_VALUES_MAX).collect::<Vec<_>>() {
            self.meet_certificates(context.turn_client(), met, value).await;
        }
    }

    /// Adds whom the body of a request names to its event, and the certificates that have a number in it.
    pub(super) async fn meet_body(&self, client: Option<ClientKey>, met: &NamedCollector, body: &[u8]) {
        let mut numbers = Vec::new();
        met.add(|named| numbers = self.reader().body(body, named));
        for number in numbers {
            self.meet_certificates(client, met, Filter::Term(number.term(Field::Identifier))).await;
        }
    }

    /// Adds the oldest certificates that a request names by an identifier to its event: an answer says something about them whether it shows them,
    /// counts them or finds none that meets the rest of what was asked. They come back.
    pub(super) async fn meet_certificates(
        &self,
        client: Option<ClientKey>,
        met: &NamedCollector,
        filter: Filter,
    ) -> Vec<Hit> {
        let oldest = Sort { key: SortKey::Id, descending: false };
        let query = EngineQuery { filter, sort: vec![oldest], page: 1, count: AUDIT_NAMED_BY_VALUE_MAX };
        // What cannot be searched now is refused by the search itself.
        let Ok(page) = self.found(client, query).await else { return Vec::new() };
        met.add(|named| page.hits.iter().for_each(|hit| named.certificate(hit.id)));
        page.hits
    }

    /// As [`found`](Self::found). Where the answer does not show all of the few that it counts, they go into the event of the request: the count
    /// tells as much of each, whatever was asked.
    async fn found_and_counted(&self, context: &RequestContext, query: EngineQuery) -> Result<SearchPage, Outcome> {
        let client = context.turn_client();
        let Some(met) = &context.met else { return self.found(client, query).await };
        let page = self.found(client, query.clone()).await?;
        if counts_few_unseen(page.hits.len(), page.total) {
            let counted = self.found(client, EngineQuery { page: 1, count: AUDIT_COUNTED_MAX, ..query }).await?;
            let counted = counted.hits.into_iter().map(|hit| (hit.id, Some(hit.version)));
            met.add(|named| named.certificates.extend(counted));
        }
        Ok(page)
    }

    async fn found(&self, client: Option<ClientKey>, query: EngineQuery) -> Result<SearchPage, Outcome> {
        let planned = self.engine.plan(query).map_err(unsearchable)?;
        let found = match planned.rows() < self.heavy_rows {
            true => planned.run(),
            false => self.heavy(client, move || planned.run()).await?,
        };
        found.map_err(unsearchable)
    }

    /// Runs a heavy search [in its turn](in_turn).
    ///
    /// # Errors
    /// As there.
    pub(super) async fn heavy<T: Send + 'static>(
        &self,
        client: Option<ClientKey>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Outcome> {
        in_turn(&self.heavy_turns, client, work).await
    }

    /// Runs a long search [in its turn](in_turn).
    ///
    /// # Errors
    /// As there.
    pub(super) async fn long<T: Send + 'static>(
        &self,
        client: Option<ClientKey>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Outcome> {
        in_turn(&self.long_turns, client, work).await
    }

    /// An OperationOutcome of warnings about a search.
    pub(super) fn warning(&self, context: &RequestContext, warnings: Vec<Issue>) -> Vec<u8> {
        self.warning_and(context, warnings, Vec::new())
    }

    /// The same, with what the registry said behind.
    fn warning_and(&self, context: &RequestContext, warnings: Vec<Issue>, told: Vec<Reflected>) -> Vec<u8> {
        let warnings: Vec<Issue> = warnings.into_iter().map(|issue| issue.severity(Severity::Warning)).collect();
        Outcome::telling(warnings, told)
            .to_json(context.language, &self.settings.issue_system, || Uuid::new_v4().to_string())
    }
}

/// What the registry said of the identifiers that a search names.
#[derive(Default)]
struct IdentifiedPatients {
    found: PatientIds,
    /// Warnings of our own about its responses.
    warnings: Vec<Issue>,
    /// Why some of them are impossible, as warnings in the registry's own codes.
    told: Vec<Reflected>,
}

/// The value itself is not repeated, since it may name a person.
fn outside_of(parameter: &'static str) -> Outcome {
    outside(format!("this value of {parameter}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::interaction::{Interaction, InteractionKind, Policy, Rulebook, ServiceSettings};
    use crate::registry::Registry;
    use crate::turns::Turns;
    use certificate::Names;
    use certificate::search::paging::Counts;
    use engine::{Engine, system_clock};

    /// A service over an empty store, for which every search is a heavy one.
    fn service(folder: &std::path::Path) -> Service {
        let options = engine::EngineOptions::in_folder(folder.join("data"));
        let settings = ServiceSettings {
            names: Names::default(),
            issue_system: "s".to_owned(),
            count: Counts::default(),
            link_seconds: 60,
            full_url_absolute: false,
            external_reference_system: "e".to_owned(),
        };
        let engine = Arc::new(Engine::open(options).unwrap());
        let rulebook = Rulebook::open(engine.clone(), Names::default(), false).unwrap();
        let registry = Registry::open(&Default::default(), engine.clone(), system_clock()).unwrap();
        let mut service =
            Service::new(engine, registry, Policy::default(), Arc::new(rulebook), settings, system_clock());
        service.heavy_rows = 0;
        service.heavy_turns = Turns::new(1, Duration::from_millis(20), Hcert::HeavySearchesFull);
        service.long_turns = Turns::new(1, Duration::from_millis(20), Hcert::LongSearchesFull);
        service
    }

    async fn answer(service: &Service, interaction: Interaction) -> Result<u16, Hcert> {
        run(service, interaction, RequestContext::default()).await
    }

    async fn asked(service: &Service, kind: InteractionKind, name: &str, value: &str) -> Result<u16, Hcert> {
        let parameters = vec![(name.to_owned(), value.to_owned())];
        run(service, Interaction::plain(kind), RequestContext { parameters, ..RequestContext::default() }).await
    }

    async fn run(service: &Service, interaction: Interaction, context: RequestContext) -> Result<u16, Hcert> {
        let context = RequestContext { base_url: "http://a".into(), ..context };
        let answered = service.run(interaction, context, Vec::new()).await;
        answered.map(|answer| answer.status).map_err(|outcome| outcome.leading())
    }

    #[tokio::test]
    async fn heavy_searches_wait_for_their_turn_and_reads_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let service = service(folder.path());
        while service.engine.indexed().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(answer(&service, Interaction::plain(InteractionKind::Search)).await, Ok(200));
        let before = service.heavy_turns.take(None).await.unwrap();
        assert_eq!(answer(&service, Interaction::plain(InteractionKind::Search)).await, Err(Hcert::HeavySearchesFull));
        assert_eq!(answer(&service, Interaction::plain(InteractionKind::HistoryType)).await, Ok(200));
        assert_eq!(asked(&service, InteractionKind::HistoryType, "_at", "2026").await, Ok(200));
        assert_eq!(answer(&service, Interaction::plain(InteractionKind::Capabilities)).await, Ok(200));
        drop(before);
        // Long searches wait for each other, and heavy ones for none of them.
        let _long = service.long_turns.take(None).await.unwrap();
        assert_eq!(asked(&service, InteractionKind::HistoryType, "_at", "2026").await, Err(Hcert::LongSearchesFull));
        assert_eq!(answer(&service, Interaction::plain(InteractionKind::Search)).await, Ok(200));
        assert_eq!(answer(&service, Interaction::plain(InteractionKind::HistoryType)).await, Ok(200));
    }

    #[tokio::test]
    async fn a_turn_is_kept_until_the_work_is_done_even_when_its_client_has_gone() {
        let folder = tempfile::tempdir().unwrap();
        let service = service(folder.path());
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let (begun, begins) = tokio::sync::oneshot::channel();
        {
            let work = service.heavy(None, move || {
                let _ = begun.send(());
                let _ = wait.recv();
            });
            tokio::select! {
                _ = work => unreachable!("it waits"),
                begun = begins => begun.unwrap(),
            }
        }
        assert_eq!(service.heavy(None, || ()).await.unwrap_err().leading(), Hcert::HeavySearchesFull);
        drop(go_on);
        while service.heavy(None, || ()).await.is_err() {}
    }
}
