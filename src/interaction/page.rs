//! A page of versions becomes a Bundle: that of a search or of a history. What it may take of memory is bounded.

use std::borrow::Cow;
use std::sync::Arc;

use uuid::Uuid;

use super::context::{RequestContext, Subset};
use super::read::{reduced, write_reduced};
use super::render::CertificateRenderer;
use super::service::{Service, unreadable};
use super::{Answer, ShownVersions};
use crate::config::limits::BUNDLE_BYTES_MAX;
use crate::interaction::limits::{LARGE_ANSWER_BYTES, READ_THROUGH_BYTES};
use crate::turns::RequestPermit;
use base::trace::Trace;
use certificate::search::Hit;
use certificate::search::request::SearchRequest;
use certificate::{State, Version};
use engine::{CompressedVersion, StoreError};
use fhir::bundle::{Bundle, EntryResource, HistoryChange, Link, VersionEntry};
use fhir::outcome::{Hcert, Issue, Outcome};

/// What a page shows.
pub(super) struct BundlePage {
    pub kind: PageKind,
    pub total: u64,
    pub links: Vec<Link>,
    pub hits: Vec<Hit>,
    /// An OperationOutcome behind the hits. Contract 4.6, 4.9.
    pub warning: Option<Vec<u8>>,
    /// Where not everything is shown as it is stored.
    pub renderer: Option<CertificateRenderer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageKind {
    Search,
    History,
}

/// Bytes of an entry beside its resource and the base address.
pub(super) const ENTRY_BYTES: usize = 256;

impl Service {
    /// Answers a page. A large one waits for its turn, is made on a thread of its own, and keeps its turn until it is sent.
    ///
    /// # Errors
    /// 503 when its turn does not come in time, 400 when the Bundle would grow beyond [`BUNDLE_BYTES_MAX`].
    pub(super) async fn bundle(&self, context: &RequestContext, mut page: BundlePage) -> Result<Answer, Outcome> {
        let form = EntryForm {
            base_url: (page.kind == PageKind::History || self.settings.full_url_absolute)
                .then(|| context.base_url.clone()),
            subset: context.subset.clone(),
            renderer: page.renderer.take(),
        };
        if let Some(versions) = self.engine.versions(&page.hits, form.small_bytes()).map_err(unreadable)? {
            let bytes = versions.iter().map(|version| form.bytes(version)).sum();
            let mut bundle = page.begin(bytes);
            for version in &versions {
                form.add(&mut bundle, page.kind, version).map_err(unreadable)?;
            }
            let body = page.finish(bundle);
            return Ok(Answer { status: 200, body, shown: ShownVersions::Many(page.hits), ..Answer::default() });
        }
        let turn = self.large_answers.take(context.turn_client()).await?;
        let engine = self.engine.clone();
        let made = tokio::task::spawn_blocking(Trace::carried(move || {
            // What was found while it waited was let go, since that too is memory.
            let mut bytes = 0;
            for hit in &page.hits {
                bytes += form.bytes(&engine.compressed(*hit).map_err(unreadable)?);
                within(bytes, BUNDLE_BYTES_MAX)?;
            }
            let mut bundle = page.begin(bytes);
            for hit in &page.hits {
                form.add(&mut bundle, page.kind, &engine.compressed(*hit).map_err(unreadable)?).map_err(unreadable)?;
                within(bundle.bytes(), BUNDLE_BYTES_MAX)?;
            }
            let body = page.finish(bundle);
            let shown = ShownVersions::Many(page.hits);
            Ok(Answer { status: 200, body, turn: Some(RequestPermit::of(turn)), shown, ..Answer::default() })
        }));
        made.await.map_err(Outcome::internal)?
    }

    /// A page of a search for resources that are not certificates, given by id and JSON, with the warnings of the search.
    ///
    /// # Errors
    /// 400 when the Bundle would grow beyond [`BUNDLE_BYTES_MAX`].
    pub(super) fn searchset<'r>(
        &self,
        context: &RequestContext,
        resource_type: &str,
        request: &SearchRequest,
        total: u64,
        found: impl Iterator<Item = (String, Cow<'r, [u8]>)>,
        mut warnings: Vec<Issue>,
    ) -> Result<Vec<u8>, Outcome> {
        let links = request.links(resource_type, &self.search_settings(context), total, |_| None)?;
        let mut bundle = Bundle::searchset(total, &links, 0);
        for (id, resource) in found {
            let full_url = format!("{}/{resource_type}/{id}", context.base_url);
            bundle.found(&full_url, &reduced(resource.into_owned(), &context.subset));
            within(bundle.bytes(), BUNDLE_BYTES_MAX)?;
        }
        warnings.extend(request.warnings());
        if !warnings.is_empty() {
            bundle.outcome(&outcome_address(), &self.warning(context, warnings));
        }
        Ok(bundle.finish())
    }
}

/// `fullUrl` of an entry with an outcome, which is no resource of the server. R5 `bdl-15`.
pub(super) fn outcome_address() -> String {
    format!("urn:uuid:{}", Uuid::new_v4())
}

/// How entries are written. `fullUrl` is relative in a search for certificates, unless the settings say otherwise, and absolute in every
/// other Bundle. Contract 1.2.
struct EntryForm {
    base_url: Option<Arc<str>>,
    subset: Subset,
    renderer: Option<CertificateRenderer>,
}

impl EntryForm {
    /// Bytes of certificates up to which they are written at once.
    fn small_bytes(&self) -> usize {
        let reads_through = self.renderer.is_some() || self.subset != Subset::All;
        if reads_through { READ_THROUGH_BYTES } else { LARGE_ANSWER_BYTES }
    }

    /// Bytes that an entry takes, if not to the byte.
    fn bytes(&self, version: &CompressedVersion) -> usize {
        let resource = if self.subset == Subset::All { version.bytes_max() } else { 0 };
        ENTRY_BYTES + self.base_url.as_ref().map_or(0, |base_url| base_url.len()) + resource
    }

    fn add(&self, bundle: &mut Bundle, kind: PageKind, version: &CompressedVersion) -> Result<(), StoreError> {
        let about = EntryResource { kind: "Composition", id: version.id.get(), base_url: self.base_url.as_deref() };
        let resource = |out: &mut Vec<u8>| match &self.renderer {
            Some(renderer) => renderer.write(version, &self.subset, out),
            None => write_reduced(version, &self.subset, out),
        };
        if kind == PageKind::Search {
            return bundle.matched(about, resource);
        }
        let change = match (version.state, version.version) {
            (State::Deleted, _) => HistoryChange::Delete,
            (_, Version::FIRST) => HistoryChange::Create,
            _ => HistoryChange::Update,
        };
        let last_updated = version.stamp.milliseconds;
        bundle.version(about, VersionEntry { change, version: version.version.get(), last_updated }, resource)
    }
}

impl BundlePage {
    fn begin(&self, bytes: usize) -> Bundle {
        match self.kind {
            PageKind::Search => Bundle::searchset(self.total, &self.links, bytes),
            PageKind::History => Bundle::history(self.total, &self.links, bytes),
        }
    }

    fn finish(&self, mut bundle: Bundle) -> Vec<u8> {
        if let Some(warning) = &self.warning {
            bundle.outcome(&outcome_address(), warning);
        }
        bundle.finish()
    }
}

/// # Errors
/// A Bundle of more bytes is refused.
pub(super) fn within(bytes: usize, max: usize) -> Result<(), Outcome> {
    match bytes <= max {
        true => Ok(()),
        false => Err(Issue::new(Hcert::PageTooLarge).with("max", max.to_string()).at("http._count").into()),
    }
}
