//! What waits at the door, and what is remembered behind it. It is no part of its own: a queue is no fault.

use std::sync::Arc;

use crate::http::Server;
use crate::interaction::Service;
use crate::management::{Told, Watched};
use crate::registry::{Health, Remembered};

/// Watches the door of a service.
pub struct Door(pub Arc<Server<Service>>);

impl Watched for Door {
    fn look(&self, told: &mut Told) {
        let readings = &mut told.readings;
        let waiting = self.0.service().waiting().map(|(turn, waiting)| (turn, waiting as f64));
        let help = "Requests that wait for their turn: heavy searches, and large answers";
        readings.gauges("hcert_turns_waiting", help, "turn", &waiting);
        let mut caches = Vec::new();
        if let Some(tokens) = &self.0.settings().tokens {
            let tokens = tokens.remembered();
            caches.push(("token", tokens.tokens, tokens.found, tokens.missed));
        }
        if let Health::Remote { remembered: Remembered { entries, found, missed }, .. } =
            self.0.service().registry().health()
        {
            caches.push(("registry", entries, found, missed));
        }
        let entries: Vec<_> = caches.iter().map(|(cache, entries, ..)| (*cache, *entries as f64)).collect();
        let found: Vec<_> = caches.iter().map(|(cache, _, found, _)| (*cache, *found)).collect();
        let missed: Vec<_> = caches.iter().map(|(cache, .., missed)| (*cache, *missed)).collect();
        let help = "What is remembered: verified tokens, patients of another system's registry";
        readings.gauges("hcert_cache_entries", help, "cache", &entries);
        readings.counters("hcert_cache_hits", "How often it was looked for and found", "cache", &found);
        readings.counters("hcert_cache_misses", "How often it was looked for and not found", "cache", &missed);
    }
}
