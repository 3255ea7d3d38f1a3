//! What a request brings besides its path and body, read once by `http`.

use std::sync::Arc;

use super::grants::CallerGrants;
pub use crate::access::Identity;
pub use crate::audit::{AuditAction, AuditEvent, AuthenticationMethod, NamedCollector, NamedKeys, RequestSource};
use crate::registry::{Caller, LookupPurpose};
pub use crate::registry::{HeaderText, XRoadHeaders};
use crate::turns::ClientKey;
use certificate::Version;
pub use certificate::{EntityTag, Precondition};
pub use engine::Actor;
pub use fhir::outcome::Language;
pub use fhir::subset::Subset;

/// Headers and query of one request, understood.
#[derive(Clone, Debug, Default)]
pub struct RequestContext {
    /// `{base_url}` as this caller sees it, without a slash at the end.
    pub base_url: Arc<str>,
    pub language: Language,
    /// What `Accept-Language` asks for, where it names a language of ours.
    pub asked_language: Option<Language>,
    pub prefer: Prefer,
    /// `If-Match`. `None`: no condition.
    pub if_match: Option<Precondition>,
    pub if_none_match: Option<Precondition>,
    /// `If-Modified-Since`, seconds since 1970 UTC.
    pub if_modified_since: Option<i64>,
    pub if_none_exist: Option<IfNoneExist>,
    /// `_elements` and `_summary`.
    pub subset: Subset,
    /// Name and value pairs of the query string and, for `_search`, of the form, in order, decoded, as sent.
    /// `_format`, `_pretty` are left in: they belong to links.
    pub parameters: Vec<(String, String)>,
    /// Whether a search tells how it was run: `x-hcert-explain`, in developer mode.
    pub explains: bool,
    /// The parameters came in the body of a POST to `_search`.
    pub by_form: bool,
    /// Who acts, for the version's header: empty where none is made.
    pub who: Actor,
    /// Who calls, as a token says. `None`: developer mode without a token, which may do everything.
    pub identity: Option<Arc<Identity>>,
    /// Whom the bounds on clients count it for. `None`: this machine itself.
    pub client: Option<ClientKey>,
    /// What is forwarded to the registry; most requests have none of it.
    pub forwarded: Option<Box<ForwardedHeaders>>,
    /// What they may do; known once the request was admitted.
    pub grants: Option<Arc<CallerGrants>>,
    /// Takes whom the interaction names beyond its path and parameters; nothing where no audit trail is kept.
    pub met: Option<NamedCollector>,
    /// The parameters name somebody, or a certificate, by an identifier.
    pub names_identifier: bool,
}

/// `If-None-Exist`: what must not be there for a create to be made.
#[derive(Clone, Debug)]
pub struct IfNoneExist {
    /// As it was sent.
    pub text: String,
    /// Name and value pairs, decoded.
    pub pairs: Vec<(String, String)>,
}

/// Headers that concern the registry.
#[derive(Clone, Debug, Default)]
pub struct ForwardedHeaders {
    pub x_road: XRoadHeaders,
    /// `Authorization`
    pub authorization: Option<String>,
    /// `x-hcert-fault`, in developer mode. Contract 6.4.
    pub fault: Option<String>,
    /// Another service of this kind asks for a decision of its own: nobody is taken over for it.
    pub only_looks: bool,
}

impl RequestContext {
    /// Who asks the registry, for a decision of the service's own.
    pub fn caller(&self, purpose: LookupPurpose) -> Caller {
        let forwarded = self.forwarded.as_deref();
        Caller {
            language: self.language,
            client: self.turn_client(),
            base_url: self.base_url.clone(),
            purpose,
            authorization: None,
            x_road: forwarded.map(|forwarded| forwarded.x_road.clone()).unwrap_or_default(),
            fault: forwarded.and_then(|forwarded| forwarded.fault.clone()),
        }
    }

    /// Who asks the registry for patients.
    pub fn caller_of_patients(&self) -> Caller {
        let only_looks = self.forwarded.as_ref().is_some_and(|forwarded| forwarded.only_looks);
        let purpose = if only_looks { LookupPurpose::Look } else { LookupPurpose::Callers };
        let authorization = self.forwarded.as_ref().and_then(|forwarded| forwarded.authorization.clone());
        Caller { authorization, ..self.caller(purpose) }
    }

    /// The client that its turns are counted for: the person of the token, from any address; without a token the client that the bounds of
    /// `http` count.
    pub(super) fn turn_client(&self) -> Option<ClientKey> {
        self.identity.as_ref().map(|identity| ClientKey::person(&identity.person)).or(self.client)
    }

    /// Adds whom the request names to its event.
    pub fn meet(&self, add: impl FnOnce(&mut NamedKeys)) {
        if let Some(met) = &self.met {
            met.add(add);
        }
    }

    /// Whether the caller has this version already: `If-None-Match` is asked first, `If-Modified-Since` only without it.
    /// `last_modified` in milliseconds since 1970 UTC. Contract 2.5; RFC 9110, 13.2.2.
    pub fn has(&self, version: Version, last_modified: i64) -> bool {
        match (&self.if_none_match, self.if_modified_since) {
            (Some(condition), _) => condition.names(version),
            (None, Some(since)) => last_modified.div_euclid(1000) <= since,
            (None, None) => false,
        }
    }
}

/// `Prefer`. Contract 2.3, 4.9.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefer {
    pub answer: Return,
    /// `handling=lenient`: unknown search parameters are dropped with a warning.
    pub lenient: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Return {
    #[default]
    Minimal,
    Representation,
    OperationOutcome,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_counted_for_the_person_of_the_token_or_else_for_the_address() {
        let address = Some(ClientKey::address("192.0.2.1".parse().unwrap()));
        let person = Arc::new(Identity { person: "37001010021".into(), ..Identity::default() });
        let of = |identity, client| RequestContext { identity, client, ..RequestContext::default() }.turn_client();
        assert_eq!(of(None, None), None);
        assert_eq!(of(None, address), address);
        assert_eq!(of(Some(person.clone()), address), Some(ClientKey::person("37001010021")));
        assert_eq!(of(Some(person), None), Some(ClientKey::person("37001010021")));
    }
}
