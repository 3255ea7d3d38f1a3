//! Who calls: the header `Authorization`, judged before anything else of a request. Contract 2.9, 7.2.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

use super::route::Route;
use super::settings::Settings;
use crate::access::{Identity, Refused};
use crate::interaction::{Context, Interaction};
use crate::outcome::{Hcert, Issue, Outcome};

/// Tells who calls; nothing where nobody has to say. `/metadata` and OPTIONS are open, and what they are sent is not looked at.
///
/// # Errors
/// 401: a token is needed and there is none, or the one that is there is refused, whether or not it is needed. 503: the keys of tokens
/// are not known yet.
pub async fn identify(
    settings: &Settings,
    route: &Route,
    headers: &HeaderMap,
) -> Result<Option<Arc<Identity>>, Outcome> {
    if matches!(route, Route::To(Interaction::Capabilities) | Route::Options) {
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
        return Err(refusal(Refused::Repeated));
    }
    let value = value.to_str().map_err(|_| refusal(Refused::NotBearer))?;
    if let Some(identity) = tokens.known(value) {
        return Ok(Some(identity));
    }
    // On the heap, so that the way of a known token stays short.
    Box::pin(tokens.identify(value)).await.map(Some).map_err(refusal)
}

/// Writes into the context who calls; a change keeps it.
pub fn name(context: &mut Context, identity: Option<Arc<Identity>>) {
    // Only a change has a trace.
    if let Some(identity) = identity.as_ref().filter(|_| context.who.trace.is_some()) {
        context.who.person = Some(identity.person.clone());
        context.who.role = (!identity.roles.is_empty()).then(|| identity.roles.join(" "));
        context.who.organization.clone_from(&identity.organization);
    }
    context.identity = identity;
}

fn refusal(refused: Refused) -> Outcome {
    match refused {
        Refused::KeysUnavailable(cause) => Outcome::from(Hcert::Overloaded).because(cause),
        refused => Issue::new(Hcert::TokenRefused).with("problem", refused.to_string()).at("http.authorization").into(),
    }
}
