//! Setting the wall clock while the store runs does not change when identities expire.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use registry::clock::{Clock, TimeSource};
use registry::store::embedded::{Embedded, Settings};
use registry::store::{Expired, Store};

use crate::requests::*;
use crate::temp_folder::TempFolder;

const DAY: u64 = 24 * 3_600 * 1_000;
/// 2026-11-21T13:40:00Z, in milliseconds.
const BEGIN: u64 = 1_795_268_400_000;

/// Clocks that show the given times, in milliseconds.
#[derive(Debug)]
struct ManualClock {
    wall: AtomicU64,
    monotonic: AtomicU64,
}

impl ManualClock {
    fn new() -> Arc<Self> {
        Arc::new(Self { wall: BEGIN.into(), monotonic: 70_000.into() })
    }

    /// Lets time pass.
    fn advance(&self, ms: u64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
        self.monotonic.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets the wall clock.
    fn set(&self, wall: u64) {
        self.wall.store(wall, Ordering::SeqCst);
    }
}

impl TimeSource for ManualClock {
    fn wall(&self) -> Duration {
        Duration::from_millis(self.wall.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.monotonic.load(Ordering::SeqCst))
    }
}

fn settings(hands: &Arc<ManualClock>) -> Settings {
    Settings { clock: Clock::new(Arc::clone(hands) as Arc<dyn TimeSource>), ..Settings::default() }
}

async fn a_life_is_as_long_as_it_was_to_be(store: &Embedded, hands: &ManualClock) {
    let given = store.register(HERE, mortal("ada", 60_000)).await.unwrap();
    assert_eq!(given.registered_at, BEGIN);
    assert_eq!(given.expires_at, Some(BEGIN + 60_000));
    for step in [BEGIN + DAY, BEGIN - DAY, 0, BEGIN + 1] {
        hands.set(step);
        assert!(is_there(store, "ada").await, "gone when the clock was set to {step}");
        assert_eq!(store.expire(store.now()).await.unwrap(), []);
        assert_eq!(store.counts(), [(HERE.into(), 1)]);
        assert_eq!(all_identities(store, HERE).await.len(), 1);
    }
    hands.advance(59_999);
    assert!(is_there(store, "ada").await);
    hands.set(0);
    hands.advance(1);
    assert!(!is_there(store, "ada").await, "a clock that was set back prolongs no life");
    let gone = Expired { namespace: HERE.into(), name: "ada".into() };
    assert_eq!(store.expire(store.now()).await.unwrap(), [gone]);
}

#[tokio::test]
async fn in_memory() {
    let hands = ManualClock::new();
    let store = Embedded::open(settings(&hands)).unwrap();
    a_life_is_as_long_as_it_was_to_be(&store, &hands).await;
}

#[tokio::test]
async fn in_a_file_the_wall_clock_counts_again_after_a_restart() {
    let (hands, temp_folder) = (ManualClock::new(), TempFolder::new("clock"));
    let durable = || Settings { file: Some(temp_folder.path("file")), ..settings(&hands) };
    let store = Embedded::open(durable()).unwrap();
    a_life_is_as_long_as_it_was_to_be(&store, &hands).await;
    let end = store.register(HERE, mortal("bob", 60_000)).await.unwrap().expires_at.unwrap();
    drop(store);
    // After a reboot the monotonic clock starts at zero.
    hands.monotonic.store(0, Ordering::SeqCst);
    hands.set(end - 1);
    let store = Embedded::open(durable()).unwrap();
    assert!(is_there(&store, "bob").await);
    hands.advance(1);
    assert!(!is_there(&store, "bob").await);
}
