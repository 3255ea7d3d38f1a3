//! Who calls: the header `Authorization`, judged before anything else of a request. Contract 2.9, 7.2.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

use super::route::Route;
use super::settings::HttpSettings;
use crate::access::{Identity, RefusedToken};
use crate::interaction::{InteractionKind, RequestContext};
use fhir::outcome::{Hcert, Issue, Outcome};

/// Tells who calls; nothing where nobody has to say. `/metadata`, `/openapi.json` and OPTIONS are open, and what they are sent is not looked at.
///
/// # Errors
/// 401: a token is needed and there is none, or the one that is there is refused, whether or not it is needed. 503: the keys of tokens
/// are not known yet.
pub(super) async fn identify(
    settings: &HttpSettings,
    route: &Route,
    headers: &HeaderMap,
) -> Result<Option<Arc<Identity>>, Outcome> {
    let is_open = match route {
        Route::To(interaction) => {
            matches!(interaction.kind(), InteractionKind::Capabilities | InteractionKind::ApiDescription)
        }
        route => *route == Route::Options,
    };
    if is_open {
        return Ok(None);
    }
    let mut values = headers.get_all(AUTHORIZATION).into_iter();
    let (tokens, value) = match (&settings.tokens, values.next()) {
        (Some(tokens), Some(value)) => (tokens, value),
        // Somebody who cannot verify tokens lets nobody in by them.
        (None, _) | (_, None) if settings.needs_token => return Err(Hcert::TokenMissing.into()),
        _ => return Ok(None),
    };
    if values.next().is_some() {
        return Err(refusal(RefusedToken::Repeated));
    }
    let value = std::str::from_utf8(value.as_bytes()).map_err(|_| refusal(RefusedToken::NotBearer))?;
    if let Some(identity) = tokens.known(value) {
        return Ok(Some(identity));
    }
    // On the heap, so that the way of a known token stays short.
    Box::pin(tokens.identify(value)).await.map(Some).map_err(refusal)
}

/// Writes into the context who calls; a change keeps it.
pub(super) fn name(context: &mut RequestContext, identity: Option<Arc<Identity>>) {
    // Only a change has a trace.
    if let Some(identity) = identity.as_ref().filter(|_| context.who.trace.is_some()) {
        context.who.person = Some(identity.person.clone());
        context.who.role = (!identity.roles.is_empty()).then(|| identity.roles.join(" "));
        context.who.organization.clone_from(&identity.organization);
    }
    context.identity = identity;
}

fn refusal(refused: RefusedToken) -> Outcome {
    match refused {
        RefusedToken::KeysUnavailable(cause) => Outcome::from(Hcert::TokenKeysUnavailable).because(cause),
        refused => {
            let issue = Issue::new(Hcert::TokenRefused).with("problem", refused.to_string()).at("http.authorization");
            Outcome::from(issue).because(refused.code())
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::Method;
    use hyper::header::HeaderValue;

    use super::*;
    use crate::access::Tokens;
    use crate::access::token::TokenRequest;
    use crate::config::{AccessMode, Config};
    use crate::http::route::route;
    use crate::interaction::context::Actor;

    fn settings(tokens: Option<Tokens>, mode: AccessMode) -> HttpSettings {
        let mut config = Config::default();
        config.access.mode = mode;
        let settings = HttpSettings::new(&config, "127.0.0.1:8080".parse().unwrap()).unwrap();
        HttpSettings { tokens: tokens.map(Arc::new), ..settings }
    }

    async fn code(settings: &HttpSettings, path: &str, values: &[&[u8]]) -> Result<Option<String>, Hcert> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        }
        let found = identify(settings, &route("/fhir", &Method::GET, path), &headers).await;
        found.map(|found| found.map(|identity| identity.person.clone())).map_err(|outcome| outcome.leading())
    }

    #[tokio::test]
    async fn a_header_is_read_strictly_and_by_whom_it_names() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(&Config::default(), folder.path(), Arc::new(|| 0)).unwrap();
        let request =
            TokenRequest { person: "37605030299".to_owned(), role: "doctor".to_owned(), ..TokenRequest::default() };
        let issued = tokens.issue(&request).await.unwrap().unwrap();
        let right = format!("Bearer {}", issued.token);
        let settings = settings(Some(tokens), AccessMode::Developer);
        for path in ["/fhir/Composition/1", "/fhir/nothing", "/"] {
            assert_eq!(code(&settings, path, &[]).await, Ok(None), "{path}");
            for _ in 0..2 {
                assert_eq!(code(&settings, path, &[right.as_bytes()]).await, Ok(Some("37605030299".to_owned())));
            }
            for wrong in [&b"Bearer"[..], b"Basic YTpi", b"Bearer \xf5", b"", b"Bearer a.b.c"] {
                assert_eq!(code(&settings, path, &[wrong]).await, Err(Hcert::TokenRefused), "{path}");
            }
            assert_eq!(code(&settings, path, &[right.as_bytes(), right.as_bytes()]).await, Err(Hcert::TokenRefused));
        }
        assert_eq!(code(&settings, "/fhir/metadata", &[b"Bearer a.b.c"]).await, Ok(None));
    }

    #[tokio::test]
    async fn a_door_that_needs_tokens_and_cannot_verify_them_stays_shut() {
        let settings = settings(None, AccessMode::Jwt);
        for values in [&[][..], &[&b"Bearer a.b.c"[..]]] {
            assert_eq!(code(&settings, "/fhir/Composition", values).await, Err(Hcert::TokenMissing));
        }
        assert_eq!(code(&settings, "/fhir/metadata", &[]).await, Ok(None));
    }

    #[test]
    fn a_change_keeps_who_made_it() {
        let identity = Arc::new(Identity {
            person: "37605030299".to_owned(),
            roles: vec!["doctor".to_owned(), "nurse".to_owned()],
            organization: Some("90006399".to_owned()),
            ..Identity::default()
        });
        let mut change = RequestContext {
            who: Actor { trace: Some("r".to_owned()), ..Actor::default() },
            ..RequestContext::default()
        };
        name(&mut change, Some(identity.clone()));
        let who = &change.who;
        assert_eq!((who.person.as_deref(), who.role.as_deref()), (Some("37605030299"), Some("doctor nurse")));
        assert_eq!(who.organization.as_deref(), Some("90006399"));
        let mut read = RequestContext::default();
        name(&mut read, Some(identity.clone()));
        assert_eq!((read.who.person, read.identity), (None, Some(identity)));
    }
}
