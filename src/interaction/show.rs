//! How much of a certificate a caller is shown. Contract 7.4, 7.5.

use std::sync::Arc;

use super::rights::Held;
use super::service::Service;
use crate::access::rights::{May, View};
use crate::certificate::{Names, employer};
use crate::engine::{Engine, Error, Stored};
use crate::fhir::json::{self, Json};
use crate::search::Hit;

/// Makes certificates what a caller is shown, on whichever thread.
pub struct Shower {
    engine: Arc<Engine>,
    names: Names,
    /// None: the view of everything is the same.
    held: Option<Arc<Held>>,
    /// Where all are shown in one way.
    only: Option<View>,
}

impl Service {
    pub(super) fn shower(&self) -> Shower {
        Shower { engine: self.engine.clone(), names: self.settings.names.clone(), held: None, only: None }
    }

    /// For the hits of a search; nothing where they are shown as they are stored.
    pub(super) fn shower_of(&self, held: &Arc<Held>, may: May) -> Option<Shower> {
        let only = held.scope(may).only_view();
        (only != Some(View::Full)).then(|| Shower { held: Some(held.clone()), only, ..self.shower() })
    }
}

impl Shower {
    /// A version as the caller is shown it; nothing when that is as it is stored.
    pub fn show(&self, hit: Hit, stored: impl FnOnce() -> Result<Stored, Error>) -> Result<Option<Vec<u8>>, Error> {
        let view = match (self.only, &self.held) {
            (Some(view), _) => view,
            (None, Some(held)) => {
                let found = self.engine.version_with_rows(hit.id, hit.version)?;
                let row = found.and_then(|found| found.row);
                // What was a hit a moment ago and is none now is shown as little as can be.
                row.and_then(|row| held.visible(May::Read, hit.id, &row)).unwrap_or(View::Employer)
            }
            (None, None) => View::Full,
        };
        match view {
            View::Full => Ok(None),
            View::Employer => self.employer(&stored()?).map(Some),
        }
    }

    /// What an employer is shown of a version.
    pub fn employer(&self, stored: &Stored) -> Result<Vec<u8>, Error> {
        let subject = self.engine.subject(stored.id, stored.version)?;
        let known = subject.iter().flat_map(|subject| &subject.identifiers);
        let estonian = known.into_iter().find(|(system, _)| system.ends_with("/sid/pid/est/ni"));
        let identifier = estonian.map(|(system, value)| (system.as_str(), value.as_str()));
        let mut json = json::parse_stored(&stored.resource);
        if let Json::Object(composition) = &mut json {
            employer::show(composition, identifier, &self.names);
        }
        Ok(json.to_vec())
    }
}
