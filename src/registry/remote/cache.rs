//! Answers that are remembered for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quick_cache::sync::{Cache as Entries, DefaultLifecycle, PlaceholderGuard};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::config::limits::REGISTRY_CACHE_BYTES_MAX;
use crate::registry::{NoAnswer, RegistryFinding, RememberedAnswers};

/// Answers of the registry that are remembered at once.
const REGISTRY_CACHE_ENTRIES_MAX: u64 = 10_000;

/// Bytes that any entry takes beside its key and body.
const ENTRY_BYTES: usize = 256;

/// Answers by what was asked. An answer leaves when its time is over, or when there are too many and it was asked for least. Of many who ask
/// the same at the same time one asks the registry, and the others wait for what it brings.
#[derive(Debug)]
pub(super) struct Cache {
    entries: Entries<Arc<str>, CacheEntry, EntryWeight>,
    time: Duration,
    found: AtomicU64,
    missed: AtomicU64,
}

/// The answer to a look-up, for those who waited for it.
#[derive(Clone, Debug)]
pub(super) enum SharedAnswer {
    Found(Arc<RegistryFinding>),
    NoAnswer(NoAnswer),
    /// Nothing for others: a refusal is in the words and for the headers of the one who asked.
    Alone,
}

/// The turn to ask. Dropped before it shared an answer, one of those who wait takes it.
pub(super) struct LookupPermit<'a> {
    cache: &'a Cache,
    key: Arc<str>,
    guard: PlaceholderGuard<
        'a,
        Arc<str>,
        CacheEntry,
        EntryWeight,
        DefaultHashBuilder,
        DefaultLifecycle<Arc<str>, CacheEntry>,
    >,
}

#[derive(Clone, Debug)]
struct CacheEntry {
    shared: SharedAnswer,
    until: Instant,
}

/// Weighs an entry by its bytes, and none less than its share of the room, so that one bound holds for both bytes and entries.
#[derive(Clone, Debug)]
struct EntryWeight;

impl Weighter<Arc<str>, CacheEntry> for EntryWeight {
    fn weight(&self, key: &Arc<str>, value: &CacheEntry) -> u64 {
        let body = if let SharedAnswer::Found(told) = &value.shared { told.body.capacity() } else { 0 };
        let bytes = key.len() + body + ENTRY_BYTES;
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
            // The rest is for what is new, of which the largest answers must fit.
            .hot_allocation(0.75)
            .build()
            .expect("both capacities are given");
        let entries =
            Entries::with_options(options, EntryWeight, DefaultHashBuilder::default(), DefaultLifecycle::default());
        Cache { entries, time, found: AtomicU64::new(0), missed: AtomicU64::new(0) }
    }

    /// What was told, while it may be told again.
    pub(super) fn get(&self, key: &str, now: Instant) -> Option<Arc<RegistryFinding>> {
        let found = self.entries.get(key);
        if let Some(CacheEntry { shared: SharedAnswer::Found(told), until }) = &found
            && now < *until
        {
            self.found.fetch_add(1, Ordering::Relaxed);
            return Some(told.clone());
        }
        self.missed.fetch_add(1, Ordering::Relaxed);
        if found.is_some() {
            self.entries.remove_if(key, |old| now >= old.until);
        }
        None
    }

    /// Answers that are remembered, and how often one was looked for and found, or not.
    pub(super) fn count(&self) -> RememberedAnswers {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RememberedAnswers { entries: self.entries.len() as u64, found: count(&self.found), missed: count(&self.missed) }
    }

    /// Waits for what somebody else asks; where nobody does, the turn to ask comes back.
    pub(super) async fn join(&self, key: &Arc<str>) -> Result<SharedAnswer, LookupPermit<'_>> {
        let joined = self.entries.get_value_or_guard_async(key).await;
        joined.map(|entry| entry.shared).map_err(|guard| LookupPermit { cache: self, key: key.clone(), guard })
    }
}

