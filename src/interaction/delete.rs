//! FHIR `delete`: DELETE /Composition/{id}. Specification 4.5; Contract 3.7.

use super::context::RequestContext;
use super::service::Service;
use super::{Answer, Instance};
use crate::access::rights::PermittedAction;
use engine::Write;
use fhir::outcome::Outcome;

impl Service {
    pub(super) async fn delete(&self, context: RequestContext, instance: &Instance) -> Result<Answer, Outcome> {
        let id = instance.known().ok_or_else(|| Outcome::not_found("Composition", instance))?;
        let rows = context.rows(PermittedAction::Delete);
        let write = Write::Delete { id, if_match: context.if_match.clone(), who: context.who.clone(), rows };
        let written = self.write(&context, write).await?;
        let written =
            written.ok_or_else(|| Outcome::internal("a delete is made from no version it could move on from"))?;
        Ok(Answer { status: 204, changed: written.changed, ..Answer::default() })
    }
}
