//! The layout held against `vectors.json`, which Python's client is held against as well, and what
//! is private: rings, slots, what rooms hold.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::greeting::{Hello, Outcome, Terms, Welcome};
use crate::region::{self, Futex, Mapping};
use crate::ring::{Entry, Look, Message, look, put};
use crate::sleep::Park;
use crate::slots::Slots;
use crate::{Error, Geometry};

fn vectors(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../vectors.json")).unwrap();
    all[name].as_array().unwrap().clone()
}

fn number(case: &Value, name: &str) -> u64 {
    case[name].as_u64().unwrap_or_else(|| panic!("{name} of {case}"))
}

fn bytes(case: &Value) -> Vec<u8> {
    let hex = case["hex"].as_str().unwrap().as_bytes();
    let digits = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    hex.chunks(2).map(digits).collect()
}

fn shape(case: &Value) -> Geometry {
    let slots = u32::try_from(number(case, "slots")).unwrap();
    Geometry::new(slots, number(case, "request_room"), number(case, "answer_room")).unwrap()
}

#[test]
fn geometries_are_those_of_the_vectors() {
    for case in vectors("geometries") {
        let shape = shape(&case);
        assert_eq!(shape.rooms(), number(&case, "rooms"));
        assert_eq!(shape.requests_length(), number(&case, "requests_length"));
        assert_eq!(shape.answers_length(), number(&case, "answers_length"));
        for row in case["slots_at"].as_array().unwrap() {
            let slot = row[0].as_u64().unwrap() as u32;
            assert_eq!(row[1], shape.request_at(slot));
            assert_eq!(row[2], shape.answer_at(slot));
        }
        for row in case["runs"].as_array().unwrap() {
            let run = shape.run(row[0].as_u64().unwrap(), row[1].as_u64().unwrap());
            assert_eq!(row[2], run.unwrap(), "{row}");
        }
    }
}

#[test]
fn greetings_are_those_of_the_vectors() {
    for case in vectors("hellos") {
        let hello = Hello { version: number(&case, "version") as u32 };
        assert_eq!(hello.encode().to_vec(), bytes(&case));
        assert_eq!(Hello::decode(&bytes(&case)), Some(hello));
    }
    for case in vectors("welcomes") {
        let terms = case.get("slots").map(|_| Terms {
            geometry: shape(&case),
            generation: number(&case, "generation"),
            client: number(&case, "client"),
        });
        let read = Welcome::decode(&bytes(&case));
        assert_eq!(read.as_ref().ok(), terms.as_ref(), "{case}");
        let told = match (number(&case, "outcome"), read) {
            (0, Ok(_)) => Outcome::Admitted,
            (1, Err(Error::Version { theirs: 9, ours: 1 })) => Outcome::OtherVersion,
            (2, Err(Error::Crowded { limit: 256 })) => Outcome::Crowded,
            (3, Err(Error::OtherUser)) => Outcome::OtherUser,
            (4, Err(Error::NotAProducer)) => Outcome::NotUnderstood,
            (5, Err(Error::ProducerFailed)) => Outcome::Failed,
            (outcome, read) => panic!("{outcome} was read as {read:?}"),
        };
        let version = number(&case, "version") as u32;
        let written = Welcome { version, outcome: told, terms, limit: 256 };
        assert_eq!(written.encode().to_vec(), bytes(&case), "{case}");
    }
}

/// The bytes of an entry as they lie in memory.
#[expect(unsafe_code, reason = "what is tested is how it lies in memory")]
fn as_bytes(entry: &Entry) -> &[u8] {
    let start = std::ptr::from_ref(entry).cast::<u8>();
    // SAFETY: an entry is plain numbers without padding, and nobody writes to this one.
    unsafe { std::slice::from_raw_parts(start, size_of::<Entry>()) }
}

#[test]
fn entries_are_those_of_the_vectors() {
    for case in vectors("entries") {
        let message = Message {
            slot: number(&case, "slot") as u32,
            sequence: number(&case, "sequence"),
            length: number(&case, "length"),
            code: number(&case, "code") as u32,
            kind: number(&case, "kind") as u32,
            checksum: number(&case, "checksum"),
            times: case.get("times").map_or([0; 2], |times| {
                [0, 1].map(|at| times[at].as_u64().unwrap_or_else(|| panic!("times of {case}")))
            }),
        };
        let n = number(&case, "n") as u32;
        let ring: [Entry; 64] = std::array::from_fn(|_| Entry::default());
        put(&ring, n, &message);
        assert_eq!(as_bytes(&ring[n as usize % 64]), bytes(&case), "{case}");
        assert_eq!(look(&ring, n), Look::Ready(message));
    }
}

