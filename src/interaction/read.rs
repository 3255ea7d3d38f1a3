//! FHIR `read` and `vread`: GET /Composition/{id} and /Composition/{id}/_history/{version}. Specification 4.3, 4.4.

use super::context::{Context, Subset};
use super::service::{Service, deleted, unreadable};
use super::{Answer, Instance};
use crate::certificate::{State, Version};
use crate::engine::{Error, Packed, Stored};
use crate::fhir::json;
use crate::fhir::subset;
use crate::outcome::{Hcert, Issue, Outcome};

impl Service {
    /// The current version. A deleted certificate is 410, an id never assigned 404.
    pub(super) fn read(&self, context: &Context, instance: &Instance) -> Result<Answer, Outcome> {
        let stored = self.current(instance)?;
        if stored.state == State::Deleted {
            return Err(deleted(stored.id));
        }
        self.shown(context, stored)
    }

    /// One version, readable also when the certificate is deleted; the tombstone itself is 410.
    pub(super) fn vread(
        &self,
        context: &Context,
        instance: &Instance,
        version: Option<Version>,
    ) -> Result<Answer, Outcome> {
        let found = match (instance.id(), version) {
            (Some(id), Some(version)) => self.engine.version(id, version).map_err(unreadable)?,
            _ => None,
        };
        let Some(stored) = found else {
            // An id that was never assigned is told before a version that is not there.
            self.current(instance)?;
            let shown = version.map_or("of this number".into(), |version| version.to_string());
            let missing = Issue::new(Hcert::VersionNotFound).with("id", instance.to_string());
            return Err(missing.with("version", shown).into());
        };
        if stored.state == State::Deleted {
            return Err(deleted(stored.id));
        }
        self.shown(context, stored)
    }

    fn shown(&self, context: &Context, stored: Stored) -> Result<Answer, Outcome> {
        let version = Some((stored.version, stored.stamp.milliseconds));
        if context.has(stored.version, stored.stamp.milliseconds) {
            return Ok(Answer { status: 304, version, ..Answer::default() });
        }
        if context.subset == Subset::Count {
            let issue = Issue::new(Hcert::SearchValueWrong).with("name", "_summary").with("value", "count");
            return Err(issue.with("expected", "true, text, data or false on a read").at("http._summary").into());
        }
        Ok(Answer { status: 200, body: reduced(stored.resource, &context.subset), version, ..Answer::default() })
    }
}

/// Appends the part of a version that `_elements` or `_summary` asks for.
pub fn write_reduced(version: &Packed, wanted: &Subset, out: &mut Vec<u8>) -> Result<(), Error> {
    match wanted {
        Subset::All => version.write(out),
        _ => {
            let resource = version.expand()?.resource;
            out.extend_from_slice(&reduced(resource, wanted));
            Ok(())
        }
    }
}

/// The part of a resource that `_elements` or `_summary` asks for.
pub(super) fn reduced(resource: Vec<u8>, wanted: &Subset) -> Vec<u8> {
    match wanted {
        Subset::All => resource,
        _ => {
            let mut json = json::parse_stored(&resource);
            subset::reduce(&mut json, wanted);
            json.to_vec()
        }
    }
}
