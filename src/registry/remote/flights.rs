//! One request for all who ask the same at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::registry::{Silent, Told};

/// Questions under way, by what is asked.
#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<HashMap<Arc<str>, watch::Receiver<Option<Landed>>>>);

/// What a flight brought for those who waited for it.
#[derive(Clone, Debug)]
pub(super) enum Landed {
    Told(Arc<Told>),
    Silent(Silent),
    /// Nothing for others: a refusal is in the words and for the headers of the one who asked.
    Alone,
}

/// A place in a flight.
#[derive(Debug)]
pub(super) enum Place<'a> {
    /// Nobody asks this yet: the request is ours.
    Leads(Flight<'a>),
    /// Somebody does.
    Follows(Follower),
}

/// The request for all. Dropped without landing, those who wait begin anew.
#[derive(Debug)]
pub(super) struct Flight<'a> {
    flights: &'a Flights,
    key: Arc<str>,
    landing: watch::Sender<Option<Landed>>,
}

/// Who waits for a request of another.
#[derive(Debug)]
pub(super) struct Follower(watch::Receiver<Option<Landed>>);

impl Flights {
    pub(super) fn board(&self, key: &Arc<str>) -> Place<'_> {
        let mut under_way = self.under_way();
        if let Some(flight) = under_way.get(key) {
            return Place::Follows(Follower(flight.clone()));
        }
        let (landing, flight) = watch::channel(None);
        under_way.insert(key.clone(), flight);
        Place::Leads(Flight { flights: self, key: key.clone(), landing })
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<Arc<str>, watch::Receiver<Option<Landed>>>> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight<'_> {
    /// Tells those who wait. What is to be remembered must be by now: whoever comes next asks again.
    pub(super) fn land(self, landed: Landed) {
        self.landing.send_replace(Some(landed));
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.flights.under_way().remove(&self.key);
    }
}

impl Follower {
    /// Waits for the landing; nothing when the one who asked went away before.
    pub(super) async fn landed(mut self) -> Option<Landed> {
        self.0.wait_for(Option::is_some).await.ok()?.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_leads_and_the_others_hear_what_it_brought() {
        let (flights, key) = (Flights::default(), Arc::from("a"));
        let Place::Leads(flight) = flights.board(&key) else { panic!("nobody asks yet") };
        let Place::Follows(follower) = flights.board(&key) else { panic!("somebody asks") };
        assert!(matches!(flights.board(&Arc::from("b")), Place::Leads(_)));
        flight.land(Landed::Told(Arc::default()));
        assert!(matches!(follower.landed().await, Some(Landed::Told(_))));
        assert!(matches!(flights.board(&key), Place::Leads(_)));
        assert!(flights.under_way().is_empty());
    }

    #[tokio::test]
    async fn a_leader_who_goes_away_sends_the_others_to_ask_anew() {
        let (flights, key) = (Flights::default(), Arc::from("a"));
        let flight = flights.board(&key);
        let Place::Follows(follower) = flights.board(&key) else { panic!("somebody asks") };
        drop(flight);
        assert!(follower.landed().await.is_none());
        assert!(flights.under_way().is_empty());
    }
}
