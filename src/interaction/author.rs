//! Who the author of a certificate is, held against a token: everything that names the author's person or institution has to agree.
//!
//! Source: Contract 4.5, 7.7; Decision 237.

use super::context::RequestContext;
use super::service::Service;
use certificate::Names;
use certificate::search::reference::comparable;
use fhir::json::{Json, Object};
use fhir::outcome::{Hcert, Issue, Outcome};

impl Service {
    /// Whether the author of a certificate is who sends it, where that is asked for. Contract 7.7.
    ///
    /// # Errors
    /// 403, with an issue for each element that names another person or institution.
    pub(super) fn check_author(&self, context: &RequestContext, certificate: &Json) -> Result<(), Outcome> {
        let grants = context.grants.as_ref().filter(|_| self.policy.author_must_be_caller);
        let (Some(grants), Some(composition)) = (grants, certificate.as_object()) else { return Ok(()) };
        let identity = grants.rights.identity();
        let caller = Author { person: &identity.person, institution: identity.organization.as_deref() };
        match caller.disagreements(composition, &self.settings.names) {
            wrong if wrong.is_empty() => Ok(()),
            wrong => Err(wrong.into()),
        }
    }
}

/// The only author that a certificate may have.
#[derive(Clone, Copy, Debug)]
struct Author<'a> {
    /// Personal code.
    person: &'a str,
    /// Registry code. `None`: no institution may be named.
    institution: Option<&'a str>,
}

impl Author<'_> {
    /// What names another author, or does not name this one: one issue for each element, none where everything agrees.
    ///
    /// Person and institution stand in the PractitionerRole that the author points to, as references. Identifiers may stand beside them;
    /// displays are not compared.
    fn disagreements(&self, composition: &Object, names: &Names) -> Vec<Issue> {
        let author = composition.get("author").and_then(Json::as_array).and_then(|authors| authors.first());
        let pointed = author.and_then(|author| author.text("reference")?.strip_prefix('#'));
        let contained = composition.get("contained").and_then(Json::as_array).unwrap_or_default();
        let mut roles = contained.iter().enumerate().filter(|(_, resource)| {
            resource.text("resourceType") == Some("PractitionerRole") && resource.text("id") == pointed
        });
        let (Some(author), Some((at, role))) = (author, roles.next()) else {
            return vec![Issue::new(Hcert::AuthorNotCaller).at("Composition.author[0]")];
        };
        let place = format!("Composition.contained[{at}]");
        let person = [names.identifiers.estonian_code(), self.person];
        let institution = self.institution.map(|code| [names.identifiers.institution(), code]);
        let mut wrong = Vec::new();
        for (name, kind, wanted, code) in [
            ("practitioner", "Practitioner", Some(person), Hcert::AuthorNotCaller),
            ("organization", "Organization", institution, Hcert::AuthorElsewhere),
        ] {
            let named = role.get(name);
            let reference = named.and_then(|named| named.text("reference"));
            let reference = reference.map(|reference| comparable(reference, &names.base_url));
            if reference != wanted.map(|[_, code]| [kind, "/", code].concat()).as_deref() {
                wrong.push(Issue::new(code).at(format!("{place}.{name}.reference")));
            }
            if named.and_then(|named| named.get("identifier")).is_some_and(|beside| !is_one_of(beside, [wanted])) {
                wrong.push(Issue::new(code).at(format!("{place}.{name}.identifier")));
            }
        }
        // Those of the role itself name nobody, unless their system is one of persons or institutions, or they have none.
        let beside =
            author.get("identifier").map(|identifier| ("Composition.author[0].identifier".to_owned(), identifier));
        let own = role.items("identifier").iter().enumerate();
        let own = own.map(|(at, identifier)| (format!("{place}.identifier[{at}]"), identifier));
        for (place, identifier) in beside.into_iter().chain(own) {
            let base = names.identifiers.base();
            let system = identifier.text("system").map(|system| system.get(..base.len()).unwrap_or(system));
            let is_ours = system.is_none_or(|system| system.eq_ignore_ascii_case(base));
            if is_ours && !is_one_of(identifier, [Some(person), institution]) {
                wrong.push(Issue::new(Hcert::AuthorNotCaller).at(place));
            }
        }
        wrong
    }
}

/// Whether an identifier has one of these systems with its value.
fn is_one_of<const N: usize>(identifier: &Json, wanted: [Option<[&str; 2]>; N]) -> bool {
    let (system, value) = (identifier.text("system"), identifier.text("value"));
    wanted.into_iter().flatten().any(|[wanted, code]| system == Some(wanted) && value == Some(code))
}
