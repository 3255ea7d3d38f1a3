//! `$pdf`: GET or POST /Composition/{id}/$pdf and /Composition/{id}/_history/{version}/$pdf. Contract 8.8.
//!
//! The document shows what a read in one role shows, and has that attached. The same version, role and language give the same bytes for as
//! long as the registry and the code lists say the same.

mod sheet;
mod words;

use std::sync::{Arc, OnceLock};

use aws_lc_rs::digest::{SHA256, digest};

use super::answer::AnswerFile;
use super::context::{RequestContext, Subset};
use super::grants::CallerGrants;
use super::operation_parameters::{OperationParameters, PDF, missing};
use super::read::ReadVersion;
use super::render::CertificateRenderer;
use super::rights::{not_permitted, not_permitted_in};
use super::service::{Service, unreadable};
use super::subject::unanswered;
use super::{Answer, HttpMethod, Instance, Interaction, PathId, ShownVersions};
use crate::access::Identity;
use crate::access::rights::{CertificateView, OwnPatient, PermittedAction};
use crate::registry::LookupPurpose;
use crate::turns::in_turn;
use base::hex::Hex;
use certificate::narrative::PrintedCertificate;
use certificate::search::Hit;
use certificate::terminology::Terminology;
use certificate::{Names, Precondition};
use engine::{Engine, EntryHead, EntryLog, StoredVersion, VersionSubject};
use fhir::json;
use fhir::outcome::{Hcert, Issue, Language, Outcome};
use pdf::Fonts;
use sheet::PrintFacts;

/// The typefaces, read when the first document is made.
static FONTS: OnceLock<Fonts> = OnceLock::new();

/// Bytes of the digest that is a document's entity tag.
const TAG_BYTES: usize = 16;

/// Everything that a document is made of, for another thread.
struct PrintOrder {
    engine: Arc<Engine>,
    renderer: CertificateRenderer,
    terminology: Arc<Terminology>,
    names: Names,
    read: ReadVersion,
    role: String,
    language: Language,
    /// FHIR JSON of the patient, where the registry knows them.
    patient: Option<Vec<u8>>,
    entry: EntryHead,
}

impl Service {
    pub(super) async fn pdf(
        &self,
        interaction: &Interaction,
        mut context: RequestContext,
        body: &[u8],
    ) -> Result<Answer, Outcome> {
        let role = self.take_role(&mut context, body)?;
        if context.identity.is_some() {
            self.admit(interaction, &mut context).await?;
        }
        // They are about the document, not about the version.
        let (if_none_match, since) = (context.if_none_match.take(), context.if_modified_since.take());
        context.subset = Subset::All;
        let nothing = Instance::Unknown(String::new());
        let instance = interaction.id.as_ref().unwrap_or(&nothing);
        let read = match &interaction.version {
            None => self.read_current(&context, instance)?,
            Some(version) => self.read_version(&context, instance, PathId::known(version))?,
        };
        let StoredVersion { id, version, stamp, .. } = read.stored;
        let gone = || Outcome::internal("a version that was read is not there");
        let found = self.engine.read(id, Some(version), |entry| Ok((entry.seq().0, entry.patient()?)));
        let (number, patient) = found.map_err(unreadable)?.ok_or_else(gone)?;
        let hash = self.engine.ledger().hash(EntryLog::Changes, number).map_err(unreadable)?.ok_or_else(gone)?;
        let order = PrintOrder {
            engine: self.engine.clone(),
            renderer: self.renderer(),
            terminology: self.terminology(),
            names: self.settings.names.clone(),
            read,
            role: role.clone(),
            language: context.asked_language.unwrap_or(Language::Estonian),
            patient: self.printed_patient(&context, patient).await?,
            entry: EntryHead { log: EntryLog::Changes, number, hash },
        };
        let made = in_turn(&self.documents, context.turn_client(), move || order.print()).await?;
        let (body, file_name, entry) = made?;
        let tag = Hex(&digest(&SHA256, &body).as_ref()[..TAG_BYTES]).to_string();
        let is_known = match (if_none_match, since) {
            _ if interaction.row.method != HttpMethod::Get => false,
            (Some(Precondition::Any), _) => true,
            (Some(Precondition::Tags(tags)), _) => tags.contains(&tag),
            (None, Some(since)) => stamp.milliseconds.div_euclid(1000) <= since,
            (None, None) => false,
        };
        let file = AnswerFile { tag, name: file_name, role, entry: entry.to_string() };
        Ok(Answer {
            status: if is_known { 304 } else { 200 },
            body: if is_known { Vec::new() } else { body },
            version: Some((version, stamp.milliseconds)),
            shown: ShownVersions::One(Hit { id, version }),
            file: Some(Box::new(file)),
            ..Answer::default()
        })
    }