impl LookupPermit<'_> {
    /// Tells those who wait. An answer is remembered from `now` on; anything else is for them alone.
    pub(super) fn share(self, shared: SharedAnswer, now: Instant) {
        let LookupPermit { cache, key, guard } = self;
        let is_remembered = matches!(shared, SharedAnswer::Found(_));
        let until = if is_remembered { now + cache.time } else { now };
        // It is taken in unless the entry was removed meanwhile, which nobody does.
        let _ = guard.insert(CacheEntry { shared, until });
        if !is_remembered {
            cache.entries.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: usize) -> Arc<RegistryFinding> {
        Arc::new(RegistryFinding { body: vec![b'x'; bytes], ..RegistryFinding::default() })
    }

    /// Somebody asks and is told.
    async fn insert(cache: &Cache, key: &str, told: Arc<RegistryFinding>, now: Instant) {
        let Err(turn) = cache.join(&key.into()).await else { panic!("nobody has asked for {key}") };
        turn.share(SharedAnswer::Found(told), now);
    }

    #[tokio::test]
    async fn an_answer_is_remembered_for_its_time_and_no_longer() {
        let (cache, now) = (Cache::new(Duration::from_secs(30)), Instant::now());
        insert(&cache, "a", told(1), now).await;
        assert_eq!(cache.get("a", now + Duration::from_millis(29_999)), Some(told(1)));
        assert_eq!(cache.get("a", now + Duration::from_secs(30)), None);
        assert_eq!((cache.get("a", now), cache.entries.len()), (None, 0), "it is gone");
        assert_eq!(cache.get("b", now), None);
        assert_eq!(cache.count(), RememberedAnswers { entries: 0, found: 1, missed: 3 });
    }

    #[tokio::test]
    async fn entries_are_bounded_in_number_and_bytes() {
        let (cache, now) = (Cache::new(Duration::from_secs(30)), Instant::now());
        for number in 0..REGISTRY_CACHE_ENTRIES_MAX * 2 {
            insert(&cache, &number.to_string(), told(1), now).await;
        }
        let entries = cache.entries.len() as u64;
        assert!((REGISTRY_CACHE_ENTRIES_MAX / 2..=REGISTRY_CACHE_ENTRIES_MAX).contains(&entries), "{entries}");
        for number in 0..40 {
            insert(&cache, &format!("large{number}"), told(4 * 1024 * 1024), now).await;
        }
        let large = (0..40).filter(|number| cache.get(&format!("large{number}"), now).is_some()).count();
        assert!((1..16).contains(&large) && cache.entries.weight() <= REGISTRY_CACHE_BYTES_MAX, "{large}");
    }

    #[tokio::test]
    async fn one_asks_and_the_others_hear_what_it_brought() {
        let (cache, now, key) = (Cache::new(Duration::from_secs(30)), Instant::now(), Arc::from("a"));
        for shared in [
            SharedAnswer::NoAnswer(NoAnswer::Unreadable("x".to_owned())),
            SharedAnswer::Alone,
            SharedAnswer::Found(told(1)),
        ] {
            let is_told = matches!(shared, SharedAnswer::Found(_));
            let Err(turn) = cache.join(&key).await else { panic!("nobody asks yet") };
            assert!(cache.join(&"b".into()).await.is_err(), "another question is another turn");
            let (one, other) = (cache.join(&key), cache.join(&key));
            let share = async { turn.share(shared.clone(), now) };
            let (one, other, ()) = tokio::join!(one, other, share);
            for heard in [one, other] {
                let Ok(heard) = heard else { panic!("somebody asked") };
                assert_eq!(std::mem::discriminant(&heard), std::mem::discriminant(&shared));
            }
            // A failure is for those who waited, and for nobody who comes later.
            assert_eq!(cache.get(&key, now).is_some(), is_told);
            assert_eq!(cache.entries.len(), usize::from(is_told));
        }
    }

    #[tokio::test]
    async fn where_the_one_who_asks_goes_away_another_takes_the_turn() {
        let (cache, key) = (Cache::new(Duration::from_secs(30)), Arc::from("a"));
        let Err(turn) = cache.join(&key).await else { panic!("nobody asks yet") };
        let leave = async { drop(turn) };
        let (waited, ()) = tokio::join!(cache.join(&key), leave);
        assert!(waited.is_err(), "the turn is the other's now");
        drop(waited);
        assert_eq!(cache.entries.len(), 0);
    }
}