#[test]
fn a_stamp_is_the_next_the_one_of_the_lap_before_or_damage() {
    let ring: [Entry; 4] = std::array::from_fn(|_| Entry::default());
    // Beginning shortly before numbers wrap shows every lap's first look, and the wrap.
    assert_eq!(look(&ring, 0), Look::NotYet(0));
    assert_eq!(look(&ring, 4), Look::Damaged, "never written, and looked at in the second lap");
    for n in (0..8).map(|n: u32| n.wrapping_sub(4)) {
        put(&ring, n, &Message::default());
        assert_eq!(look(&ring, n), Look::Ready(Message::default()));
        let stamp = n.wrapping_add(1);
        assert_eq!(look(&ring, n.wrapping_add(4)), Look::NotYet(stamp), "not yet the next lap's");
        assert_eq!(look(&ring, n.wrapping_sub(4)), Look::Damaged, "overwritten before it was read");
        assert_eq!(look(&ring, n.wrapping_add(8)), Look::Damaged, "a lap is missing");
    }
}

#[test]
fn settings_that_no_channel_can_have_are_refused() {
    for (slots, request, answer) in
        [(0, 64, 64), (3, 64, 64), (8192, 64, 64), (8, 0, 64), (8, 64, 0), (8, 64, u64::MAX)]
    {
        let refused = Geometry::new(slots, request, answer);
        assert!(matches!(refused, Err(Error::Settings(_))), "{slots} {request} {answer}");
    }
    assert!(matches!(Geometry::new(4096, 64, 1 << 32), Err(Error::Settings(_))), "17 TB");
    assert_eq!(Geometry::new(2, 1, 65).unwrap(), Geometry::new(2, 64, 128).unwrap());
}

#[test]
fn what_is_larger_than_all_slots_is_told_with_the_bound() {
    let shape = Geometry::new(4, 64, 128).unwrap();
    assert_eq!(shape.run(256, 512).unwrap(), 4);
    let needed = |run: Result<u32, Error>| match run {
        Err(Error::TooLarge { needed, most }) => (needed, most),
        other => panic!("{other:?}"),
    };
    assert_eq!(needed(shape.run(257, 0)), (257, 256));
    assert_eq!(needed(shape.run(0, 513)), (513, 512));
    assert_eq!(needed(shape.run(0, u64::MAX)), (u64::MAX, 512));
}

#[test]
fn runs_are_the_lowest_that_are_free_side_by_side() {
    let slots = Slots::new(8);
    assert_eq!([slots.take(2), slots.take(1), slots.take(3)], [Some(0), Some(2), Some(3)]);
    assert_eq!((slots.take(3), slots.left()), (None, 2));
    slots.give(2, 1);
    assert_eq!(slots.take(2), Some(6));
    assert_eq!((slots.take(1), slots.take(1)), (Some(2), None));
}

/// The word never changes and a nap would take a minute: only a wake-up ends it, and one for this
/// process's own address (a "private" one) would not reach the other mapping.
#[test]
fn a_futex_wakes_through_another_mapping() {
    let memory = region::make("test", 4096).unwrap();
    let writable = Mapping::writable(&memory, 4096).unwrap();
    let readable = Mapping::readable(&memory, 4096).unwrap();
    let futex = Futex { nap: Duration::from_secs(60) };
    for (sleeper, waker) in [(&readable, &writable), (&writable, &readable)] {
        let is_awake = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                futex.park(sleeper.word(64), 0);
                is_awake.store(true, Ordering::Relaxed);
            });
            let begun = Instant::now();
            while !is_awake.load(Ordering::Relaxed) {
                assert!(begun.elapsed() < futex.nap / 2, "nobody was woken");
                futex.unpark(waker.word(64));
                std::thread::yield_now();
            }
        });
    }
}

#[test]
fn a_mapping_is_looked_at_within_its_bounds() {
    let memory = region::make("test", 4096).unwrap();
    let mapping = Mapping::readable(&memory, 4096).unwrap();
    let mut bytes = Vec::new();
    mapping.copy_out(4096 - 8, 3, &mut bytes);
    assert_eq!(bytes, [0; 3]);
    let outside: [&dyn Fn(); 5] = [
        &|| _ = mapping.word(4096),
        &|| _ = mapping.word(2),
        &|| _ = mapping.entries(4096 - 64, 2),
        &|| _ = mapping.entries(32, 1),
        &|| mapping.copy_out(u64::MAX - 7, 8, &mut Vec::new()),
    ];
    for (number, look) in outside.iter().enumerate() {
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(look));
        assert!(looked.is_err(), "look {number} went outside");
    }
    assert!(matches!(Mapping::readable(&memory, 4097), Err(Error::Damaged(_))));
}