    /// The role to print for. From here on the caller has this one alone.
    ///
    /// # Errors
    /// 400 without a role that the table of permissions knows; 403 for one that the token does not have, or that may read nothing.
    fn take_role(&self, context: &mut RequestContext, body: &[u8]) -> Result<String, Outcome> {
        let permissions = &self.policy.permissions;
        if let Some(identity) = &context.identity
            && !permissions.rights(identity.clone()).may(PermittedAction::Read)
        {
            return Err(not_permitted(PermittedAction::Read));
        }
        let asked = OperationParameters::read(context, body, PDF)?;
        let role = asked.text("role").ok_or_else(|| missing("role: a role of the table of permissions"))?.to_owned();
        if permissions.unknown_role(&role).is_some() {
            let issue = Issue::new(Hcert::OperationParameterWrong).with("name", "role").with("value", role);
            let known = format!("one of {}", permissions.role_names().join(", "));
            return Err(issue.with("expected", known).into());
        }
        let may_not = || not_permitted_in(&role, PermittedAction::Read);
        match &context.identity {
            Some(identity) if !identity.roles.contains(&role) => return Err(may_not()),
            Some(identity) => {
                let roles = vec![role.clone()];
                context.identity = Some(Arc::new(Identity { roles, ..Identity::clone(identity) }));
            }
            // All certificates are there for a developer without a token, and each role shows as much of them as it does with one.
            None => {
                let rights = permissions.rights_of_nobody(&role);
                if !rights.may(PermittedAction::Read) {
                    return Err(may_not());
                }
                context.grants = Some(Arc::new(CallerGrants { rights, own: OwnPatient::default() }));
            }
        }
        Ok(role)
    }

    /// The patient as the registry had them when the version was made.
    ///
    /// # Errors
    /// The registry does not answer: a certificate without a name would be worth little.
    async fn printed_patient(
        &self,
        context: &RequestContext,
        subject: Option<VersionSubject>,
    ) -> Result<Option<Vec<u8>>, Outcome> {
        let Some(subject) = subject.filter(|subject| !subject.id.is_empty()) else { return Ok(None) };
        let caller = context.caller(LookupPurpose::Look);
        let found = self.registry.as_of(&subject.id, &subject.version, &caller).await.map_err(unanswered)?;
        Ok(found.map(|found| found.body))
    }
}

impl PrintOrder {
    /// The file, its name, and the entry that it names.
    fn print(mut self) -> Result<(Vec<u8>, String, EntryHead), Outcome> {
        if self.read.is_left {
            let hit = Hit { id: self.read.stored.id, version: self.read.stored.version };
            self.read.stored = self.engine.compressed(hit).and_then(|version| version.expand()).map_err(unreadable)?;
        }
        let stored = &self.read.stored;
        let resource = match self.read.view {
            CertificateView::Full => stored.resource.clone(),
            CertificateView::Employer => self.renderer.employer(stored).map_err(unreadable)?,
        };
        let composition = json::parse_stored(&resource);
        let composition = composition.as_object().ok_or_else(|| Outcome::internal("a certificate is no object"))?;
        let terms = self.terminology.words_in(self.language);
        let printed = PrintedCertificate::read(composition, &self.names, &terms, self.language);
        let number = printed.number.clone().unwrap_or_else(|| format!("Composition/{}", stored.id));
        let patient = self.patient.as_deref().map(json::parse_stored);
        let address = format!("{}/Composition/{}/_history/{}", self.names.base_url, stored.id, stored.version);
        let facts = PrintFacts {
            number: &number,
            version: stored.version,
            stamp: stored.stamp,
            role: &self.role,
            language: self.language,
            patient: patient.as_ref(),
            estonian_code: self.names.identifiers.estonian_code(),
            address: &address,
            entry: &self.entry.to_string(),
        };
        let sheet = sheet::sheet(printed, &facts, resource.clone());
        let file = pdf::make(&sheet, FONTS.get_or_init(Fonts::shipped)).map_err(Outcome::internal)?;
        Ok((file, file_name(&number), self.entry))
    }
}

/// `TT-2025-000202.pdf`: what a file may be called everywhere.
fn file_name(number: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '-' };
    let name: String = number.chars().take(100).map(plain).collect();
    format!("{}.pdf", name.trim_matches(['-', '.']))
}
