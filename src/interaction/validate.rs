//! `$validate`: what a write would say of a certificate, without writing. FHIR R5 `resource-operation-validate.html`; Contract 8.6.
//!
//! POST with a Composition, or with Parameters that hold one in `resource`; on an instance GET too. `mode` and `profile` stand in the
//! query or in the Parameters. The answer is 200 with an OperationOutcome, whatever was found.

pub mod request;

use uuid::Uuid;

use super::context::RequestContext;
use super::prepare::{UpdateBase, check_certificate, content_problems};
use super::service::{Service, deleted, refusal, refused_to, unreadable};
use super::update::service_sections;
use super::{Answer, Instance};
use crate::access::rights::PermittedAction;
use crate::registry::LookupPurpose;
use certificate::transition::Trigger;
use certificate::validation::ProfileRules;
use certificate::{Id, State};
use engine::{RefusedChange, StoredVersion, VersionContent, Write};
use fhir::json::{self, Json};
use fhir::outcome::{Hcert, Issue, Outcome, Problems, Reflected, Severity};
use request::{ValidateRequest, ValidationMode};

/// What was found, of our own and from the registry.
#[derive(Default)]
struct ValidationResult {
    issues: Vec<Issue>,
    reflected: Vec<Reflected>,
}

impl From<Vec<Issue>> for ValidationResult {
    fn from(issues: Vec<Issue>) -> Self {
        ValidationResult { issues, reflected: Vec::new() }
    }
}

impl Service {
    pub(super) async fn validate(
        &self,
        context: &RequestContext,
        instance: Option<&Instance>,
        body: &[u8],
    ) -> Result<Answer, Outcome> {
        let mut found = match request::read(context, body)? {
            Ok(request) => self.issues(context, instance, request).await?,
            // A body that is no JSON is one that a write would refuse.
            Err(unreadable) => {
                // Only callers who may update the certificate are told what is wrong with a body.
                if let Some(instance) = instance {
                    let stored = self.living(self.current(instance)?)?;
                    self.check_rows(context, PermittedAction::Validate, stored.id)?;
                    self.check_rows(context, PermittedAction::Update, stored.id)?;
                }
                unreadable.issues().to_vec().into()
            }
        };
        if found.issues.is_empty() && found.reflected.is_empty() {
            found.issues.push(Issue::new(Hcert::AllRight).severity(Severity::Information));
        }
        let system = &self.settings.issue_system;
        let outcome = Outcome::telling(found.issues, found.reflected);
        let body = outcome.to_json(context.language, system, || Uuid::new_v4().to_string());
        Ok(Answer { status: 200, body, ..Answer::default() })
    }

    async fn issues(
        &self,
        context: &RequestContext,
        instance: Option<&Instance>,
        request: ValidateRequest<'_>,
    ) -> Result<ValidationResult, Outcome> {
        let ValidateRequest { mode, profile, resource, problems } = request;
        let rules = self.rulebook().now();
        let profile = match profile {
            Some(url) => Some(rules.validator.profile(&url).ok_or_else(|| self.unknown_profile(url))?),
            None => None,
        };
        let mode = match (mode, instance, &resource) {
            (Some(mode), ..) => mode,
            // A nominated profile asks about the content; so does an instance without anything to write there.
            (None, ..) if profile.is_some() => ValidationMode::Profile,
            (None, Some(_), None) => ValidationMode::Profile,
            (None, Some(_), Some(_)) => ValidationMode::Update,
            (None, None, _) => ValidationMode::Create,
        };
        let stored = match (instance, mode, &resource) {
            (Some(instance), ..) => Some(self.living(self.current(instance)?)?),
            // On the type, the body says which certificate it would update.
            (None, ValidationMode::Update, Some(resource)) => {
                let id = resource.text("id").and_then(Id::parse).ok_or_else(|| missing("resource.id"))?;
                let stored = self.engine.read(id, None, |entry| entry.stored()).map_err(unreadable)?;
                let never_assigned = || Outcome::from(Issue::new(Hcert::IdNotAssigned).with("id", id.to_string()));
                Some(self.living(stored.ok_or_else(never_assigned)?)?)
            }
            _ => None,
        };
        if let Some(stored) = &stored {
            self.check_rows(context, PermittedAction::Validate, stored.id)?;
            // As the write itself, before anything else is told of it. Contract 7.7.
            match mode {
                ValidationMode::Update => self.check_rows(context, PermittedAction::Update, stored.id)?,
                ValidationMode::Delete => self.check_rows(context, PermittedAction::Delete, stored.id)?,
                ValidationMode::Create | ValidationMode::Profile => {}
            }
        }
        match (mode, resource, stored) {
            (ValidationMode::Profile, Some(mut resource), _) => {
                Ok(content_problems(&mut resource, problems, profile, &rules).into())
            }
            (ValidationMode::Profile, None, Some(stored)) => {
                let mut resource = json::parse_stored(&stored.resource);
                Ok(content_problems(&mut resource, problems, profile, &rules).into())
            }
            (ValidationMode::Create, Some(resource), _) => {
                self.written(context, resource, problems, None, profile).await
            }
            (ValidationMode::Update, Some(resource), Some(stored)) => {
                self.written(context, resource, problems, Some(&stored), profile).await
            }
            (ValidationMode::Delete, _, Some(stored)) => {
                let write = Write::Delete {
                    id: stored.id,
                    if_match: context.if_match.clone(),
                    who: context.who.clone(),
                    rows: context.rows_of_both(PermittedAction::Validate, PermittedAction::Delete),
                };
                Ok(self.judged(&write)?.into())
            }
            (ValidationMode::Delete, _, None) => Err(missing("an id in the address")),
            (_, None, _) => Err(missing("resource")),
            (ValidationMode::Update, Some(_), None) => Err(missing("resource.id")),
        }
    }

