//! `GET /Patient/{id}/_history`: versions of one patient, newest first.

use super::{EmbeddedRegistry, unreadable};
use crate::registry::{Caller, LookupFailure, RegistryFinding};
use certificate::search::link;
use certificate::search::paging::Paging;
use certificate::search::parameter::SHAPING;
use certificate::{Id, Version};
use engine::StoredPatient;
use fhir::bundle::{Bundle, EntryResource, HistoryChange, VersionEntry};
use fhir::date_time::{self, Span};

impl EmbeddedRegistry {
    /// # Errors
    /// MPI-021 when nobody has the id, MPI-080, -096 and -015 for the parameters.
    pub(super) fn history(
        &self,
        id: &str,
        parameters: &[(String, String)],
        caller: &Caller,
    ) -> Result<RegistryFinding, LookupFailure> {
        let refusals = self.refusals(caller);
        let versions = match Id::parse(id) {
            Some(id) => self.engine.patients().versions(id).map_err(unreadable)?,
            None => Vec::new(),
        };
        if versions.is_empty() {
            return Err(refusals.one("MPI-021", &[]).into());
        }
        let (mut paging, mut since, mut at) = (Paging::default(), None, None);
        let mut sent: Vec<(&str, String)> = Vec::new();
        for (name, value) in parameters {
            let wrong = || refusals.one("MPI-096", &[("message", &format!("{name}={value}"))]);
            let name = name.as_str();
            if sent.iter().any(|(known, _)| *known == name) {
                return Err(refusals.one("MPI-080", &[("param", name)]).into());
            }
            let mut used = value.clone();
            match name {
                "_since" => since = Some(time(value).ok_or_else(wrong)?.low),
                "_at" => at = Some(time(value).ok_or_else(wrong)?),
                "_count" | "_page" => {
                    paging.take(name, value).map_err(|_| wrong())?;
                    if paging.is_cut(self.settings.count) {
                        used = self.settings.count.max.to_string();
                    }
                }
                _ if SHAPING.contains(&name) => drop(paging.take(name, value)),
                _ => {
                    let known = ["_since", "_at", "_count", "_page"];
                    return Err(refusals.unknown_parameter(name, &known).into());
                }
            }
            sent.push((name, used));
        }
        let shown = chosen(&versions, since, at);
        let (count, page) = (paging.count(self.settings.count), paging.page());
        let total = shown.len() as u64;
        let sent = sent.iter().filter(|(name, _)| *name != "_page").map(|(name, value)| (*name, value.as_str()));
        let address = format!("{}/Patient/{id}/_history", caller.base_url);
        let links = link::pages(&address, &link::encode(sent), page, count, total);
        let mut bundle = Bundle::history(total, &links, 1024 * shown.len().min(count as usize));
        let skipped = usize::try_from((page - 1).saturating_mul(u64::from(count))).unwrap_or(usize::MAX);
        for patient in shown.into_iter().skip(skipped).take(count as usize) {
            let about = EntryResource { kind: "Patient", id: patient.id.get(), base_url: Some(&caller.base_url) };
            let change = if patient.version == Version::FIRST { HistoryChange::Create } else { HistoryChange::Update };
            let last_updated = patient.stamp.milliseconds;
            let entry = VersionEntry { change, version: patient.version.get(), last_updated };
            let resource = |out: &mut Vec<u8>| {
                out.extend_from_slice(&patient.resource);
                Ok::<(), std::convert::Infallible>(())
            };
            let Ok(()) = bundle.version(about, entry, resource);
        }
        Ok(RegistryFinding { body: bundle.finish(), ..RegistryFinding::default() })
    }
}

/// Versions made from a moment on, and those that were current at some moment of a span. `versions` are all of them, newest first.
fn chosen(versions: &[StoredPatient], since: Option<i64>, at: Option<Span>) -> Vec<&StoredPatient> {
    let mut followed = i64::MAX;
    let chosen = versions.iter().filter(|version| {
        let made = version.stamp.milliseconds;
        let until = std::mem::replace(&mut followed, made);
        since.is_none_or(|since| made >= since) && at.is_none_or(|at| made <= at.high && until > at.low)
    });
    chosen.collect()
}

fn time(value: &str) -> Option<Span> {
    // A `+` that was not escaped arrives as a blank.
    date_time::search_span(&value.replacen(' ', "+", 1)).ok()
}
