//! The memory of an identity in addition to its metadata, counted by the allocator.
#![expect(unsafe_code, reason = "an allocator that counts is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use registry::identity::Identity;
use registry::store::view::View;
use serde_json::{Map, Value, json};

/// Bytes of glibc's heap for an allocation: its size plus a word, rounded up to 16 bytes.
fn heap_bytes(layout: Layout) -> usize {
    (layout.size() + 8).next_multiple_of(16).max(32)
}

/// The system's allocator; counts held bytes.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(heap_bytes(layout), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(heap_bytes(layout), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const COUNT: usize = 50_000;

/// Most bytes for one identity, in addition to its metadata.
const BOUND: usize = 1_024;

/// The result of `make`, and the bytes that it holds.
fn held<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.load(Ordering::Relaxed);
    let made = make();
    (made, HELD.load(Ordering::Relaxed) - before)
}

fn metadata(number: usize) -> Map<String, Value> {
    let serial = format!("serial-number-that-nobody-else-has-{number:020}");
    let json = json!({
        "status": "online", "loadtest": true, "timestamp": 1_763_700_000_000_u64 + number as u64,
        "worker_id": number % 100, "serial": serial,
    });
    json.as_object().expect("an object").clone()
}

fn fill(view: &mut View, count: usize) {
    for number in 0..count {
        view.put(Arc::new(Identity {
            name: format!("loadtest-user-{number}").into(),
            metadata: metadata(number),
            registered_at: 0,
            expires_at: Some(1_000 + number as u64),
        }));
    }
}

/// The identities of the report's workload, with four indexed fields. Two of these differ between
/// identities, and one of the two is longer than the text that an index keeps. A single test, so
/// that no other test's allocations count.
#[test]
fn an_identity_costs_less_than_a_kibibyte_beside_its_metadata() {
    let mut bare = Vec::with_capacity(COUNT);
    let ((), metadata) = held(|| bare.extend((0..COUNT).map(metadata)));
    drop(bare);
    let indexes = ["status", "worker_id", "timestamp", "serial"].map(str::to_owned);
    let (mut view, whole) = held(|| {
        let mut view = View::new(&indexes);
        fill(&mut view, COUNT);
        view
    });
    let each = (whole - metadata) / COUNT;
    assert!(each <= BOUND, "{each} bytes an identity beside its metadata");
    assert!(each > 200, "{each} bytes cannot be all: a name, four indexes, the end");
    // Heartbeats take no more memory, and removed identities return theirs.
    let before = HELD.load(Ordering::Relaxed);
    fill(&mut view, COUNT);
    let after = HELD.load(Ordering::Relaxed);
    assert!(after <= before + before / 10, "{before} bytes grew to {after} by heartbeats");
    view.expire(u64::MAX);
    let left = HELD.load(Ordering::Relaxed);
    assert!(left < before / 20, "{left} of {before} bytes are held for nobody");
}
