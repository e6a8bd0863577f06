//! Answers that are kept: by key, and under it one for each selection, within a bound of bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use moka::notification::RemovalCause;
use moka::sync::Cache;
use serving::metrics::Counter;

use super::key::{Key, Selection};
use super::policy::Freshness;

/// Answers under one key; the oldest is dropped first.
const MOST_VARIANTS: usize = 16;
/// What an answer takes beside its text, roughly.
const OVERHEAD: usize = 512;

/// An answer that is kept, whole.
#[derive(Debug)]
pub(super) struct Stored {
    pub status: StatusCode,
    /// As they came, without those of one connection alone.
    pub headers: HeaderMap,
    pub body: Bytes,
    pub freshness: Freshness,
    pub selection: Selection,
}

impl Stored {
    fn size(&self) -> usize {
        let headers: usize =
            self.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 64).sum();
        OVERHEAD + self.body.len() + headers + self.selection.size()
    }
}

/// The newest first.
type Variants = Arc<[Arc<Stored>]>;

/// All of them. What is asked for often stays, what was not asked for lately goes; for a moment there may be a little
/// more than the bound.
#[derive(Debug)]
pub(super) struct Store {
    cache: Cache<Key, Variants>,
    filling: Arc<AtomicU64>,
    /// Bytes that are stored at most, and as many again may be on their way.
    most: u64,
}

impl Store {
    /// One that keeps so many bytes, and counts what it drops because it is full.
    pub fn new(most: u64, dropped: Counter) -> Self {
        let weigh = |key: &Key, variants: &Variants| {
            let sizes: usize = variants.iter().map(|stored| stored.size()).sum();
            u32::try_from(key.len() + sizes).unwrap_or(u32::MAX)
        };
        let evicted = move |_, _, cause| {
            if cause == RemovalCause::Size {
                dropped.one();
            }
        };
        let cache =
            Cache::builder().max_capacity(most).weigher(weigh).eviction_listener(evicted).build();
        Self { cache, filling: Arc::default(), most }
    }

    /// What is stored for a request, fresh or not.
    pub fn find(&self, key: &Key, asked: &HeaderMap) -> Option<Arc<Stored>> {
        let variants = self.cache.get(key)?;
        variants.iter().find(|stored| stored.selection.is_of(asked)).map(Arc::clone)
    }

    /// Keeps an answer in the place of the one that was selected alike.
    pub fn put(&self, key: &Key, stored: Arc<Stored>) {
        self.cache.entry(key.clone()).and_upsert_with(|before| {
            let before = before.map(moka::Entry::into_value);
            let others = before.iter().flat_map(|before| before.iter());
            let others = others.filter(|other| other.selection != stored.selection);
            let all = std::iter::once(&stored).chain(others);
            all.take(MOST_VARIANTS).map(Arc::clone).collect()
        });
    }

    /// Drops all that is kept under a key.
    pub fn forget(&self, key: &Key) {
        self.cache.invalidate(key);
    }

    /// Bytes and keys that are kept, and bytes of those that are on their way to be.
    pub fn look(&self) -> (u64, u64, u64) {
        self.cache.run_pending_tasks();
        let filling = self.filling.load(Ordering::Relaxed);
        (self.cache.weighted_size(), self.cache.entry_count(), filling)
    }

    /// A reservation for an answer that is being received; it holds nothing yet.
    pub fn reserve(&self) -> Reservation {
        Reservation { filling: Arc::clone(&self.filling), most: self.most, held: 0 }
    }
}

/// Bytes held by an answer that is being received; given back when dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    filling: Arc<AtomicU64>,
    most: u64,
    held: u64,
}

impl Reservation {
    /// Raises what it holds to so many bytes; if there are not as many, it holds what it held before.
    pub fn hold(&mut self, bytes: usize) -> bool {
        let more = (bytes as u64).saturating_sub(self.held);
        if self.filling.fetch_add(more, Ordering::Relaxed) + more > self.most {
            self.filling.fetch_sub(more, Ordering::Relaxed);
            return false;
        }
        self.held += more;
        true
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.filling.fetch_sub(self.held, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use hyper::Request;
    use hyper::header::{CACHE_CONTROL, HeaderName, HeaderValue, VARY};

    use super::super::policy::Rules;
    use super::*;

    fn key(number: u64) -> Key {
        Key::busted(number)
    }

    fn asked(language: &str) -> HeaderMap {
        let name = HeaderName::from_static("accept-language");
        [(name, language.parse().unwrap())].into_iter().collect()
    }

    fn stored(language: &str, length: usize) -> Arc<Stored> {
        let mut headers = HeaderMap::new();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=60"));
        headers.insert(VARY, HeaderValue::from_static("accept-language"));
        let rules = Rules { heuristic: 0.0, stale_if_error: Duration::ZERO };
        let request = Request::new(()).into_parts().0;
        let now = SystemTime::now();
        let freshness = Freshness::of(&request, StatusCode::OK, &headers, &rules, now).unwrap();
        let selection = Selection::of(&asked(language), &headers).unwrap();
        let body = vec![b'x'; length].into();
        Arc::new(Stored { status: StatusCode::OK, headers, body, freshness, selection })
    }

    #[test]
    fn each_selection_has_its_answer_and_the_oldest_makes_room() {
        let store = Store::new(1 << 20, Counter::default());
        store.put(&key(1), stored("de", 1));
        store.put(&key(1), stored("en", 2));
        store.put(&key(1), stored("de", 3));
        let length =
            |language: &str| store.find(&key(1), &asked(language)).map(|one| one.body.len());
        assert_eq!([length("de"), length("en"), length("fr")], [Some(3), Some(2), None]);
        for number in 0..MOST_VARIANTS - 1 {
            store.put(&key(1), stored(&number.to_string(), 4));
        }
        assert_eq!([length("de"), length("en"), length("0")], [Some(3), None, Some(4)]);
        store.forget(&key(1));
        assert_eq!([length("de"), length("0")], [None, None]);
    }

    #[test]
    fn no_more_is_kept_than_the_bound() {
        let dropped = Counter::default();
        let store = Store::new(100_000, dropped.clone());
        for number in 0..100 {
            store.put(&key(number), stored("de", 5_000));
        }
        let (bytes, keys, _) = store.look();
        assert!((50_000..=100_000).contains(&bytes), "{bytes} bytes");
        assert!((10..=20).contains(&keys), "{keys} keys");
        assert_eq!(dropped.get(), 100 - keys);
        // One that alone is too large is not kept at all.
        store.put(&key(1_000), stored("de", 200_000));
        assert!(store.look().0 <= 100_000);
        assert!(store.find(&key(1_000), &asked("de")).is_none());
    }

    #[test]
    fn answers_on_their_way_have_a_bound_of_their_own() {
        let store = Store::new(100, Counter::default());
        let (mut one, mut other) = (store.reserve(), store.reserve());
        assert!(one.hold(60) && !other.hold(41) && other.hold(40) && !one.hold(61));
        assert!(one.hold(60) && one.hold(10), "it holds more already");
        assert_eq!(store.look().2, 100);
        drop(one);
        assert!(other.hold(100));
        drop(other);
        assert_eq!(store.look().2, 0);
    }
}