    /// What a create, or an update of `stored`, would say.
    async fn written<'j>(
        &self,
        context: &RequestContext,
        mut resource: Json<'j>,
        problems: Problems,
        stored: Option<&'j StoredVersion>,
        profile: Option<&ProfileRules>,
    ) -> Result<ValidationResult, Outcome> {
        let rules = self.rulebook().now();
        let before = match stored {
            Some(stored) => {
                let kept = service_sections(stored, &self.settings);
                UpdateBase { id: Some(stored.id), state: Some(stored.state), resource: &stored.resource, kept }
            }
            None => UpdateBase::default(),
        };
        let mut further = Problems::default();
        if let Some(profile) = profile {
            further = rules.validator.check(&resource, Some(profile), &rules.terminology).problems;
        }
        let checked = check_certificate(&mut resource, None, problems, before, &rules, &context.base_url);
        let (mut certificate, mut reflected) = (None, Vec::new());
        let issues = match checked {
            Ok(mut checked) => {
                let mut issues = std::mem::take(&mut checked.warnings);
                if let Err(other) = self.check_author(context, &resource) {
                    issues.extend_from_slice(other.issues());
                }
                // What the registry says is told as a write would tell it, but nobody is taken over for it.
                let told = match self.resolve(context, &resource, stored, LookupPurpose::Look).await {
                    Ok(resolved) => {
                        reflected.extend(resolved.warning.clone());
                        checked.about(&mut resource, &resolved, &rules)
                    }
                    Err(outcome) => Err(outcome),
                };
                match told {
                    Ok(ready) => certificate = Some(ready),
                    Err(outcome) => {
                        reflected.extend_from_slice(outcome.reflected());
                        issues.extend_from_slice(outcome.issues());
                    }
                }
                issues
            }
            Err(refused) => {
                let refused = self.with_problems_of_patient(context, &resource, stored, refused).await;
                reflected.extend_from_slice(refused.reflected());
                refused.issues().to_vec()
            }
        };
        let mut all = Problems::from(issues);
        all.take_further(further);
        if let Some(certificate) = certificate {
            let (trigger, if_match) = match stored {
                Some(_) => (Trigger::Update, context.if_match.clone()),
                None => (Trigger::Create, None),
            };
            let (brings, row) = (certificate.brings, certificate.row);
            let may = if stored.is_some() { PermittedAction::Update } else { PermittedAction::Create };
            let is_allowed = context.grants.as_ref().is_none_or(|grants| grants.rights.may(may));
            for may in [Some(PermittedAction::Validate), is_allowed.then_some(may)].into_iter().flatten() {
                if let Err(outside) = context.check_sent(may, &row) {
                    all.take_further(Problems::from(outside.issues().to_vec()));
                    break;
                }
            }
            // Whoever may not write learns no numbers of others.
            if is_allowed {
                match self.engine.check_number(stored.map(|stored| stored.id), &row) {
                    Err(refused @ RefusedChange::NumberInUse(..)) => {
                        all.take_further(Problems::from(refused_to(context, refused).issues().to_vec()));
                    }
                    checked => checked.map_err(refusal)?,
                }
            }
            let (who, subject) = (context.who.clone(), None);
            let content = VersionContent { trigger, brings, tail: certificate.tail, row, who, subject };
            let write = match stored {
                Some(stored) => {
                    let rows = context.rows_of_both(PermittedAction::Validate, PermittedAction::Update);
                    Write::Update { id: stored.id, content, if_match, base: None, rows }
                }
                None => Write::Create { content, if_none_exist: None, rows: None },
            };
            all.take_further(Problems::from(self.judged(&write)?));
        }
        Ok(ValidationResult { issues: all.into_issues(), reflected })
    }

    /// What the writer would say of a write, judged by what is stored now.
    fn judged(&self, write: &Write) -> Result<Vec<Issue>, Outcome> {
        match self.engine.judge(write).map_err(unreadable)? {
            Ok(()) => Ok(Vec::new()),
            Err(refused) => Ok(refusal(refused).issues().to_vec()),
        }
    }

    fn living(&self, stored: StoredVersion) -> Result<StoredVersion, Outcome> {
        if stored.state == State::Deleted { Err(deleted(stored.id)) } else { Ok(stored) }
    }

    fn unknown_profile(&self, url: String) -> Outcome {
        let known = self.rulebook().now().validator.profiles().iter().map(|profile| profile.url.as_str());
        let known = known.collect::<Vec<_>>().join(", ");
        let issue = Issue::new(Hcert::OperationParameterWrong).with("name", "profile").with("value", url);
        issue.with("expected", format!("one of {known}")).at("http.profile").into()
    }
}

fn missing(what: &'static str) -> Outcome {
    Issue::new(Hcert::OperationParameterMissing).with("expected", what).at("Parameters.parameter").into()
}
