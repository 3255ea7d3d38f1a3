//! The keys that tokens are verified with.

use std::sync::Arc;

use crate::access::KeySet;
use crate::http::HttpServer;
use crate::interaction::Service;
use crate::management::{HealthPart, HealthStatus, PartReports, WatchedPart};
use base::metrics::names::{TOKEN_KEYS, TOKEN_KEYS_AGE};

/// Refreshes that may fail in a row before the age of the keys itself is reported.
const JWKS_REFRESHES_LATE: u32 = 3;

/// Watches the issuer's keys of a service.
pub struct TokenKeys(pub Arc<HttpServer<Service>>);

impl WatchedPart for TokenKeys {
    fn check(&self, told: &mut PartReports) {
        let settings = self.0.settings();
        let set = settings.tokens.as_ref().and_then(|tokens| tokens.key_set());
        let denied = settings.tokens.as_ref().and_then(|tokens| tokens.denied_problem());
        told.add(part(set.as_ref(), settings.needs_token, denied.as_deref()));
        let Some(set) = set else { return };
        told.readings.gauge(&TOKEN_KEYS, set.keys as f64);
        if let Some(age) = set.age {
            told.readings.gauge(&TOKEN_KEYS_AGE, age.as_secs_f64());
        }
    }
}

/// Without keys that are trusted no token can be verified: where every request `needs` one, the service is not ready.
///
/// `denied` is why the list of denied tokens could not be read again.
pub(crate) fn part(set: Option<&KeySet>, needs: bool, denied: Option<&str>) -> HealthPart {
    let part = match set {
        Some(set) => of_issuer(set, needs),
        None => {
            let words = "No issuer is configured; tokens of the developer's own key are accepted.";
            HealthPart::new("tokens", HealthStatus::Ok, words)
        }
    };
    let Some(problem) = denied else { return part };
    let words = format!("{} The list of denied tokens (access.token.denied) is an old one: {problem}.", part.words);
    HealthPart { status: part.status.max(HealthStatus::Degraded), words, ..part }
}

fn of_issuer(set: &KeySet, needs: bool) -> HealthPart {
    let problem = set.last_problem.as_deref();
    let because = problem.map(|problem| format!(": {problem}")).unwrap_or_default();
    let is_missing = match set.age {
        None => Some(format!("The issuer's keys (access.token.jwks) could not be read yet{because}.")),
        Some(age) if age > set.age_max => {
            Some(format!("The issuer's keys are older than access.token.jwks_age_max_s and not trusted{because}."))
        }
        Some(_) if set.keys == 0 => {
            let words = "The issuer's key set (access.token.jwks) has no key for RS256 (2048 bits or more) or ES256.";
            Some(words.to_owned())
        }
        Some(_) => None,
    };
    let late = |age| age > set.refresh * JWKS_REFRESHES_LATE;
    let (status, words) = match (is_missing, problem) {
        (Some(words), _) => (
            if needs { HealthStatus::Down } else { HealthStatus::Degraded },
            format!("{words} No token of the issuer is accepted."),
        ),
        (None, Some(_)) => {
            let words =
                "The issuer's key set cannot be read or used; the keys known last are used until they are too old";
            (HealthStatus::Degraded, format!("{words}{because}."))
        }
        (None, None) if set.age.is_some_and(late) => {
            (HealthStatus::Degraded, "The issuer's keys were not read again for a long time.".to_owned())
        }
        (None, None) => (HealthStatus::Ok, "Tokens are verified with the issuer's keys.".to_owned()),
    };
    let mut part = HealthPart::new("tokens", status, words).holding_up(status == HealthStatus::Down);
    part = part.with("keys", set.keys as u64).with("age_max_s", set.age_max.as_secs());
    if let (Some(read), Some(age)) = (set.read, set.age) {
        part = part.with("last_success_ms", u64::try_from(read).unwrap_or(0)).with("age_s", age.as_secs());
    }
    match problem {
        Some(problem) => part.with_text("last_problem", problem),
        None => part,
    }
}
