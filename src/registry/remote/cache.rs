//! Answers that are remembered for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quick_cache::sync::{Cache as Entries, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::config::limits::REGISTRY_CACHE_BYTES_MAX;
use crate::registry::{Remembered, Told};

/// Answers of the registry that are remembered at once.
const REGISTRY_CACHE_ENTRIES_MAX: u64 = 10_000;

/// Bytes that any entry takes beside its key and body.
const ENTRY_BYTES: usize = 256;

/// Answers by what was asked. An answer leaves when its time is over, or when there are too many and it was asked for least.
#[derive(Debug)]
pub(super) struct Cache {
    entries: Entries<Arc<str>, Entry, Bytes>,
    time: Duration,
    found: AtomicU64,
    missed: AtomicU64,
}

#[derive(Clone, Debug)]
struct Entry {
    told: Arc<Told>,
    until: Instant,
}

/// Weighs an entry by its bytes, and none less than its share of the room, so that one bound holds for both bytes and entries.
#[derive(Clone, Debug)]
struct Bytes;

impl Weighter<Arc<str>, Entry> for Bytes {
    fn weight(&self, key: &Arc<str>, value: &Entry) -> u64 {
        let bytes = key.len() + value.told.body.capacity() + ENTRY_BYTES;
        (bytes as u64).max(REGISTRY_CACHE_BYTES_MAX.div_ceil(REGISTRY_CACHE_ENTRIES_MAX))
    }
}

impl Cache {
    /// Remembers each answer for `time`.
    pub(super) fn new(time: Duration) -> Cache {
        // One shard: an entry may take as much of the room as it needs, and a look-up is short.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(REGISTRY_CACHE_ENTRIES_MAX as usize)
            .weight_capacity(REGISTRY_CACHE_BYTES_MAX)
            .build()
            .expect("both capacities are given");
        let entries = Entries::with_options(options, Bytes, DefaultHashBuilder::default(), DefaultLifecycle::default());
        Cache { entries, time, found: AtomicU64::new(0), missed: AtomicU64::new(0) }
    }

    /// What was told, while it may be told again.
    pub(super) fn get(&self, key: &str, now: Instant) -> Option<Arc<Told>> {
        let found = self.entries.get(key);
        if let Some(found) = found.as_ref().filter(|found| now < found.until) {
            self.found.fetch_add(1, Ordering::Relaxed);
            return Some(found.told.clone());
        }
        self.missed.fetch_add(1, Ordering::Relaxed);
        if found.is_some() {
            self.entries.remove_if(key, |old| now >= old.until);
        }
        None
    }

    /// Answers that are remembered, and how often one was looked for and found, or not.
    pub(super) fn count(&self) -> Remembered {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Remembered { entries: self.entries.len() as u64, found: count(&self.found), missed: count(&self.missed) }
    }

    pub(super) fn insert(&self, key: Arc<str>, told: Arc<Told>, now: Instant) {
        self.entries.insert(key, Entry { told, until: now + self.time });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: usize) -> Arc<Told> {
        Arc::new(Told { body: vec![b'x'; bytes], ..Told::default() })
    }

    #[test]
    fn an_answer_is_remembered_for_its_time_and_no_longer() {
        let (cache, now) = (Cache::new(Duration::from_secs(30)), Instant::now());
        cache.insert("a".into(), told(1), now);
        assert_eq!(cache.get("a", now + Duration::from_millis(29_999)), Some(told(1)));
        assert_eq!(cache.get("a", now + Duration::from_secs(30)), None);
        assert_eq!((cache.get("a", now), cache.entries.len()), (None, 0), "it is gone");
        assert_eq!(cache.get("b", now), None);
        assert_eq!(cache.count(), Remembered { entries: 0, found: 1, missed: 3 });
    }

    #[test]
    fn entries_are_bounded_in_number_and_bytes() {
        let (cache, now) = (Cache::new(Duration::from_secs(30)), Instant::now());
        for number in 0..REGISTRY_CACHE_ENTRIES_MAX * 2 {
            cache.insert(number.to_string().into(), told(1), now);
        }
        let entries = cache.entries.len() as u64;
        assert!((REGISTRY_CACHE_ENTRIES_MAX / 2..=REGISTRY_CACHE_ENTRIES_MAX).contains(&entries), "{entries}");
        for number in 0..40 {
            cache.insert(format!("large{number}").into(), told(4 * 1024 * 1024), now);
        }
        let large = (0..40).filter(|number| cache.get(&format!("large{number}"), now).is_some()).count();
        assert!((1..16).contains(&large) && cache.entries.weight() <= REGISTRY_CACHE_BYTES_MAX, "{large}");
    }
}
