//! FHIR `create`: POST /Composition. Specification 4.1; Contract 2.3 to 2.5.

use super::context::{RequestContext, Return};
use super::prepare::{PreparedCertificate, UpdateBase, check_certificate};
use super::service::Service;
use super::{Answer, ShownVersions, update};
use crate::access::rights::PermittedAction;
use crate::audit;
use crate::registry::LookupPurpose;
use certificate::search::Hit;
use certificate::search::filter::Filter;
use certificate::search::parameter::Field;
use certificate::search::value::SearchToken;
use certificate::transition::Trigger;
use engine::{VersionContent, Write};
use fhir::json::{self, ReadJson};
use fhir::outcome::{Hcert, Issue, Outcome};

impl Service {
    pub(super) async fn create(&self, context: &RequestContext, body: &[u8]) -> Result<Answer, Outcome> {
        let if_none_exist = context.if_none_exist.as_ref().map(|asked| identifier_asked(&asked.pairs)).transpose()?;
        let if_none_exist = if_none_exist.map(|token| token.term(Field::Identifier));
        let rules = self.rulebook().now();
        let ReadJson { mut value, problems, source } = json::parse_with_problems(body)?;
        let checked = check_certificate(&mut value, source, problems, UpdateBase::default(), &rules, &context.base_url);
        let mut checked = match checked {
            Ok(checked) => checked,
            Err(refused) => return Err(self.with_problems_of_patient(context, &value, None, refused).await),
        };
        let warnings = std::mem::take(&mut checked.warnings);
        self.check_author(context, &value)?;
        let resolved = self.resolve(context, &value, None, LookupPurpose::Write).await?;
        let PreparedCertificate { tail, row, brings } = checked.about(&mut value, &resolved, &rules)?;
        context.check_sent(PermittedAction::Create, &row)?;
        let (who, subject) = (context.who.clone(), resolved.patient);
        let shown = (context.prefer.answer == Return::Representation).then(|| tail.clone());
        let content = VersionContent { trigger: Trigger::Create, brings, tail, row, who, subject };
        let written = self
            .write(context, Write::Create { content, if_none_exist, rows: context.rows(PermittedAction::Read) })
            .await?;
        let written = written.ok_or_else(|| Outcome::internal("a create has no version to move on from"))?;
        let body = match context.prefer.answer {
            Return::Minimal => Vec::new(),
            Return::Representation => {
                // One that was there already is shown as a read shows it.
                let may = if written.changed { PermittedAction::Create } else { PermittedAction::Read };
                self.shown_change(context, may, &written, shown)?
            }
            Return::OperationOutcome => {
                update::stored_outcome(context, &written, warnings, resolved.warning, &self.settings)
            }
        };
        Ok(Answer {
            // One that was there already is no creation. Contract 2.5.
            status: if written.changed { 201 } else { 200 },
            body,
            version: Some((written.version, written.stamp.milliseconds)),
            location: Some(Self::version_address(context, &written)),
            shown: ShownVersions::One(Hit { id: written.id, version: written.version }),
            changed: written.changed,
            ..Answer::default()
        })
    }

    /// Names what `If-None-Exist` asks for and the certificates that have it, also those hidden from who asks: any answer tells something of
    /// them. The create that it leads to keeps both, as its event is made of what it keeps.
    pub(super) async fn meet_condition(&self, context: &mut RequestContext) {
        let (Some(met), Some(asked)) = (&context.met, &context.if_none_exist) else { return };
        met.add(|named| self.reader().condition(&asked.pairs, named));
        let Ok(token) = identifier_asked(&asked.pairs) else { return };
        let certificates =
            self.meet_certificates(context.turn_client(), met, Filter::Term(token.term(Field::Identifier))).await;
        let certificates: Vec<String> = certificates.iter().map(|hit| format!("{}/{}", hit.id, hit.version)).collect();
        let more = context.who.particulars.get_or_insert_default();
        more.condition = Some(asked.text.clone());
        if let SearchToken::SystemCode(system, value) = token {
            more.condition_identifier = Some(audit::identifier(Some(&system), &value));
        }
        more.condition_certificates = Some(certificates.join(" ")).filter(|ids| !ids.is_empty());
    }
}

/// `If-None-Exist` takes `identifier=system|value` and nothing else. Contract 2.5.
fn identifier_asked(pairs: &[(String, String)]) -> Result<SearchToken, Outcome> {
    let token = match pairs {
        [(name, value)] if name == "identifier" => SearchToken::parse(value),
        _ => None,
    };
    match token {
        Some(token @ SearchToken::SystemCode(..)) => Ok(token),
        _ => {
            let shown = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&");
            Err(Issue::new(Hcert::HeaderWrong)
                .with("header", "If-None-Exist")
                .with("value", shown)
                .at("http.if-none-exist")
                .into())
        }
    }
}
