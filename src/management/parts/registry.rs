//! The patient registry.

use std::sync::Arc;

use crate::http::HttpServer;
use crate::interaction::Service;
use crate::management::{HealthPart, HealthStatus, PartReports, WatchedPart};
use crate::registry::{BreakerState, CredentialState, RegistryHealth};
use base::metrics::names::{REGISTRY_BREAKER, REGISTRY_CREDENTIAL};

/// Watches the registry of a service.
pub struct RegistryPart(pub Arc<HttpServer<Service>>);

impl WatchedPart for RegistryPart {
    fn check(&self, told: &mut PartReports) {
        let health = self.0.service().registry().health();
        told.add(part(&health));
        if let RegistryHealth::Remote { breaker, credential, .. } = health {
            let states = ["closed", "half-open", "open"];
            told.readings.states(&REGISTRY_BREAKER, &states, &[("remote", name(breaker))]);
            let states = ["accepted", "refused", "unreadable"];
            let is = [("remote", credential_name(credential))];
            told.readings.states(&REGISTRY_CREDENTIAL, &states, &is);
        }
    }
}

fn name(breaker: BreakerState) -> &'static str {
    match breaker {
        BreakerState::Closed => "closed",
        BreakerState::HalfOpen => "half-open",
        BreakerState::Open => "open",
    }
}

fn credential_name(credential: CredentialState) -> &'static str {
    match credential {
        CredentialState::Accepted => "accepted",
        CredentialState::Refused => "refused",
        CredentialState::Unreadable => "unreadable",
    }
}

/// A registry that fails takes new certificates with it, but neither reading nor searching, so the service stays ready.
/// Decision 187.
pub(crate) fn part(health: &RegistryHealth) -> HealthPart {
    let RegistryHealth::Remote { breaker, credential, last_problem, .. } = health else {
        return HealthPart::new("registry", HealthStatus::Ok, "Patients are kept by the service itself.")
            .with_text("mode", "embedded");
    };
    let (status, words) = match (breaker, credential) {
        (_, CredentialState::Refused) => (
            HealthStatus::Degraded,
            "The patient registry refuses this service's own credential (registry.remote.token or token_file), so that \
             certificates of patients who are not remembered cannot be written; or the issuer does that exchanges \
             callers' tokens (registry.remote.exchange).",
        ),
        (BreakerState::Open | BreakerState::HalfOpen, _) => {
            (HealthStatus::Degraded, "The patient registry failed repeatedly and gets no requests for a while.")
        }
        (BreakerState::Closed, CredentialState::Unreadable) => (
            HealthStatus::Degraded,
            "The file registry.remote.token_file cannot be read; the last token in it stays in use.",
        ),
        (BreakerState::Closed, CredentialState::Accepted) if last_problem.is_some() => {
            (HealthStatus::Degraded, "The patient registry did not answer the last request.")
        }
        (BreakerState::Closed, CredentialState::Accepted) => (HealthStatus::Ok, "The patient registry is asked."),
    };
    let part = HealthPart::new("registry", status, words).with_text("mode", "remote");
    let part = part.with_text("breaker", name(*breaker)).with_text("credential", credential_name(*credential));
    match last_problem {
        Some(problem) => part.with_text("last_problem", problem),
        None => part,
    }
}
