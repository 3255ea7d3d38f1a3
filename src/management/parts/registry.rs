//! The patient registry.

use std::sync::Arc;

use crate::http::Server;
use crate::interaction::Service;
use crate::management::{Part, Status, Told, Watched};
use crate::registry::{BreakerState, Health};

/// Watches the registry of a service.
pub struct Registry(pub Arc<Server<Service>>);

impl Watched for Registry {
    fn look(&self, told: &mut Told) {
        let health = self.0.service().registry().health();
        told.add(part(&health));
        if let Health::Remote { breaker, .. } = health {
            let help = "Whether questions go to the patient registry (closed) or it is left alone (open)";
            let states = ["closed", "half-open", "open"];
            told.readings.states("hcert_registry_breaker", help, "registry", &states, &[("remote", name(breaker))]);
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

/// A registry that fails takes new certificates with it, but neither reading nor searching, so requests are welcome still.
pub fn part(health: &Health) -> Part {
    let (status, words, mode, breaker) = match health {
        Health::Embedded => (Status::Ok, "Patients are kept by the service itself.", "embedded", None),
        Health::Remote { breaker: breaker @ BreakerState::Closed, .. } => {
            (Status::Ok, "The patient registry is asked.", "remote", Some(breaker))
        }
        Health::Remote { breaker, .. } => {
            let words = "The patient registry failed again and again and is left alone for a while.";
            (Status::Degraded, words, "remote", Some(breaker))
        }
    };
    let part = Part::new("registry", status, words).with_text("mode", mode);
    match breaker {
        Some(breaker) => part.with_text("breaker", name(*breaker)),
        None => part,
    }
}
