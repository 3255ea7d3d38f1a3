//! How the trail takes over what a store tells: each change is durable there with who made it, and the trail reads it from there.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use super::log::AuditTrail;
use super::source::{EventSource, FollowPosition};
use super::writer::{TrailShared, TrailWriteError};
use base::log::event;

/// Times 10 ms that a trail waits for room while it takes over what it lacks at the start.
const CATCH_UP_TRIES: u32 = 1_000;

/// Events written at once: the longest of them fit into a file of the trail together.
const EVENTS_AT_ONCE: usize = 32;

/// Why events were not taken over.
enum NotFollowed {
    /// The store cannot be read, in words.
    Unread(String),
    /// The trail cannot be written.
    Unwritten(TrailWriteError),
}

impl TrailShared {
    /// Takes over every change that was committed until now: whatever is written behind it comes after them.
    ///
    /// # Errors
    /// The trail cannot take them. They are durable in the store, and come first when it can.
    pub(super) fn follow(&self) -> Result<(), TrailWriteError> {
        let following = &self.following;
        let has_news = |source: &dyn EventSource| source.last_change().0 > following.change.load(Ordering::Acquire);
        match following.source.get().is_some_and(|source| has_news(&**source)) {
            true => self.follow_all(),
            false => Ok(()),
        }
    }

    /// As [`follow`](TrailShared::follow), also where there are no changes.
    pub(super) fn follow_all(&self) -> Result<(), TrailWriteError> {
        let Some(source) = self.following.source.get() else { return Ok(()) };
        let followed = self.take_over(&**source);
        let mut is_waiting = self.following.is_waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Err(NotFollowed::Unread(cause) | NotFollowed::Unwritten(TrailWriteError(cause))), false) =
            (&followed, *is_waiting)
        {
            event!(AUDIT_WAITS, cause);
        }
        *is_waiting = followed.is_err();
        match followed {
            Err(NotFollowed::Unwritten(failing)) => Err(failing),
            // What else happens has its events.
            Ok(_) | Err(NotFollowed::Unread(_)) => Ok(()),
        }
    }

    fn take_over(&self, source: &dyn EventSource) -> Result<(), NotFollowed> {
        let mut place = self.following.place.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(told) = source.events_after(*place).map_err(NotFollowed::Unread)? {
            for events in told.events.chunks(EVENTS_AT_ONCE) {
                self.append_all(events).map_err(NotFollowed::Unwritten)?;
                // Where the next ones are not taken, these are not taken twice.
                place.change = events.iter().fold(place.change, |last, event| event.last_change(last));
            }
            *place = told.until;
            self.following.change.store(told.until.change.0, Ordering::Release);
        }
        Ok(())
    }
}

impl AuditTrail {
    /// Takes over from a source what the trail lacks behind its last change, and makes it durable; the number of events comes back.
    ///
    /// # Errors
    /// The source cannot be read, or the trail not be written.
    pub fn catch_up(&self, source: &dyn EventSource) -> Result<u64, String> {
        let change = self.last_change().unwrap_or_default();
        let following = &self.shared.following;
        *following.place.lock().unwrap_or_else(PoisonError::into_inner) = FollowPosition { change, clock: 0 };
        following.change.store(change.0, Ordering::Release);
        let before = self.head().number;
        let mut tries = 0;
        // Of a trail that was lost, changes come faster than files are made for them.
        while let Err(refused) = self.shared.take_over(source) {
            let (NotFollowed::Unread(problem) | NotFollowed::Unwritten(TrailWriteError(problem))) = &refused;
            tries += 1;
            if matches!(refused, NotFollowed::Unread(_)) || tries > CATCH_UP_TRIES {
                return Err(problem.clone());
            }
            self.sync_now().map_err(|failing| failing.0)?;
            thread::sleep(Duration::from_millis(10));
        }
        self.sync_now().map_err(|failing| failing.0)?;
        Ok(self.head().number.0 - before.0)
    }

    /// Follows a source from now on: what it tells is in the trail before whatever is written behind it, and within a second.
    pub fn follow_from_now_on(&self, source: Arc<dyn EventSource>) {
        // A trail has one store.
        let _ = self.shared.following.source.set(source);
    }

    /// Takes over every change that was committed until now.
    ///
    /// # Errors
    /// The trail cannot take them. They are durable in the store, and come first when it can.
    pub fn follow(&self) -> Result<(), TrailWriteError> {
        self.shared.follow()
    }
}
