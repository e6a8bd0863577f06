//! Peers that keep to no layout: they cost the run neither its end nor its memory.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use record::FailureKind::{TooLarge, WrongContent};
use record::Outcome;

use crate::shm::peer::Peer;
use crate::shm::stand::{Line, run};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_peer_that_never_signals_keeps_nobody_beyond_his_patience() {
    let (said, heard) = mpsc::channel();
    // On a thread of its own: what waits for ever is noticed from outside.
    thread::spawn(move || {
        let peer = Peer::new(64);
        let socket = peer.socket();
        let admitting = thread::spawn(move || (peer.admit(), peer));
        run(async {
            let mut line = Line::connect(&socket, "shm = { body = \"x\" }").await.unwrap();
            let _kept = admitting.join().unwrap();
            // Its time is over after one look.
            let is_pending = {
                let mut asking = pin!(line.perform(0));
                poll_fn(|context| Poll::Ready(asking.as_mut().poll(context).is_pending())).await
            };
            said.send(is_pending).unwrap();
        });
    });
    assert_eq!(heard.recv_timeout(PATIENCE), Ok(true), "the worker hangs in the eventfd");
}

#[test]
fn a_huge_answer_is_not_read() {
    const THREE_GIB: u64 = 3 << 30;
    let expectations = [
        ("shm = { body = \"x\", checksum = true }", "the checksum reads 268435456 bytes at most"),
        (
            "shm = { body = \"x\" }\nexpect = { contains = \"x\" }",
            "an expectation reads 16777216 bytes at most",
        ),
    ];
    for (text, says) in expectations {
        let peer = Peer::new(THREE_GIB);
        let (kind, detail, goes_on) = answered(&peer, THREE_GIB, text);
        assert_eq!((kind, goes_on), (TooLarge, true));
        assert_eq!(detail, format!("{says}, and the answer has {THREE_GIB}"));
    }
    let peer = Peer::new(THREE_GIB);
    let (kind, ..) = answered(&peer, 4, "shm = { body = \"x\", checksum = true }");
    assert_eq!(kind, WrongContent, "room alone is no reason");
}

#[test]
fn the_memory_of_a_large_answer_is_given_back() {
    const LARGE: u64 = 64 << 20;
    let peer = Peer::new(LARGE);
    let before = shared_kib();
    let (kind, ..) = answered(&peer, LARGE, "shm = { body = \"x\", checksum = true }");
    assert_eq!(kind, WrongContent, "it was read: the peer told no checksum");
    let held = shared_kib().saturating_sub(before);
    assert!(held < 16 << 10, "{held} KiB of it are still held");
}

/// One operation that fails, of which this peer answers so many bytes.
fn answered(peer: &Peer, length: u64, text: &str) -> (record::FailureKind, String, bool) {
    thread::scope(|scope| {
        let socket = peer.socket();
        scope.spawn(move || {
            let kept = peer.admit();
            peer.answer(&kept, 1, length);
            // Until the client has seen it.
            let _ = std::io::Read::read(&mut &kept, &mut [0]);
        });
        run(async { Line::connect(&socket, text).await.unwrap().fail(0).await })
    })
}

/// Shared memory of this process.
fn shared_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssShmem:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[test]
fn bytes_that_change_while_they_are_read_as_text_are_no_bug() {
    const LENGTH: usize = 200;
    const OPERATIONS: u32 = 1_000;
    // Two bytes to a letter, in step and out of step: what was whole is not any more.
    let even = "é".repeat(LENGTH / 2);
    let odd = format!("a{}b", "é".repeat(LENGTH / 2 - 1));
    let text =
        "shm = { body = \"x\" }\nexpect = { contains = \"never there\", matches = \"^b+$\" }";
    let peer = Peer::new(256);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                peer.fill(even.as_bytes());
                peer.fill(odd.as_bytes());
            }
        });
        let answering = scope.spawn(|| {
            let kept = peer.admit();
            (1..=OPERATIONS).for_each(|number| peer.answer(&kept, number, LENGTH as u64));
            kept
        });
        let socket = peer.socket();
        let ended = std::panic::catch_unwind(|| {
            run(async {
                let mut line = Line::connect(&socket, text).await.unwrap();
                for number in 0..u64::from(OPERATIONS) {
                    assert_eq!(line.perform(number).await, Outcome::Failed(WrongContent));
                }
            });
        });
        is_over.store(true, Ordering::Relaxed);
        drop(answering.join());
        assert!(ended.is_ok(), "a panic");
    });
}
